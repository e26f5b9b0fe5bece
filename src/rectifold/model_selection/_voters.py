"""The training samples that vote for predicted samples, the most influential first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from rectifold._core.utils import Floats, Ints

if TYPE_CHECKING:
    from rectifold.neighbors import NeighborVoteClassifier

#: Samples whose neighbours are computed at a time, and pairs of them and training samples.
_AT_ONCE, _PAIRS = 1024, 20_000_000


class Neighbours(NamedTuple):
    """Training samples that voted: one entry per pair, the most influential of a sample first."""

    #: Positions of the predicted sample and of the training sample.
    samples: Ints
    indices: Ints
    #: The class of the training sample, its share of the vote, and its distance.
    codes: Ints
    weights: Floats
    distances: Floats


def joined(parts: Iterable[Neighbours]) -> Neighbours:
    """Return all parts as one."""
    none = np.empty(0, dtype=np.intp)
    every = [Neighbours(none, none, none, np.empty(0), np.empty(0)), *parts]
    return Neighbours._make(map(np.concatenate, zip(*every, strict=True)))


def voters_of(
    voter: NeighborVoteClassifier, X: Any, samples: Ints, n: int | None = None
) -> Iterator[Neighbours]:
    """Yield the training samples that vote for some samples at a time, the most influential first.

    Of each sample's, `n` at most.
    """
    # Any training sample can share a leaf with a sample.
    step = max(1, min(_AT_ONCE, _PAIRS // len(voter._codes)))
    for at in range(0, len(samples), step):
        now = samples[at : at + step]
        some = _safe_indexing(X, now)
        shares = _largest(voter.vote_shares(some), n)
        rows = np.repeat(np.arange(len(now)), np.diff(shares.indptr))
        columns = shares.indices.astype(np.intp)
        distances = voter.neighbor_distances(some, rows, columns)
        order = np.lexsort((columns, distances, -shares.data, rows))
        indices = columns[order]
        yield Neighbours(
            now[rows[order]],
            indices,
            voter._codes[indices],
            shares.data[order],
            distances[order],
        )


def _largest(shares: sparse.csr_array, n: int | None) -> sparse.csr_array:
    """Return the largest `n` entries of every row, of equal ones the first."""
    if n is None:
        return shares
    rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    order = np.lexsort((shares.indices, -shares.data, rows))
    rank = np.arange(len(order)) - shares.indptr[rows]
    some = np.sort(order[rank < n])
    cells = shares.data[some], (rows[some], shares.indices[some])
    return sparse.csr_array(cells, shape=shares.shape)
