"""Estimates of the search time, and the number of cells that a recall needs."""

from dataclasses import dataclass, replace

import numpy as np

from rectifold._core.threads import Workers
from rectifold._core.utils import Ints
from rectifold._engines.approximate.clusters import Cells
from rectifold._engines.exact import costs
from rectifold._engines.exact.certificates import trial
from rectifold._engines.exact.estimates import price
from rectifold._engines.exact.index import LeafIndex, SearchState


@dataclass(frozen=True, slots=True)
class CertificateTrial:
    """Cost of certificates in nanoseconds of a core per sample, and the fraction certified."""

    cost: float
    certified: float
    #: Whether certificates cost less than the approximate searches that they save.
    pays: bool


def try_certificates(index: LeafIndex, k: int, workers: Workers) -> CertificateTrial:
    """Try certificates on a few samples."""
    n, d = index.groups.values.shape
    tried = trial(index, k, workers)
    cost = costs.of_certificate(tried.leaves, tried.pairs, d)
    saved = tried.certified * costs.by_cells(n, n, d) / n
    return CertificateTrial(cost, tried.certified, cost < saved)


@dataclass(frozen=True, slots=True)
class Load:
    """Mean number of comparisons of a query that searches `probes` cells."""

    probes: int
    pairs: float
    #: Points within its bound.
    hits: float


@dataclass(frozen=True, slots=True)
class Costs:
    """Estimated cost of the search for all other samples, in nanoseconds of a core."""

    n_queries: int
    n_points: int
    n_columns: int
    #: An exact search, including certificates if they have not been computed.
    exact: float
    #: Seconds of wall time per nanosecond of the model, with all cores.
    scale: float

    @property
    def exact_seconds(self) -> float:
        """Estimated time of the exact search in seconds."""
        return self.exact * self.scale

    def approximate(self, load: Load | None = None) -> float:
        """Return the cost of an approximate search; of a typical one, without its load."""
        if load is None:
            return costs.by_cells(self.n_queries, self.n_points, self.n_columns)
        return costs.by_cells(self.n_queries, self.n_points, self.n_columns, load.pairs, load.hits)

    def affordable(self, load: Load, seconds: float) -> int:
        """Return how many cells every query can search in some seconds; at least one."""
        fixed = self.approximate(replace(load, pairs=0.0, hits=0.0))
        each = (self.approximate(load) - fixed) / load.probes
        return max(1, int((seconds / self.scale - fixed) / each))


def time_scale(index: LeafIndex, n_queries: int, pairs: int, seconds: float) -> float:
    """Return the seconds per nanosecond of the cost model, from a measured exact search."""
    d = index.groups.values.shape[1]
    return seconds / costs.by_products(n_queries, index.frame.leaves.n, pairs / n_queries, d)


def estimate_costs(
    index: LeafIndex, k: int, state: SearchState, certificates: CertificateTrial, scale: float
) -> Costs:
    """Estimate costs with the model, whose `scale` is that of `time_scale`."""
    n, d = index.groups.values.shape
    places = np.flatnonzero(~state.certified)
    left = len(places)
    estimated = Costs(left, n, d, np.inf, scale)
    exact = price(index, k, places, state.bounds[places], most=estimated.approximate() / 10).cost
    if not certificates.pays:
        exact = min(exact, left * certificates.cost + (1 - certificates.certified) * exact)
    return replace(estimated, exact=exact)


def tune(cells: Cells, queries: Ints, neighbours: Ints, target: float) -> int:
    """Return how many cells each query must search to reach the recall `target`.

    A neighbour is found if its cell is searched, so the recall of every number of cells follows
    from the true neighbours of some queries, without any search. `queries` and `neighbours` are
    positions.
    """
    nearness = cells.nearness(cells.sketch[queries])
    ranks = np.empty(nearness.shape, dtype=np.int32)
    every = np.arange(cells.n, dtype=np.int32)
    np.put_along_axis(ranks, np.argsort(-nearness, axis=1, kind="stable"), every[None], axis=1)
    needed = np.take_along_axis(ranks, cells.cell[neighbours], axis=1) + 1
    for probes in range(1, cells.n):
        found = (needed <= probes).mean(axis=1)
        # A margin of two standard errors, so that another sample rarely shows less.
        if found.mean() - 2 * found.std() / np.sqrt(len(found)) >= target:
            return probes
    return cells.n
