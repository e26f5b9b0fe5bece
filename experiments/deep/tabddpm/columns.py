"""One column of a table, and what the columns came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from rectifold._core.utils import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column with its name and dtype.

    Attributes
    ----------
    name : object
        The name, or the position in an array.
    dtype : object
        As the container had it.
    values : list
        Categories in order; of numbers, the only one if there is but one.
    what : str
        How errors call it.
    """

    name: Any
    dtype: Any
    values: list[Any]
    what: str

    def read(self, values: Any) -> Any:
        """Give a column's cells as numbers or codes."""
        raise NotImplementedError

    def written(self, found: Any) -> Any:
        """Give numbers or codes as a column's cells."""
        raise NotImplementedError

    @property
    def varies(self) -> bool:
        """Whether there is more than one value."""
        return len(self.values) != 1


@dataclass(frozen=True, slots=True, eq=False)
class Number(Column):
    """Numbers; whole ones come back whole."""

    whole: bool = False
    kind: ClassVar[str] = "number"

    @classmethod
    def learned(cls, name: Any, values: Any) -> Number:
        """Look at a column of numbers."""
        what = f"column {name!r}"
        numbers = _numbers(values, what)
        only = [_plain(np.asarray(values)[0])] if numbers.min() == numbers.max() else []
        whole = bool((numbers == np.rint(numbers)).all())
        return cls(name, values.dtype, only, what, whole)

    def read(self, values: Any) -> Floats:
        """Give numbers as float64, all finite."""
        return _numbers(values, self.what)

    def written(self, found: Any) -> Any:
        """Give numbers in the dtype of the column."""
        if not self.varies:
            return _cast(np.full(len(found), self.values[0], dtype=object), self.dtype)
        numbers = np.rint(found) if self.whole else np.asarray(found)
        # Where the dtype tells nothing, the numbers do.
        if self.whole and self.dtype == object:
            numbers = numbers.astype(np.int64)
        return _cast(numbers, self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Category(Column):
    """Categories, of any type."""

    kind: ClassVar[str] = "category"

    @classmethod
    def learned(cls, name: Any, values: Any, what: str | None = None) -> Category:
        """Look at a column of categories."""
        what = what or f"column {name!r}"
        _refuse_missing(values, what)
        found = [_plain(value) for value in pd.unique(values)]
        try:
            found.sort()
        except TypeError:
            found.sort(key=lambda value: (type(value).__name__, str(value)))
        return cls(name, values.dtype, found, what)

    def read(self, values: Any) -> Ints:
        """Give codes of categories, all of them known."""
        _refuse_missing(values, self.what)
        # Each value is looked up once, however many rows have it.
        places, found = pd.factorize(values)
        cells = [_plain(value) for value in found]
        codes = pd.Index(self.values, dtype=object).get_indexer(pd.Index(cells, dtype=object))
        if (codes < 0).any():
            value = cells[int(np.argmax(codes < 0))]
            known = ", ".join(repr(one) for one in self.values[:5])
            more = ", ..." if len(self.values) > 5 else ""
            raise ValueError(f"{self.what} has {value!r}, which fit did not see: {known}{more}.")
        read: Ints = codes[places]
        return read

    def written(self, found: Any) -> Any:
        """Give categories of codes, in the dtype of the column."""
        cells = np.empty(len(self.values), dtype=object)
        cells[:] = self.values
        return _cast(cells, self.dtype)[found]


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A DataFrame or an array: what comes in, and goes out again.

    Attributes
    ----------
    names : list
        Names of columns, or positions.
    dtype : numpy.dtype or None
        Of an array; None for a DataFrame.
    """

    names: list[Any]
    dtype: Any

    def positions(self, categorical: Sequence[Any] | None) -> set[int]:
        """Give the positions of columns by position or name, or by a mask of all columns."""
        given = [] if categorical is None else categorical
        # A name may be a tuple, which NumPy would take apart.
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
                raise ValueError(f"categorical names {at!r}, which is no column of X.")
        return found

    def check(self, other: Container) -> None:
        """Say in what the columns of another table differ, if they do."""
        mine, theirs = self.names, other.names
        if len(mine) != len(theirs):
            raise ValueError(f"X has {len(theirs)} columns, and fit had {len(mine)}.")
        if self.dtype is not None or other.dtype is not None:
            return  # an array has no names
        for one, another in zip(mine, theirs, strict=True):
            if one != another:
                raise ValueError(
                    f"X has column {another!r} where fit had {one!r}: give the same columns in the "
                    "same order."
                )

    def made(self, columns: list[Any]) -> Any:
        """Put columns together."""
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
    """Give what a table came in, and its columns.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_rows, n_columns)
        A table with at least one row and one column.

    Returns
    -------
    container : Container
    columns : list of Series or ndarray
    """
    if isinstance(X, pd.DataFrame):
        container = Container([_plain(name) for name in X.columns], None)
        columns = [X.iloc[:, at] for at in range(X.shape[1])]
        if len(set(container.names)) < len(container.names):
            raise ValueError("X has two columns of one name.")
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
        raise ValueError(f"{what} has an infinite value: replace it, or leave such rows out.")
    return numbers


def _refuse_missing(values: Any, what: str) -> None:
    if pd.isna(values).any():
        raise ValueError(f"{what} has a missing value: fill it, or leave such rows out.")


def _plain(value: Any) -> Any:
    """Give a value as Python has it, where NumPy has a type of its own for it."""
    return value.item() if isinstance(value, np.generic) else value


def _cast(cells: Any, dtype: Any) -> Any:
    """Give cells in a dtype of NumPy or of pandas."""
    if isinstance(dtype, np.dtype):
        return cells.astype(dtype)
    return pd.Series(cells).astype(dtype).array
