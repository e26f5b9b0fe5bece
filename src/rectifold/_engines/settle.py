"""The one function that computes the distances of candidates and settles their order."""

import numpy as np
from scipy import sparse

from rectifold._core.space import Points
from rectifold._core.summation import sum_columns, sum_entries
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.contract import Proposal
from rectifold._engines.threads import scratch

#: Stands where a row has no further neighbour.
NO_NEIGHBOUR = int(np.iinfo(np.intp).max)
#: Numbers per block of gathered pairs.
_BLOCK = 1 << 17


def settle(points: Points, proposal: Proposal, k: int) -> tuple[Ints, Floats]:
    """Reduce candidates to the k nearest rows in the order (distance, row index).

    Every engine goes through here, so that all of them give the same neighbours and,
    bit for bit, the same distances.

    Parameters
    ----------
    points : Points
        All rows.
    proposal : Proposal
        Rows and their candidates, at least k of them besides the row itself.
    k : int
        How many neighbours to keep.

    Returns
    -------
    indices, distances : ndarray of shape (n_rows, k)
        The neighbours of each row of the proposal, nearest first.
    """
    indices, distances, counts = settle_few(points, proposal, k)
    if counts.min(initial=k) < k:
        short = proposal.rows[int(counts.argmin())]
        raise ValueError(
            f"row {short} has {counts.min()} neighbours where {k} are needed: "
            "lower n_neighbors, or search for more."
        )
    return indices, distances


def settle_few(points: Points, proposal: Proposal, k: int) -> tuple[Ints, Floats, Ints]:
    """Do the same where rows may have fewer candidates, as they have in a part of a table.

    Parameters
    ----------
    points, proposal, k
        As for `settle`, but with any number of candidates.

    Returns
    -------
    indices, distances : ndarray of shape (n_rows, k)
        The neighbours of each row, nearest first; after the last one `NO_NEIGHBOUR`, at an infinite
        distance.
    counts : ndarray of shape (n_rows,)
        How many candidates each row has.
    """
    counts = np.diff(proposal.offsets)
    if proposal.distances is not None and (counts == k).all():
        given = proposal.candidates.reshape(-1, k), proposal.distances.reshape(-1, k)
        if _in_order(proposal.rows, *given):
            return *given, counts
    # The row itself is excluded by index, never by position: a duplicate at distance
    # zero may come before it.
    owner = np.repeat(np.arange(len(counts)), counts)
    foreign = proposal.candidates != proposal.rows[owner]
    owner, other = owner[foreign], proposal.candidates[foreign]
    if proposal.distances is None:
        distances = pair_distances(points, proposal.rows[owner], other)
    else:
        distances = proposal.distances[foreign]
    counts = np.bincount(owner, minlength=len(counts))
    first = np.cumsum(counts) - counts
    width = max(int(counts.max(initial=0)), k)
    if width * len(counts) > 4 * max(len(other), k * len(counts)):
        order = np.lexsort((other, distances, owner))
        # One more, for those who have fewer.
        other, distances = np.append(other, NO_NEIGHBOUR), np.append(distances, np.inf)
        there = np.arange(k) < counts[:, None]
        chosen = np.append(order, len(order))[np.where(there, first[:, None] + np.arange(k), -1)]
        return other[chosen], distances[chosen], counts
    # Rows with about as many candidates each are sorted side by side, in less time.
    place = (owner, np.arange(len(other)) - first[owner])
    indices = np.full((len(counts), width), NO_NEIGHBOUR)
    indices[place] = other
    table = np.full(indices.shape, np.inf)
    table[place] = distances
    chosen = np.argsort(table, axis=1)[:, : k + 1]
    nearest = np.take_along_axis(table, chosen, axis=1)
    equal = (nearest[:, 1:] == nearest[:, :-1]) & (nearest[:, 1:] < np.inf)
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


def _in_order(rows: Ints, indices: Ints, distances: Floats) -> bool:
    """Tell whether neighbours are in the canonical order already, without the row itself."""
    later = distances[:, 1:] > distances[:, :-1]
    later |= (distances[:, 1:] == distances[:, :-1]) & (indices[:, 1:] > indices[:, :-1])
    return bool(later.all()) and not (indices == rows[:, None]).any()


def pair_distances(points: Points, left: Ints, right: Ints) -> Floats:
    """Distances of the pairs (left[i], right[i]), in float64 by direct subtraction.

    Squares are added feature by feature, from the first to the last. This order makes
    the sum the same for dense and sparse rows (adding a zero changes nothing), for any
    block size and on any device; pairwise or vectorised sums would not be.
    """
    values = points.values
    width = max(1, values.shape[1])
    step = max(64, _BLOCK // width)
    squares = np.empty(len(left))
    for start in range(0, len(left), step):
        block = slice(start, start + step)
        squares[block] = _squared_differences(values, left[block], right[block])
    if points.metric == "cosine":
        # On normalised rows 1 - cos is half the squared distance, without cancellation.
        cosine = squares / 2
        if points.zero is not None:
            cosine[points.zero[left] | points.zero[right]] = 1.0
        return cosine
    return squares if points.metric == "sqeuclidean" else np.sqrt(squares)


def squared(distances: Floats, metric: str) -> Floats:
    """Squared distances of points that are at such distances, a little more for rounding."""
    if metric == "cosine":
        squares = 2 * distances
    else:
        squares = distances if metric == "sqeuclidean" else distances * distances
    return np.asarray(squares * (1 + 1e-9))


def _squared_differences(values: Matrix, left: Ints, right: Ints) -> Floats:
    if sparse.issparse(values):
        difference = sparse.csr_array(values[left] - values[right])
        difference.sort_indices()
        return sum_entries(difference.data**2, difference.indptr)
    shape = (len(left), values.shape[1])
    difference, other = (scratch(name, shape, np.float64) for name in ("pairs", "others"))
    # What is out of range is clipped only because that needs no copy.
    values.take(left, axis=0, out=difference, mode="clip")
    values.take(right, axis=0, out=other, mode="clip")
    difference -= other
    difference *= difference
    return sum_columns(difference.T, len(left))
