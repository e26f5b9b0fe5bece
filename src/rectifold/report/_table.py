"""The caller's rows as columns with names, whatever container they came in."""

from __future__ import annotations

import numbers
import re
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from rectifold._core.space import refuse_repeated
from rectifold._core.utils import Floats, Ints
from rectifold.preprocessing._cells import as_number, factorise, is_missing

#: Characters of a cell that a page shows.
LONGEST = 200
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of a column, in a form in which rows can be compared."""

    #: "number", "date" or "category".
    kind: str
    #: Numbers, or dates in seconds since 1970; NaN is missing.
    numbers: Floats = field(default_factory=lambda: np.empty(0))
    #: Categories: ``levels[codes]`` are their names, the missing one among them.
    codes: Ints = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    levels: list[str] = field(default_factory=list)


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
        The rows as floats, if they are sparse.
    """

    def __init__(self, X: Any) -> None:
        names = [*X.columns] if hasattr(X, "iloc") and hasattr(X, "columns") else []
        refuse_repeated(names)
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        self.sparse = sparse.csc_array(X, dtype=np.float64) if sparse.issparse(X) else None
        self._frame: Any = None
        self._array: npt.NDArray[Any] | None = None
        if isinstance(frame, nw.DataFrame):
            self._frame = frame
            self._schema = dict(frame.schema)
            self._own = list(self._schema)
            self.names = [str(name) for name in self._own]
            self.n_rows = len(frame)
            return
        shape = self.sparse.shape if self.sparse is not None else self._read_array(X)
        self.n_rows = int(shape[0])
        self.names = [f"column {place}" for place in range(shape[1])]

    def _read_array(self, X: Any) -> tuple[int, int]:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        # A tensor that is being differentiated gives no array.
        X = X.detach() if hasattr(X, "detach") else X
        try:
            array: npt.NDArray[Any] = X if isinstance(X, np.ndarray) else np.asarray(X)
        except ValueError:
            raise ValueError("X has rows of different lengths: it must be a table.") from None
        if array.ndim != 2:
            raise ValueError(
                f"X must be a table with rows and columns, and has {array.ndim} dimensions."
            )
        self._array = array
        return array.shape[0], array.shape[1]

    def read(self, column: int) -> Column:
        """Read a column, all rows of it.

        Parameters
        ----------
        column : int
            Its place.

        Returns
        -------
        Column
        """
        if self.sparse is not None:
            return Column("number", self.sparse[:, [column]].toarray().ravel())
        if self._frame is not None:
            series = self._series(column)
            dtype = self._schema[self._own[column]]
            if dtype == nw.Date or dtype == nw.Datetime:
                ticks = series.cast(nw.Datetime("us")) if dtype == nw.Date else series
                return Column("date", _floats(ticks.dt.timestamp("us")) / 1e6)
            if dtype == nw.Duration:
                return Column("number", _floats(series.dt.total_microseconds()) / 1e6)
            if dtype.is_numeric() and dtype != nw.Decimal:
                return Column("number", _floats(series))
            return _of_cells(series.to_list())
        assert self._array is not None
        values = self._array[:, column]
        if values.dtype.kind in "fiu":
            return Column("number", values.astype(np.float64))
        return _of_cells(values.tolist())

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
        if self._frame is not None:
            cells = self._series(column)[rows.tolist()].to_list()
        elif self.sparse is not None:
            cells = self.sparse[:, [column]].toarray().ravel()[rows].tolist()
        else:
            assert self._array is not None
            cells = self._array[rows, column].tolist()
        return [_plain(cell) for cell in cells]

    def _series(self, column: int) -> Any:
        assert self._frame is not None
        return self._frame.get_column(self._own[column])


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
    >>> from rectifold.report._table import shown
    >>> print(shown("a\\x00b"))
    a\\x00b
    """
    text = _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def shown_label(label: Any) -> str:
    """Write a label for a page; one without characters is named."""
    return shown(label) or "(empty)"


def _plain(cell: Any) -> Any:
    if _is_absent(cell):
        return None
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, numbers.Real):
        return shown(cell)
    if isinstance(cell, numbers.Integral):
        number = int(cell)
        # JavaScript has no whole numbers beyond these.
        return number if abs(number) < 2**53 else str(number)
    value = as_number(cell)
    if not np.isfinite(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _floats(series: Any) -> Floats:
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _of_cells(cells: list[Any]) -> Column:
    if all(
        _is_absent(cell) or (isinstance(cell, numbers.Real) and not isinstance(cell, bool))
        for cell in cells
    ):
        found = (np.nan if _is_absent(cell) else as_number(cell) for cell in cells)
        return Column("number", np.fromiter(found, np.float64, len(cells)))
    try:
        codes, distinct = factorise(cells)
    except TypeError:  # lists, and what else has no hash
        codes, distinct = factorise([str(cell) for cell in cells])
    words = ["(missing)" if _is_absent(cell) else shown(cell) for cell in distinct]
    # Different values can look the same, and those that are missing are one.
    again, levels = factorise(words)
    return Column("category", codes=again[codes], levels=levels)


def _is_absent(cell: Any) -> bool:
    # Blank text is a cell like any other.
    try:
        return not isinstance(cell, str) and is_missing(cell)
    except (ArithmeticError, TypeError, ValueError):
        return False
