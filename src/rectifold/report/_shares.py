"""Divide squared distances between samples and their neighbours among the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import normalize

from rectifold._core.projection import encoder_of
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold.preprocessing._heom import HEOMSpace
from rectifold.preprocessing._table_space import TableTransformer
from rectifold.report._table import Columns, column_names

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification


def columns_compared(record: Rectification, table: Columns) -> Ints | None:
    """Return for every feature of the space of a run the column of `table` it was made from.

    -1 stands for columns that `table` does not have. None if squared distances of the run are not
    sums over columns, or if it is not known which feature was made from which column.
    """
    if record._trace is None or record._setting.metric not in ("euclidean", "cosine", "heom"):
        return None
    rows, space = record._trace.rows, record._trace.space
    if isinstance(space, TableTransformer):
        place = {name: at for at, name in enumerate(space.columns_)}
        features = [place[name] for name, (_, one) in space._fitted.items() for _ in one.names]
        n_columns = len(place)
    elif space is None or isinstance(space, OneToOneFeatureMixin):
        n_columns = np.shape(rows)[1]
        features = [*range(n_columns)]
    else:
        return None
    names = column_names(rows)
    if names is not None and table.has_names:
        at = {name: place for place, name in enumerate(table.names)}
        return np.array([at.get(names[feature], -1) for feature in features], dtype=np.intp)
    return np.array(features, dtype=np.intp) if n_columns == len(table.names) else None


def divide_distances(
    record: Rectification, sources: Ints, columns: Ints, rows: Ints, neighbours: Ints
) -> Floats:
    """Return the share that each of `columns` has in the squared distances to neighbours.

    The result has the shape (rows, neighbours, columns); a distance of zero has no shares.
    `sources` are made by `columns_compared`.
    """
    every, places = np.unique(np.concatenate((rows, neighbours.ravel())), return_inverse=True)
    encode = encoder_of(record)
    assert encode is not None
    points = encode(every)
    left = places[: len(rows)].repeat(neighbours.shape[1])
    squares = _squares(record, points, left, places[len(rows) :])
    # One column of a sum for each column of the table.
    chosen = np.flatnonzero(np.isin(sources, columns))
    of_column = sparse.csr_array(
        (np.ones(len(chosen)), (chosen, np.searchsorted(columns, sources[chosen]))),
        shape=(len(sources), len(columns)),
    )
    total = np.asarray(squares.sum(axis=1)).reshape(-1, 1)
    parts = squares @ of_column
    parts = parts.toarray() if sparse.issparse(parts) else np.asarray(parts)
    shares = np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)
    return np.asarray(shares).reshape(*neighbours.shape, len(columns))


def _squares(record: Rectification, points: Matrix, left: Ints, right: Ints) -> Any:
    """Return squared differences of pairs of points by feature, scaled so that none overflows."""
    trace = record._trace
    assert trace is not None
    if record._setting.metric == "cosine":
        points = normalize(points)
    differences = points[left] - points[right]
    if isinstance(trace.space, HEOMSpace):
        known = np.isfinite(differences)
        codes = trace.space.categorical_
        differences[:, codes] = differences[:, codes] != 0
        # A missing value differs by one from all others.
        differences[~known] = 1.0
        return differences**2
    size = float(abs(differences).max()) if differences.shape[0] else 0.0
    return (differences * 2.0 ** min(1000, -int(np.frexp(size)[1]))) ** 2
