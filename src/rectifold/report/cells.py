"""The caller's rows as columns with names, whatever container they came in."""

from __future__ import annotations

import numbers
import re
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from rectifold._typing import Floats, Ints

#: Characters of a cell that a page shows.
LONGEST = 200
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Columns:
    """Columns of a table: names, kinds and values.

    Parameters
    ----------
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_columns)
        The caller's rows.

    Attributes
    ----------
    names : list of str
        Their names; those of an array are "column 0" and so on.
    n_rows : int
    sparse : csc_array or None
        The rows, if they are sparse.
    """

    def __init__(self, X: Any) -> None:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        self.sparse = sparse.csc_array(X) if sparse.issparse(X) else None
        self._frame = self._array = None
        if isinstance(frame, nw.DataFrame):
            self._frame = frame
            self.names = [str(name) for name in frame.columns]
            self.n_rows = len(frame)
            return
        if self.sparse is None:
            self._array = X if isinstance(X, np.ndarray) else np.asarray(X)
            if self._array.ndim != 2:
                raise ValueError(
                    f"X must be a table with rows and columns, and has {self._array.ndim} "
                    "dimensions."
                )
        shape = X.shape if self.sparse is not None else self._array.shape  # type: ignore[union-attr]
        self.n_rows = int(shape[0])
        self.names = [f"column {place}" for place in range(shape[1])]

    def values(self, column: int, rows: Ints | None = None) -> npt.NDArray[Any]:
        """Read a column.

        Parameters
        ----------
        column : int
            Its place.
        rows : ndarray of int, default=None
            Which rows; None reads all.

        Returns
        -------
        ndarray
            Floats with NaN for what is missing, or objects with None.
        """
        if self._frame is not None:
            series = self._frame.get_column(self._frame.columns[column])
            return _of_series(series if rows is None else series[rows.tolist()])
        if self.sparse is not None:
            own: npt.NDArray[Any] = self.sparse[:, [column]].toarray().ravel()
            return _of_array(own if rows is None else own[rows])
        assert self._array is not None
        own = self._array[:, column]
        return _of_array(own if rows is None else own[rows])

    def is_date(self, column: int) -> bool:
        """Tell whether a column of a frame holds dates, with or without times."""
        if self._frame is None:
            return False
        dtype = self._frame.schema[self._frame.columns[column]]
        return bool(dtype == nw.Date or dtype == nw.Datetime)

    def seconds(self, column: int) -> Floats:
        """Read a column of dates as seconds since 1970, NaN for what is missing."""
        assert self._frame is not None
        series = self._frame.get_column(self._frame.columns[column]).cast(nw.Datetime("us"))
        values = series.to_numpy().astype("datetime64[us]")
        return np.where(np.isnat(values), np.nan, values.astype(np.int64) / 1e6)

    def plain(self, column: int, rows: Ints) -> list[Any]:
        """Read cells as numbers, short texts and None: what JSON and a page can hold.

        Parameters
        ----------
        column : int
            Its place.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        list
        """
        whole_numbers = self._integers(column, rows)
        if whole_numbers is not None:
            # JavaScript has no whole numbers beyond these.
            return [
                value if value is None or abs(value) < 2**53 else str(value)
                for value in whole_numbers
            ]
        values = self.values(column, rows)
        if values.dtype.kind != "f":
            return [None if value is None else shown(value) for value in values]
        whole = np.isfinite(values) & (values == np.trunc(values)) & (np.abs(values) < 2**53)
        return [
            int(value) if is_whole else (value if np.isfinite(value) else _odd(value))
            for value, is_whole in zip(values.tolist(), whole.tolist(), strict=True)
        ]

    def _integers(self, column: int, rows: Ints) -> list[int | None] | None:
        """Read cells of a column that holds whole numbers and nothing else."""
        if self._frame is not None:
            series = self._frame.get_column(self._frame.columns[column])
            if not series.dtype.is_integer():
                return None
            cells = series[rows.tolist()].to_list()
            return [None if _is_missing(cell) else int(cell) for cell in cells]
        if self._array is None or self._array.dtype.kind not in "iu":
            return None
        return [int(value) for value in self._array[rows, column]]


def _odd(value: float) -> str | None:
    return None if np.isnan(value) else str(value)


def shown(value: Any) -> str:
    """Write a name or a cell for a page: short, and with nothing in it that is not seen.

    Parameters
    ----------
    value : object
        What to write.

    Returns
    -------
    str
        Control characters, and those that turn the direction of writing, are written as codes.

    Examples
    --------
    >>> from rectifold.report.cells import shown
    >>> print(shown("a\\x00b"))
    a\\x00b
    """
    text = _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def shown_label(label: Any) -> str:
    """Write a label for a page; one without characters is named."""
    return shown(label) or "(empty)"


def _of_series(series: Any) -> npt.NDArray[Any]:
    dtype = series.dtype
    if dtype.is_numeric() and dtype != nw.Decimal:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return _of_array(np.array([*series.to_list(), None], dtype="O")[:-1])


def _of_array(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    cells = [None if _is_missing(cell) else cell for cell in values.tolist()]
    if values.dtype.kind == "O" and all(
        cell is None or (isinstance(cell, numbers.Real) and not isinstance(cell, bool))
        for cell in cells
    ):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    return np.array([*cells, None], dtype="O")[:-1]


def _is_missing(cell: Any) -> bool:
    # NaN, NaT and pandas.NA are the values that do not equal themselves, or can't tell.
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):
        return type(cell).__name__ == "NAType"
