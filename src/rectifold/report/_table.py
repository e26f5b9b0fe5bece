"""Read the columns of a table, from any container, for comparison and display."""

import numbers
import re
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import refuse_repeated
from rectifold._core.utils import Floats, Ints
from rectifold.preprocessing._cells import as_number, factorise, is_missing

#: Maximum number of characters of a cell on the page.
_MAX_LENGTH = 200
#: The category of missing values.
MISSING = "(missing)"
#: Control characters, and those that change the direction of text.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of a column."""

    #: "number", "date" or "category".
    kind: str
    #: Numbers, or dates in seconds since 1970; NaN is missing.
    numbers: Floats = field(default_factory=lambda: np.empty(0))
    #: Categories are ``levels[codes]``; missing values are a category too.
    codes: Ints = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    levels: list[str] = field(default_factory=list)


class Columns:
    """The columns of a table: an array, a dataframe or a sparse matrix."""

    def __init__(self, X: Any) -> None:
        names = [*X.columns] if hasattr(X, "iloc") and hasattr(X, "columns") else []
        refuse_repeated(names)
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        #: The table, if it is sparse.
        self.sparse = sparse.csc_array(X, dtype=np.float64) if sparse.issparse(X) else None
        #: Whether the columns have names of their own.
        self.has_names = isinstance(frame, nw.DataFrame)
        self._frame: Any = None
        self._array: npt.NDArray[Any] | None = None
        if isinstance(frame, nw.DataFrame):
            self._frame = frame
            self._schema = dict(frame.schema)
            self._own = list(self._schema)
            self.names = [str(name) for name in self._own]
            return
        shape = self.sparse.shape if self.sparse is not None else self._read_array(X)
        self.names = [f"column {place}" for place in range(shape[1])]

    def _read_array(self, X: Any) -> tuple[int, int]:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        # A tensor that requires gradients can't be converted to an array.
        X = X.detach() if hasattr(X, "detach") else X
        try:
            array: npt.NDArray[Any] = X if isinstance(X, np.ndarray) else np.asarray(X)
        except ValueError:
            raise ParameterError(
                "{} has rows of different lengths: it must be a table.", Param("X")
            ) from None
        if array.ndim != 2:
            raise ParameterError(
                "{} must be a table with rows and columns, and has {} dimensions.",
                Param("X"),
                str(array.ndim),
            )
        self._array = array
        return array.shape[0], array.shape[1]

    def read(self, column: int) -> Column:
        """Return all values of a column, by its position."""
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
        """Return the cells of a column at some rows as numbers, short texts and None, for JSON."""
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


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame, or None for other tables."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return [str(name) for name in frame.columns] if isinstance(frame, nw.DataFrame) else None


def shown(value: Any) -> str:
    """Return a name or a cell as short text, with invisible characters escaped.

    Examples
    --------
    >>> from rectifold.report._table import shown
    >>> print(shown("a\\x00b"))
    a\\x00b
    """
    text = _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


def shown_label(label: Any) -> str:
    """Return a label as short text that is never empty."""
    return shown(label) or "(empty)"


def _plain(cell: Any) -> Any:
    if _is_missing(cell):
        return None
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, numbers.Real):
        return shown(cell)
    if isinstance(cell, numbers.Integral):
        number = int(cell)
        # Larger integers are not exact in JavaScript.
        return number if abs(number) < 2**53 else str(number)
    value = as_number(cell)
    if not np.isfinite(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _floats(series: Any) -> Floats:
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _of_cells(cells: list[Any]) -> Column:
    if all(
        _is_missing(cell) or (isinstance(cell, numbers.Real) and not isinstance(cell, bool))
        for cell in cells
    ):
        found = (np.nan if _is_missing(cell) else as_number(cell) for cell in cells)
        return Column("number", np.fromiter(found, np.float64, len(cells)))
    try:
        codes, distinct = factorise(cells)
    except TypeError:  # lists and other values without a hash
        codes, distinct = factorise([str(cell) for cell in cells])
    words = [MISSING if _is_missing(cell) else shown(cell) for cell in distinct]
    # Different values can have the same text, and all missing values are one category.
    again, levels = factorise(words)
    return Column("category", codes=again[codes], levels=levels)


def _is_missing(cell: Any) -> bool:
    # Blank text is not missing.
    try:
        return not isinstance(cell, str) and is_missing(cell)
    except (ArithmeticError, TypeError, ValueError):
        return False
