"""Exact search through all leaves that can hold a neighbour."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from rectifold._core.threads import Workers, positive, scratch
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.compiled import TASKS, CompiledFrame, CrowdedError
from rectifold._engines.exact.index import LeafIndex
from rectifold._engines.exact.leaves import paired_visits, visits
from rectifold._engines.exact.products import Frame
from rectifold._engines.exact.top_k import kth_at_least

#: Maximum number of queries of a task.
_QUERIES = 512
#: Number of nearest leaves that give a first bound.
FIRST = 8
#: Candidates are reduced by a tighter bound if there are more than this multiple of k + 1.
_FEW = 2
#: Maximum number of candidates in memory per task.
_PAIRS = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Points near each of some queries, which provably hold its k nearest samples."""

    places: Ints
    #: Places near ``places[i]`` are ``neighbours[offsets[i]:offsets[i + 1]]``.
    offsets: Ints
    neighbours: Ints
    #: Number of pairs that were compared.
    pairs: int


def search(
    index: LeafIndex,
    k: int,
    places: Ints,
    bounds: Floats,
    workers: Workers,
    *,
    which: Ints | None = None,
    tight: bool = False,
) -> Iterator[Candidates]:
    """Yield the points that can hold one of the k nearest samples, once for every query.

    Queries `places` are ascending; `bounds` are upper bounds of the squared distance of their k-th
    nearest sample. Only the leaves `which` are searched, all by default. `tight` means that finite
    bounds need no tightening first.
    """
    which = np.arange(index.frame.leaves.n) if which is None else which
    compiled = CompiledFrame.of(index.frame, index.weights)
    searcher = Searcher(index.frame, index.weights, k, which, tight)
    if compiled is not None:
        searcher = CompiledSearcher(index.frame, index.weights, k, which, tight, compiled=compiled)
    coarse: list[tuple[Ints, Floats]] = []
    # Independent of the number of workers, on which results must not depend.
    if compiled is None:
        count = max(-(-len(places) // _QUERIES), min(4, -(-len(places) // 300)))
    else:
        count = max(-(-len(places) // (2 * _QUERIES)), min(TASKS, -(-len(places) // 32)))
    tasks = zip(np.array_split(places, count), np.array_split(bounds, count), strict=True)
    for candidates, unresolved in workers.map(searcher, tasks):
        yield from candidates
        coarse.append(unresolved)
    again = np.concatenate([some for some, _ in coarse])
    if len(again):
        tighter = np.concatenate([bound for _, bound in coarse])
        finer = replace(index, frame=index.frame.finer())
        yield from search(finer, k, again, tighter, workers, which=which, tight=tight)


def estimate(
    index: LeafIndex, k: int, places: Ints, bounds: Floats, which: Ints | None = None
) -> tuple[Floats, float]:
    """Return tightened bounds for a few queries, and the average number of pairs of a query."""
    frame, weights = index.frame, index.weights
    every = which is None
    which = np.arange(frame.leaves.n) if which is None else which
    pairs = 0
    # Finite bounds for some of the leaves are tight; see `search`.
    if every or not np.isfinite(bounds).all():
        bounds, pairs = Searcher(frame, weights, k, which).tighten(places, bounds)
    if not frame.resolves(bounds, places).all():
        bounds, _ = Searcher(frame.finer(), weights, k, which).tighten(places, bounds)
    near = frame.near(places, bounds, which)
    compared = np.count_nonzero(near) * frame.leaves.size + pairs
    return bounds, compared / len(places)


@dataclass(frozen=True, slots=True, eq=False)
class Searcher:
    """Find the points near some queries in the leaves `which`."""

    frame: Frame
    #: Number of samples on the point at each place.
    weights: Ints
    k: int
    which: Ints
    tight: bool = False

    @property
    def wanted(self) -> int:
        """Number of samples that candidates must include: a query may be one of them."""
        return self.k + self.frame.side.itself

    def __call__(self, task: tuple[Ints, Floats]) -> tuple[list[Candidates], tuple[Ints, Floats]]:
        """Return candidates, and the queries for which rounding is too coarse, with bounds."""
        places, bounds = task
        pairs = 0
        if not self.tight or not np.isfinite(bounds).all():
            bounds, pairs = self.tighten(places, bounds)
        fine = self.fine(places, bounds)
        some, within = places[fine], bounds[fine]
        found = self.collect(some, within, self.frame.near(some, within, self.which), pairs)
        return found, (places[~fine], bounds[~fine])

    def fine(self, places: Ints, bounds: Floats) -> Bools:
        """Return for which queries rounding is not too coarse."""
        if self.frame.dtype == np.float64:
            return np.ones(len(places), dtype=bool)
        return self.frame.resolves(bounds, places)

    def tighten(self, places: Ints, bounds: Floats) -> tuple[Floats, int]:
        """Lower bounds to the k-th nearest point of the nearest leaves; also return the pairs."""
        count = min(len(self.which), FIRST)
        if count * self.frame.leaves.size < self.wanted:
            return bounds, 0
        products = self.products(places, self.nearest(places, count))
        kth = kth_at_least(products.reshape(len(places), -1), self.wanted)
        return np.minimum(bounds, self.frame.at_most(kth, places)), products.size

    def nearest(self, places: Ints, count: int) -> Ints:
        """Return the numbers of `count` leaves with the nearest centres for each query."""
        query, place = np.nonzero(self.frame.nearest(places, self.which, count))
        # Some queries have more, if centres are equally near.
        starts = np.searchsorted(query, np.arange(len(places)))
        return np.asarray(self.which[place[starts[:, None] + np.arange(count)]])

    def products(self, places: Ints, leaves: Ints) -> Floats:
        """Return products of shape (n_queries, n_leaves, leaf size) with the leaves of each query.

        Valid until the next call in this thread.
        """
        frame, size = self.frame, self.frame.leaves.size
        queries = frame.queries(places)
        found = scratch("nearest", (leaves.size + 1, size), frame.dtype)
        for visit, pairs in paired_visits(leaves, frame.leaves.n, size):
            found[pairs] = frame.products(queries, visit)
        return np.asarray(found[:-1].reshape(*leaves.shape, size))

    def collect(
        self, places: Ints, bounds: Floats, near: Bools, pairs: int = 0
    ) -> list[Candidates]:
        """Return the points within the bounds, in the leaves of `near`.

        `pairs` is added to the number of pairs.
        """
        found = []
        pending = [(places, bounds, near)] if len(places) else []
        while pending:
            some, within, mask = pending.pop()
            candidates = self._collect(some, within, mask, pairs)
            if candidates is None:
                for half in (slice(len(some) // 2, None), slice(len(some) // 2)):
                    pending.append((some[half], within[half], mask[half]))
            else:
                found.append(candidates)
                pairs = 0
        return found

    def _collect(self, places: Ints, bounds: Floats, near: Bools, pairs: int) -> Candidates | None:
        """Return the points within the bounds; None if they are too many for the memory."""
        size = self.frame.leaves.size
        within = self.frame.above(bounds, places)
        queries = self.frame.queries(places, within)
        hits, held = [], 0
        for visit in visits(self.which, near, size):
            products = self.frame.products(queries, visit)
            pairs += products.size
            where = np.flatnonzero(positive(products))
            block, rest = np.divmod(where, products.shape[1] * size)
            query, point = np.divmod(rest, size)
            hits.append(
                (
                    visit.queries[block, query],
                    visit.leaves[block] * size + point,
                    products.ravel()[where],
                )
            )
            held += len(point)
            if held > _PAIRS and len(places) > 1:
                return None
        if not hits:
            nothing = np.empty(0, dtype=np.intp)
            return Candidates(places, np.zeros(len(places) + 1, dtype=np.intp), nothing, pairs)
        owner, neighbours, nearness = (np.concatenate(parts) for parts in zip(*hits, strict=True))
        if len(owner) <= _FEW * self.wanted * len(places):
            order = np.argsort(owner.astype(np.uint16), kind="stable")
            return Candidates(places, _offsets(owner, len(places)), neighbours[order], pairs)
        # The k-th nearest of all gives a tighter bound. (A product with the bound b adds c b to the
        # error of each of the two that are compared; see `rounding`.)
        squares = within[owner] - 2.0 * nearness
        order = np.lexsort((squares, owner))
        owner, neighbours, squares = owner[order], neighbours[order], squares[order]
        rows = np.cumsum(self.weights[neighbours])
        starts = np.searchsorted(owner, np.arange(len(places)))
        before = np.append(0, rows)[starts]
        last = np.minimum(np.searchsorted(rows, before + self.wanted), len(rows) - 1)
        enough = owner[last] == np.arange(len(places))
        most = self.frame.above(self.frame.at_most(-squares[last] / 2, places), places)
        most = np.where(enough, most + 8 * self.frame.rounding.relative * within, np.inf)
        keep = squares <= most[owner]
        owner, neighbours = owner[keep], neighbours[keep]
        return Candidates(places, _offsets(owner, len(places)), neighbours, pairs)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledSearcher(Searcher):
    """The same in the compiled library."""

    compiled: CompiledFrame = field(kw_only=True)

    def __call__(self, task: tuple[Ints, Floats]) -> tuple[list[Candidates], tuple[Ints, Floats]]:
        """Return candidates, and the queries for which rounding is too coarse, with bounds."""
        places, bounds = task
        try:
            found, coarse, tighter, pairs = self.compiled.search(
                places, bounds, self.which, self.wanted
            )
        except CrowdedError:
            return Searcher(self.frame, self.weights, self.k, self.which, self.tight)(task)
        candidates = [Candidates(one.numbers, one.offsets, one.places, 0) for one in found]
        candidates[0] = replace(candidates[0], pairs=pairs)
        return candidates, (coarse, tighter)


def _offsets(owner: Ints, n: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n))))
