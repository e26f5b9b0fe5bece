"""Tables of mixed columns as numbers and codes, for the HEOM distance."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.utils import Bools, Floats
from rectifold.preprocessing._cells import Numbers, Texts, spread
from rectifold.preprocessing._table_space import LARGEST, Column, TableTransformer, in_widths

# Limit of new numbers, in ranges, so that squared differences are finite.
FARTHEST = 1e150


@dataclass(frozen=True, slots=True)
class Range:
    """Scaling of numbers or dates by their range in fit."""

    low: float
    width: float
    names: list[str]

    def points(self, cells: Numbers) -> Floats:
        """Return the scaled values, NaN for missing ones."""
        values = cells.values
        if self.width > 0:
            z = in_widths(values, self.low, self.width, FARTHEST)
        else:
            # A single number has no range: 0.5 is as far from one infinity as from the other.
            z = np.where(np.isnan(values), np.nan, 0.5)
        z[np.isposinf(values)], z[np.isneginf(values)] = 1, 0
        return z[:, None]


@dataclass(frozen=True, slots=True)
class Codes:
    """Encoding of categories as codes, whose order has no meaning."""

    code_of: dict[str, int]
    names: list[str]

    def points(self, cells: Texts) -> Floats:
        """Return the codes, NaN for missing values."""
        unseen = sorted(set(cells.distinct) - self.code_of.keys())
        code_of = self.code_of | {text: len(self.code_of) + i for i, text in enumerate(unseen)}
        codes = np.array([code_of[text] for text in cells.distinct], dtype=np.float64)
        return spread(cells.codes, codes)[:, None]


class HEOMSpace(TableTransformer):
    """Encode a table for the Heterogeneous Euclidean-Overlap Metric (HEOM) [1]_.

    The distance between two samples is the square root of the sum of squared differences over all
    columns. The difference is

    - 1 if one of the values is missing, or both;
    - for numbers and dates, the difference divided by the range of the column;
    - for categorical features, 0 if the categories are equal, and 1 otherwise.

    This distance is not Euclidean, so the output is not points: missing values are NaN, and
    categories are ordinal codes whose order has no meaning. `GMR` uses the metric with
    ``space="heom"``.

    Attributes
    ----------
    categorical_ : ndarray of bool of shape (n_columns_out,)
        Which columns of the output are codes of categories.
    columns_ : dict
        Kind of each column: "number", "date", "category" or "constant". The output has one column
        for each that is not constant.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of str of shape (`n_features_in_`,)
        Names of the columns seen during `fit`. Defined only if all names are strings.

    See Also
    --------
    TableSpace : Points for Euclidean distances. Its notes describe how text is read.

    Notes
    -----
    All columns count, including identifiers. Infinite values are at the ends of the range. In
    `transform`, numbers may be outside of the range, and unknown categories differ from all others.

    References
    ----------
    .. [1] D. R. Wilson and T. R. Martinez, "Improved Heterogeneous Distance Functions",
       Journal of Artificial Intelligence Research 6, 1997.

    Examples
    --------
    >>> from rectifold import HEOMSpace
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
        """Which columns of the output are codes of categories."""
        kinds = [kind for kind in self.columns_.values() if kind != "constant"]
        return np.array([kind == "category" for kind in kinds])

    def _fit_column(self, cells: Any, kind: str, name: Any) -> tuple[str, Column | None]:
        if kind == "category":
            texts = sorted(cells.distinct)
            return kind, Codes({text: code for code, text in enumerate(texts)}, [str(name)])
        finite = cells.values[np.isfinite(cells.values)]
        ends = np.clip(finite if finite.size else np.zeros(1), -LARGEST, LARGEST)
        return kind, Range(float(ends.min()), float(np.ptp(ends)), [str(name)])
