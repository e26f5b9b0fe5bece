"""Turn a table of mixed columns into points for the neighbour search."""

from __future__ import annotations

import reprlib
import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from rectifold._core.utils import Floats
from rectifold.preprocessing._cells import (
    Numbers,
    Texts,
    find_reading,
    is_constant,
    open_table,
    read_cells,
)

# Where fewer values than this occur, a small table can have them all different by chance.
MOST_DISTINCT_IN_SMALL_TABLE = 20
# Wide enough for any measurement, and no difference of two such numbers overflows.
LARGEST = 1e300


class Column(Protocol):
    """What was learnt of a column that becomes coordinates."""

    @property
    def names(self) -> list[str]:
        """The names of the coordinates."""

    def points(self, cells: Any) -> Floats:
        """Return the coordinates of the rows, one row each."""


class TableTransformer(TransformerMixin, BaseEstimator):
    """What all spaces made from tables share: reading the table, and knowing its columns again.

    A space says in `_fit_column` what becomes of a column that is not constant.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _fit_column(self, cells: Any, kind: str, name: Any) -> tuple[str, Column | None]:
        """Return the kind of a column, and what it becomes; None where it is left out."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide the kind of each column of the table X, and learn its scale or its categories.

        Parameters
        ----------
        X : DataFrame, array or list of rows
            The table.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted transformer itself.
        """
        self._validate_params()
        given, columns, n_rows = open_table(X)
        names = [f"x{position}" for position in range(len(columns))] if given is None else given
        kinds, fitted, others = {}, {}, {}
        for name, column in zip(names, columns, strict=True):
            reading, cells = find_reading(read_cells(column, name))
            learnt: Column | None = None
            kinds[name] = "constant"
            if not is_constant(cells):
                kinds[name], learnt = self._fit_column(cells, reading.kind, name)
            if learnt:
                fitted[name] = reading, learnt
            if isinstance(cells, Numbers) and cells.other is not None:
                others[name] = cells.other
        left_out = [repr(name) for name, kind in kinds.items() if kind == "identifier"]
        if left_out:
            message = "left out of the geometry, as nearly every row has its own value: "
            warnings.warn(message + ", ".join(left_out), UserWarning, stacklevel=2)
        _warn_of_other_text(others)
        if not fitted:
            what = "constant, empty or identifiers" if left_out else "constant or empty"
            raise ValueError(
                f"No column tells the {n_rows} sample(s) of X apart: all columns are {what}."
            )
        self.columns_ = kinds
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)
        if given is not None and all(isinstance(name, str) for name in given):
            self.feature_names_in_ = np.array(given, dtype=object)
        self._named, self._fitted = given is not None, fitted
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows of the table X as points.

        Parameters
        ----------
        X : DataFrame, array or list of rows
            The table, with the columns it had at fit.

        Returns
        -------
        ndarray of shape (n_rows, n_coordinates)
            The points.
        """
        check_is_fitted(self, "columns_")
        names, columns, n_rows = open_table(X)
        if names is None or not self._named:
            names = list(self.columns_)
            if len(columns) != len(names):
                raise ValueError(
                    f"X has {len(columns)} features, but {type(self).__name__} is expecting "
                    f"{len(names)} features as input."
                )
        column_of = dict(zip(names, columns, strict=True))
        lacking = [repr(name) for name in self._fitted if name not in column_of]
        if lacking:
            raise ValueError(f"X lacks columns that it had at fit: {', '.join(lacking)}.")
        points = np.empty((n_rows, sum(len(learnt.names) for _, learnt in self._fitted.values())))
        start, others = 0, {}
        for name, (reading, learnt) in self._fitted.items():
            cells = reading.read(read_cells(column_of[name], name))
            if cells is None:
                raise ValueError(
                    f"Column {name!r} was a {reading.kind} at fit, and its cells cannot be read "
                    "so now."
                )
            if isinstance(cells, Numbers) and cells.other is not None and not reading.lenient:
                others[name] = cells.other
            stop = start + len(learnt.names)
            points[:, start:stop] = learnt.points(cells)
            start = stop
        _warn_of_other_text(others)
        return points

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a readable name for each coordinate, all different.

        Parameters
        ----------
        input_features : None
            Ignored; the names are those of the columns at fit.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self, "columns_")
        taken: dict[str, None] = {}
        for name in (name for _, learnt in self._fitted.values() for name in learnt.names):
            while name in taken:  # a category may be called "missing"
                name += "_"
            taken[name] = None
        return np.array(list(taken), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _warn_of_other_text(others: dict[Any, str]) -> None:
    if others:
        what = [f"{name!r} (such as {reprlib.repr(text)})" for name, text in others.items()]
        message = "read as numbers, with other text as missing: " + ", ".join(what)
        warnings.warn(message, UserWarning, stacklevel=3)


def in_widths(values: Floats, origin: float, width: float, farthest: float) -> Floats:
    """Return how many widths each value lies from the origin, at most `farthest`."""
    with np.errstate(over="ignore"):
        z = (np.clip(values, -LARGEST, LARGEST) - origin) / width
    return np.clip(z, -farthest, farthest)


@dataclass(frozen=True, slots=True)
class Scale:
    """How a column of numbers or dates becomes one coordinate, or two where some are missing."""

    median: float
    width: float
    names: list[str]

    def points(self, cells: Numbers) -> Floats:
        """Return the coordinates of the rows."""
        absent = np.isnan(cells.values)
        values = np.where(absent, self.median, cells.values)
        z = in_widths(values, self.median, self.width, 3e12)
        z[np.isposinf(values)], z[np.isneginf(values)] = 3e12, -3e12
        z /= np.sqrt(1 + (z / 3) ** 2)
        return np.column_stack([z, absent.astype(np.float64)][: len(self.names)])


@dataclass(frozen=True, slots=True)
class Corners:
    """How a category becomes a corner of a simplex whose edges have length one."""

    row_of: dict[str, int]
    table: Floats
    names: list[str]

    def points(self, cells: Texts) -> Floats:
        """Return the coordinates of the rows."""
        # Row 0 stands for any category not in row_of, and the last row for a missing cell.
        rows = [self.row_of.get(text, 0) for text in cells.distinct]
        row_of_code = np.array([*rows, len(self.table) - 1], dtype=np.intp)
        return np.take(self.table, row_of_code[cells.codes], axis=0)


def fit_scale(cells: Numbers, name: Any) -> Scale:
    """Return the scale of a column of numbers or dates."""
    finite = np.clip(cells.values[np.isfinite(cells.values)], -LARGEST, LARGEST)
    levels = [0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1]
    quantiles = np.quantile(finite if finite.size else np.zeros(1), levels)
    # From the interquartile range outwards, because many real columns are mostly zeros.
    widths = (quantiles[::-1] - quantiles)[3::-1]
    # An infinite width puts every finite number of a new table where the only known one is.
    width = next((float(width) for width in widths if width > 0), np.inf)
    names = [str(name), f"{name}_missing"]
    return Scale(float(quantiles[4]), width, names[: 1 + np.isnan(cells.values).any()])


def fit_corners(cells: Texts, name: Any, max_categories: int) -> Corners:
    """Return the corners of a column of categories."""
    present = cells.codes[cells.codes >= 0]
    missing = present.size < cells.codes.size
    # Ranks, and not the order of first sight, so that the order of rows settles nothing.
    texts = sorted(cells.distinct)
    rank_of = {text: rank for rank, text in enumerate(texts)}
    ranks = np.array([rank_of[text] for text in cells.distinct])[present]
    encoder = OneHotEncoder(
        max_categories=max_categories, handle_unknown="infrequent_if_exist", sparse_output=False
    ).fit(ranks[:, None])
    infrequent = encoder.infrequent_categories_[0]
    lumped = set() if infrequent is None else set(infrequent.tolist())
    frequent = [rank for rank in range(len(texts)) if rank not in lumped]
    # No row has rank -1: it stands for whatever category was seen rarely or never.
    table: Floats = encoder.transform(np.array([-1, *frequent])[:, None])
    names = [f"{name}_{texts[rank]}" for rank in frequent] + [f"{name}_infrequent"] * bool(lumped)
    if missing:
        table = np.pad(table, ((0, 1), (0, 1)))
        table[-1, -1] = 1
        names.append(f"{name}_missing")
    else:
        table = np.vstack([table, table[0]])
    if table.shape[1] == 2:
        # One coordinate does for two values; a third, never seen, is half-way between them.
        table = np.where(table.any(axis=1), table[:, 1], 0.5)[:, None]
        names = names[1:]
    else:
        table /= np.sqrt(2)
    return Corners({texts[rank]: row for row, rank in enumerate(frequent, 1)}, table, names)


class TableSpace(TableTransformer):
    """Points from a table of numbers, dates and categories, free of gaps and of outliers.

    Numbers and dates are centred at the median, divided by the interquartile range and softly
    clipped to ±3 [1]_. Categories become corners at distance one from each other, and a missing
    cell differs from a present one about as much as two categories do. Columns that say nothing
    about nearness are left out: identifiers and free text with a warning, constant columns
    without.

    Parameters
    ----------
    max_categories : int, default=10
        The most categories told apart in a column; the rarest beyond count as one. Missing
        cells are always a category of their own, and come on top.
    identifier_share : float, default=0.5
        A column of text with more than 20 distinct values is an identifier where more than
        this share of its non-missing cells are distinct.

    Attributes
    ----------
    columns_ : dict
        The kind of each column: "number", "date", "category", "identifier" or "constant".
    n_features_in_ : int
        The number of columns at fit.
    feature_names_in_ : ndarray of str
        The names of the columns at fit, where all are strings.

    Notes
    -----
    Columns of a frame are matched by name, in any order, and further ones are ignored.

    Text counts as numbers where at most a tenth of its cells are other text, which then counts
    as missing, with a warning. Words for what is missing, such as NA, n/a, null, ? and -, may be in
    any number of cells. The commas of a column are decimal where one cell shows it, as
    1,5 does; where all have three digits after them, as in 1,234, they separate thousands.

    Text counts as dates of one form where all its cells can be read so. Of the forms
    day/month/year and month/day/year, the first wins where both fit; a year of two digits lies
    between 1969 and 2068.

    References
    ----------
    .. [1] D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by Default: Strong Pre-Tuned
       MLPs and Boosted Trees on Tabular Data", NeurIPS 2024.

    Examples
    --------
    >>> from rectifold.preprocessing._table_space import TableSpace
    >>> rows = [[30, "Paris", "2024-01-31"], [40, "Lyon", None], [None, "Paris", "2024-03-01"]]
    >>> space = TableSpace().fit(rows)
    >>> space.columns_
    {'x0': 'number', 'x1': 'category', 'x2': 'date'}
    >>> space.get_feature_names_out().tolist()
    ['x0', 'x0_missing', 'x1_Paris', 'x2', 'x2_missing']
    >>> space.transform(rows).round(2)
    array([[-0.95,  0.  ,  1.  , -0.95,  0.  ],
           [ 0.95,  0.  ,  0.  ,  0.  ,  1.  ],
           [ 0.  ,  1.  ,  1.  ,  0.95,  0.  ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "identifier_share": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, *, max_categories: int = 10, identifier_share: float = 0.5) -> None:
        self.max_categories = max_categories
        self.identifier_share = identifier_share

    def _fit_column(self, cells: Any, kind: str, name: Any) -> tuple[str, Column | None]:
        if kind != "category":
            return kind, fit_scale(cells, name)
        share = self.identifier_share * np.count_nonzero(cells.codes >= 0)
        if len(cells.distinct) > max(share, MOST_DISTINCT_IN_SMALL_TABLE):
            return "identifier", None
        return kind, fit_corners(cells, name, self.max_categories)
