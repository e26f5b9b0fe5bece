"""Two dimensions: where rows are drawn, and which ones where there are too many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils import _safe_indexing

from rectifold._core.space import as_numbers
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold.preprocessing._heom import HEOMSpace
from rectifold.preprocessing._table_space import TableSpace

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: Rows that principal components are computed from.
_FITTED = 20_000
#: Beyond, or below one over it, squares leave the range of floats.
_EXTREME = 1e100


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Where rows are drawn."""

    #: Gives the places of rows, of shape (n, 2), by their positions.
    at: Callable[[Ints], Floats]
    #: What the two axes are.
    axes: tuple[str, str]
    #: How the picture came about, in one sentence or two.
    note: str


def check_embedding(embedding: Any, n_rows: int) -> Floats:
    """Give a caller's embedding as an array, or say in one sentence what is wrong with it.

    Parameters
    ----------
    embedding : array-like of shape (n_rows, 2)
        Where to draw every row.
    n_rows : int
        Rows of the data.

    Returns
    -------
    ndarray of shape (n_rows, 2)
    """
    wanted = f"it must be an array of shape ({n_rows}, 2), a place for every row"
    try:
        if np.iscomplexobj(embedding):
            raise TypeError
        places = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"embedding can't be read as numbers: {wanted}.") from None
    if places.shape != (n_rows, 2):
        raise ValueError(f"embedding has the shape {places.shape}: {wanted}.")
    if not np.isfinite(places).all():
        bad = int((~np.isfinite(places)).any(axis=1).argmax())
        raise ValueError(f"embedding is not finite at row {bad}: {wanted}, of finite numbers.")
    return places


def picture(record: Rectification, X: Any, embedding: Any = None) -> Picture | None:
    """Find a place in two dimensions for every row.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_columns)
        The rows, for a record that does not hold those that were compared.
    embedding : array-like of shape (n_rows, 2), default=None
        The caller's own picture; None takes principal components of the space of the run.

    Returns
    -------
    Picture or None
        None where only distances are known.
    """
    n_rows = len(record.certified)
    if embedding is not None:
        places = check_embedding(embedding, n_rows)
        axes = ("first axis", "second axis")
        return Picture(lambda rows: places[rows], axes, "The embedding that was given.")
    if record._setting.metric == "precomputed":
        return None
    if record._trace is not None:
        # The caller may show other columns; the space knows those that rows were compared by.
        X = record._trace.rows
    values = _numbers(X) if record._trace is None or record._trace.space is None else None
    cosine = record._setting.metric == "cosine"
    if values is not None and values.shape[1] == 2 and not cosine:
        flat = _filler(values)(values)
        return Picture(lambda rows: flat[rows], _names(X), "The two columns of the table.")
    some = np.arange(n_rows)
    if n_rows > _FITTED:
        some = np.sort(np.random.default_rng(0).choice(some, _FITTED, replace=False))
    encode = _encoder(record, X, values)
    first = encode(some)
    fill = _filler(first)

    def points(rows: Ints) -> Matrix:
        filled = fill(first if rows is some else encode(rows))
        return normalize(filled) if cosine else filled

    whose = "in the space in which rows were compared"
    if record._trace is None and record._setting.arguments.get("space", "None") != "None":
        whose = "of the rows that were passed, and not of the space in which they were compared"
    return _components(points, some, whose, n_rows)


