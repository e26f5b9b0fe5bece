"""A table becomes normal numbers and codes of categories, and such become a table again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import QuantileTransformer

from experiments.deep.tabddpm.columns import Category, Column, Container, Number, open_table
from rectifold._core.utils import Floats, Ints

#: As in TabDDPM: one quantile for so many rows, within bounds, found on all rows.
_ROWS_PER_QUANTILE, _FEWEST, _MOST = 30, 10, 1000


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Rows as the network has them; columns with a single value are left out."""

    numbers: Floats
    codes: Ints

    def __len__(self) -> int:
        return len(self.numbers)


class Encoding:
    """What makes numbers normal and categories codes, learned from a table.

    Parameters
    ----------
    container : Container
        What the table came in.
    columns : list of Column
        Its columns.
    quantiles : ndarray of shape (n_quantiles, n_numbers)
        Of the columns of numbers that vary.
    """

    def __init__(self, container: Container, columns: list[Column], quantiles: Floats) -> None:
        self.container, self.columns, self.quantiles = container, columns, quantiles
        varying = [(at, column) for at, column in enumerate(columns) if column.varies]
        self.numbers = [at for at, column in varying if isinstance(column, Number)]
        self.categorical = [at for at, column in varying if isinstance(column, Category)]
        self._normal = _normal(quantiles) if self.numbers else None

    @property
    def sizes(self) -> list[int]:
        """How many categories each column has that has categories."""
        return [len(self.columns[at].values) for at in self.categorical]

    @property
    def range(self) -> tuple[Floats, Floats]:
        """The least and the greatest of encoded numbers, by column."""
        ends = self.quantiles[[0, -1]]
        low, high = ends if self._normal is None else self._normal.transform(ends)
        return low, high

    @classmethod
    def learned(cls, X: Any, categorical: Sequence[Any] | None) -> Encoding:
        """Learn the encoding of a table.

        Parameters
        ----------
        X : {ndarray, DataFrame} of shape (n_rows, n_columns)
            The table.
        categorical : sequence of int or str, or None
            Positions or names of the columns of categories.

        Returns
        -------
        Encoding
        """
        container, table = open_table(X)
        chosen = container.positions(categorical)
        columns: list[Column] = [
            (Category if at in chosen else Number).learned(name, values)
            for at, (name, values) in enumerate(zip(container.names, table, strict=True))
        ]
        varying = [
            column.read(values)
            for column, values in zip(columns, table, strict=True)
            if isinstance(column, Number) and column.varies
        ]
        if not any(column.varies for column in columns):
            raise ValueError("X has no column that varies: there is nothing to learn.")
        rows = len(table[0])
        count = min(rows, max(_FEWEST, min(rows // _ROWS_PER_QUANTILE, _MOST)))
        quantiles = np.empty((count, 0))
        if varying:
            found = QuantileTransformer(n_quantiles=count, subsample=None)
            quantiles = found.fit(np.column_stack(varying)).quantiles_
        return cls(container, columns, quantiles)

    def encode(self, X: Any) -> Encoded:
        """Encode rows of a table with the same columns.

        Parameters
        ----------
        X : {ndarray, DataFrame} of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        Encoded
        """
        container, table = open_table(X)
        self.container.check(container)
        read = [column.read(values) for column, values in zip(self.columns, table, strict=True)]
        rows = len(table[0])
        numbers = np.empty((rows, 0))
        if self._normal is not None:
            numbers = self._normal.transform(np.column_stack([read[at] for at in self.numbers]))
        codes = np.empty((rows, len(self.categorical)), dtype=np.intp)
        for place, at in enumerate(self.categorical):
            codes[:, place] = read[at]
        return Encoded(numbers, codes)

    def decode(self, rows: Encoded) -> Any:
        """Make a table of encoded rows, in the container that was learned from.

        Parameters
        ----------
        rows : Encoded
            Rows.

        Returns
        -------
        {ndarray, DataFrame} of shape (n_rows, n_columns)
        """
        numbers = rows.numbers
        if self._normal is not None and len(rows):
            numbers = self._normal.inverse_transform(numbers)
        found: dict[int, Any] = {at: numbers[:, place] for place, at in enumerate(self.numbers)}
        found |= {at: rows.codes[:, place] for place, at in enumerate(self.categorical)}
        # A column with one value needs no more than the number of rows.
        nothing = np.zeros(len(rows), dtype=np.intp)
        return self.container.made(
            [column.written(found.get(at, nothing)) for at, column in enumerate(self.columns)]
        )


def _normal(quantiles: Floats) -> Any:
    """Make scikit-learn's transformer of known quantiles, as it is after fit."""
    made = QuantileTransformer(n_quantiles=len(quantiles), output_distribution="normal")
    made.n_features_in_ = quantiles.shape[1]
    made.n_quantiles_, made.quantiles_ = quantiles.shape[0], quantiles
    made.references_ = np.linspace(0, 1, len(quantiles), endpoint=True)
    return made


class Labels:
    """Classes of rows: what they are, how frequent, and the container of `y`.

    Parameters
    ----------
    column : Category
        The classes.
    counts : ndarray of shape (n_classes,)
        Rows of each.
    series : bool
        Whether labels come back as a Series.
    """

    def __init__(self, column: Category, counts: Ints, series: bool) -> None:
        self.column, self.counts, self.series = column, counts, series

    @classmethod
    def learned(cls, y: Any, min_rows: int) -> tuple[Labels, Ints]:
        """Learn classes, and give the codes of labels.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Labels.
        min_rows : int
            A class with fewer rows is refused.

        Returns
        -------
        Labels
        codes : ndarray of shape (n_rows,)
        """
        series = isinstance(y, pd.Series)
        values = _one_dimension(y)
        column = Category.learned(y.name if series else None, values, what="y")
        codes = column.read(values)
        counts = np.bincount(codes, minlength=len(column.values))
        rare = int(counts.argmin())
        if counts[rare] < min_rows:
            raise ValueError(
                f"class {column.values[rare]!r} has {counts[rare]} "
                f"row{'s' if counts[rare] > 1 else ''}: TabDDPM needs at least {min_rows} of each."
            )
        return cls(column, counts, series), codes

    def encode(self, y: Any) -> Ints:
        """Give the codes of labels, all of known classes."""
        return self.column.read(_one_dimension(y))

    def decode(self, codes: Ints) -> Any:
        """Give labels of codes, in the container that was learned from."""
        labels = self.column.written(codes)
        if self.series:
            return pd.Series(labels, name=self.column.name)
        return labels


def _one_dimension(y: Any) -> Any:
    values = y if isinstance(y, pd.Series) else np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"y must have one dimension, not {values.ndim}.")
    return values
