"""Compute the distances of candidates and sort them: the same function for all engines."""

import itertools
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import Points
from rectifold._core.summation import sum_columns, sum_entries
from rectifold._core.threads import scratch
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines import compiled
from rectifold._engines.contract import Proposal

#: Index of a missing neighbour.
NO_NEIGHBOUR = int(np.iinfo(np.intp).max)
#: Approximate maximum number of values per block of pairs.
_BLOCK = 1 << 17


def settle(
    points: Points, proposal: Proposal, k: int, *, queries: Points | None = None
) -> tuple[Ints, Floats]:
    """Reduce candidates to the k nearest samples in the order (distance, index).

    Indices and distances have the shape (n_rows, k). All engines call this, so that they give the
    same neighbours and, bit for bit, the same distances. With `queries`, the proposal is for these,
    and they exclude no sample.
    """
    indices, distances, counts = settle_few(points, proposal, k, queries=queries)
    if counts.min(initial=k) < k:
        raise ParameterError(
            "sample {} has {} neighbours where {} are needed: lower {}, or search for more.",
            str(proposal.rows[int(counts.argmin())]),
            str(counts.min()),
            str(k),
            Param("n_neighbors"),
        )
    return indices, distances


def settle_few(
    points: Points, proposal: Proposal, k: int, *, queries: Points | None = None
) -> tuple[Ints, Floats, Ints]:
    """Do the same for any number of candidates, and return that number for each sample.

    Missing neighbours are `NO_NEIGHBOUR`, at an infinite distance.
    """
    counts = np.diff(proposal.offsets)
    if proposal.distances is not None and (counts == k).all():
        neighbours = proposal.candidates.reshape(-1, k), proposal.distances.reshape(-1, k)
        if _is_settled(proposal.rows if queries is None else None, *neighbours):
            return *neighbours, counts
    # The sample itself is excluded by index, never by position: a duplicate at distance
    # zero may come before it.
    if proposal.distances is None and _no_zeros(points, queries):
        found = compiled.settle(
            (points if queries is None else queries).values,
            points.values,
            str(points.metric),
            *(proposal.rows, proposal.offsets, proposal.candidates, k, NO_NEIGHBOUR),
            itself=queries is None,
        )
        if found is not None:
            return found
    owner, other = np.repeat(np.arange(len(counts)), counts), proposal.candidates
    foreign = other != proposal.rows[owner] if queries is None else slice(None)
    owner, other = owner[foreign], other[foreign]
    if proposal.distances is None:
        distances = pair_distances(points, proposal.rows[owner], other, queries=queries)
    else:
        distances = proposal.distances[foreign]
    counts = np.bincount(owner, minlength=len(counts))
    first = np.cumsum(counts) - counts
    width = max(int(counts.max(initial=0)), k)
    if width * len(counts) > 4 * max(len(other), k * len(counts)):
        order = np.lexsort((other, distances, owner))
        # One more entry, for missing neighbours.
        other, distances = np.append(other, NO_NEIGHBOUR), np.append(distances, np.inf)
        present = np.arange(k) < counts[:, None]
        chosen = np.append(order, len(order))[np.where(present, first[:, None] + np.arange(k), -1)]
        return other[chosen], distances[chosen], counts
    # Sorting a table is faster if all samples have about the same number of candidates.
    cell = (owner, np.arange(len(other)) - first[owner])
    indices = np.full((len(counts), width), NO_NEIGHBOUR)
    indices[cell] = other
    table = np.full(indices.shape, np.inf)
    table[cell] = distances
    chosen = np.argsort(table, axis=1)[:, : k + 1]
    nearest = np.take_along_axis(table, chosen, axis=1)
    equal = nearest[:, 1:] == nearest[:, :-1]
    if queries is None:
        # Only those of queries can be so far that their squares overflow.
        equal &= nearest[:, 1:] < np.inf
    tied = np.flatnonzero(equal.any(axis=1))
    if len(tied):
        # By index, then, keeping that order among equals, by distance.
        by_index = np.argsort(indices[tied], axis=1)
        ordered = np.take_along_axis(table[tied], by_index, axis=1)
        by_distance = np.argsort(ordered, axis=1, kind="stable")[:, : k + 1]
        chosen[tied] = np.take_along_axis(by_index, by_distance, axis=1)
    chosen = chosen[:, :k]
    distances = np.take_along_axis(table, chosen, axis=1)
    return np.take_along_axis(indices, chosen, axis=1), distances, counts


