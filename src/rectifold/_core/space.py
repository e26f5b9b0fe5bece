"""A table becomes points: what the geometry is computed on, and by which metric."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_array

from rectifold._core.summation import sum_columns, sum_entries
from rectifold._core.utils import Bools, Floats, Matrix
from rectifold.preprocessing._heom import HEOMSpace
from rectifold.preprocessing._table_space import TableSpace

#: Spaces that have a name.
SPACES = ("auto", "heom")
#: Names that scikit-learn has for the Euclidean metric.
_EUCLIDEAN = {"euclidean", "l2", "minkowski", "p"}
#: Metrics that mean nothing without a matrix or weights.
_PARAMETRIC = {"mahalanobis", "seuclidean", "wminkowski"}
#: The metrics of the exact engines: one order of neighbours, or that of normalised rows.
EXACT_METRICS = ("euclidean", "sqeuclidean", "cosine")
#: Squares of larger coordinates leave the range of float64.
LARGEST = 1e150
#: What to do about a column that is not numbers, before a space and after it.
HINT = "pass space='auto' to compute the geometry on an encoded and filled copy, or convert it"
HINT_SPACE = "choose a space that fills or encodes it"

Metric = str | Callable[..., float]


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Rows as points of a metric space."""

    #: Float64 rows, C-ordered or CSR, or a tensor on a device; normalised to unit length for the
    #: cosine metric.
    values: Matrix
    #: "euclidean", "cosine", "heom", or what the caller named.
    metric: Metric
    #: Under the cosine metric, the rows without a direction, if there are any: they are
    #: at distance 1 from all others.
    zero: Bools | None = None
    #: Under HEOM, the columns that hold codes of categories.
    categorical: Bools | None = None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])


def embed(X: Any, y: Any, space: Any) -> tuple[Matrix, Any]:
    """Compute the caller's rows in another space.

    Parameters
    ----------
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features)
        The caller's rows; they are not changed.
    y : ndarray of shape (n_rows,)
        Labels, passed on to transformers that learn from them.
    space : {"auto", "heom"} or transformer
        See `rectifold.GMR`.

    Returns
    -------
    values : {ndarray, csr_array} of shape (n_rows, n_columns)
        Float64 rows: finite, but for HEOM, where NaN is missing.
    fitted : transformer
        The space, fitted.
    """
    if isinstance(space, str):
        fitted: Any = TableSpace() if space == "auto" else HEOMSpace()
        return fitted.fit_transform(X), fitted
    fitted = clone(space)
    # Some transformers work in place, and the caller's rows must not change.
    values = fitted.fit_transform(X.copy() if hasattr(X, "copy") else X, y)
    return as_points(values, len(y)), fitted


def as_points(values: Any, rows: int) -> Matrix:
    """Check what a space has made of so many rows."""
    if values.shape[0] != rows:
        raise ValueError(
            f"space must give one point per row: it made {values.shape[0]} of {rows} rows."
        )
    return as_numbers(values, name="the output of space", hint=HINT_SPACE)


def as_numbers(X: Any, *, name: str, hint: str, allow_nan: bool = False) -> Matrix:
    """Give X as finite float64 rows, or say in one sentence which column is in the way.

    Parameters
    ----------
    X : {array-like, dataframe, sparse matrix}
        Rows.
    name : str
        What to call it in an error.
    hint : str
        What to do about a column of text, or with a value missing or infinite.
    allow_nan : bool, default=False
        Let missing values pass, for metrics that know what to do with them.

    Returns
    -------
    {ndarray, csr_array} of shape (n_rows, n_columns)
    """
    _refuse_columns_without_numbers(X, name, hint)
    values = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name=name
    )
    data = values.data if sparse.issparse(values) else values
    # A sum is finite only if all its terms are, and needs no array of flags.
    if not np.isfinite(data.sum()) and not np.isfinite(data).all():
        _refuse_what_is_not_finite(values, X, name, hint, allow_nan)
    if sparse.issparse(values):
        values = sparse.csr_array(values, copy=True)
        values.sum_duplicates()
        values.eliminate_zeros()
        return values
    return np.ascontiguousarray(values)


def resolve_metric(metric: Metric, n_columns: int, metric_threshold: int) -> Metric:
    """Settle which metric is meant.

    Parameters
    ----------
    metric : str or callable
        "auto" is the paper's switch: Euclidean up to `metric_threshold` columns, cosine
        above.
    n_columns : int
        Columns of the space.
    metric_threshold : int
        See `metric`.

    Returns
    -------
    str or callable
        Never "auto", and "euclidean" for all names of that metric.
    """
    if not isinstance(metric, str):
        return metric
    if metric == "auto":
        return "euclidean" if n_columns <= metric_threshold else "cosine"
    if metric in _PARAMETRIC:
        raise ValueError(
            f"metric={metric!r} needs parameters of its own: pass n_neighbors=NearestNeighbors("
            f"n_neighbors=16, metric={metric!r}, metric_params=...) instead, with metric='auto'."
        )
    return "euclidean" if metric in _EUCLIDEAN else metric


