"""Turn a table of mixed columns into codes from which the HEOM distance is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.utils import Bools, Floats
from rectifold.preprocessing._cells import Numbers, Texts, spread
from rectifold.preprocessing._table_space import LARGEST, Column, TableTransformer, in_widths

# How many ranges away a new number can be: so far, squared differences are still finite.
FARTHEST = 1e150


@dataclass(frozen=True, slots=True)
class Range:
    """How numbers or dates become shares of the range that they had at fit."""

    low: float
    width: float
    names: list[str]

    def points(self, cells: Numbers) -> Floats:
        """Return the share of each row, NaN where it is missing."""
        values = cells.values
        if self.width > 0:
            z = in_widths(values, self.low, self.width, FARTHEST)
        else:
            # One number has no range: half-way, it is as far from one infinity as from the other.
            z = np.where(np.isnan(values), np.nan, 0.5)
        z[np.isposinf(values)], z[np.isneginf(values)] = 1, 0
        return z[:, None]


@dataclass(frozen=True, slots=True)
class Codes:
    """How categories become codes, which are the same or not, and nothing else."""

    code_of: dict[str, int]
    names: list[str]

    def points(self, cells: Texts) -> Floats:
        """Return the code of each row, NaN where it is missing."""
        unseen = sorted(set(cells.distinct) - self.code_of.keys())
        code_of = self.code_of | {text: len(self.code_of) + i for i, text in enumerate(unseen)}
        codes = np.array([code_of[text] for text in cells.distinct], dtype=np.float64)
        return spread(cells.codes, codes)[:, None]


class HEOMSpace(TableTransformer):
    """A table as numbers and codes, for the Heterogeneous Euclidean-Overlap Metric [1]_.

    The distance of two rows is the root of the sum of squares, over all columns, of: 1 where
    one of the two cells is missing, or both; otherwise the difference of two numbers or dates
    as a share of the range of their column, and 0 or 1 for two categories that are the same or
    not. The output is not points, as that distance is not Euclidean: missing cells are NaN in
    it, and categories are codes without an order.

    Attributes
    ----------
    categorical_ : ndarray of bool
        Which columns of the output hold the codes of categories.
    columns_ : dict
        The kind of each column: "number", "date", "category" or "constant". There is one column
        in the output for each that is not constant.
    n_features_in_ : int
        The number of columns at fit.
    feature_names_in_ : ndarray of str
        The names of the columns at fit, where all are strings.

    See Also
    --------
    TableSpace : Points for Euclidean distances; it says how text is read.

    Notes
    -----
    All columns count, also identifiers. Infinities lie at the ends of the range. New numbers
    may lie outside the range, and new categories differ from all others in the same table.

    References
    ----------
    .. [1] D. R. Wilson and T. R. Martinez, "Improved Heterogeneous Distance Functions",
       Journal of Artificial Intelligence Research 6, 1997.

    Examples
    --------
    >>> from rectifold.preprocessing._heom import HEOMSpace
    >>> rows = [[30, "Paris", "2024-01-01"], [40, "Lyon", None], [35, "Paris", "2024-01-11"]]
    >>> space = HEOMSpace()
    >>> space.fit_transform(rows)
    array([[0. , 1. , 0. ],
           [1. , 0. , nan],
           [0.5, 1. , 1. ]])
    >>> space.columns_
    {'x0': 'number', 'x1': 'category', 'x2': 'date'}
    >>> space.categorical_
    array([False,  True, False])
    """

    @property
    def categorical_(self) -> Bools:
        """Which columns of the output hold the codes of categories."""
        kinds = [kind for kind in self.columns_.values() if kind != "constant"]
        return np.array([kind == "category" for kind in kinds])

    def _fit_column(self, cells: Any, kind: str, name: Any) -> tuple[str, Column | None]:
        if kind == "category":
            texts = sorted(cells.distinct)
            return kind, Codes({text: code for code, text in enumerate(texts)}, [str(name)])
        finite = cells.values[np.isfinite(cells.values)]
        ends = np.clip(finite if finite.size else np.zeros(1), -LARGEST, LARGEST)
        return kind, Range(float(ends.min()), float(np.ptp(ends)), [str(name)])
