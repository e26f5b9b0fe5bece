"""Exact search on the CPU: a k-d tree in few dimensions, blocked matrix products above."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import ThreadpoolController

from rectifold._summing import sum_columns
from rectifold._typing import Bools, Floats, Ints, Matrix
from rectifold.engines.contract import Proposal
from rectifold.space import Points

#: The metrics searched for here: one order of neighbours, or that of normalised rows.
METRICS = ("euclidean", "sqeuclidean", "cosine")
#: Up to here a k-d tree looks at few points; the cut that scikit-learn makes too.
_TREE_DIMENSIONS = 15
#: Rows asked for at once, so that progress is seen and memory stays bounded.
_ROWS = 8192
#: Candidates held at once.
_PAIRS = 1 << 20
#: Candidates beyond the k nearest, so that one look proves most neighbourhoods whole.
_SPARE = 8
_EPS = float(np.finfo(np.float64).eps)

#: Takes the points to ask for and how many to find; gives squared distances, ascending,
#: and indices.
Finder = Callable[[Ints, int], tuple[Floats, Ints]]


@dataclass(frozen=True, slots=True)
class _Distinct:
    """Rows grouped by equality, so that duplicates cost nothing and can't crowd a search."""

    #: The distinct points.
    values: Matrix
    #: All rows, those of one group together, ascending within it.
    members: Ints
    #: Where each group begins in `members`, and how many rows it has.
    starts: Ints
    counts: Ints


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Iterator[Proposal]:
    """Propose, for every row, the rows that can be among its k nearest.

    Distances are first taken from a k-d tree or from expanded products, with a bound on
    their rounding. A row's candidates are whole when everything not looked at is
    farther, by more than that bound, than its k-th candidate; until then more are asked
    for. Ties with the k-th are therefore always among the candidates.

    Parameters
    ----------
    points : Points
        Points with one of `METRICS`.
    labels : ndarray of shape (n_rows,)
        Not used: this engine gives no certificates.
    k : int
        Neighbours per row.
    n_jobs : int or None
        Cores, as in scikit-learn.

    Yields
    ------
    Proposal
    """
    if points.zero is None:
        yield from _propose(points.values, points.metric == "cosine", k, n_jobs)
        return
    # A row without direction is at distance 1 from all, so its neighbours are the first
    # rows of the table; and every other row may need the first rows without direction.
    zeros, rows = np.flatnonzero(points.zero), np.flatnonzero(~points.zero)
    first = np.arange(min(k + 1, points.n))
    for some in _split(zeros, _PAIRS // len(first)):
        yield Proposal(some, np.arange(len(some) + 1) * len(first), np.tile(first, len(some)))
    if len(rows):
        for answer in _propose(points.values[rows], True, k, n_jobs):
            yield _with_everyone(answer, rows, zeros[: k + 1])


def _propose(values: Matrix, unit_length: bool, k: int, n_jobs: int | None) -> Iterator[Proposal]:
    distinct = _group(values)
    n_groups = len(distinct.counts)
    finder, scales, relative = _finder(distinct.values, unit_length, n_jobs)
    wanted = k + 1 + _SPARE
    pending = [
        (some, wanted) for some in _split(np.arange(n_groups), min(_ROWS, 1 + _PAIRS // wanted))
    ]
    while pending:
        groups, wanted = pending.pop()
        wanted = min(wanted, n_groups)
        squares, found = finder(groups, wanted)
        absolute = relative * scales[groups]
        # Each group counts with as many rows as could be needed of it; with the row
        # itself that makes k + 1.
        reached = np.cumsum(np.minimum(distinct.counts[found], k + 1), axis=1) > k
        last = np.where(reached[:, -1], reached.argmax(axis=1), wanted - 1)
        upper = (squares[np.arange(len(groups)), last] + absolute) / (1 - relative)
        lower = (squares - absolute[:, None]) / (1 + relative)
        whole = (reached[:, -1] & (lower[:, -1] > upper)) | (wanted == n_groups)
        near = (lower <= upper[:, None])[whole]
        yield from _expand(distinct, groups[whole], found[whole], near, k)
        more = 4 * wanted
        pending.extend((some, more) for some in _split(groups[~whole], 1 + _PAIRS // more))


def _expand(
    distinct: _Distinct, groups: Ints, found: Ints, near: Bools, k: int
) -> Iterator[Proposal]:
    """Turn groups and the groups near them into rows and their candidate rows."""
    neighbours = found[near]
    # Of equally distant rows the first k + 1 are enough: the order prefers low indices.
    take = np.minimum(distinct.counts[neighbours], k + 1)
    candidates = distinct.members[_ranges(distinct.starts[neighbours], take)]
    ends = np.concatenate(([0], np.cumsum(take)))
    bounds = ends[np.concatenate(([0], np.cumsum(near.sum(axis=1))))]
    lengths = np.diff(bounds)
    counts = distinct.counts[groups]
    # All rows of a group share its candidates.
    owner = np.repeat(np.arange(len(groups)), counts)
    rows = distinct.members[_ranges(distinct.starts[groups], counts)]
    piece = np.cumsum(lengths[owner]) // _PAIRS
    for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(piece)) + 1):
        mine = owner[some]
        yield Proposal(
            rows[some],
            np.concatenate(([0], np.cumsum(lengths[mine]))),
            candidates[_ranges(bounds[mine], lengths[mine])],
        )


def _with_everyone(answer: Proposal, rows: Ints, extra: Ints) -> Proposal:
    """Translate a proposal among `rows` to row numbers of the table; add `extra` to each."""
    lengths = np.diff(answer.offsets)
    offsets = answer.offsets + len(extra) * np.arange(len(answer.offsets))
    candidates = np.empty(offsets[-1], dtype=np.intp)
    candidates[_ranges(offsets[:-1], lengths)] = rows[answer.candidates]
    candidates[(offsets[1:, None] - len(extra) + np.arange(len(extra))).ravel()] = np.tile(
        extra, len(lengths)
    )
    return Proposal(rows[answer.rows], offsets, candidates)


def _group(values: Matrix) -> _Distinct:
    n, d = values.shape
    # Equal rows have equal keys, as every row goes through the same operations in the
    # same order. Unequal rows seldom do; if they should, a group is split in two, which
    # costs time but changes no answer.
    factors = np.random.default_rng(0).uniform(1, 2, d)
    if sparse.issparse(values):
        key = values @ factors
    else:
        scaled = (column * factor for column, factor in zip(values.T, factors, strict=True))
        key = sum_columns(scaled, n)
    members = np.argsort(key, kind="stable")
    alike = np.flatnonzero(key[members][1:] == key[members][:-1])
    left, right = values[members[alike]], values[members[alike + 1]]
    if sparse.issparse(values):
        equal = np.asarray(abs(left - right).sum(axis=1)).ravel() == 0
    else:
        equal = (left == right).all(axis=1)
    begins = np.ones(n, dtype=bool)
    begins[alike[equal] + 1] = False
    starts = np.flatnonzero(begins)
    if len(starts) == n:
        every = np.arange(n)
        return _Distinct(values, every, every, np.ones(n, dtype=np.intp))
    counts = np.diff(np.append(starts, n))
    return _Distinct(values[members[starts]], members, starts, counts)


def _split(rows: Ints, size: int) -> list[Ints]:
    return np.split(rows, np.arange(size, len(rows), size)) if len(rows) else []


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """Concatenate arange(start, start + length) over all pairs."""
    begins = np.cumsum(lengths) - lengths
    return np.repeat(starts - begins, lengths) + np.arange(lengths.sum(), dtype=np.intp)


def _finder(values: Matrix, unit_length: bool, n_jobs: int | None) -> tuple[Finder, Floats, float]:
    """Give a search over points, and the bound on the rounding of what it returns.

    The bound is a pair (scales, relative): for a query x and any point, the squared
    distance s of exact arithmetic and the one returned, t, satisfy
    ``|s - t| <= relative * (scales[x] + s)``.

    k-d tree. Differences are subtracted directly, so each of the d squares and their
    sum have a relative error of at most (d + 2) eps. Squares that leave the normal
    range of float64 are off by less than 1e-307 in all, which `scales` covers.

    Products. t = |x|^2 + |y|^2 - 2 x.y, each inner product with an error of at most
    d eps |x| |y|, so |s - t| <= (d + 4) eps (|x| + |y|)^2. If |y| <= 2 |x| the last
    factor is at most 9 |x|^2; otherwise s >= (|y| - |x|)^2 >= (|x| + |y|)^2 / 9, and it
    is at most 9 s. Centring beforehand keeps |x| small where all data lie far from the
    origin; it moves each point by at most eps |x|, which adds less than
    4 eps (|x| + |y|)^2.

    Both bounds are doubled, which also covers the rounding of the canonical distances
    that `settle` compares (relative error (d + 2) eps).
    """
    d = values.shape[1]
    jobs = effective_n_jobs(n_jobs)
    if d <= _TREE_DIMENSIONS and not sparse.issparse(values):
        tree = KDTree(values)

        def from_tree(asked: Ints, wanted: int) -> tuple[Floats, Ints]:
            distances, found = tree.query(values[asked], k=np.arange(1, wanted + 1), workers=jobs)
            return distances**2, found

        return from_tree, np.full(values.shape[0], 1e-290), 4 * (d + 4) * _EPS

    if sparse.issparse(values):
        scales = np.asarray(values.multiply(values).sum(axis=1)).ravel()
    else:
        # Rows of unit length are near enough to the origin as they are.
        values = values if unit_length else values - values.mean(axis=0)
        scales = np.einsum("ij,ij->i", values, values)
    brute = NearestNeighbors(algorithm="brute", metric="euclidean", n_jobs=n_jobs).fit(values)
    threads = ThreadpoolController()

    def from_products(asked: Ints, wanted: int) -> tuple[Floats, Ints]:
        with threads.limit(limits=jobs):
            distances, found = brute.kneighbors(values[asked], n_neighbors=wanted)
        return distances**2, found

    return from_products, scales + 1e-290, 2 * 9 * (d + 8) * _EPS
