"""Project samples to two dimensions for figures, and sample those to draw."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils import _safe_indexing

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import as_numbers
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold.preprocessing._heom import HEOMSpace
from rectifold.preprocessing._table_space import TableSpace

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: Maximum number of samples that principal components are fitted to.
_MAX_FITTED = 20_000
#: The squares of values above this, or below its inverse, leave the range of floats.
_EXTREME = 1e100
#: A function that turns samples, by their indices, into points.
Encoder: TypeAlias = Callable[[Ints], Matrix]


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A projection of the samples of a record to two dimensions."""

    #: Returns the coordinates of samples, of shape (n, 2), from their indices.
    at: Callable[[Ints], Floats]
    #: Names of the two axes.
    axes: tuple[str, str]
    #: One or two sentences on how the coordinates were computed.
    note: str


def check_embedding(embedding: Any, n_samples: int) -> Floats:
    """Return an embedding as an array of shape (n_samples, 2), or raise an error."""
    name, expected = Param("embedding"), f"it must be an array of shape ({n_samples}, 2)"
    try:
        if np.iscomplexobj(embedding):
            raise TypeError
        points = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("{} can't be read as numbers: {}.", name, expected) from None
    if points.shape != (n_samples, 2):
        raise ParameterError("{} has the shape {}: {}.", name, str(points.shape), expected)
    if not np.isfinite(points).all():
        bad = str((~np.isfinite(points)).any(axis=1).argmax())
        raise ParameterError(
            "{} is not finite at sample {}: {} of finite numbers.", name, bad, expected
        )
    return points


def project(record: Rectification, X: Any, embedding: Any = None) -> Projection | None:
    """Return a projection of all samples, or None if only distances are known.

    Without an embedding, coordinates are the two features of `X`, or principal components of the
    space of the run. `X` is used only if the record does not hold the samples.
    """
    n_samples = len(record.certified)
    if embedding is not None:
        places = check_embedding(embedding, n_samples)
        return Projection(
            lambda rows: places[rows], ("first axis", "second axis"), "The embedding passed."
        )
    if record._setting.metric == "precomputed":
        return None
    if record._trace is not None:
        # X may have other columns; the space was fitted to those of the trace.
        X = record._trace.rows
    values = _numbers(X) if record._trace is None or record._trace.space is None else None
    cosine = record._setting.metric == "cosine"
    if values is not None and values.shape[1] == 2 and not cosine:
        flat = _imputer(values)(values)
        return Projection(lambda rows: flat[rows], _names(X), "The two columns of the table.")
    fitted = np.arange(n_samples)
    if n_samples > _MAX_FITTED:
        fitted = np.sort(np.random.default_rng(0).choice(fitted, _MAX_FITTED, replace=False))
    encode = _encoder(record, X, values)
    first = encode(fitted)
    impute = _imputer(first)

    def points(rows: Ints) -> Matrix:
        imputed = impute(first if rows is fitted else encode(rows))
        return normalize(imputed) if cosine else imputed

    source = "in the space in which distances were computed"
    if record._trace is None and record._setting.arguments.get("space", "None") != "None":
        source = "of the X passed, and not of the space in which distances were computed"
    return _components(points, fitted, source, n_samples)


def _components(
    points: Callable[[Ints], Matrix], rows: Ints, source: str, n_samples: int
) -> Projection:
    """Return the projection to principal components that are fitted to `rows`."""
    fitted = points(rows)
    if fitted.shape[1] == 1:
        return Projection(
            lambda rows: np.column_stack((points(rows).ravel(), np.zeros(len(rows)))),
            ("the only feature", ""),
            "The space has only one feature.",
        )
    solver = "arpack" if sparse.issparse(fitted) else "auto"
    pca = PCA(min(2, len(rows) - 1), svd_solver=solver, random_state=0).fit(fitted)
    ratios = np.nan_to_num([*pca.explained_variance_ratio_, 0.0])[:2]

    def at(rows: Ints) -> Floats:
        plane = np.zeros((len(rows), 2))
        components = pca.transform(points(rows))
        plane[:, : components.shape[1]] = components
        return plane

    sample = f" of {len(rows):,} samples" if len(rows) < n_samples else ""
    return Projection(
        at,
        (f"component 1 ({ratios[0]:.0%} of variance)", f"component 2 ({ratios[1]:.0%})"),
        f"The first two principal components{sample} {source}; together they explain "
        f"{sum(ratios):.0%} of the variance. Samples that are close here may be far apart in all "
        "dimensions.",
    )


