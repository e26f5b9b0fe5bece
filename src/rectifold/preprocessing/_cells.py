"""Reading of the cells of a table, column by column, as numbers, dates or text."""

import datetime as dt
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Floats, Ints

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
ISO = "ISO 8601"
_DAYS = "%d-%b-%y %d-%b-%Y %d-%m-%Y %Y/%m/%d %d/%m/%Y %m/%d/%Y %d/%m/%y %m/%d/%y %d.%m.%Y %Y%m%d"
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# All cells of a column are read in one form, so that 03/04 is the same day in all rows.
DATE_FORMS = (ISO, *(day + hour for day in _DAYS.split() for hour in _HOURS))
# Meanings of a comma in a number: the pattern of such numbers, and the replacement for float(). A
# number with separated thousands does not begin with a zero, so 0,125 has a decimal comma.
COMMAS = {
    "decimal": (re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?"), "."),
    "thousands": (re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?"), ""),
}
# At most one in this many cells of a column of numbers may be other text, not counting
# `NO_NUMBER`: the usual words for missing values.
ONE_OTHER_IN = 10
NO_NUMBER = {"na", "n/a", "n.a.", "#n/a", "#na", "<na>", "null", "none", "missing", "unknown"}
NO_NUMBER |= {"?", "-", "--", "."}


@dataclass(frozen=True, slots=True)
class Numbers:
    """The cells of a column of numbers, or of dates in seconds; missing values are NaN."""

    kind: str
    values: Floats
    #: The most frequent text that is not a number and so was read as missing, if any.
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """The cells of a column of text: ``distinct[codes]``, where -1 is the code of missing cells."""

    codes: Ints
    distinct: list[str]
    categorical: bool = False


def factorise(values: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return codes and distinct values such that the values are ``distinct[code]``."""
    index: defaultdict[Any, int] = defaultdict()
    index.default_factory = index.__len__
    codes = np.fromiter(map(index.__getitem__, values), np.intp, len(values))
    return codes, list(index)


def is_constant(cells: Numbers | Texts) -> bool:
    """Return whether all cells are missing, or all have the same value."""
    values = cells.codes if isinstance(cells, Texts) else cells.values
    missing = values < 0 if isinstance(cells, Texts) else np.isnan(values)
    return bool(missing.all() or (not missing.any() and (values == values[0]).all()))


def spread(codes: Ints, values: Floats) -> Floats:
    """Return a number per cell, given one per distinct value; NaN for missing cells."""
    return np.append(values, np.nan)[codes]


def family_of(type_: type) -> str | None:
    """Return the family of a Python type: "boolean", "date", "number", "text" or None."""
    if issubclass(type_, bool | np.bool_):  # first, because bool is a subclass of int
        return "boolean"
    # Before numbers, because np.timedelta64 is an integer type.
    if issubclass(type_, dt.date | dt.time | dt.timedelta | np.datetime64 | np.timedelta64):
        return "date"
    if issubclass(type_, Real | Decimal):
        return "number"
    return "text" if issubclass(type_, str) else None


def is_missing(value: Any) -> bool:
    """Return whether a cell is None, NaN, NaT, pandas' NA, or text that is blank or "nan"."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan", "+nan", "-nan")
    # pandas' NA has no truth value, and pandas may not be installed.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def as_text(value: Any) -> str:
    """Return a cell as text, the same for 3 and 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_number(value: Any) -> float:
    """Return a number as a float, infinite if it is out of range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_seconds(value: Any) -> float:
    """Return a date, a time of day or a duration in seconds; times without a zone are UTC."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        ticks = value.astype(f"{value.dtype.kind}8[us]").astype(np.int64)
        return float(int(ticks) / 10**6)
    if isinstance(value, dt.time):
        value = dt.datetime.combine(EPOCH, value)
    if isinstance(value, dt.datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - EPOCH
    elif isinstance(value, dt.date):
        value = value - EPOCH.date()
    return float(value.total_seconds())


def parse_number(text: str, comma: str | None = None) -> float:
    """Return text as a number, with commas of the given meaning; NaN if it is not a number."""
    if comma and "," in text:
        pattern, meant = COMMAS[comma]
        text = text.strip()
        text = text.replace(",", meant) if pattern.fullmatch(text) else text
    try:
        # Python reads 12_34 as a number, but in a table it is a code.
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def find_comma(texts: list[str], counts: Ints) -> str | None:
    """Return the meaning of commas in the numbers of a column, or None if there are none.

    ``1,234`` is ambiguous. Its comma is decimal if the column has numbers like ``1,5``, at least as
    many as numbers like ``1,234.50``.
    """
    cells_of = {"decimal": 0, "thousands": 0, "either": 0}
    for text, count in zip(texts, counts.tolist(), strict=True):
        if "," in text:
            fits = [name for name, (form, _) in COMMAS.items() if form.fullmatch(text.strip())]
            if fits:
                cells_of[fits[0] if len(fits) == 1 else "either"] += count
    if not any(cells_of.values()):
        return None
    decimal = cells_of["decimal"]
    return "decimal" if decimal and decimal >= cells_of["thousands"] else "thousands"


def find_numbers(cells: Texts) -> tuple[str | None, Floats | None]:
    """Return the meaning of commas, and the number of each distinct text; NaN for other text.

    Return None if more than a tenth of the cells are other text, not counting `NO_NUMBER`, or if
    there is other text and only one distinct number.
    """
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.distinct))
    comma, others_left = find_comma(cells.distinct, counts), int(counts.sum()) // ONE_OTHER_IN
    numbers = []
    for text, count in zip(cells.distinct, counts.tolist(), strict=True):
        numbers.append(parse_number(text, comma))
        if math.isnan(numbers[-1]) and text.strip().lower() not in NO_NUMBER:
            others_left -= count
            if others_left < 0:  # stop early, because free text has many distinct values
                return None, None
    known = {number for number in numbers if not math.isnan(number)}
    found = np.array(numbers, dtype=np.float64)
    return (None, None) if len(known) < 2 and np.isnan(found).any() else (comma, found)


def parse_dates(texts: list[str], form: str) -> Floats | None:
    """Return texts as dates in seconds, or None if a text does not have the form."""
    iso, strptime = dt.datetime.fromisoformat, dt.datetime.strptime
    stripped = (text.strip() for text in texts)
    try:
        dates = [iso(text) if form == ISO else strptime(text, form) for text in stripped]
    except ValueError:
        return None
    return np.array([as_seconds(date) for date in dates], dtype=np.float64)


def find_dates(texts: list[str]) -> tuple[str | None, Floats | None]:
    """Return the first form that all texts have, and the dates in seconds."""
    sample = texts[:: len(texts) // 20 + 1]
    for form in DATE_FORMS:
        if parse_dates(sample, form) is not None:
            dates = parse_dates(texts, form)
            if dates is not None:
                return form, dates
    return None, None


def to_numbers(kind: str, cells: Texts, values: Floats) -> Numbers:
    """Return the cells of a column of text, given the number of each distinct text."""
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.distinct))
    others = [(-counts[i], cells.distinct[i]) for i in np.flatnonzero(np.isnan(values))]
    return Numbers(kind, spread(cells.codes, values), min(others)[1] if others else None)


@dataclass(frozen=True, slots=True)
class Reading:
    """How the cells of a column are read, determined in fit and applied to new tables."""

    #: "number", "date" or "category".
    kind: str
    #: The form of dates in text, or the meaning of commas in numbers; None if there were none.
    form: str | None = None
    #: Whether a column of numbers had other text in fit.
    lenient: bool = False

    def read(self, cells: Numbers | Texts) -> Numbers | Texts | None:
        """Return the cells of a new table read in this way, or None if that is not possible."""
        if isinstance(cells, Numbers):
            kinds = (self.kind, "number") if self.kind == "category" else (self.kind,)
            if cells.kind not in kinds and not np.isnan(cells.values).all():
                return None
            if self.kind == "category":
                return read_objects(cells.values.tolist(), self.kind, categorical=True)
            return Numbers(self.kind, cells.values)
        if self.kind == "category":
            return cells
        texts = cells.distinct
        values: Floats | None
        if self.kind == "date":
            values = parse_dates(texts, self.form) if self.form else find_dates(texts)[1]
        else:
            values = np.array([parse_number(text, self.form) for text in texts], dtype=np.float64)
            if texts and np.isnan(values).all() and not self.lenient:
                return None
        return None if values is None else to_numbers(self.kind, cells, values)


def find_reading(cells: Numbers | Texts) -> tuple[Reading, Numbers | Texts]:
    """Determine how a column is read; return that and its cells."""
    if isinstance(cells, Numbers):
        return Reading(cells.kind), cells
    form = dates = None
    comma, numbers = find_numbers(cells)
    if numbers is None or np.isnan(numbers).any():
        form, dates = find_dates(cells.distinct)
    if dates is not None:
        return Reading("date", form), to_numbers("date", cells, dates)
    if numbers is not None and not cells.categorical:
        read = to_numbers("number", cells, numbers)
        return Reading("number", comma, read.other is not None), read
    return Reading("category"), cells


def read_objects(values: Sequence[Any], name: Any, categorical: bool = False) -> Numbers | Texts:
    """Return the cells of a column of Python objects, of one or several types."""
    families = {type_: family_of(type_) for type_ in set(map(type, values))}
    for type_, family in families.items():
        if not (family or categorical or type_.__name__ in ("NoneType", "NAType")):
            raise ValueError(
                f"Column {name!r} holds objects of type {type_.__name__!r}, which are neither "
                "numbers, dates nor text: drop it, or convert it to columns of these kinds."
            )
    if any(issubclass(type_, Decimal) for type_ in families):
        # Comparing a signalling NaN raises an error.
        values = [None if isinstance(v, Decimal) and v.is_snan() else v for v in values]
    if {"boolean", "number"} <= set(families.values()):
        # True == 1 in Python, so the two would share a code below.
        values = [None if is_missing(value) else as_text(value) for value in values]
    codes, found = factorise(values)
    missing = np.fromiter(map(is_missing, found), bool, len(found))
    present = [value for value, skip in zip(found, missing, strict=True) if not skip]
    codes = np.where(missing, -1, np.cumsum(~missing) - 1)[codes]
    kinds = {family_of(type(value)) for value in present}
    if kinds == {"date"}:
        return Numbers("date", spread(codes, np.array([as_seconds(value) for value in present])))
    if kinds == {"number"} and not categorical:
        return Numbers("number", spread(codes, np.array([as_number(value) for value in present])))
    if kinds != {"text"}:
        merged, present = factorise([as_text(value) for value in present])
        codes = np.append(merged, -1)[codes]
    return Texts(codes, present, categorical)


def read_cells(column: Any, name: Any) -> Numbers | Texts:
    """Return the cells of one column of an array or a frame."""
    dtype = column.dtype
    if isinstance(column, np.ndarray):
        if dtype.kind in "iuf":
            return Numbers("number", column.astype(np.float64))
        if dtype.kind == "c":
            raise ValueError(f"Complex data not supported: column {name!r} holds complex numbers.")
        # In a finer unit, tolist() would return integers instead of dates.
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
    """Return the column names (None for an array), the columns and the number of samples."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError as error:
        raise ParameterError(
            "{} has several columns of the same name, rename them: {}.",
            Param("X"),
            " ".join(str(error).split()),
        ) from None
    if isinstance(frame, nw.DataFrame):
        names, columns, shape = list(frame.columns), list(frame.iter_columns()), frame.shape
    elif hasattr(X, "__array__") or isinstance(X, list | tuple):
        # As objects, because NumPy would convert a list of mixed rows to text.
        array = np.asarray(X) if hasattr(X, "__array__") else np.array(X, dtype=object)
        if array.ndim != 2:
            raise ParameterError(
                "{} must be 2-D, with rows of equal length, and has {} dimension(s). Reshape your "
                "data with X.reshape(-1, 1) if it is one column.",
                Param("X"),
                str(array.ndim),
            )
        names, columns, shape = None, list(array.T), array.shape
    else:
        raise TypeError(
            f"X is a {type(X).__name__}, and must be a DataFrame, a dense 2-D array or a list of "
            "rows: call collect() on a lazy frame, and toarray() on a sparse matrix."
        )
    for size, unit in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(f"X has 0 {unit} (shape={shape}) while a minimum of 1 is required.")
    return names, columns, shape[0]
