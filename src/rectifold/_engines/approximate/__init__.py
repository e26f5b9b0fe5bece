"""The approximate engine: it may miss a neighbour, and gives what tells how many it misses."""

from collections.abc import Generator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines import exact
from rectifold._engines.approximate import probing, tuning
from rectifold._engines.approximate.clusters import Cells, gather
from rectifold._engines.approximate.probing import Near
from rectifold._engines.approximate.residuals import subtract_middles
from rectifold._engines.contract import (
    N_CHECKED,
    N_TUNED,
    Answer,
    Approximation,
    CheckSample,
    EngineUsed,
    PairCount,
    Proposal,
    sample_rows,
    sorted_proposal,
)
from rectifold._engines.exact import costs
from rectifold._engines.exact.certificates import SearchState
from rectifold._engines.exact.index import LeafIndex, build_index
from rectifold._engines.settle import settle
from rectifold._engines.threads import Workers
from rectifold._engines.zero_vectors import search_nonzero

#: Where there are fewer distinct points than so many times the neighbours wanted, cells are no
#: help: most of them would have to be seen.
_ROOM = 16


def propose(
    points: Points,
    labels: Ints,
    k: int,
    *,
    n_jobs: int | None = None,
    wanted: Approximation,
) -> Generator[Answer, None, None]:
    """Give certificates where they cost little, and search the nearest cells for the others.

    Parameters
    ----------
    points : Points
        Points with one of the exact engine's metrics.
    labels : ndarray of shape (n_rows,)
        Class codes.
    k : int
        Neighbours per row.
    n_jobs : int or None
        Cores, as in scikit-learn. The answers don't depend on it.
    wanted : Approximation
        What is to be reached.

    Yields
    ------
    Answer
        Among them the true neighbours of `N_CHECKED` rows; none if all answers are exact, because
        an exact search took no longer.
    """
    begun = perf_counter()
    with Workers(n_jobs) as workers:

        def among(values: Matrix, labels: Ints, ceiling: float) -> Generator[Answer, None, None]:
            cosine = points.metric == "cosine"
            index = build_index(values, labels, k, workers, unit_length=cosine, ceiling=ceiling)
            run = _Run(Points(values, points.metric), index, k, workers, wanted, begun)
            return run.answers()

        yield from search_nonzero(points, labels, k, among)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    points: Points
    index: LeafIndex
    k: int
    workers: Workers
    wanted: Approximation
    begun: float

    def answers(self) -> Generator[Answer, None, None]:
        """Answer for all rows."""
        index, k, workers = self.index, self.k, self.workers
        if (
            index.single_leaf
            or self.wanted.target_recall >= 1
            or len(index.groups.counts) < _ROOM * k
        ):
            yield EngineUsed("exact")
            yield from exact.answer_all(index, k, workers)
            return
        proof = tuning.try_certificates(index, k, workers)
        state = index.initial_state()
        if proof.pays:
            yield from exact.certify_all(index, k, state, workers)
        left = np.sort(index.frame.leaves.order[~state.certified])
        rows = np.sort(index.groups.rows(left))
        if len(rows) <= 2 * (N_CHECKED + N_TUNED):
            yield from self._exactly(state, proof)
            return
        some = sample_rows(rows, self.wanted.seed, N_TUNED)
        start = perf_counter()
        truth = self._truth(np.sort(some))
        seconds = perf_counter() - start
        yield PairCount(truth.pairs)
        seen = tuning.Seen(len(some), truth.pairs, seconds)
        prices = tuning.weigh(index, k, state, proof, seen)
        if self._sooner_exactly(prices):
            yield from self._exactly(state, proof)
            return
        cells, sketch = self._cells(costs.cells_for(len(left)))
        position = np.empty_like(cells.order)
        position[cells.order] = np.arange(len(position))
        at = position[index.groups.points()]
        for_tuning = np.isin(truth.rows, some[N_CHECKED:])
        tried = at[truth.rows[for_tuning]]
        target = self.wanted.target_recall
        probes = tuning.tune(cells, sketch, tried, at[truth.indices[for_tuning]], target)
        residuals = subtract_middles(index.frame.coordinates, cells)
        load = probing.trial(residuals, sketch, k, np.unique(tried), probes, workers)
        if self._sooner_exactly(prices, load):
            yield from self._exactly(state, proof)
            return
        if self.wanted.budget is not None:
            probes = min(probes, prices.affordable(load, self._seconds_left()))
        yield CheckSample(truth.proposal(~for_tuning), len(rows))

        def settled(near: Near) -> list[Proposal]:
            """Queries and what is near them become rows and their neighbours, in order."""
            order = cells.order
            found = index.groups.expand(
                order[near.queries], near.offsets, order[near.neighbours], k
            )
            return [sorted_proposal(one.rows, *settle(self.points, one, k)) for one in found]

        queries = np.sort(position[left])
        for found in probing.search(residuals, sketch, k, queries, probes, workers, settled):
            yield from [PairCount(found)] if isinstance(found, int) else found

    def _exactly(self, state: SearchState, proof: tuning.Proof) -> Generator[Answer, None, None]:
        """Answer exactly for all rows that have no answer yet."""
        yield EngineUsed("exact")
        if proof.pays:
            yield from exact.search_uncertified(self.index, self.k, state, self.workers)
        else:
            yield from exact.answer_all(self.index, self.k, self.workers)

    def _sooner_exactly(self, prices: tuning.Prices, load: tuning.Load | None = None) -> bool:
        """Tell whether an exact search takes no longer, or no longer than is granted."""
        if self.wanted.prefer_exact and prices.exact_seconds <= self._seconds_left():
            return True
        return prices.exact <= prices.approximate(load)

    def _seconds_left(self) -> float:
        assert self.wanted.budget is not None
        return self.wanted.budget - (perf_counter() - self.begun)

    def _truth(self, rows: Ints) -> "_Truth":
        """Find the true neighbours of a sample."""
        pairs = 0
        parts = []
        for answer in exact.neighbours_of(self.index, rows, self.k, self.workers):
            if isinstance(answer, PairCount):
                pairs += answer.pairs
            elif isinstance(answer, Proposal):
                parts.append((answer.rows, *settle(self.points, answer, self.k)))
        found, indices, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        return _Truth(found, indices, distances, pairs)

    def _cells(self, count: int) -> tuple[Cells, Floats]:
        """Gather all points into cells; give them and the points, in their order."""
        leaves = self.index.frame.leaves
        sketch = leaves.sketch[self.index.places()]
        rng = np.random.default_rng(self.wanted.seed)
        cells = gather(sketch, count, rng, self.workers)
        return cells, sketch[cells.order]


@dataclass(frozen=True, slots=True, eq=False)
class _Truth:
    """The true neighbours of some rows."""

    rows: Ints
    indices: Ints
    distances: Floats
    pairs: int

    def proposal(self, mask: Bools) -> Proposal:
        """Those of some of the rows, as a proposal."""
        return sorted_proposal(self.rows[mask], self.indices[mask], self.distances[mask])
