"""Neighbours by other means: the caller's search object, graph, or any scikit-learn metric."""

import numbers
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from rectifold._core.space import EXACT_METRICS, Points
from rectifold._core.utils import Ints, Matrix
from rectifold._engines import exact
from rectifold._engines.contract import Answer, CheckSample, Proposal, sample_rows, sorted_proposal

_ROWS = 4096
#: Metrics for which scikit-learn may take a tree. Others of those that it has trees for
#: break the triangle inequality, and a tree would miss neighbours; so may a callable.
_TREES = {
    *("manhattan", "cityblock", "l1", "chebyshev", "infinity", "canberra", "hamming", "jaccard"),
    "haversine",
}
#: A k-th distance may differ by rounding from one that ties with it in exact arithmetic.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class FromMetric:
    """An engine for every metric that scikit-learn's NearestNeighbors knows."""

    def __call__(
        self, points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
    ) -> Generator[Proposal, None, None]:
        """Propose the nearest rows, and as many more as tie with the last."""
        yield from self.of(points, np.arange(points.n), k, n_jobs=n_jobs)

    def of(
        self, points: Points, rows: Ints, k: int, *, n_jobs: int | None = None
    ) -> Generator[Proposal, None, None]:
        """Propose those of some rows only."""
        tree = isinstance(points.metric, str) and points.metric in _TREES
        index = NearestNeighbors(
            metric=points.metric, algorithm="auto" if tree else "brute", n_jobs=n_jobs
        ).fit(points.values)
        pending = [(rows[at : at + _ROWS], k + 9) for at in range(0, len(rows), _ROWS)]
        while pending:
            rows, wanted = pending.pop()
            wanted = min(wanted, points.n)
            distances, found = index.kneighbors(points.values[rows], n_neighbors=wanted)
            beyond = distances[:, -1] > distances[:, k] * (1 + _ROUNDING)
            whole = beyond | (wanted == points.n)
            if whole.any():
                yield sorted_proposal(rows[whole], found[whole], distances[whole])
            more = 4 * wanted
            left = rows[~whole]
            size = max(1, _ROWS * (k + 9) // more)
            pending.extend((left[at : at + size], more) for at in range(0, len(left), size))


@dataclass(frozen=True, slots=True)
class FromObject:
    """An engine around the caller's own search object, which may miss neighbours.

    The object has a `kneighbors` method, as scikit-learn's and cuML's have; then, as with
    imbalanced-learn's samplers, it searches for one neighbour more than are to vote,
    because it finds the row itself as well. Or it is a transformer that makes a graph of
    `n_neighbors` neighbours besides the row itself, as pynndescent's does.
    """

    estimator: Any
    #: For the choice of the sample.
    seed: int = 0

    def __call__(
        self, points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
    ) -> Generator[Answer, None, None]:
        """Propose what the object finds, and the true neighbours of a sample."""
        yield from self._found(points)
        if points.metric in EXACT_METRICS:
            rows = sample_rows(np.arange(points.n), self.seed)
            for proposal in exact.propose_some(points, rows, k, n_jobs=n_jobs):
                yield CheckSample(proposal, points.n)

    def _found(self, points: Points) -> Generator[Proposal, None, None]:
        fitted = clone(self.estimator, safe=False)
        # Where the distances can be computed here, they are: search objects give them
        # from expanded products, often in float32, and 1 / (d + epsilon) magnifies that.
        known = points.metric in EXACT_METRICS
        if not hasattr(fitted, "kneighbors"):
            graph = sparse.csr_array(fitted.fit_transform(points.values))
            yield from _read(graph, with_distances=not known)
            return
        if hasattr(fitted, "fit"):
            fitted.fit(points.values)
        for rows in _blocks(points.n):
            distances, found = fitted.kneighbors(points.values[rows])
            found = np.asarray(found).astype(np.intp)
            given = None if known else np.asarray(distances, dtype=np.float64)
            # Some libraries fill up with -1 where they find too few.
            keep = (found >= 0) & (found < points.n)
            # Where a row is not among those found for it, the farthest is one too many.
            keep[~(found == rows[:, None]).any(axis=1), -1] = False
            yield Proposal(
                rows,
                np.concatenate(([0], np.cumsum(keep.sum(axis=1)))),
                found[keep],
                None if given is None else given[keep],
            )

    @property
    def k(self) -> int:
        """How many neighbours vote."""
        wanted = getattr(self.estimator, "n_neighbors", None)
        itself = hasattr(self.estimator, "kneighbors")
        if isinstance(self.estimator, type) or not isinstance(wanted, numbers.Integral):
            raise ValueError(
                "n_neighbors must be an integer, or an object that searches for neighbours and "
                f"has an attribute n_neighbors that is one, not {self.estimator!r}."
            )
        if wanted < 1 + itself:
            raise ValueError(
                f"{self.estimator!r} finds no neighbour besides the row itself: "
                "it must search for two at least."
            )
        return int(wanted) - itself


@dataclass(frozen=True, slots=True)
class FromGraph:
    """An engine that reads a precomputed graph of distances."""

    def __call__(
        self, points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
    ) -> Generator[Proposal, None, None]:
        """Propose every stored neighbour of every row."""
        yield from _read(points.values, with_distances=True)


def _read(graph: Matrix, *, with_distances: bool) -> Generator[Proposal, None, None]:
    for rows in _blocks(graph.shape[0]):
        bounds = graph.indptr[rows[0] : rows[-1] + 2].astype(np.intp)
        entries = slice(bounds[0], bounds[-1])
        yield Proposal(
            rows,
            bounds - bounds[0],
            graph.indices[entries].astype(np.intp),
            graph.data[entries].astype(np.float64) if with_distances else None,
        )


def as_graph(X: Any, k: int) -> Matrix:
    """Check a precomputed graph of distances.

    Parameters
    ----------
    X : {sparse matrix, ndarray} of shape (n_rows, n_rows)
        Distances. Of a sparse graph only the stored entries are neighbours (explicit
        zeros are distances of zero); the diagonal is not looked at.
    k : int
        How many neighbours every row must have.

    Returns
    -------
    csr_array of shape (n_rows, n_rows)
    """
    if not sparse.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"with metric='precomputed' X must be a square graph of distances, "
            f"not of shape {X.shape}."
        )
    n = X.shape[0]
    if sparse.issparse(X):
        graph = sparse.csr_array(X, dtype=np.float64, copy=True)
        # Entries given twice are one distance, their sum, as everywhere in SciPy.
        graph.sum_duplicates()
    else:
        columns = np.tile(np.arange(n), n)
        values = np.array(X, dtype=np.float64).ravel()
        graph = sparse.csr_array((values, columns, np.arange(n + 1) * n), shape=(n, n))
    if not np.isfinite(graph.data).all() or (graph.data < 0).any():
        raise ValueError(
            "with metric='precomputed' X must hold distances: finite (no NaN or inf), "
            "none negative."
        )
    counts = np.diff(graph.indptr)
    owner = np.repeat(np.arange(n), counts)
    counts = counts - np.bincount(owner[graph.indices == owner], minlength=n)
    if counts.min() < k:
        row = int(counts.argmin())
        raise ValueError(
            f"row {row} of the precomputed graph has {counts[row]} neighbours, and "
            f"n_neighbors={k} needs {k} besides the row itself."
        )
    return graph


def metric_of(estimator: Any) -> str:
    """Name the metric of a search object: "euclidean" or "cosine" only if it is just that."""
    metric = getattr(estimator, "metric", None)
    if not isinstance(metric, str):
        return "given"
    if metric == "minkowski" and getattr(estimator, "p", 2) != 2:
        metric = f"minkowski, p = {estimator.p}"
    if getattr(estimator, "metric_params", None) or getattr(estimator, "metric_kwds", None):
        return f"{metric}, with parameters"
    return "euclidean" if metric in ("minkowski", "l2") else metric


def _blocks(n: int) -> list[Ints]:
    return [np.arange(at, min(at + _ROWS, n)) for at in range(0, n, _ROWS)]
