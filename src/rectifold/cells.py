"""Read the cells of a table, column by column, as numbers, dates or text."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from rectifold._typing import Floats, Ints

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
ISO = "ISO 8601"
_DAYS = "%d-%b-%y %d-%b-%Y %d-%m-%Y %Y/%m/%d %d/%m/%Y %m/%d/%Y %d/%m/%y %m/%d/%y %d.%m.%Y %Y%m%d"
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# A column is read in one form throughout: 03/04 must not be April in one row and March in the next.
DATE_FORMS = (ISO, *(day + hour for day in _DAYS.split() for hour in _HOURS))


@dataclass(frozen=True, slots=True)
class Numbers:
    """The cells of a column of numbers, or of dates in seconds; NaN is missing."""

    kind: str
    values: Floats


@dataclass(frozen=True, slots=True)
class Texts:
    """The cells of a column of text: ``distinct[codes]``, where code -1 is missing."""

    codes: Ints
    distinct: list[str]
    categorical: bool = False


def factorise(values: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return codes and distinct values such that ``distinct[code]`` gives the values back."""
    index: defaultdict[Any, int] = defaultdict()
    index.default_factory = index.__len__
    codes = np.fromiter(map(index.__getitem__, values), np.intp, len(values))
    return codes, list(index)


def spread(codes: Ints, values: Floats) -> Floats:
    """Return one number per row from one number per distinct value; missing becomes NaN."""
    return np.append(values, np.nan)[codes]


def family_of(type_: type) -> str | None:
    """Return which family of values a Python type belongs to, or None where to none."""
    if issubclass(type_, bool | np.bool_):  # first, because a bool is an int to Python
        return "boolean"
    if issubclass(type_, Real | Decimal):
        return "number"
    if issubclass(type_, dt.date | dt.time | dt.timedelta):
        return "date"
    return "text" if issubclass(type_, str) else None


def is_missing(value: Any) -> bool:
    """Tell whether a cell is None, NaN, NaT, pandas' NA, or text that is blank or says "nan"."""
    if isinstance(value, str):
        return not value or value.isspace() or value.strip().lower() == "nan"
    # pandas' NA has no truth value; it is known by name, as pandas may not be installed.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def as_text(value: Any) -> str:
    """Return a cell as text, in which 3 and 3.0 are the same."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_seconds(value: Any) -> float:
    """Return a date, a time of day or a duration in seconds; a time without a zone is UTC."""
    if isinstance(value, dt.time):
        value = dt.datetime.combine(EPOCH, value)
    if isinstance(value, dt.datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - EPOCH
    elif isinstance(value, dt.date):
        value = value - EPOCH.date()
    return float(value.total_seconds())


def parse_numbers(texts: list[str]) -> Floats | None:
    """Return the numbers that the texts spell, or None where one of them is no number."""
    try:
        numbers = np.array([float(text) for text in texts], dtype=np.float64)
    except ValueError:
        return None
    # Python reads 12_34 as a number; in a table it is a code.
    return None if any("_" in text for text in texts) else numbers


def parse_dates(texts: list[str], form: str) -> Floats | None:
    """Return the dates that the texts spell in seconds, or None where one is not of the form."""
    iso, strptime = dt.datetime.fromisoformat, dt.datetime.strptime
    stripped = (text.strip() for text in texts)
    try:
        dates = [iso(text) if form == ISO else strptime(text, form) for text in stripped]
    except ValueError:
        return None
    return np.array([as_seconds(date) for date in dates], dtype=np.float64)


def find_dates(texts: list[str]) -> tuple[str | None, Floats | None]:
    """Return the first form in which every text is a date, and the dates in seconds."""
    sample = texts[:: len(texts) // 20 + 1]
    for form in DATE_FORMS:
        if parse_dates(sample, form) is not None:
            dates = parse_dates(texts, form)
            if dates is not None:
                return form, dates
    return None, None


def read_objects(values: Sequence[Any], name: Any, categorical: bool = False) -> Numbers | Texts:
    """Return the cells of a column given as Python objects, of one type or of several."""
    families = {type_: family_of(type_) for type_ in set(map(type, values))}
    for type_, family in families.items():
        if not (family or categorical or type_.__name__ in ("NoneType", "NAType")):
            raise ValueError(
                f"Column {name!r} holds objects of type {type_.__name__!r}, which are neither "
                "numbers, dates nor text: drop it, or turn it into columns of those kinds."
            )
    if {"boolean", "number"} <= set(families.values()):
        # True == 1 to Python, so that the two would share a code below.
        values = [None if is_missing(value) else as_text(value) for value in values]
    codes, found = factorise(values)
    absent = np.fromiter(map(is_missing, found), bool, len(found))
    present = [value for value, gone in zip(found, absent, strict=True) if not gone]
    codes = np.where(absent, -1, np.cumsum(~absent) - 1)[codes]
    kinds = {family_of(type(value)) for value in present}
    if kinds == {"date"}:
        return Numbers("date", spread(codes, np.array([as_seconds(value) for value in present])))
    if kinds == {"number"} and not categorical:
        return Numbers("number", spread(codes, np.array([float(value) for value in present])))
    if kinds != {"text"}:
        merged, present = factorise([as_text(value) for value in present])
        codes = np.append(merged, -1)[codes]
    return Texts(codes, present, categorical)


def read_cells(column: Any, name: Any) -> Numbers | Texts:
    """Return the cells of one column of an array or of a frame."""
    dtype = column.dtype
    if isinstance(column, np.ndarray):
        if dtype.kind in "iuf":
            return Numbers("number", column.astype(np.float64))
        if dtype.kind == "c":
            raise ValueError(f"Complex data not supported: column {name!r} holds such numbers.")
        # In any finer unit NumPy would give integers instead of dates.
        column = column.astype(f"{dtype.kind}8[us]") if dtype.kind in "mM" else column
        return read_objects(column.tolist(), name)
    if dtype.is_numeric():
        return Numbers("number", column.cast(nw.Float64()).to_numpy())
    if dtype in (nw.Datetime, nw.Date, nw.Duration):
        duration = dtype == nw.Duration
        ticks = column.dt.total_microseconds() if duration else column.dt.timestamp("us")
        return Numbers("date", ticks.cast(nw.Float64()).to_numpy() / 1e6)
    return read_objects(column.to_list(), name, dtype in (nw.Categorical, nw.Enum))


def open_table(X: Any) -> tuple[list[Any] | None, list[Any], int]:
    """Return the column names (None where X has none), the columns and the number of rows."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError as error:
        what = " ".join(str(error).split())
        raise ValueError(f"X has columns of the same name, to be renamed: {what}.") from None
    if isinstance(frame, nw.DataFrame):
        names, columns, shape = list(frame.columns), list(frame.iter_columns()), frame.shape
    elif hasattr(X, "__array__") or isinstance(X, list | tuple):
        # As objects, because NumPy would turn a list of mixed rows into text.
        array = np.asarray(X) if hasattr(X, "__array__") else np.array(X, dtype=object)
        if array.ndim != 2:
            raise ValueError(
                f"X must be 2-D, rows by columns of equal length, and has {array.ndim} "
                "dimension(s). Reshape your data with X.reshape(-1, 1) if it is one column."
            )
        names, columns, shape = None, list(array.T), array.shape
    else:
        raise TypeError(
            f"X is a {type(X).__name__}, and must be a DataFrame, a dense 2-D array or a list of "
            "rows: collect a lazy frame, and call toarray() on a sparse matrix."
        )
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(f"X has 0 {what} (shape={shape}) while a minimum of 1 is required.")
    return names, columns, shape[0]
