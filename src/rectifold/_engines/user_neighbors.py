"""Neighbours from a search object or a graph that the user passes, or by scikit-learn's metrics."""

import numbers
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import EXACT_METRICS, Points
from rectifold._core.utils import Ints, Matrix
from rectifold._engines import exact
from rectifold._engines.contract import Answer, CheckSample, Proposal, sample_rows, sorted_proposal

#: Samples per block.
_ROWS = 4096
#: Metrics for which scikit-learn may use a tree. Others that it has trees for, and callables, may
#: break the triangle inequality, and a tree would miss neighbours.
_TREES = {
    *("manhattan", "cityblock", "l1", "chebyshev", "infinity", "canberra", "hamming", "jaccard"),
    "haversine",
}
#: Relative tolerance for distances that would be equal without rounding.
_ROUNDING = 1e-12


def by_metric(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Proposal, None, None]:
    """Yield the nearest samples found by scikit-learn, and all that tie with the last."""
    yield from some_by_metric(points, np.arange(points.n), k, n_jobs=n_jobs)


def some_by_metric(
    points: Points, rows: Ints, k: int, *, n_jobs: int | None = None
) -> Iterator[Proposal]:
    """Yield the same for some samples only."""
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
        complete = beyond | (wanted == points.n)
        if complete.any():
            yield sorted_proposal(rows[complete], found[complete], distances[complete])
        more = 4 * wanted
        left = rows[~complete]
        size = max(1, _ROWS * (k + 9) // more)
        pending.extend((left[at : at + size], more) for at in range(0, len(left), size))


@dataclass(frozen=True, slots=True)
class FromObject:
    """An engine around a search object of the user, which may miss neighbours.

    The object has a `kneighbors` method, like those of scikit-learn and cuML; then, as in
    imbalanced-learn, it searches for one neighbour more than shall vote, since it finds the sample
    itself. Or it is a transformer that returns a graph of `n_neighbors` neighbours besides the
    sample itself, such as pynndescent's.
    """

    estimator: Any
    #: For the random sample on which its error is measured.
    seed: int = 0

    def __call__(
        self, points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
    ) -> Generator[Answer, None, None]:
        """Yield what the object finds, and the true neighbours of a random sample."""
        yield from self._search(points)
        if points.metric in EXACT_METRICS:
            rows = sample_rows(np.arange(points.n), self.seed)
            for proposal in exact.propose_some(points, rows, k, n_jobs=n_jobs):
                yield CheckSample(proposal, points.n)

    def _search(self, points: Points) -> Iterator[Proposal]:
        fitted = clone(self.estimator, safe=False)
        # Distances are computed here if possible: search objects often compute them from expanded
        # products in float32, and 1 / (d + epsilon) magnifies the error.
        known = points.metric in EXACT_METRICS
        if not hasattr(fitted, "kneighbors"):
            graph = sparse.csr_array(fitted.fit_transform(points.values))
            yield from _read_graph(graph, with_distances=not known)
            return
        if hasattr(fitted, "fit"):
            fitted.fit(points.values)
        for rows in _blocks(points.n):
            distances, found = fitted.kneighbors(points.values[rows])
            found = np.asarray(found).astype(np.intp)
            own = None if known else np.asarray(distances, dtype=np.float64)
            # Some libraries pad with -1.
            keep = (found >= 0) & (found < points.n)
            # If the sample itself was not found, the farthest neighbour is one too many.
            keep[~(found == rows[:, None]).any(axis=1), -1] = False
            yield Proposal(
                rows,
                np.concatenate(([0], np.cumsum(keep.sum(axis=1)))),
                found[keep],
                None if own is None else own[keep],
            )

    @property
    def k(self) -> int:
        """Number of neighbours that vote."""
        wanted = getattr(self.estimator, "n_neighbors", None)
        itself = hasattr(self.estimator, "kneighbors")
        if isinstance(self.estimator, type) or not isinstance(wanted, numbers.Integral):
            raise ParameterError(
                "{} must be an integer, or an object that searches for neighbours and has an "
                "integer attribute n_neighbors, not {}.",
                Param("n_neighbors"),
                repr(self.estimator),
            )
        if wanted < 1 + itself:
            raise ParameterError(
                "{} finds no neighbour besides the sample itself: it must search for at least two.",
                Param("n_neighbors", self.estimator),
            )
        return int(wanted) - itself


def from_graph(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Proposal, None, None]:
    """Yield every stored neighbour of every sample of a precomputed graph."""
    yield from _read_graph(points.values, with_distances=True)


def _read_graph(graph: Matrix, *, with_distances: bool) -> Iterator[Proposal]:
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
    """Return a precomputed graph of distances in CSR format, or raise an error.

    In a sparse graph only stored entries are neighbours, explicit zeros among them; the diagonal is
    ignored. Every sample must have at least k neighbours.
    """
    if not sparse.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ParameterError(
            "{} must be a square graph of distances for {}, not of shape {}.",
            Param("X"),
            Param("metric", "precomputed"),
            str(X.shape),
        )
    n = X.shape[0]
    if sparse.issparse(X):
        graph = sparse.csr_array(X, dtype=np.float64, copy=True)
        # Repeated entries are summed, as everywhere in SciPy.
        graph.sum_duplicates()
    else:
        columns = np.tile(np.arange(n), n)
        values = np.array(X, dtype=np.float64).ravel()
        graph = sparse.csr_array((values, columns, np.arange(n + 1) * n), shape=(n, n))
    if not np.isfinite(graph.data).all() or (graph.data < 0).any():
        raise ParameterError(
            "{} must hold distances for {}: finite (no NaN or inf) and not negative.",
            Param("X"),
            Param("metric", "precomputed"),
        )
    counts = np.diff(graph.indptr)
    owner = np.repeat(np.arange(n), counts)
    counts = counts - np.bincount(owner[graph.indices == owner], minlength=n)
    if counts.min() < k:
        raise ParameterError(
            "row {} of {}, the precomputed graph, has {} neighbours besides the sample itself, "
            "fewer than {}.",
            str(counts.argmin()),
            Param("X"),
            str(counts.min()),
            Param("n_neighbors", k),
        )
    return graph


def metric_of(estimator: Any) -> str:
    """Return the metric of a search object: "euclidean" or "cosine" only if it has no options."""
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
