"""Exact search with a k-d tree, for points of few columns."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from rectifold._core.utils import Floats, Ints

#: Maximum number of queries, and of neighbours, of one call of the tree.
_QUERIES, _PAIRS = 8192, 1 << 20
#: Neighbours requested beyond the k nearest, so that the first call mostly proves completeness.
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
    """Yield query numbers, offsets, and the points that can hold their k nearest samples.

    `weights` are the numbers of samples on the points of the tree, and `queries` may be among
    these points. Those beyond the squared distances `within` may be missing. The neighbours of a
    query are complete if all points not returned are farther than its k-th, by more than rounding;
    otherwise more are requested.

    The tree subtracts directly, so each of the d squares and their sum have a relative
    error of at most (d + 2) eps, and so has what `settle` computes; squares that leave the
    normal range of float64 are off by less than 1e-307 in all.
    """
    n, d = tree.data.shape
    relative, absolute = 4 * (d + 4) * _EPS, 1e-290
    # The tree returns n for a missing neighbour.
    weights = np.append(np.minimum(weights, k + 1), 0)
    wanted = k + 1 + _SPARE
    every = np.arange(len(queries)) if within is None else np.argsort(within)
    pending = [(some, wanted) for some in _split(every, min(_QUERIES, 1 + _PAIRS // wanted))]
    while pending:
        some, wanted = pending.pop()
        wanted = min(wanted, n)
        # Queries of one call have about the same bound.
        most = np.inf if within is None else float(within[some].max())
        distances, found = tree.query(
            queries[some],
            k=np.arange(1, wanted + 1),
            distance_upper_bound=np.sqrt((most + absolute) / (1 - relative)) * (1 + relative),
            workers=jobs,
        )
        squares = distances**2
        # At most k + 1 samples of a point are needed, k neighbours and the sample itself.
        reached = np.cumsum(weights[found], axis=1) > k
        last = np.where(reached[:, -1], reached.argmax(axis=1), wanted - 1)
        upper = (squares[np.arange(len(some)), last] + absolute) / (1 - relative)
        lower = (squares - absolute) / (1 + relative)
        everything = (wanted == n) | (found[:, -1] == n)
        complete = (reached[:, -1] & (lower[:, -1] > upper)) | everything
        near = ((lower <= upper[:, None]) & (found < n))[complete]
        offsets = np.concatenate(([0], np.cumsum(near.sum(axis=1))))
        yield some[complete], offsets, found[complete][near]
        more = 4 * wanted
        pending.extend((left, more) for left in _split(some[~complete], 1 + _PAIRS // more))


def _split(points: Ints, size: int) -> list[Ints]:
    return np.split(points, np.arange(size, len(points), size)) if len(points) else []
