"""Exact search by a k-d tree, for points of few columns."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from rectifold._core.utils import Floats, Ints

#: Queries asked at once.
_QUERIES = 8192
#: Neighbours held at once.
_PAIRS = 1 << 20
#: Neighbours beyond the k nearest, so that one look proves most neighbourhoods whole.
_SPARE = 8
_EPS = float(np.finfo(np.float64).eps)


def search(
    tree: cKDTree,
    weights: Ints,
    k: int,
    queries: Floats,
    jobs: int,
    *,
    within: Floats | None = None,
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Find the points that can be among the k nearest rows.

    A query's neighbours are whole when everything not looked at is farther, by more than
    rounding, than its k-th; until then more are asked for.

    The tree subtracts directly, so each of the d squares and their sum have a relative
    error of at most (d + 2) eps, and so has what `settle` computes; squares that leave the
    normal range of float64 are off by less than 1e-307 in all.

    Parameters
    ----------
    tree : cKDTree
        All points.
    weights : ndarray of shape (n_points,)
        How many rows lie on each.
    k : int
        Neighbours per row.
    queries : ndarray of shape (n_queries, n_columns)
        Points, in the tree or not.
    jobs : int
        Threads.
    within : ndarray of shape (n_queries,), default=None
        Squared distances: what is farther is of no use.

    Yields
    ------
    numbers, offsets, neighbours : ndarray
        Queries, where each one's neighbours begin, and those.
    """
    n, d = tree.data.shape
    relative, absolute = 4 * (d + 4) * _EPS, 1e-290
    # The tree's word for nobody is n.
    weights = np.append(np.minimum(weights, k + 1), 0)
    wanted = k + 1 + _SPARE
    every = np.arange(len(queries)) if within is None else np.argsort(within)
    pending = [(some, wanted) for some in _split(every, min(_QUERIES, 1 + _PAIRS // wanted))]
    while pending:
        some, wanted = pending.pop()
        wanted = min(wanted, n)
        # Queries with about the same bound are asked together.
        most = np.inf if within is None else float(within[some].max())
        distances, found = tree.query(
            queries[some],
            k=np.arange(1, wanted + 1),
            distance_upper_bound=np.sqrt((most + absolute) / (1 - relative)) * (1 + relative),
            workers=jobs,
        )
        squares = distances**2
        # Each point counts with as many rows as could be needed of it; with the row
        # itself that makes k + 1.
        reached = np.cumsum(weights[found], axis=1) > k
        last = np.where(reached[:, -1], reached.argmax(axis=1), wanted - 1)
        upper = (squares[np.arange(len(some)), last] + absolute) / (1 - relative)
        lower = (squares - absolute) / (1 + relative)
        everything = (wanted == n) | (found[:, -1] == n)
        whole = (reached[:, -1] & (lower[:, -1] > upper)) | everything
        near = ((lower <= upper[:, None]) & (found < n))[whole]
        offsets = np.concatenate(([0], np.cumsum(near.sum(axis=1))))
        yield some[whole], offsets, found[whole][near]
        more = 4 * wanted
        pending.extend((left, more) for left in _split(some[~whole], 1 + _PAIRS // more))


def _split(points: Ints, size: int) -> list[Ints]:
    return np.split(points, np.arange(size, len(points), size)) if len(points) else []
