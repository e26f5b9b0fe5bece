"""Tables of mixed columns as points, for the Euclidean distance."""

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

from rectifold._core.documentation import DocumentationLink
from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Floats
from rectifold.preprocessing._cells import (
    Numbers,
    Texts,
    find_reading,
    is_constant,
    open_table,
    read_cells,
)

# A column with fewer distinct values is never an identifier: in a small table all may differ.
MOST_DISTINCT_IN_SMALL_TABLE = 20
# Limit of numbers, so that their differences are finite.
LARGEST = 1e300


class Column(Protocol):
    """A fitted column, which becomes one or more coordinates."""

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""

    def points(self, cells: Any) -> Floats:
        """Return the coordinates, of shape (n_samples, n_coordinates)."""


class TableTransformer(DocumentationLink, TransformerMixin, BaseEstimator):
    """Base class of transformers of tables, which fit every column in `_fit_column`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _fit_column(self, cells: Any, kind: str, name: Any) -> tuple[str, Column | None]:
        """Return the kind of a column that is not constant, and the fitted column or None."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Determine the kind of each column, and its scale or its categories.

        Parameters
        ----------
        X : DataFrame, array or list of rows of shape (n_samples, n_features)
            The table.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        self._validate_params()
        names_in, columns, n_samples = open_table(X)
        names = names_in
        if names is None:
            names = [f"x{position}" for position in range(len(columns))]
        kinds, fitted, others = {}, {}, {}
        for name, column in zip(names, columns, strict=True):
            reading, cells = find_reading(read_cells(column, name))
            fitted_column: Column | None = None
            kinds[name] = "constant"
            if not is_constant(cells):
                kinds[name], fitted_column = self._fit_column(cells, reading.kind, name)
            if fitted_column:
                fitted[name] = reading, fitted_column
            if isinstance(cells, Numbers) and cells.other is not None:
                others[name] = cells.other
        identifiers = [repr(name) for name, kind in kinds.items() if kind == "identifier"]
        if identifiers:
            message = "excluded from distances, because nearly all values are different: "
            warnings.warn(message + ", ".join(identifiers), UserWarning, stacklevel=2)
        _warn_of_other_text(others)
        if not fitted:
            raise ParameterError(
                "{} has no column that distinguishes its {} sample(s): all columns are {}.",
                Param("X"),
                str(n_samples),
                "constant, empty or identifiers" if identifiers else "constant or empty",
            )
        self.columns_ = kinds
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)
        if names_in is not None and all(isinstance(name, str) for name in names_in):
            self.feature_names_in_ = np.array(names_in, dtype=object)
        self._named, self._fitted = names_in is not None, fitted
        return self

    def transform(self, X: Any) -> Floats:
        """Return the samples of a table as points.

        Parameters
        ----------
        X : DataFrame, array or list of rows of shape (n_samples, n_features)
            A table with the columns seen during `fit`. The columns of a frame are matched by name,
            and others are ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_coordinates)
            The points.
        """
        check_is_fitted(self, "columns_")
        names, columns, n_samples = open_table(X)
        if names is None or not self._named:
            names = list(self.columns_)
            if len(columns) != len(names):
                raise ParameterError(
                    "{} has {} features, but {} is expecting {} features as input.",
                    Param("X"),
                    str(len(columns)),
                    type(self).__name__,
                    str(len(names)),
                )
        column_of = dict(zip(names, columns, strict=True))
        missing = [repr(name) for name in self._fitted if name not in column_of]
        if missing:
            raise ParameterError(
                "{} is missing columns that were seen in fit: {}.", Param("X"), ", ".join(missing)
            )
        points = np.empty(
            (n_samples, sum(len(column.names) for _, column in self._fitted.values()))
        )
        start, others = 0, {}
        for name, (reading, column) in self._fitted.items():
            cells = reading.read(read_cells(column_of[name], name))
            if cells is None:
                raise ValueError(
                    f"Column {name!r} was a {reading.kind} in fit, and its values can't be read as "
                    "such."
                )
            if isinstance(cells, Numbers) and cells.other is not None and not reading.lenient:
                others[name] = cells.other
            stop = start + len(column.names)
            points[:, start:stop] = column.points(cells)
            start = stop
        _warn_of_other_text(others)
        return points

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the coordinates, made unique.

        Parameters
        ----------
        input_features : None
            Ignored; the names are made from those of the columns seen during `fit`.

        Returns
        -------
        ndarray of str of shape (n_coordinates,)
            The names.
        """
        check_is_fitted(self, "columns_")
        unique: dict[str, None] = {}
        for name in (name for _, column in self._fitted.values() for name in column.names):
            while name in unique:  # a category may be called "missing"
                name += "_"
            unique[name] = None
        return np.array(list(unique), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _warn_of_other_text(others: dict[Any, str]) -> None:
    if others:
        columns = [f"{name!r} (such as {reprlib.repr(text)})" for name, text in others.items()]
        message = "read as numbers, with other text as missing values: " + ", ".join(columns)
        warnings.warn(message, UserWarning, stacklevel=3)


def in_widths(values: Floats, origin: float, width: float, farthest: float) -> Floats:
    """Return the differences from the origin divided by the width, clipped to ± `farthest`."""
    with np.errstate(over="ignore"):
        z = (np.clip(values, -LARGEST, LARGEST) - origin) / width
    return np.clip(z, -farthest, farthest)


@dataclass(frozen=True, slots=True)
class Scale:
    """Scaling of numbers or dates to one coordinate, and an indicator of missing values if any."""

    median: float
    width: float
    names: list[str]

    def points(self, cells: Numbers) -> Floats:
        """Return the coordinates."""
        missing = np.isnan(cells.values)
        values = np.where(missing, self.median, cells.values)
        z = in_widths(values, self.median, self.width, 3e12)
        z[np.isposinf(values)], z[np.isneginf(values)] = 3e12, -3e12
        z /= np.sqrt(1 + (z / 3) ** 2)
        return np.column_stack([z, missing.astype(np.float64)][: len(self.names)])


@dataclass(frozen=True, slots=True)
class Corners:
    """Encoding of categories as the corners of a simplex whose edges have length one."""

    row_of: dict[str, int]
    table: Floats
    names: list[str]

    def points(self, cells: Texts) -> Floats:
        """Return the coordinates."""
        # Row 0 is for categories that are not in row_of, and the last row for missing values.
        rows = [self.row_of.get(text, 0) for text in cells.distinct]
        row_of_code = np.array([*rows, len(self.table) - 1], dtype=np.intp)
        return np.take(self.table, row_of_code[cells.codes], axis=0)


def fit_scale(cells: Numbers, name: Any) -> Scale:
    """Return the scaling of a column of numbers or dates."""
    finite = np.clip(cells.values[np.isfinite(cells.values)], -LARGEST, LARGEST)
    levels = [0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1]
    quantiles = np.quantile(finite if finite.size else np.zeros(1), levels)
    # Quantiles beyond the quartiles are needed for columns of mostly zeros.
    widths = (quantiles[::-1] - quantiles)[3::-1]
    # An infinite width maps all finite numbers of a new table to that of a constant.
    width = next((float(width) for width in widths if width > 0), np.inf)
    names = [str(name), f"{name}_missing"]
    return Scale(float(quantiles[4]), width, names[: 1 + np.isnan(cells.values).any()])


def fit_corners(cells: Texts, name: Any, max_categories: int) -> Corners:
    """Return the encoding of a column of categories."""
    present = cells.codes[cells.codes >= 0]
    missing = present.size < cells.codes.size
    # Ranks in sorted order, so that the encoding does not depend on the order of samples.
    texts = sorted(cells.distinct)
    rank_of = {text: rank for rank, text in enumerate(texts)}
    ranks = np.array([rank_of[text] for text in cells.distinct])[present]
    encoder = OneHotEncoder(
        max_categories=max_categories, handle_unknown="infrequent_if_exist", sparse_output=False
    ).fit(ranks[:, None])
    infrequent = encoder.infrequent_categories_[0]
    rare = set() if infrequent is None else set(infrequent.tolist())
    frequent = [rank for rank in range(len(texts)) if rank not in rare]
    # Rank -1 stands for all rare and unknown categories.
    table: Floats = encoder.transform(np.array([-1, *frequent])[:, None])
    names = [f"{name}_{texts[rank]}" for rank in frequent] + [f"{name}_infrequent"] * bool(rare)
    if missing:
        table = np.pad(table, ((0, 1), (0, 1)))
        table[-1, -1] = 1
        names.append(f"{name}_missing")
    else:
        table = np.vstack([table, table[0]])
    if table.shape[1] == 2:
        # One coordinate suffices for two values; an unknown one is half-way between them.
        table = np.where(table.any(axis=1), table[:, 1], 0.5)[:, None]
        names = names[1:]
    else:
        table /= np.sqrt(2)
    return Corners({texts[rank]: row for row, rank in enumerate(frequent, 1)}, table, names)


class TableSpace(TableTransformer):
    """Transform a table of numbers, dates and categorical features into points.

    The points have no missing values and no outliers. Numbers and dates are centred at the median,
    scaled by the interquartile range and softly clipped to ±3 [1]_, with an indicator column for
    missing values. Categorical features are one-hot encoded, and scaled so that two categories
    differ by a distance of one; missing values are a category. Columns that are no use for
    distances are excluded: identifiers and free text, with a warning, and constant columns.

    Parameters
    ----------
    max_categories : int, default=10
        Maximum number of categories per column. The rarest ones beyond are merged. The category of
        missing values is not counted.
    identifier_share : float, default=0.5
        A column of text with more than 20 distinct values is an identifier if the number of
        distinct values is more than this fraction of its non-missing values.

    Attributes
    ----------
    columns_ : dict
        Kind of each column: "number", "date", "category", "identifier" or "constant".
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of str of shape (`n_features_in_`,)
        Names of the columns seen during `fit`. Defined only if all names are strings.

    See Also
    --------
    HEOMSpace : Encoding for the HEOM distance.

    Notes
    -----
    A column of text is read as numbers if at most a tenth of its cells are other text, which is
    read as missing values, with a warning. Usual words for missing values, such as NA, n/a, null, ?
    and -, may be in any number of cells. Commas are decimal if a cell shows it, such as 1,5; if all
    commas are followed by three digits, as in 1,234, they separate thousands.

    A column of text is read as dates if all its cells have the same form. If both day/month/year
    and month/day/year fit, the former is used. Years of two digits are between 1969 and 2068.

    References
    ----------
    .. [1] D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by Default: Strong Pre-Tuned
       MLPs and Boosted Trees on Tabular Data", NeurIPS 2024.

    Examples
    --------
    >>> from rectifold import TableSpace
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
