"""The input and the neighbours that voted, kept with a record so that a report can show them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.device_arrays import is_on_device, to_host
from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.contract import Neighbourhoods

#: Maximum memory for the neighbours that a record keeps, in bytes.
ROOM = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Neighbours of the samples whose neighbours do not all carry the sample's own label."""

    #: Indices of the samples, ascending; the arrays below are parallel to them.
    rows: Ints
    indices: Ints
    distances: Floats

    def of(self, rows: Ints) -> tuple[Bools, Ints, Floats]:
        """Return which of `rows` are kept, and the neighbours and distances of those that are."""
        if not len(self.rows):
            return np.zeros(len(rows), dtype=bool), self.indices, self.distances
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        known = self.rows[at] == rows
        return known, self.indices[at[known]], self.distances[at[known]]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What a report needs besides votes. It is not pickled."""

    #: The input: not a copy.
    rows: Any
    #: The fitted space, if there is one.
    space: Any
    neighbours: Neighbours
    #: The points, if the space can't compute them again.
    points: Any = None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Become None in a pickle: a fitted model on disk must not carry its data."""
        return type(None), ()


def keep_neighbours(found: Neighbourhoods, confidence: Floats, room: int = ROOM) -> Neighbours:
    """Return the neighbours of the samples that other thresholds could remove.

    At most `room` bytes are kept; samples with the lowest confidence come first. A sample whose
    neighbours all agree with it is never removed, and there is nothing to explain.
    """
    own = confidence[found.rows]
    some = np.flatnonzero(own < 1)
    index_type = np.int32 if len(confidence) <= np.iinfo(np.int32).max else np.int64
    most = room // (found.k * (np.dtype(index_type).itemsize + 8))
    if len(some) > most:
        some = np.sort(some[np.argpartition(own[some], most)[:most]])
    return Neighbours(
        found.rows[some], found.indices[some].astype(index_type), found.distances[some]
    )


def rows_of(trace: Trace | None, n_rows: int, X: Any = None) -> Any:
    """Return the samples of a record: `X`, or those that its trace refers to."""
    if X is None:
        if trace is None:
            raise ParameterError(
                "this record does not hold the samples (pickles of a record do not, nor those of "
                "data on a GPU): pass {}, the samples that were cleaned, in the same order.",
                Param("X"),
            )
        X = trace.rows
    rows = to_host(X) if is_on_device(X) else X
    try:
        count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    except TypeError:
        raise TypeError(
            f"X must be a table, such as a NumPy array or a dataframe, not {rows!r:.60}."
        ) from None
    if count != n_rows:
        raise ParameterError(
            "{} has {} samples and the record {}: pass the samples that were cleaned, in the same "
            "order.",
            Param("X"),
            str(count),
            str(n_rows),
        )
    return rows