def _components(points: Callable[[Ints], Matrix], some: Ints, whose: str, n_rows: int) -> Picture:
    fitted = points(some)
    if fitted.shape[1] == 1:
        return Picture(
            lambda rows: np.column_stack((points(rows).ravel(), np.zeros(len(rows)))),
            ("the only column", ""),
            "The space has one column only.",
        )
    solver = "arpack" if sparse.issparse(fitted) else "auto"
    pca = PCA(min(2, len(some) - 1), svd_solver=solver, random_state=0).fit(fitted)
    shares = np.nan_to_num([*pca.explained_variance_ratio_, 0.0])[:2]

    def at(rows: Ints) -> Floats:
        plane = np.zeros((len(rows), 2))
        found = pca.transform(points(rows))
        plane[:, : found.shape[1]] = found
        return plane

    sample = f" of {len(some):,} rows" if len(some) < n_rows else ""
    return Picture(
        at,
        (f"component 1 ({shares[0]:.0%} of variance)", f"component 2 ({shares[1]:.0%})"),
        f"The first two principal components{sample} {whose}; together they hold "
        f"{sum(shares):.0%} of the variance. Rows that are near each other here need not be near "
        "in all dimensions.",
    )


def sample_rows(codes: Ints, sizes: Ints, most: int) -> Ints:
    """Choose rows that a picture has room for: of every class as many, as far as there are.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Class codes.
    sizes : ndarray of shape (n_classes,)
        Rows per class.
    most : int
        How many rows to choose.

    Returns
    -------
    ndarray of int
        Positions, ascending; the same each time.
    """
    if len(codes) <= most:
        return np.arange(len(codes))
    chance, left, chosen = np.random.default_rng(0), most, []
    for place, code in enumerate(np.argsort(sizes, kind="stable")):
        # What a small class leaves of its share is for the larger ones.
        share = min(int(sizes[code]), left // (len(sizes) - place))
        chosen.append(chance.choice(np.flatnonzero(codes == code), share, replace=False))
        left -= share
    return np.sort(np.concatenate(chosen))


def _names(X: Any) -> tuple[str, str]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    names = frame.columns if isinstance(frame, nw.DataFrame) else ("column 0", "column 1")
    return str(names[0]), str(names[1])


def _numbers(X: Any) -> Matrix | None:
    """Give a table of numbers as such; None where it has other columns."""
    try:
        return as_numbers(X, allow_nan=True)
    except (TypeError, ValueError):
        return None


def _encoder(record: Rectification, X: Any, values: Matrix | None) -> Callable[[Ints], Matrix]:
    """Find out how rows become points."""
    if values is not None:
        return lambda rows: values[rows]
    space = None if record._trace is None else record._trace.space
    if space is None or isinstance(space, HEOMSpace):
        # Codes of categories have no order: a picture needs them as columns of their own.
        space = TableSpace().fit(X)
    elif not hasattr(space, "transform"):
        assert record._trace is not None
        points = record._trace.points
        return lambda rows: points[rows]

    def encode(rows: Ints) -> Matrix:
        part = _safe_indexing(X, rows)
        # Some transformers work in place, and the caller's rows must not change.
        return space.transform(part.copy() if hasattr(part, "copy") else part)

    return encode


def _filler(like: Any) -> Callable[[Any], Matrix]:
    """Make rows fit for principal components, by what is known of some of them."""

    def dense(rows: Any) -> Matrix:
        if sparse.issparse(rows):
            # ARPACK finds fewer components than there are columns.
            return rows.toarray() if rows.shape[1] <= 2 else rows.tocsr()
        return np.asarray(rows, dtype=np.float64)

    some = dense(like)
    data = some.data if sparse.issparse(some) else some
    size = float(np.nanmax(np.abs(data), initial=0.0, where=np.isfinite(data)))
    extreme = size > _EXTREME or 0 < size < 1 / _EXTREME
    unit = 2.0 ** min(1000, -int(np.frexp(size)[1])) if extreme else 1.0
    with warnings.catch_warnings():
        # A column without any value has no mean.
        warnings.simplefilter("ignore", RuntimeWarning)
        means = None if sparse.issparse(some) else np.nan_to_num(np.nanmean(some * unit, axis=0))

    def fill(rows: Any) -> Matrix:
        points = dense(rows) * unit
        if means is None:
            return points
        return np.where(np.isfinite(points), points, means)

    return fill
