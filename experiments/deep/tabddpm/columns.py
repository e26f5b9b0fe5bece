"""Columns of a table, and the container that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from rectifold._core.utils import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column with its name and dtype."""

    #: The name, or the position in an array.
    name: Any
    dtype: Any
    #: The categories in order; of numbers, the value of a constant column.
    values: list[Any]
    #: Name of the column in errors.
    what: str

    def read(self, values: Any) -> Any:
        """Return the cells of a column as numbers or codes."""
        raise NotImplementedError

    def written(self, found: Any) -> Any:
        """Return numbers or codes as the cells of a column."""
        raise NotImplementedError

    @property
    def varies(self) -> bool:
        """Whether the column has more than one value."""
        return len(self.values) != 1


@dataclass(frozen=True, slots=True, eq=False)
class Number(Column):
    """A column of numbers; integers are decoded as integers."""

    whole: bool = False
    kind: ClassVar[str] = "number"

    @classmethod
    def learned(cls, name: Any, values: Any) -> Number:
        """Learn a column of numbers."""
        what = f"column {name!r}"
        numbers = _numbers(values, what)
        only = [_plain(np.asarray(values)[0])] if numbers.min() == numbers.max() else []
        whole = bool((numbers == np.rint(numbers)).all())
        return cls(name, values.dtype, only, what, whole)

    def read(self, values: Any) -> Floats:
        """Return the numbers as float64, all finite."""
        return _numbers(values, self.what)

    def written(self, found: Any) -> Any:
        """Return numbers in the dtype of the column."""
        if not self.varies:
            return _cast(np.full(len(found), self.values[0], dtype=object), self.dtype)
        numbers = np.rint(found) if self.whole else np.asarray(found)
        # For the dtype object, the numbers decide.
        if self.whole and self.dtype == object:
            numbers = numbers.astype(np.int64)
        return _cast(numbers, self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Category(Column):
    """A column of categories of any type."""

    kind: ClassVar[str] = "category"

    @classmethod
    def learned(cls, name: Any, values: Any, what: str | None = None) -> Category:
        """Learn a column of categories."""
        what = what or f"column {name!r}"
        _refuse_missing(values, what)
        found = [_plain(value) for value in pd.unique(values)]
        try:
            found.sort()
        except TypeError:
            found.sort(key=lambda value: (type(value).__name__, str(value)))
        return cls(name, values.dtype, found, what)

    def read(self, values: Any) -> Ints:
        """Return the codes of categories, all of them known."""
        _refuse_missing(values, self.what)
        # Each value is looked up once.
        places, found = pd.factorize(values)
        cells = [_plain(value) for value in found]
        codes = pd.Index(self.values, dtype=object).get_indexer(pd.Index(cells, dtype=object))
        if (codes < 0).any():
            value = cells[int(np.argmax(codes < 0))]
            known = ", ".join(repr(one) for one in self.values[:5])
            more = ", ..." if len(self.values) > 5 else ""
            raise ValueError(f"{self.what} has {value!r}, unknown in fit: {known}{more}.")
        read: Ints = codes[places]
        return read

    def written(self, found: Any) -> Any:
        """Return the categories of codes, in the dtype of the column."""
        cells = np.empty(len(self.values), dtype=object)
        cells[:] = self.values
        return _cast(cells, self.dtype)[found]


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """The names and the container of a table: a DataFrame or an array."""

    #: Names of columns, or positions.
    names: list[Any]
    #: Dtype of an array; None for a DataFrame.
    dtype: Any

    def positions(self, categorical: Sequence[Any] | None) -> set[int]:
        """Return the positions of columns given by position or name, or by a mask."""
        given = [] if categorical is None else categorical
        # A name may be a tuple, which NumPy would split.
        chosen = [given] if isinstance(given, str | int) else list(given)
        if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
            if len(chosen) != len(self.names):
                raise ValueError(
                    f"categorical is a mask of {len(chosen)} columns, and X has {len(self.names)}."
                )
            return set(np.flatnonzero(chosen).tolist())
        found = set()
        for one in chosen:
            at = _plain(one)
            if at in self.names:
                found.add(self.names.index(at))
            elif isinstance(at, int) and -len(self.names) <= at < len(self.names):
                found.add(at % len(self.names))
            else:
                raise ValueError(f"categorical names {at!r}, which is not a column of X.")
        return found

    def check(self, other: Container) -> None:
        """Raise an error if the columns of another table differ."""
        mine, theirs = self.names, other.names
        if len(mine) != len(theirs):
            raise ValueError(f"X has {len(theirs)} columns, and fit had {len(mine)}.")
        if self.dtype is not None or other.dtype is not None:
            return  # Arrays have no column names.
        for one, another in zip(mine, theirs, strict=True):
            if one != another:
                raise ValueError(
                    f"X has column {another!r} where fit had {one!r}: give the same columns in the "
                    "same order."
                )

    def made(self, columns: list[Any]) -> Any:
        """Join columns to a table."""
        if self.dtype is None:
            index = pd.RangeIndex(len(columns[0]))
            parts = [pd.Series(column, index=index) for column in columns]
            frame = pd.concat(parts, axis=1)
            frame.columns = pd.Index(self.names)
            return frame
        table = np.empty((len(columns[0]), len(columns)), dtype=self.dtype)
        for at, column in enumerate(columns):
            table[:, at] = column
        return table


def open_table(X: Any) -> tuple[Container, list[Any]]:
    """Return the container of a table and the list of its columns."""
    if isinstance(X, pd.DataFrame):
        container = Container([_plain(name) for name in X.columns], None)
        columns = [X.iloc[:, at] for at in range(X.shape[1])]
        if len(set(container.names)) < len(container.names):
            raise ValueError("X has two columns of the same name.")
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must be a table: it has {X.ndim} dimensions, not 2.")
        container = Container(list(range(X.shape[1])), X.dtype)
        columns = list(X.T)
    if 0 in X.shape:
        raise ValueError(f"X is empty: it has {X.shape[0]} rows and {X.shape[1]} columns.")
    return container, columns


def _numbers(values: Any, what: str) -> Floats:
    _refuse_missing(values, what)
    try:
        if values.dtype == object:
            refused = any(isinstance(value, str) for value in values)
        else:
            refused = values.dtype.kind not in "biuf"
        if refused:
            raise TypeError
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{what} does not hold numbers: name it in categorical, or convert it."
        ) from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} has an infinite value: replace it, or drop these rows.")
    return numbers


def _refuse_missing(values: Any, what: str) -> None:
    if pd.isna(values).any():
        raise ValueError(f"{what} has a missing value: fill it, or drop these rows.")


def _plain(value: Any) -> Any:
    """Return NumPy scalars as Python objects."""
    return value.item() if isinstance(value, np.generic) else value


def _cast(cells: Any, dtype: Any) -> Any:
    """Return cells in a dtype of NumPy or pandas."""
    if isinstance(dtype, np.dtype):
        return cells.astype(dtype)
    return pd.Series(cells).astype(dtype).array
