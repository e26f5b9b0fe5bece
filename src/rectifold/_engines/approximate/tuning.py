"""How much is looked at: whether certificates pay, and how many cells a target needs."""

from dataclasses import dataclass, replace

import numpy as np

from rectifold._core.utils import Floats, Ints
from rectifold._engines.approximate.clusters import Cells
from rectifold._engines.exact import costs
from rectifold._engines.exact.certificates import SearchState, trial
from rectifold._engines.exact.estimates import price
from rectifold._engines.exact.index import LeafIndex
from rectifold._engines.threads import Workers


@dataclass(frozen=True, slots=True)
class Proof:
    """What certificates take, in nanoseconds of a core for a row, and the share that holds one."""

    cost: float
    certified: float
    #: Whether they cost less than the approximate searches that they save.
    pays: bool


def try_certificates(index: LeafIndex, k: int, workers: Workers) -> Proof:
    """See what certificates take and give, for a few rows."""
    n, d = index.groups.values.shape
    tried = trial(index.frame, index.weights, k, workers, ceiling=index.ceiling)
    cost = costs.of_certificate(tried.leaves, tried.pairs, d)
    saved = tried.certified * costs.by_cells(n, n, d) / n
    return Proof(cost, tried.certified, cost < saved)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the exact search for a sample of rows took."""

    rows: int
    pairs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Load:
    """What a query looks at on average, when it sees so many cells."""

    probes: int
    pairs: float
    #: Points that come into question.
    hits: float


@dataclass(frozen=True, slots=True)
class Prices:
    """What searches for the rows that are left will cost, in nanoseconds of a core."""

    n_queries: int
    n_points: int
    n_columns: int
    #: An exact search, certificates included where there are none yet.
    exact: float
    #: How many seconds a nanosecond of the model is, with all cores there are.
    scale: float

    @property
    def exact_seconds(self) -> float:
        """The exact search in seconds."""
        return self.exact * self.scale

    def approximate(self, load: Load | None = None) -> float:
        """An approximate search; what is typical, before its load is known."""
        if load is None:
            return costs.by_cells(self.n_queries, self.n_points, self.n_columns)
        return costs.by_cells(self.n_queries, self.n_points, self.n_columns, load.pairs, load.hits)

    def affordable(self, load: Load, seconds: float) -> int:
        """How many cells every query can see in some seconds; one at least."""
        nothing = self.approximate(replace(load, pairs=0.0, hits=0.0))
        each = (self.approximate(load) - nothing) / load.probes
        return max(1, int((seconds / self.scale - nothing) / each))


def weigh(index: LeafIndex, k: int, state: SearchState, proof: Proof, seen: Seen) -> Prices:
    """Estimate prices by the model of costs, and what they are in seconds by a sample."""
    n, d = index.groups.values.shape
    left = int(np.count_nonzero(~state.certified))
    leaves = index.frame.leaves.n
    scale = seen.seconds / costs.by_products(seen.rows, leaves, seen.pairs / seen.rows, d)
    prices = Prices(left, n, d, np.inf, scale)
    exact = price(index, k, state, most=prices.approximate() / 10).cost
    if not proof.pays:
        exact = min(exact, left * proof.cost + (1 - proof.certified) * exact)
    return replace(prices, exact=exact)


def tune(cells: Cells, sketch: Floats, queries: Ints, neighbours: Ints, target: float) -> int:
    """Choose how many cells each query sees.

    A neighbour is found if its cell is seen, so the recall of every choice is known from the
    true neighbours of a sample, without any search.

    Parameters
    ----------
    cells : Cells
        The cells.
    sketch : ndarray of shape (n_points, n_columns)
        Points in the coordinates of their centres, in the order of cells.
    queries : ndarray of shape (n_queries,)
        Positions of a sample.
    neighbours : ndarray of shape (n_queries, k)
        Positions of their true neighbours.
    target : float
        The recall wanted.

    Returns
    -------
    int
    """
    nearness = cells.nearness(sketch[queries])
    ranks = np.empty(nearness.shape, dtype=np.int32)
    every = np.arange(cells.n, dtype=np.int32)
    np.put_along_axis(ranks, np.argsort(-nearness, axis=1, kind="stable"), every[None], axis=1)
    needed = np.take_along_axis(ranks, cells.cell[neighbours], axis=1) + 1
    for probes in range(1, cells.n):
        found = (needed <= probes).mean(axis=1)
        # Two standard errors more, so that another sample hardly shows less.
        if found.mean() - 2 * found.std() / np.sqrt(len(found)) >= target:
            return probes
    return cells.n
