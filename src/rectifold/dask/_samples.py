"""Samples of a table in partitions, and the neighbours of some that were found so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints

#: Number of samples whose neighbours are merged at once.
_MERGED_AT_ONCE = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Some samples of a table."""

    points: Points
    #: Class codes.
    codes: Ints
    #: Indices in the whole table, ascending.
    ids: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, which: Ints | Bools) -> "Samples":
        """Return the samples that positions or a mask select."""
        zero = None if self.points.zero is None else self.points.zero[which]
        points = Points(self.points.values[which], self.points.metric, zero)
        return Samples(points, self.codes[which], self.ids[which])

    def outside(self, block: "Samples") -> Bools:
        """Return which samples are not in a block of consecutive samples."""
        if not len(block):
            return np.ones(len(self), dtype=bool)
        return np.asarray((self.ids < block.ids[0]) | (self.ids > block.ids[-1]))


def concatenate(parts: Sequence[Samples]) -> Samples:
    """Return the samples of all parts, in the order of the parts."""
    if len(parts) == 1:
        return parts[0]
    zero = None
    if any(part.points.zero is not None for part in parts):
        zero = np.concatenate(
            [
                np.zeros(len(part), dtype=bool) if part.points.zero is None else part.points.zero
                for part in parts
            ]
        )
    values = stack([part.points.values for part in parts])
    return Samples(
        Points(values, parts[0].points.metric, zero),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.ids for part in parts]),
    )


def stack(parts: Sequence[Any]) -> Any:
    """Concatenate matrices or pandas frames vertically."""
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The nearest samples found so far, in the order (distance, index).

    All arrays have the shape (n_queries, k).
    """

    distances: Floats
    ids: Ints
    codes: Ints


def merge(parts: Sequence[Nearest]) -> Nearest:
    """Return the k nearest of those found for the same queries in disjoint parts of a table."""
    if len(parts) == 1:
        return parts[0]
    n, k = parts[0].distances.shape
    nearest = Nearest(np.empty((n, k)), np.empty((n, k), np.intp), np.empty((n, k), np.intp))
    # In steps, so that hardly more memory is needed than for the input and the result.
    for at in range(0, n, _MERGED_AT_ONCE):
        some = slice(at, at + _MERGED_AT_ONCE)
        distances, ids, codes = (
            np.concatenate([getattr(part, name)[some] for part in parts], axis=1)
            for name in ("distances", "ids", "codes")
        )
        order = np.lexsort((ids, distances), axis=1)[:, :k]
        nearest.distances[some] = np.take_along_axis(distances, order, axis=1)
        nearest.ids[some] = np.take_along_axis(ids, order, axis=1)
        nearest.codes[some] = np.take_along_axis(codes, order, axis=1)
    return nearest
