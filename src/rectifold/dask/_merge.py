"""Rows of a table that is in parts: points, classes, and where in the whole table they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints

#: Rows whose neighbours are merged at once.
_ROWS = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows of a table."""

    points: Points
    #: Class codes.
    codes: Ints
    #: Row numbers in the whole table, ascending.
    ids: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, which: Ints | Bools) -> "Rows":
        """Some of them."""
        zero = None if self.points.zero is None else self.points.zero[which]
        points = Points(self.points.values[which], self.points.metric, zero)
        return Rows(points, self.codes[which], self.ids[which])

    def outside(self, other: "Rows") -> Bools:
        """Tell which do not lie where other rows, consecutive ones, do."""
        if not len(other):
            return np.ones(len(self), dtype=bool)
        return np.asarray((self.ids < other.ids[0]) | (self.ids > other.ids[-1]))


def joined(parts: Sequence[Rows]) -> Rows:
    """Put rows together, in the order of the parts."""
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
    values = stacked([part.points.values for part in parts])
    return Rows(
        Points(values, parts[0].points.metric, zero),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.ids for part in parts]),
    )


def stacked(parts: Sequence[Any]) -> Any:
    """Put matrices, or frames of pandas, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The nearest rows found so far, of each of some rows: in the order (distance, row number)."""

    distances: Floats
    ids: Ints
    codes: Ints


def merged(parts: Sequence[Best]) -> Best:
    """Keep the nearest of what was found in different parts of a table.

    Parameters
    ----------
    parts : sequence of Best
        For the same rows, with as many neighbours each, none of them found twice.

    Returns
    -------
    Best
    """
    if len(parts) == 1:
        return parts[0]
    n, k = parts[0].distances.shape
    best = Best(np.empty((n, k)), np.empty((n, k), np.intp), np.empty((n, k), np.intp))
    # A few rows at a time, so that hardly more is held than what goes in and what comes out.
    for at in range(0, n, _ROWS):
        some = slice(at, at + _ROWS)
        distances, ids, codes = (
            np.concatenate([getattr(part, name)[some] for part in parts], axis=1)
            for name in ("distances", "ids", "codes")
        )
        order = np.lexsort((ids, distances), axis=1)[:, :k]
        best.distances[some] = np.take_along_axis(distances, order, axis=1)
        best.ids[some] = np.take_along_axis(ids, order, axis=1)
        best.codes[some] = np.take_along_axis(codes, order, axis=1)
    return best
