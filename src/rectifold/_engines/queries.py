"""Nearest training samples of other points, such as samples to predict."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import EXACT_METRICS, Points, refuse_large
from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.contract import Proposal
from rectifold._engines.exact import query_search
from rectifold._engines.options import GPU, EngineLike
from rectifold._engines.query_contract import Agreed, Nearest, TrainingIndex, settled
from rectifold._engines.registry import check_engine, choose_spec
from rectifold._engines.settle import settle
from rectifold._engines.zero_vectors import SQUARED_DISTANCE, with_candidates

#: Maximum number of queries that are prepared at once.
_QUERIES = 1 << 16


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

    Queries more than about a thousand times farther away than all training samples are compared
    with all of them, which takes longer.

    Parameters
    ----------
    points : Points
        Training samples, with one of the metrics of `EXACT_METRICS`. Dense values may be float32:
        distances are computed from them in float64, and no float64 copy is kept, except in a k-d
        tree for few features.
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
        self._index: TrainingIndex | None = None
        if values.shape[0]:
            prepare = _preparation(engine, points)
            self._index = prepare(values, labels, k, n_jobs, unit_length=cosine, ceiling=ceiling)

    def query(
        self, points: Points, *, certify: bool = True, n_jobs: int | None = None
    ) -> QueryAnswer:
        """Return the k nearest training samples of some points, or their common label.

        No training sample is excluded: one that equals a query is at distance 0. Answers depend
        neither on the other queries nor on `n_jobs`. Without `certify` all queries get neighbours.
        """
        n, k = points.n, self._k
        certified = np.full(n, -1)
        indices, distances = np.empty((n, k), dtype=np.intp), np.empty((n, k))
        for at in range(0, n, _QUERIES):
            some = slice(at, at + _QUERIES)
            zero = None if points.zero is None else points.zero[some]
            block = replace(points, values=self._in_form(points.values[some]), zero=zero)
            for found in self._found(block, certify, n_jobs):
                rows = found.rows + at
                if isinstance(found, Agreed):
                    certified[rows] = found.labels
                else:
                    indices[rows], distances[rows] = found.indices, found.distances
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
        values = queries.values
        zero = np.zeros(queries.n, dtype=bool) if queries.zero is None else queries.zero
        alike = np.flatnonzero(zero | (self._index is None))
        if len(alike):
            # A zero vector is at distance 1 from all, so all training samples are equally far.
            shape = (len(alike), self._k)
            yield Nearest(alike, np.broadcast_to(np.arange(self._k), shape), np.ones(shape))
        if self._index is None or len(alike) == queries.n:
            return
        numbers = np.arange(queries.n)
        if len(alike):
            numbers = np.flatnonzero(~zero)
            values = values[numbers]
        inside = self._index.within_range(values)
        if not inside.all():
            yield from self._compare_with_all(queries, numbers[~inside], n_jobs)
            numbers, values = numbers[inside], values[inside]
        if not len(numbers):
            return

        def settle_query(proposal: Proposal) -> tuple[Ints, Floats]:
            proposal = replace(proposal, rows=numbers[proposal.rows])
            if self._nonzero is not None:
                translated = replace(proposal, candidates=self._nonzero[proposal.candidates])
                proposal = with_candidates(translated, self._zeros)
            return self._settle(queries, proposal)

        for found in self._index.search(values, settle_query, n_jobs, certify=certify):
            yield replace(found, rows=numbers[found.rows])

    def _compare_with_all(
        self, queries: Points, numbers: Ints, n_jobs: int | None
    ) -> Iterator[Nearest]:
        """Yield the neighbours of some queries, from the distances to all training samples."""
        every = np.arange(self._points.n)

        def compare(row: int) -> Nearest:
            proposal = Proposal(np.array([row]), np.array([0, len(every)]), every)
            return settled(proposal, partial(self._settle, queries))

        with Workers(n_jobs if len(numbers) > 1 else 1) as workers:
            yield from workers.map(compare, numbers.tolist())

    def _settle(self, queries: Points, proposal: Proposal) -> tuple[Ints, Floats]:
        # Squared distances of queries far beyond the training samples can overflow.
        with np.errstate(over="ignore"):
            return settle(self._points, proposal, self._k, queries=queries)

    def _in_form(self, values: Matrix) -> Matrix:
        """Return queries dense or sparse, as the training samples are."""
        if sparse.issparse(self._points.values):
            return sparse.csr_array(values)
        return values.toarray() if sparse.issparse(values) else values


def _preparation(engine: EngineLike, points: Points) -> Callable[..., TrainingIndex]:
    """Return the function that builds the index of an engine."""
    check_engine(engine)
    if not choose_spec(engine, points).on_device:
        return query_search.prepare
    from rectifold._engines.gpu.query_search import prepare

    return partial(prepare, device=engine.device if isinstance(engine, GPU) else None)
