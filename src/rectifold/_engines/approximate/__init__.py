"""The approximate engine: it may miss neighbours, and measures how many on a random sample."""

from collections.abc import Generator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rectifold._core.space import Points
from rectifold._core.threads import Workers
from rectifold._core.utils import Ints, Matrix
from rectifold._engines import exact
from rectifold._engines.approximate import probing, tuning
from rectifold._engines.approximate.clusters import gather
from rectifold._engines.approximate.probing import Near
from rectifold._engines.approximate.residuals import subtract_means
from rectifold._engines.contract import (
    N_CHECKED,
    N_TUNED,
    Answer,
    CheckSample,
    EngineUsed,
    PairCount,
    Proposal,
    sample_rows,
    sorted_proposal,
)
from rectifold._engines.exact import costs
from rectifold._engines.exact.index import LeafIndex, SearchState, build_index
from rectifold._engines.options import Approximate
from rectifold._engines.settle import settle
from rectifold._engines.zero_vectors import search_nonzero

#: With fewer distinct points than this multiple of k, most cells would have to be searched.
_MIN_RATIO = 16


def propose(
    points: Points,
    labels: Ints,
    k: int,
    *,
    n_jobs: int | None = None,
    options: Approximate,
    seed: int,
) -> Generator[Answer, None, None]:
    """Yield certificates if they cost little, and search the nearest cells for the other samples.

    The search is exact, without a `CheckSample`, if that is estimated to take no longer.
    """
    started = perf_counter()
    with Workers(n_jobs) as workers:

        def search(values: Matrix, labels: Ints, ceiling: float) -> Generator[Answer, None, None]:
            samples = Points(values, points.metric)
            index = build_index(samples, labels, k, workers, ceiling=ceiling)
            run = _Run(samples, index, k, workers, options, seed, started)
            return run.answers()

        yield from search_nonzero(points, labels, k, search)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    points: Points
    index: LeafIndex
    k: int
    workers: Workers
    options: Approximate
    seed: int
    started: float

    def answers(self) -> Generator[Answer, None, None]:
        """Yield answers for all samples."""
        index, k, workers = self.index, self.k, self.workers
        few_points = len(index.groups.counts) < _MIN_RATIO * k
        if index.single_leaf or few_points or self.options.recall >= 1:
            yield EngineUsed("exact")
            yield from exact.answer_all(index, k, workers)
            return
        certificates = tuning.try_certificates(index, k, workers)
        state = index.initial_state()
        if certificates.pays:
            yield from exact.certify_all(index, k, state, workers)
        left = np.sort(index.frame.leaves.order[~state.certified])
        rows = np.sort(index.groups.rows(left))
        if len(rows) <= 2 * (N_CHECKED + N_TUNED):
            yield from self._answer_exactly(state, certificates)
            return
        some = sample_rows(rows, self.seed, N_TUNED)
        start = perf_counter()
        truth, pairs = self._truth(np.sort(some))
        seconds = perf_counter() - start
        yield PairCount(pairs)
        scale = tuning.time_scale(index, len(some), pairs, seconds)
        estimated = tuning.estimate_costs(index, k, state, certificates, scale)
        if self._prefers_exact(estimated):
            yield from self._answer_exactly(state, certificates)
            return
        sketch, rng = index.frame.leaves.sketch, np.random.default_rng(self.seed)
        cells = gather(sketch[index.places()], costs.cells_for(len(left)), rng, workers)
        position = np.empty_like(cells.order)
        position[cells.order] = np.arange(len(position))
        position_of = position[index.groups.points()]
        for_tuning = np.isin(truth.rows, some[N_CHECKED:])
        tried = position_of[truth.rows[for_tuning]]
        nearest = position_of[truth.candidates.reshape(-1, k)[for_tuning]]
        probes = tuning.tune(cells, tried, nearest, self.options.recall)
        residuals = subtract_means(index.frame.coordinates, cells)
        load = probing.trial(residuals, k, np.unique(tried), probes, workers)
        if self._prefers_exact(estimated, load):
            yield from self._answer_exactly(state, certificates)
            return
        if self.options.budget is not None:
            probes = min(probes, estimated.affordable(load, self._seconds_left()))
        yield CheckSample(truth.only(~for_tuning), len(rows))

        def settle_all(near: Near) -> list[Proposal]:
            """Return the sorted neighbours of all samples on the queried points."""
            queries, neighbours = cells.order[near.queries], cells.order[near.neighbours]
            found = index.groups.expand(queries, near.offsets, neighbours, k, self.points)
            return [sorted_proposal(part.rows, *settle(self.points, part, k)) for part in found]

        queries = np.sort(position[left])
        for found in probing.search(residuals, k, queries, probes, workers, settle_all):
            yield from [PairCount(found)] if isinstance(found, int) else found

    def _answer_exactly(
        self, state: SearchState, certificates: tuning.CertificateTrial
    ) -> Generator[Answer, None, None]:
        """Yield exact answers for all samples without an answer."""
        yield EngineUsed("exact")
        if certificates.pays:
            yield from exact.search_uncertified(self.index, self.k, state, self.workers)
        else:
            yield from exact.answer_all(self.index, self.k, self.workers)

    def _prefers_exact(self, estimated: tuning.Costs, load: tuning.Load | None = None) -> bool:
        """Return whether an exact search takes no longer, or keeps to the budget if preferred."""
        if self.options.prefer_exact and estimated.exact_seconds <= self._seconds_left():
            return True
        return estimated.exact <= estimated.approximate(load)

    def _seconds_left(self) -> float:
        assert self.options.budget is not None
        return self.options.budget - (perf_counter() - self.started)

    def _truth(self, rows: Ints) -> tuple[Proposal, int]:
        """Return the sorted true neighbours of the samples `rows`, and the pairs compared."""
        pairs, parts = 0, []
        for answer in exact.neighbours_of(self.index, rows, self.k, self.workers):
            if isinstance(answer, PairCount):
                pairs += answer.pairs
            elif isinstance(answer, Proposal):
                parts.append((answer.rows, *settle(self.points, answer, self.k)))
        found, indices, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sorted_proposal(found, indices, distances), pairs
