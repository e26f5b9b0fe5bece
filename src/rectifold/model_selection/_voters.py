"""The training samples that vote for predicted samples, the most influential first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from rectifold._core.utils import Floats, Ints

if TYPE_CHECKING:
    from rectifold.neighbors import NeighborVoteClassifier


class Neighbours(NamedTuple):
    """Training samples that voted: one entry per pair, the most influential of a sample first."""

    #: Positions of the predicted sample and of the training sample.
    samples: Ints
    indices: Ints
    #: The class of the training sample, its share of the vote, and its distance.
    codes: Ints
    weights: Floats
    distances: Floats

    def first(self, n: int | None) -> Neighbours:
        """Return the most influential `n` of every sample, or all."""
        if n is None:
            return self
        starts = np.flatnonzero(np.diff(self.samples, prepend=-1))
        lengths = np.diff(np.append(starts, len(self.samples)))
        rank = np.arange(len(self.samples)) - np.repeat(starts, lengths)
        return Neighbours._make(values[rank < n] for values in self)


def joined(parts: Iterable[Neighbours]) -> Neighbours:
    """Return all parts as one."""
    none = np.empty(0, dtype=np.intp)
    every = [Neighbours(none, none, none, np.empty(0), np.empty(0)), *parts]
    return Neighbours._make(map(np.concatenate, zip(*every, strict=True)))


def voters_of(voter: NeighborVoteClassifier, X: Any, samples: Ints) -> Neighbours:
    """Return the training samples that vote for some samples, the most influential first."""
    some = _safe_indexing(X, samples)
    shares = voter.vote_shares(some)
    rows = np.repeat(np.arange(len(samples)), np.diff(shares.indptr))
    columns = shares.indices.astype(np.intp)
    distances = voter.neighbor_distances(some, rows, columns)
    order = np.lexsort((columns, distances, -shares.data, rows))
    indices = columns[order]
    return Neighbours(
        samples[rows[order]],
        indices,
        voter._codes[indices],
        shares.data[order],
        distances[order],
    )