def _no_zeros(*points: Points | None) -> bool:
    """Return whether no point is a zero vector, which has no direction."""
    return all(one is None or one.zero is None for one in points)


def _is_settled(rows: Ints | None, indices: Ints, distances: Floats) -> bool:
    """Return whether neighbours are in the canonical order and exclude the samples `rows`."""
    later = distances[:, 1:] > distances[:, :-1]
    later |= (distances[:, 1:] == distances[:, :-1]) & (indices[:, 1:] > indices[:, :-1])
    return bool(later.all()) and (rows is None or not (indices == rows[:, None]).any())


def pair_distances(
    points: Points, left: Ints, right: Ints, *, queries: Points | None = None
) -> Floats:
    """Return the distances of the pairs (left[i], right[i]), in float64 by direct subtraction.

    `left` are numbers of `queries`, if there are any.

    Squares are added feature by feature, from the first to the last. This order makes the sum the
    same for dense and sparse input (adding a zero changes nothing), for any block size and on any
    device; pairwise or vectorised sums would differ.
    """
    values, others = points.values, points if queries is None else queries
    squares = np.empty(len(left))
    for block in _blocks(others.values, left, values, right):
        squares[block] = _squared_differences(others.values, left[block], values, right[block])
    if points.metric == "cosine":
        # For normalised samples 1 - cos is half the squared distance, without cancellation.
        cosine = squares / 2
        for zero, some in ((others.zero, left), (points.zero, right)):
            if zero is not None:
                cosine[zero[some]] = 1.0
        return cosine
    return squares if points.metric == "sqeuclidean" else np.sqrt(squares)


def squared(distances: Floats, metric: str) -> Floats:
    """Return upper bounds of the squared distances of points, whatever the rounding."""
    if metric == "cosine":
        squares = 2 * distances
    else:
        squares = distances if metric == "sqeuclidean" else distances * distances
    return np.asarray(squares * (1 + 1e-9))


def _blocks(first: Matrix, left: Ints, second: Matrix, right: Ints) -> Iterator[slice]:
    """Yield the blocks of pairs whose differences are computed at a time."""
    if not sparse.issparse(first):
        step = max(64, _BLOCK // max(1, first.shape[1]))
        yield from (slice(at, at + step) for at in range(0, len(left), step))
        return
    # Sparse samples may differ much in their numbers of entries.
    entries = np.diff(first.indptr)[left] + np.diff(second.indptr)[right]
    ends = np.cumsum(entries + 1) // _BLOCK
    cuts = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(left)]
    yield from itertools.starmap(slice, itertools.pairwise(cuts))


def _squared_differences(first: Matrix, left: Ints, second: Matrix, right: Ints) -> Floats:
    if sparse.issparse(first):
        double = first[left].astype(np.float64, copy=False)
        difference = sparse.csr_array(double - second[right])
        difference.sort_indices()
        return sum_entries(difference.data**2, difference.indptr)
    shape = (len(left), first.shape[1])
    difference, other = (scratch(name, shape, np.float64) for name in ("pairs", "others"))
    for values, some, taken in ((first, left, difference), (second, right, other)):
        if values.dtype == np.float64:
            # No index is out of range; "clip" is the mode that needs no copy.
            values.take(some, axis=0, out=taken, mode="clip")
        else:
            taken[:] = values[some]
    difference -= other
    difference *= difference
    return sum_columns(difference.T, len(left))
