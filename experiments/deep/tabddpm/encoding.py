"""Encode a table as normally distributed numbers and codes of categories, and decode it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import QuantileTransformer

from experiments.deep.tabddpm.columns import Category, Column, Container, Number, open_table
from rectifold._core.utils import Floats, Ints

#: As in TabDDPM: samples for each quantile, and bounds of the number of quantiles.
_SAMPLES_PER_QUANTILE, _MIN_QUANTILES, _MAX_QUANTILES = 30, 10, 1000


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Samples as the network sees them; constant columns are left out."""

    numbers: Floats
    codes: Ints

    def __len__(self) -> int:
        return len(self.numbers)


class Encoding:
    """An encoding learned from a table.

    `quantiles`, of shape (n_quantiles, n_numbers), are those of the columns of numbers that vary.
    """

    def __init__(self, container: Container, columns: list[Column], quantiles: Floats) -> None:
        self.container, self.columns, self.quantiles = container, columns, quantiles
        varying = [(at, column) for at, column in enumerate(columns) if column.varies]
        self.numbers = [at for at, column in varying if isinstance(column, Number)]
        self.categorical = [at for at, column in varying if isinstance(column, Category)]
        self._normal = _normal(quantiles) if self.numbers else None

    @property
    def sizes(self) -> list[int]:
        """Number of categories of each categorical column."""
        return [len(self.columns[at].values) for at in self.categorical]

    @property
    def range(self) -> tuple[Floats, Floats]:
        """Minimum and maximum of the encoded numbers, by column."""
        ends = self.quantiles[[0, -1]]
        low, high = ends if self._normal is None else self._normal.transform(ends)
        return low, high

    @classmethod
    def learned(cls, X: Any, categorical: Sequence[Any] | None) -> Encoding:
        """Learn the encoding of a table; `categorical` as in `TabDDPM.fit`."""
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
            raise ValueError("all columns of X are constant: there is nothing to learn.")
        n_samples = len(table[0])
        count = min(
            n_samples, max(_MIN_QUANTILES, min(n_samples // _SAMPLES_PER_QUANTILE, _MAX_QUANTILES))
        )
        quantiles = np.empty((count, 0))
        if varying:
            found = QuantileTransformer(n_quantiles=count, subsample=None)
            quantiles = found.fit(np.column_stack(varying)).quantiles_
        return cls(container, columns, quantiles)

    def encode(self, X: Any) -> Encoded:
        """Encode samples with the columns of the table."""
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
        """Decode samples into the container of the table."""
        numbers = rows.numbers
        if self._normal is not None and len(rows):
            numbers = self._normal.inverse_transform(numbers)
        found: dict[int, Any] = {at: numbers[:, place] for place, at in enumerate(self.numbers)}
        found |= {at: rows.codes[:, place] for place, at in enumerate(self.categorical)}
        # Of a constant column only the number of samples is needed.
        constant = np.zeros(len(rows), dtype=np.intp)
        return self.container.made(
            [column.written(found.get(at, constant)) for at, column in enumerate(self.columns)]
        )


def _normal(quantiles: Floats) -> Any:
    """Return a fitted QuantileTransformer with known quantiles."""
    made = QuantileTransformer(n_quantiles=len(quantiles), output_distribution="normal")
    made.n_features_in_ = quantiles.shape[1]
    made.n_quantiles_, made.quantiles_ = quantiles.shape[0], quantiles
    made.references_ = np.linspace(0, 1, len(quantiles), endpoint=True)
    return made


class Labels:
    """The classes, their frequencies, and the container of `y`.

    With `series`, labels are returned as a Series.
    """

    def __init__(self, column: Category, counts: Ints, series: bool) -> None:
        self.column, self.counts, self.series = column, counts, series

    @classmethod
    def learned(cls, y: Any, min_size: int) -> tuple[Labels, Ints]:
        """Learn the classes, and return them with the codes of the labels."""
        series = isinstance(y, pd.Series)
        values = _one_dimension(y)
        column = Category.learned(y.name if series else None, values, what="y")
        codes = column.read(values)
        counts = np.bincount(codes, minlength=len(column.values))
        rare = int(counts.argmin())
        if counts[rare] < min_size:
            raise ValueError(
                f"class {column.values[rare]!r} has {counts[rare]} "
                f"sample{'s' if counts[rare] > 1 else ''}: TabDDPM needs at least {min_size}."
            )
        return cls(column, counts, series), codes

    def encode(self, y: Any) -> Ints:
        """Return the codes of labels of known classes."""
        return self.column.read(_one_dimension(y))

    def decode(self, codes: Ints) -> Any:
        """Return the labels of codes, in the container of `y`."""
        labels = self.column.written(codes)
        if self.series:
            return pd.Series(labels, name=self.column.name)
        return labels


def _one_dimension(y: Any) -> Any:
    values = y if isinstance(y, pd.Series) else np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"y must have one dimension, not {values.ndim}.")
    return values
