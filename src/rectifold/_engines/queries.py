"""Nearest training samples of other points, such as samples to predict."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import EXACT_METRICS, Points, refuse_large
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.contract import Proposal
from rectifold._engines.exact.query_search import Agreed, Nearest, prepare
from rectifold._engines.options import EngineLike
from rectifold._engines.settle import settle
from rectifold._engines.zero_vectors import SQUARED_DISTANCE, with_candidates


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
    """Training points, prepared to find the nearest of them to other points.

    It may be used by several threads at once, and is not meant to be stored: built again from the
    same points, it gives the same answers.

    Parameters
    ----------
    points : Points
        Training samples, with one of the metrics of `EXACT_METRICS`. Dense values may be float32:
        distances are computed from them in float64, and no float64 copy is kept.
    labels : array of shape (n_samples,)
        Class codes of the training samples, from 0.
    k : int
        Number of neighbours.
    engine : "auto", "exact", "gpu" or an engine object
        All give the same answers. An approximate engine is replaced by the exact one.
    n_jobs : int or None
        Number of threads that build the index.
    """

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
        values, cosine = points.values, points.metric == "cosine"
        self._nonzero: Ints | None = None
        ceiling = np.inf
        self._zeros = np.empty(0, dtype=np.intp)
        if points.zero is not None:
            self._nonzero = np.flatnonzero(~points.zero)
            ceiling = SQUARED_DISTANCE
            # Zero vectors are at distance 1 from all, so only the first can be neighbours.
            self._zeros = np.flatnonzero(points.zero)[:k]
            values, labels = values[self._nonzero], labels[self._nonzero]
        if not cosine:
            refuse_large(values)
        self._index = None
        if values.shape[0]:
            self._index = prepare(values, labels, k, n_jobs, unit_length=cosine, ceiling=ceiling)

    def query(
        self, points: Points, *, certify: bool = True, n_jobs: int | None = None
    ) -> QueryAnswer:
        """Return the k nearest training samples of some points, or their common label.

        No training sample is excluded: one that equals a query is at distance 0. Answers depend
        neither on the other queries nor on `n_jobs`. Without `certify` all queries get neighbours.
        """
        n, k = points.n, self._k
        queries = replace(points, values=self._in_form(points.values))
        certified = np.full(n, -1)
        indices, distances = np.empty((n, k), dtype=np.intp), np.empty((n, k))
        for found in self._found(queries, certify, n_jobs):
            if isinstance(found, Agreed):
                certified[found.rows] = found.labels
            else:
                indices[found.rows], distances[found.rows] = found.indices, found.distances
        rows = np.flatnonzero(certified < 0)
        if certify:
            # Whether a label is proved without a search depends on rounding, and so on the other
            # queries of a product; the answer does not.
            labels = self._labels[indices[rows]]
            agreed = (labels == labels[:, :1]).all(axis=1)
            certified[rows[agreed]] = labels[agreed, 0]
            rows = rows[~agreed]
        return QueryAnswer(certified, rows, indices[rows], distances[rows])

    def _found(
        self, queries: Points, certify: bool, n_jobs: int | None
    ) -> Iterator[Agreed | Nearest]:
        """Yield the answer to every query once."""
        k, values = self._k, queries.values
        numbers = np.arange(queries.n)
        if queries.zero is not None:
            zero = np.flatnonzero(queries.zero)
            shape = (len(zero), k)
            # All training samples are at the same distance.
            yield Nearest(zero, np.broadcast_to(np.arange(k), shape), np.ones(shape))
            numbers = np.flatnonzero(~queries.zero)
            values = values[numbers]
        if not len(numbers):
            return
        if self._index is None:
            inside = np.zeros(len(numbers), dtype=bool)
        else:
            inside = self._index.within_range(values)
        for row in numbers[~inside].tolist():
            everything = Proposal(
                np.array([row]), np.array([0, self._points.n]), np.arange(self._points.n)
            )
            yield Nearest(everything.rows, *self._settle(queries, everything))
        if not inside.all():
            numbers, values = numbers[inside], values[inside]
        if self._index is None or not len(numbers):
            return

        def settle_query(proposal: Proposal) -> tuple[Ints, Floats]:
            proposal = replace(proposal, rows=numbers[proposal.rows])
            if self._nonzero is not None:
                translated = replace(proposal, candidates=self._nonzero[proposal.candidates])
                proposal = with_candidates(translated, self._zeros)
            return self._settle(queries, proposal)

        for found in self._index.search(values, settle_query, n_jobs, certify=certify):
            yield replace(found, rows=numbers[found.rows])

    def _settle(self, queries: Points, proposal: Proposal) -> tuple[Ints, Floats]:
        # Squared distances of queries far beyond the training samples can overflow.
        with np.errstate(over="ignore"):
            return settle(self._points, proposal, self._k, queries=queries)

    def _in_form(self, values: Matrix) -> Matrix:
        """Return queries dense or sparse, as the training samples are."""
        if sparse.issparse(self._points.values):
            return sparse.csr_array(values)
        return values.toarray() if sparse.issparse(values) else values