def to_points(values: Matrix, metric: Metric, categorical: Bools | None = None) -> Points:
    """Put rows into the form in which a metric is computed.

    Parameters
    ----------
    values : {ndarray, csr_array} of shape (n_rows, n_columns)
        Float64 rows.
    metric : str or callable
        As `resolve_metric` gives it.
    categorical : ndarray of bool of shape (n_columns,), default=None
        For HEOM, the columns that hold codes of categories.

    Returns
    -------
    Points
    """
    if _all_rows_equal(values):
        raise nothing_varies()
    if metric in EXACT_METRICS:
        return comparable(values, str(metric))
    if metric == "nan_euclidean":
        if sparse.issparse(values):
            raise ValueError("metric='nan_euclidean' needs dense rows: pass X.toarray().")
        empty = np.isnan(values).all(axis=1)
        if empty.any():
            raise ValueError(
                f"row {int(empty.argmax())} of X has no value at all, so that nothing is near it: "
                "leave it out."
            )
    return Points(values, metric, categorical=categorical)


def nothing_varies() -> ValueError:
    """The error where all rows are equal."""
    return ValueError(
        "every column of X is constant, so no row is nearer than another: "
        "X needs at least one column that varies."
    )


def comparable(values: Matrix, metric: str) -> Points:
    """Put rows, or some of them, into the form in which one of `EXACT_METRICS` is computed."""
    if metric == "cosine":
        return _normalised(values)
    refuse_large(values)
    return Points(values, metric)


def refuse_large(values: Matrix) -> None:
    """Refuse numbers whose squares are out of range."""
    if values.shape[0] and max(values.max(), -values.min()) > LARGEST:
        raise ValueError(
            f"X holds values beyond {LARGEST:g}, whose squares can't be represented: "
            "rescale X, or pass space='auto'."
        )


def refuse_repeated(names: Sequence[Any]) -> None:
    """Refuse columns that can't be told apart."""
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has more than one column named {twice!r}: rename all but one.")


def row_norms(values: Matrix) -> Floats:
    """Euclidean lengths of rows, squares added feature by feature (see `pair_distances`)."""
    if sparse.issparse(values):
        return np.sqrt(sum_entries(values.data**2, values.indptr))
    return np.sqrt(sum_columns((column * column for column in values.T), values.shape[0]))


def _normalised(values: Matrix) -> Points:
    # Dividing by a power of two first is exact, and keeps squares in range.
    largest = abs(values).max(axis=1)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
    zero = largest == 0
    exponent = np.where(zero, 0, np.frexp(largest)[1])
    if sparse.issparse(values):
        per_entry = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
        unit = values.copy()
        unit.data = np.ldexp(unit.data, -exponent[per_entry])
        unit.data /= np.where(zero, 1.0, row_norms(unit))[per_entry]
    else:
        unit = np.ldexp(values, -exponent[:, None])
        unit /= np.where(zero, 1.0, row_norms(unit))[:, None]
    return Points(unit, "cosine", zero if zero.any() else None)


def _all_rows_equal(values: Matrix) -> bool:
    if sparse.issparse(values):
        return bool((values.max(axis=0).toarray() == values.min(axis=0).toarray()).all())
    # Most data differ in the second row already.
    return bool((values[:2] == values[0]).all() and (values == values[0]).all())


def _refuse_columns_without_numbers(X: Any, name: str, hint: str) -> None:
    if isinstance(X, list | tuple) or getattr(getattr(X, "dtype", None), "kind", "") in ("O", "U"):
        _refuse_text(X, name, hint)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    # A schema is made anew whenever it is asked for.
    for column, dtype in frame.schema.items():
        if dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown):
            continue
        what = "dates or times" if dtype.is_temporal() else "text or categories"
        raise ValueError(f"column {column!r} of {name} holds {what}, not numbers: {hint}.")


def _refuse_text(X: Any, name: str, hint: str) -> None:
    # NumPy would read text as numbers where it can; whether that is meant, nobody knows.
    rows = X if isinstance(X, list | tuple) else X.tolist()
    for row in rows:
        for column, cell in enumerate(row if isinstance(row, list | tuple) else ()):
            if isinstance(cell, str):
                raise ValueError(
                    f"column {column} of {name} holds text, such as {cell!r}, not numbers: {hint}."
                )


def _refuse_what_is_not_finite(
    values: Matrix, X: Any, name: str, hint: str, allow_nan: bool
) -> None:
    if sparse.issparse(values):
        missing, infinite = (
            np.bincount(values.indices[is_so(values.data)], minlength=values.shape[1]) > 0
            for is_so in (np.isnan, np.isinf)
        )
    else:
        missing, infinite = np.isnan(values).any(axis=0), np.isinf(values).any(axis=0)
    bad = infinite if allow_nan else missing | infinite
    if not bad.any():
        return
    column = int(bad.argmax())
    names = getattr(X, "columns", None)
    label = repr(names[column]) if names is not None else str(column)
    what = "missing values (NaN)" if missing[column] and not allow_nan else "infinite values (inf)"
    raise ValueError(
        f"column {label} of {name} holds {what}, and distances need finite numbers, "
        f"without NaN or inf: {hint}."
    )
