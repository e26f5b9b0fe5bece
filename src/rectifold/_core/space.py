"""Turn samples into points of a metric space, and choose the metric."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import VALID_METRICS
from sklearn.utils import check_array

from rectifold._core.errors import Param, ParameterError
from rectifold._core.summation import sum_columns, sum_entries
from rectifold._core.threads import over
from rectifold._core.utils import Bools, Floats, Matrix, did_you_mean
from rectifold.preprocessing._heom import HEOMSpace
from rectifold.preprocessing._table_space import TableSpace

#: Samples per block of work that is shared among threads.
ROWS = 8192
#: Spaces with a name.
SPACES = ("auto", "heom")
#: scikit-learn's names for the Euclidean metric.
_EUCLIDEAN = {"euclidean", "l2", "minkowski", "p"}
#: Metrics that need a matrix or weights.
_PARAMETRIC = {"mahalanobis", "seuclidean", "wminkowski"}
#: The metrics that the exact and the GPU engine compute by matrix products.
EXACT_METRICS = ("euclidean", "sqeuclidean", "cosine")
#: The square of a larger coordinate overflows float64.
LARGEST = 1e150
#: The end of an error about a column that is not numeric, before and after a space: a template and
#: its parts, see `ParameterError`.
Hint = tuple[str, *tuple[Param, ...]]
_X = Param("X")
HINT: Hint = (
    "pass {} to compute distances on an encoded and imputed copy, or convert it",
    Param("space", "auto"),
)
HINT_SPACE: Hint = ("choose a {} that imputes or encodes it", Param("space"))

Metric = str | Callable[..., float]
#: Metrics with a name, besides "auto".
_KNOWN = {
    *VALID_METRICS["brute"],
    *VALID_METRICS["ball_tree"],
    *_EUCLIDEAN,
    "precomputed",
    "heom",
} - {"pyfunc"}


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Samples as points of a metric space."""

    #: Float64 array, C-ordered or CSR, or a tensor on a device; normalised to unit length for the
    #: cosine metric.
    values: Matrix
    #: "euclidean", "cosine", "heom", or the metric that the caller named.
    metric: Metric
    #: Under the cosine metric, marks the samples that are zero, if there are any: they are at
    #: distance 1 from all others.
    zero: Bools | None = None
    #: Under HEOM, marks the features that hold category codes.
    categorical: Bools | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.values.shape[0])


def embed(X: Any, y: Any, space: Any) -> tuple[Matrix, Any]:
    """Return `X` transformed by a clone of `space`, and that clone, fitted; `X` is not changed.

    The values are finite float64, except for HEOM, where NaN stands for a missing value.
    """
    if isinstance(space, str):
        fitted: Any = TableSpace() if space == "auto" else HEOMSpace()
        return fitted.fit_transform(X), fitted
    fitted = clone(space)
    # Some transformers work in place, and the input must not change.
    values = fitted.fit_transform(X.copy() if hasattr(X, "copy") else X, y)
    return as_points(values, len(y)), fitted


def as_points(values: Any, n_samples: int) -> Matrix:
    """Check the output of a space."""
    if values.shape[0] != n_samples:
        raise ParameterError(
            "{} must return one point per sample: it returned {} for {} samples.",
            Param("space"),
            str(values.shape[0]),
            str(n_samples),
        )
    return as_numbers(values, name="the output of space", hint=HINT_SPACE)


def as_numbers(
    X: Any,
    *,
    name: Param | str = _X,
    hint: Hint = HINT,
    allow_nan: bool = False,
    n_jobs: int | None = None,
) -> Matrix:
    """Return `X` as a finite float64 array, dense or CSR, or raise an error that names the column.

    `name` and `hint` are parts of that error. `allow_nan` is for metrics that know missing values.
    """
    _check_columns_are_numeric(X, name, hint)
    values = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name=str(name)
    )
    data = values.data if sparse.issparse(values) else values

    # A sum is finite only if all its terms are, and needs no array of flags.
    def is_finite(rows: slice) -> bool:
        return bool(np.isfinite(data[rows].sum()) or np.isfinite(data[rows]).all())

    finite = all(over(is_finite, len(data), ROWS, n_jobs))
    if not finite:
        _check_finite(values, X, name, hint, allow_nan)
    if sparse.issparse(values):
        values = sparse.csr_array(values, copy=True)
        values.sum_duplicates()
        values.eliminate_zeros()
        return values
    if values.flags.c_contiguous:
        return np.asarray(values)
    points = np.empty(values.shape)

    def copy(rows: slice) -> None:
        points[rows] = values[rows]

    over(copy, len(points), ROWS, n_jobs)
    return points


def is_numeric(X: Any) -> bool:
    """Return whether `X` is a sparse matrix or holds only finite numbers."""
    try:
        as_numbers(X)
    except ParameterError:
        return bool(sparse.issparse(X))
    return True


