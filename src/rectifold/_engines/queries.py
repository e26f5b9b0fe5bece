"""Nearest training samples of other points, such as samples to predict."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import EXACT_METRICS, Points
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.options import EngineLike

#: Maximum number of distances in memory.
_PAIRS = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class QueryAnswer:
    """The nearest training samples of every query, or their common label."""

    #: The class that all k nearest training samples provably carry, by its code, or -1.
    certified: Ints
    #: Queries without a certificate, ascending; the next two arrays are parallel to them.
    rows: Ints
    #: The k nearest training samples in the order (distance, index).
    indices: Ints
    distances: Floats


class QueryIndex:
    """Training points, prepared to find the nearest of them to other points."""

    def __init__(
        self,
        points: Points,
        labels: Ints,
        k: int,
        *,
        engine: EngineLike = "auto",
        n_jobs: int | None = None,
    ) -> None:
        if not 1 <= k <= points.n:
            raise ParameterError(
                "{} is out of range: there are {} training samples.",
                Param("n_neighbors", k),
                str(points.n),
            )
        if points.metric not in EXACT_METRICS:
            raise ParameterError(
                "{} is not supported here: it must be one of {}.",
                Param("metric", points.metric),
                ", ".join(map(repr, EXACT_METRICS)),
            )
        self._points, self._labels, self._k = points, labels, k

    def query(
        self, points: Points, *, certify: bool = True, n_jobs: int | None = None
    ) -> QueryAnswer:
        """Return the k nearest training samples of some points, or their common label.

        No training sample is excluded: one that equals a query is at distance 0.
        """
        n, k, trained = points.n, self._k, self._points
        indices, distances = np.empty((n, k), dtype=np.intp), np.empty((n, k))
        columns = _dense(trained.values, slice(None)).T
        step = max(1, _PAIRS // trained.n)
        for at in range(0, n, step):
            block = slice(at, min(at + step, n))
            squares = np.zeros((block.stop - at, trained.n))
            for mine, column in zip(_dense(points.values, block).T, columns, strict=True):
                squares += (mine[:, None] - column) ** 2
            if trained.metric == "cosine":
                squares /= 2
                if points.zero is not None:
                    squares[points.zero[block]] = 1.0
                if trained.zero is not None:
                    squares[:, trained.zero] = 1.0
            elif trained.metric == "euclidean":
                np.sqrt(squares, out=squares)
            indices[block] = np.argsort(squares, axis=1, kind="stable")[:, :k]
            distances[block] = np.take_along_axis(squares, indices[block], axis=1)
        certified = np.full(n, -1)
        if certify:
            labels = self._labels[indices]
            agreed = (labels == labels[:, :1]).all(axis=1)
            certified[agreed] = labels[agreed, 0]
        rows = np.flatnonzero(certified < 0)
        return QueryAnswer(certified, rows, indices[rows], distances[rows])


def _dense(values: Matrix, some: slice) -> Floats:
    block = values[some]
    return np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
