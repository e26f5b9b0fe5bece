"""Two dimensions: where rows are drawn, and which ones where there are too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils import _safe_indexing

from rectifold._typing import Floats, Ints, Matrix
from rectifold.heom import HEOMSpace
from rectifold.space import as_numbers
from rectifold.tables import TableSpace

if TYPE_CHECKING:
    from rectifold.rectification import Rectification

#: Rows that principal components are computed from.
_FITTED = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Where rows are drawn."""

    #: Of shape (n_rows, 2).
    places: Floats
    #: What the two axes are.
    axes: tuple[str, str]
    #: How the picture came about, in one sentence.
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
        places = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"embedding can't be read as numbers: {wanted}.") from None
    if places.shape != (n_rows, 2):
        raise ValueError(f"embedding has the shape {places.shape}: {wanted}.")
    if not np.isfinite(places).all():
        bad = int((~np.isfinite(places)).any(axis=1).argmax())
        raise ValueError(f"embedding is not finite at row {bad}: {wanted}, of finite numbers.")
    return places


def picture(record: Rectification, X: Any, rows: Ints, embedding: Any = None) -> Picture | None:
    """Place rows in two dimensions.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_columns)
        The rows.
    rows : ndarray of int
        Those to place.
    embedding : array-like of shape (n_rows, 2), default=None
        The caller's own picture; None takes principal components of the space of the run.

    Returns
    -------
    Picture or None
        None where only distances are known.
    """
    if embedding is not None:
        places = check_embedding(embedding, len(record.certified))
        return Picture(places[rows], ("first axis", "second axis"), "The embedding that was given.")
    if record.setting.metric == "precomputed":
        return None
    space = None if record.exhibits is None else record.exhibits.space
    values = _numbers(X) if space is None else None
    if values is not None and values.shape[1] == 2 and record.setting.metric != "cosine":
        first, second = getattr(X, "columns", ("column 0", "column 1"))
        places = _ready(values, record.setting.metric)[rows]
        return Picture(places, (str(first), str(second)), "The two columns of the table.")
    some = np.arange(len(record.certified))
    if len(some) > _FITTED:
        some = np.sort(np.random.default_rng(0).choice(some, _FITTED, replace=False))
    where, encoded = _encoder(X, values, some, space)
    points = _ready(encoded, record.setting.metric)
    if points.shape[1] == 1:
        flat = _ready(where(rows), record.setting.metric).ravel()
        return Picture(
            np.column_stack((flat, np.zeros(len(rows)))),
            ("the only column", ""),
            "The space has one column only.",
        )
    solver = "arpack" if sparse.issparse(points) else "auto"
    components = min(2, points.shape[1] - (solver == "arpack"), points.shape[0] - 1)
    pca = PCA(components, svd_solver=solver, random_state=0).fit(points)
    places = pca.transform(_ready(where(rows), record.setting.metric))
    if components < 2:
        places = np.column_stack((places, np.zeros(len(rows))))
    shares = [*pca.explained_variance_ratio_, 0.0][:2]
    sample = f" of {len(some):,} rows" if len(some) < len(record.certified) else ""
    return Picture(
        places,
        (f"component 1 ({shares[0]:.0%} of variance)", f"component 2 ({shares[1]:.0%})"),
        f"The first two principal components{sample} in the space in which rows were compared; "
        f"together they hold {sum(shares):.0%} of the variance. Rows that are near each other here "
        "need not be near in all dimensions.",
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


def _numbers(X: Any) -> Matrix | None:
    """Give a table of numbers as such; None where it has other columns."""
    try:
        return as_numbers(X, name="X", hint="", allow_nan=True)
    except (TypeError, ValueError):
        return None


def _encoder(X: Any, values: Matrix | None, some: Ints, space: Any) -> tuple[Any, Matrix]:
    """Find out how rows become points, and make points of some of them."""
    if values is not None:
        return (lambda rows: values[rows]), values[some]
    if space is None or isinstance(space, HEOMSpace):
        # Codes of categories have no order: a picture needs them as columns of their own.
        fitted = TableSpace().fit(X)
    elif hasattr(space, "transform"):
        fitted = space
    else:
        # Such as t-SNE, which places all rows at once.
        places = clone(space).fit_transform(X.copy() if hasattr(X, "copy") else X)
        return (lambda rows: places[rows]), places[some]
    return (
        lambda rows: fitted.transform(_safe_indexing(X, rows)),
        fitted.transform(_safe_indexing(X, some)),
    )


def _ready(values: Any, metric: str) -> Matrix:
    if sparse.issparse(values) and values.shape[1] <= 2:
        # ARPACK finds fewer components than there are columns.
        values = values.toarray()
    points = values.tocsr() if sparse.issparse(values) else np.asarray(values, dtype=np.float64)
    if not sparse.issparse(points) and np.isnan(points).any():
        with np.errstate(all="ignore"):
            means = np.nan_to_num(np.nanmean(points, axis=0))
        points = np.where(np.isnan(points), means, points)
    return normalize(points) if metric == "cosine" else points
