"""Trace: what a run can show besides votes, the caller's rows and the neighbours that voted."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.device_arrays import is_on_device, to_host
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.contract import Neighbourhoods

#: Memory that a record may keep for neighbours, in bytes.
ROOM = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The neighbours of rows on which they did not all agree with the row's own label."""

    #: Ascending; the arrays below are parallel to them.
    rows: Ints
    indices: Ints
    distances: Floats

    def of(self, rows: Ints) -> tuple[Bools, Ints, Floats]:
        """Look rows up.

        Parameters
        ----------
        rows : ndarray of int
            Positions of rows.

        Returns
        -------
        known : ndarray of bool
            Whether the neighbours of each row are kept.
        indices, distances : ndarray of shape (n_known, k)
            For those that are: who is near, and how near, nearest first.
        """
        if not len(self.rows):
            return np.zeros(len(rows), dtype=bool), self.indices, self.distances
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        known = self.rows[at] == rows
        return known, self.indices[at[known]], self.distances[at[known]]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What a report needs besides votes. It stays in memory and is left out of pickles."""

    #: The caller's rows: not a copy.
    rows: Any
    #: The fitted transformer in whose space distances were measured, if there was one.
    space: Any
    neighbours: Neighbours
    #: Rows as points, where the space can't make them again.
    points: Any = None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Become None in a pickle: a fitted model on disk should not carry its data."""
        return type(None), ()


def keep_neighbours(found: Neighbourhoods, confidence: Floats, room: int = ROOM) -> Neighbours:
    """Keep the neighbours of rows that other thresholds could remove.

    A row that all its neighbours agree with never goes, and there is nothing to explain.

    Parameters
    ----------
    found : Neighbourhoods
        What the search found.
    confidence : ndarray of shape (n_rows,)
        The vote for every row's own class.
    room : int
        Bytes to keep at most. Where that is too little, rows with less confidence come first.

    Returns
    -------
    Neighbours
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
    """Give the rows that a record is of, or say in one sentence why that can't be.

    Parameters
    ----------
    trace : Trace or None
        What the record holds.
    n_rows : int
        How many rows it is of.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_columns), default=None
        The rows, from the caller; None takes those that the record holds.

    Returns
    -------
    {array-like, dataframe, sparse matrix}
    """
    if X is None:
        if trace is None:
            raise ValueError(
                "this record holds no rows to show (copies and pickles of one hold none, and rows "
                "on a GPU stay there): pass X=, the rows that it was made of, in their order."
            )
        X = trace.rows
    rows = to_host(X) if is_on_device(X) else X
    try:
        count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    except TypeError:
        raise TypeError(
            f"X must be a table, such as a NumPy array or a dataframe, and is {rows!r:.60}."
        ) from None
    if count != n_rows:
        raise ValueError(
            f"X has {count} rows and the record is of {n_rows}: pass the rows that it was made of, "
            "in their order."
        )
    return rows