def sample_by_class(codes: Ints, sizes: Ints, n: int) -> Ints:
    """Return the indices of `n` random samples, ascending, an equal number of each class.

    A class that is smaller than its share is taken whole, and the rest goes to the larger ones.
    """
    if len(codes) <= n:
        return np.arange(len(codes))
    rng, left, chosen = np.random.default_rng(0), n, []
    for rank, code in enumerate(np.argsort(sizes, kind="stable")):
        share = min(int(sizes[code]), left // (len(sizes) - rank))
        chosen.append(rng.choice(np.flatnonzero(codes == code), share, replace=False))
        left -= share
    return np.sort(np.concatenate(chosen))


def _names(X: Any) -> tuple[str, str]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    names = frame.columns if isinstance(frame, nw.DataFrame) else ("column 0", "column 1")
    return str(names[0]), str(names[1])


def _numbers(X: Any) -> Matrix | None:
    """Return a numeric table as a float matrix, or None if it has other columns."""
    try:
        return as_numbers(X, allow_nan=True)
    except (TypeError, ValueError):
        return None


def encoder_of(record: Rectification) -> Encoder | None:
    """Return a function that turns samples, by their indices, into points of the space of a run.

    None if the run got distances instead of samples. The record must hold the samples.
    """
    trace = record._trace
    assert trace is not None
    if record._setting.metric == "precomputed":
        return None
    if trace.space is None:
        values = as_numbers(trace.rows, allow_nan=True)
        return lambda rows: values[rows]
    if not hasattr(trace.space, "transform"):
        points = trace.points
        return lambda rows: points[rows]
    return _transformed(trace.rows, trace.space)


def _encoder(record: Rectification, X: Any, values: Matrix | None) -> Encoder:
    """Return a function that turns samples, by their indices, into points to project."""
    if values is not None:
        return lambda rows: values[rows]
    if record._trace is None or isinstance(record._trace.space, HEOMSpace):
        # Category codes have no order: principal components need one-hot columns.
        return _transformed(X, TableSpace().fit(X))
    encode = encoder_of(record)
    assert encode is not None
    return encode


def _transformed(X: Any, space: Any) -> Encoder:
    def encode(rows: Ints) -> Matrix:
        part = _safe_indexing(X, rows)
        # Some transformers work in place, and the input must not change.
        return space.transform(part.copy() if hasattr(part, "copy") else part)

    return encode


def _imputer(like: Any) -> Callable[[Any], Matrix]:
    """Return a function that imputes the means of `like`, and rescales values if extreme."""

    def dense(rows: Any) -> Matrix:
        if sparse.issparse(rows):
            # ARPACK finds fewer components than there are columns.
            return rows.toarray() if rows.shape[1] <= 2 else rows.tocsr()
        return np.asarray(rows, dtype=np.float64)

    fitted = dense(like)
    data = fitted.data if sparse.issparse(fitted) else fitted
    size = float(np.nanmax(np.abs(data), initial=0.0, where=np.isfinite(data)))
    extreme = size > _EXTREME or 0 < size < 1 / _EXTREME
    unit = 2.0 ** min(1000, -int(np.frexp(size)[1])) if extreme else 1.0
    means = None
    if not sparse.issparse(fitted):
        with warnings.catch_warnings():
            # A column without any value has no mean.
            warnings.simplefilter("ignore", RuntimeWarning)
            means = np.nan_to_num(np.nanmean(fitted * unit, axis=0))

    def impute(rows: Any) -> Matrix:
        points = dense(rows) * unit
        return points if means is None else np.where(np.isfinite(points), points, means)

    return impute
