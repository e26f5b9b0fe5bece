"""Turn a table of mixed columns into points for the neighbour search."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rectifold._typing import Floats
from rectifold.cells import (
    Numbers,
    Texts,
    find_dates,
    open_table,
    parse_dates,
    parse_numbers,
    read_cells,
    read_objects,
    spread,
)

# Where fewer values than this occur, a small table can have them all different by chance.
MOST_DISTINCT_IN_SMALL_TABLE = 20
# Wide enough for any measurement, and no difference of two such numbers overflows.
LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Scale:
    """How a column of numbers or dates becomes one coordinate, or two where some are missing."""

    form: str | None
    squash: bool
    centre: float
    width: float
    median: float
    names: list[str]

    def points(self, cells: Numbers | Texts, kind: str) -> Floats | None:
        """Return the coordinates of the rows, or None where the cells are not of the kind."""
        if isinstance(cells, Texts):
            if kind == "number":
                read = parse_numbers(cells.distinct)
            elif self.form:
                read = parse_dates(cells.distinct, self.form)
            else:
                read = find_dates(cells.distinct)[1]
            if read is None:
                return None
            cells = Numbers(kind, spread(cells.codes, read))
        absent = np.isnan(cells.values)
        if cells.kind != kind and not absent.all():
            return None
        values = np.where(absent, self.median, cells.values)
        low, high = (-3e12, 3e12) if self.squash else (0.0, 1.0)
        with np.errstate(over="ignore"):
            z = (np.clip(values, -LARGEST, LARGEST) - self.centre) / self.width
        z = np.clip(z, low, high)
        z[np.isposinf(values)], z[np.isneginf(values)] = high, low
        if self.squash:
            z /= np.sqrt(1 + (z / 3) ** 2)
        return np.column_stack([z, absent.astype(np.float64)][: len(self.names)])


@dataclass(frozen=True, slots=True)
class Corners:
    """How a category becomes a corner of a simplex whose edges have length one."""

    row_of: dict[str, int]
    table: Floats
    names: list[str]

    def points(self, cells: Numbers | Texts, kind: str) -> Floats | None:
        """Return the coordinates of the rows, or None where the cells are dates."""
        if isinstance(cells, Numbers) and cells.kind == "number":
            cells = read_objects(cells.values.tolist(), kind, categorical=True)
        if isinstance(cells, Numbers):
            return None
        # Row 0 stands for any category not in row_of, and the last row for a missing cell.
        rows = [self.row_of.get(text, 0) for text in cells.distinct]
        row_of_code = np.array([*rows, len(self.table) - 1], dtype=np.intp)
        return np.take(self.table, row_of_code[cells.codes], axis=0)


def fit_scale(cells: Numbers, name: Any, form: str | None, scaling: str) -> Scale | None:
    """Return the scale of a column of numbers, or None where all rows are alike."""
    absent = np.isnan(cells.values)
    present = cells.values[~absent]
    if not present.size or (not absent.any() and (present == present[0]).all()):
        return None
    finite = np.clip(present[np.isfinite(present)], -LARGEST, LARGEST)
    levels = [0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1]
    quantiles = np.quantile(finite if finite.size else np.zeros(1), levels)
    squash = scaling == "robust"
    # From the interquartile range outwards, because many real columns are mostly zeros.
    widths = (quantiles[::-1] - quantiles)[3::-1] if squash else quantiles[-1:] - quantiles[:1]
    # An infinite width puts every finite number of a new table where the only known one is.
    width = next((float(width) for width in widths if width > 0), np.inf)
    centre = float(quantiles[4] if squash else quantiles[0])
    names = [str(name), f"{name}_missing"] if absent.any() else [str(name)]
    return Scale(form, squash, centre, width, float(quantiles[4]), names)


def fit_corners(cells: Texts, name: Any, max_categories: int) -> Corners | None:
    """Return the corners of a column of categories, or None where all rows are alike."""
    present = cells.codes[cells.codes >= 0]
    missing = present.size < cells.codes.size
    if not cells.distinct or (len(cells.distinct) == 1 and not missing):
        return None
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


def fit_column(
    cells: Numbers | Texts, name: Any, scaling: str, max_categories: int, identifier_share: float
) -> tuple[str, Scale | Corners | None]:
    """Return the kind of a column, and how it becomes points where it has a place there."""
    form = dates = None
    if isinstance(cells, Texts) and cells.distinct:
        numbers = parse_numbers(cells.distinct)
        if numbers is None:
            form, dates = find_dates(cells.distinct)
        if dates is not None:
            cells = Numbers("date", spread(cells.codes, dates))
        elif numbers is not None and not cells.categorical:
            cells = Numbers("number", spread(cells.codes, numbers))
    fitted: Scale | Corners | None
    if isinstance(cells, Numbers):
        kind, fitted = cells.kind, fit_scale(cells, name, form, scaling)
    else:
        share = identifier_share * np.count_nonzero(cells.codes >= 0)
        if len(cells.distinct) > max(share, MOST_DISTINCT_IN_SMALL_TABLE):
            return "identifier", None
        kind, fitted = "category", fit_corners(cells, name, max_categories)
    return (kind, fitted) if fitted else ("constant", None)


class TableSpace(TransformerMixin, BaseEstimator):
    """Points from a table of numbers, dates and categories, free of gaps and of outliers.

    Numbers and dates are scaled column by column, categories become corners at distance one
    from each other, and a missing cell differs from a present one about as much as two
    categories do. Columns that say nothing about nearness are left out: identifiers and free
    text with a warning, constant columns without.

    Parameters
    ----------
    scaling : {"robust", "heom"}, default="robust"
        How numbers and dates are scaled. "robust" centres at the median, divides by the
        interquartile range and softly clips to ±3 [2]_; "heom" divides by the range [1]_.
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
    Columns of a frame are matched by name, in any order, and further ones are ignored. Text
    counts as numbers, or as dates of one form, where all its cells can be read so. Of the
    forms day/month/year and month/day/year, the first wins where both fit; a year of two
    digits lies between 1969 and 2068.

    References
    ----------
    .. [1] D. R. Wilson and T. R. Martinez, "Improved Heterogeneous Distance Functions",
       Journal of Artificial Intelligence Research 6, 1997.
    .. [2] D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by Default: Strong Pre-Tuned
       MLPs and Boosted Trees on Tabular Data", NeurIPS 2024.

    Examples
    --------
    >>> from rectifold.tables import TableSpace
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
        "scaling": [StrOptions({"robust", "heom"})],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "identifier_share": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self, *, scaling: str = "robust", max_categories: int = 10, identifier_share: float = 0.5
    ) -> None:
        self.scaling = scaling
        self.max_categories = max_categories
        self.identifier_share = identifier_share

    def fit(self, X: Any, y: Any = None) -> TableSpace:
        """Decide the kind of each column of the table X, and learn its scale or its categories.

        Parameters
        ----------
        X : DataFrame, array or list of rows
            The table.
        y : None
            Ignored.

        Returns
        -------
        TableSpace
            The fitted transformer itself.
        """
        self._validate_params()
        given, columns, n_rows = open_table(X)
        names = [f"x{position}" for position in range(len(columns))] if given is None else given
        settings = self.scaling, self.max_categories, self.identifier_share
        found = {
            name: fit_column(read_cells(column, name), name, *settings)
            for name, column in zip(names, columns, strict=True)
        }
        left_out = [repr(name) for name, (kind, _) in found.items() if kind == "identifier"]
        if left_out:
            message = "left out of the geometry, as nearly every row has its own value: "
            warnings.warn(message + ", ".join(left_out), UserWarning, stacklevel=2)
        fitted = {name: column for name, (_, column) in found.items() if column}
        if not fitted:
            raise ValueError(
                f"No column tells the {n_rows} sample(s) of X apart: all columns are constant, "
                "empty or identifiers."
            )
        self.columns_ = {name: kind for name, (kind, _) in found.items()}
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
            The points, without NaN and infinities.
        """
        check_is_fitted(self, "columns_")
        names, columns, n_rows = open_table(X)
        if names is None or not self._named:
            names = list(self.columns_)
            if len(columns) != len(names):
                raise ValueError(
                    f"X has {len(columns)} features, but TableSpace is expecting {len(names)} "
                    "features as input."
                )
        column_of = dict(zip(names, columns, strict=True))
        lacking = [repr(name) for name in self._fitted if name not in column_of]
        if lacking:
            raise ValueError(f"X lacks columns that it had at fit: {', '.join(lacking)}.")
        points = np.empty((n_rows, sum(len(column.names) for column in self._fitted.values())))
        start = 0
        for name, column in self._fitted.items():
            kind, stop = self.columns_[name], start + len(column.names)
            block = column.points(read_cells(column_of[name], name), kind)
            if block is None:
                raise ValueError(
                    f"Column {name!r} was a {kind} at fit, and its cells cannot be read so now."
                )
            points[:, start:stop] = block
            start = stop
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
        for name in (name for column in self._fitted.values() for name in column.names):
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