def resolve_metric(metric: Metric, n_features: int, metric_threshold: int) -> Metric:
    """Return the metric to use: never "auto", and "euclidean" for all names of that metric."""
    if not isinstance(metric, str):
        return metric
    if metric == "auto":
        return "euclidean" if n_features <= metric_threshold else "cosine"
    if metric in _PARAMETRIC:
        raise ParameterError(
            "{} has parameters of its own, which only a search object can hold: pass "
            "GMR(n_neighbors=NearestNeighbors(n_neighbors=16, metric={}, metric_params=...)).",
            Param("metric", metric),
            repr(metric),
        )
    if metric not in _KNOWN:
        raise ParameterError(
            "{} is not known: it must be 'auto', 'precomputed' or a metric of scikit-learn{}.",
            Param("metric", metric),
            did_you_mean(metric, sorted(_KNOWN), list_all=True),
        )
    return "euclidean" if metric in _EUCLIDEAN else metric


def to_points(
    values: Matrix,
    metric: Metric,
    categorical: Bools | None = None,
    *,
    n_jobs: int | None = None,
) -> Points:
    """Return points in the form in which a metric is computed.

    `categorical` marks, for HEOM, the features that hold category codes.
    """
    if _all_samples_equal(values):
        raise nothing_varies()
    if metric in EXACT_METRICS:
        return comparable(values, str(metric), n_jobs=n_jobs)
    if metric == "nan_euclidean":
        if sparse.issparse(values):
            raise ParameterError(
                "{} needs a dense array: pass X.toarray().", Param("metric", "nan_euclidean")
            )
        empty = np.isnan(values).all(axis=1)
        if empty.any():
            raise ParameterError(
                "sample {} of {} has no value at all, so it has no distance to any other: leave "
                "it out.",
                str(int(empty.argmax())),
                Param("X"),
            )
    return Points(values, metric, categorical=categorical)


def nothing_varies() -> ParameterError:
    """Return the error for samples that are all equal."""
    return ParameterError(
        "every column of {} is constant, so no sample is nearer than another: at least one column "
        "must vary.",
        Param("X"),
    )


def comparable(values: Matrix, metric: str, *, n_jobs: int | None = None) -> Points:
    """Return points in the form in which one of `EXACT_METRICS` is computed."""
    if metric == "cosine":
        return _normalised(values)
    refuse_large(values, n_jobs)
    return Points(values, metric)


def refuse_large(values: Matrix, n_jobs: int | None = None) -> None:
    """Raise an error for values whose squares overflow."""

    # As float64: in float32 the limit itself would overflow.
    def largest(rows: slice) -> float:
        some = values if sparse.issparse(values) else values[rows]
        return max(float(some.max()), -float(some.min()))

    n = values.shape[0]
    step = max(n, 1) if sparse.issparse(values) else ROWS
    if max(over(largest, n, step, n_jobs), default=0.0) > LARGEST:
        raise ParameterError(
            "{} holds values beyond {}, whose squares overflow: rescale it, or pass {}.",
            Param("X"),
            f"{LARGEST:g}",
            Param("space", "auto"),
        )


def refuse_repeated(names: Sequence[Any]) -> None:
    """Raise an error if two columns have the same name."""
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(
            "{} has more than one column named {}: rename all but one.", Param("X"), repr(twice)
        )


def row_norms(values: Matrix) -> Floats:
    """Return the Euclidean norms, squares added feature by feature (see `pair_distances`)."""
    if sparse.issparse(values):
        return np.sqrt(sum_entries(values.data**2, values.indptr))
    return np.sqrt(sum_columns((column * column for column in values.T), values.shape[0]))


def _normalised(values: Matrix) -> Points:
    # Dividing by a power of two is exact and prevents overflow of the squares.
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


def _all_samples_equal(values: Matrix) -> bool:
    if sparse.issparse(values):
        return bool((values.max(axis=0).toarray() == values.min(axis=0).toarray()).all())
    # In most data the second sample already differs.
    return bool((values[:2] == values[0]).all() and (values == values[0]).all())


def _check_columns_are_numeric(X: Any, name: Param | str, hint: Hint) -> None:
    if isinstance(X, list | tuple) or getattr(getattr(X, "dtype", None), "kind", "") in ("O", "U"):
        _check_no_text(X, name, hint)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    # A schema is built anew at every access.
    for column, dtype in frame.schema.items():
        if dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown):
            continue
        kind = "dates or times" if dtype.is_temporal() else "text or categories"
        raise _column_error("{} holds {}, not numbers", name, repr(column), kind, hint=hint)


def _check_no_text(X: Any, name: Param | str, hint: Hint) -> None:
    # NumPy would silently read text as numbers where it can.
    rows = X if isinstance(X, list | tuple) else X.tolist()
    for row in rows:
        for column, cell in enumerate(row if isinstance(row, list | tuple) else ()):
            if isinstance(cell, str):
                raise _column_error(
                    "{} holds text, such as {}, not numbers",
                    name,
                    str(column),
                    repr(cell),
                    hint=hint,
                )


def _check_finite(values: Matrix, X: Any, name: Param | str, hint: Hint, allow_nan: bool) -> None:
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
    kind = "missing values (NaN)" if missing[column] and not allow_nan else "infinite values (inf)"
    raise _column_error(
        "{} holds {}, and distances need finite numbers, without NaN or inf",
        name,
        label,
        kind,
        hint=hint,
    )


def _column_error(
    template: str, name: Param | str, column: str, *parts: str, hint: Hint
) -> ParameterError:
    """Return an error about a column: what is wrong with it, and what to do."""
    advice, *more = hint
    return ParameterError(f"column {{}} of {template}: {advice}.", column, name, *parts, *more)
