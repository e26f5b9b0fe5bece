"""The search for rows without a certificate, among all leaves that can hold a neighbour."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Floats, Ints
from rectifold._engines.exact.leaves import visits
from rectifold._engines.exact.products import Frame
from rectifold._engines.exact.top_k import kth_at_least
from rectifold._engines.threads import Workers, positive, scratch

#: Queries handled at once.
_QUERIES = 512
#: The nearest leaves, from which a bound is found before all are looked at.
FIRST = 8
#: Up to so many times the neighbours needed are given; of more, the farther ones are left out.
_FEW = 2
#: Pairs held at once.
_PAIRS = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Points near each of some queries, which provably hold its k nearest rows."""

    places: Ints
    #: Where each one's neighbours begin; they are places too.
    offsets: Ints
    neighbours: Ints
    pairs: int


def search(
    frame: Frame,
    weights: Ints,
    k: int,
    places: Ints,
    bounds: Floats,
    workers: Workers,
    *,
    which: Ints | None = None,
    tight: bool = False,
) -> Iterator[Candidates]:
    """Find the points that can be among the k nearest rows.

    Parameters
    ----------
    frame : Frame
        Points in leaves.
    weights : ndarray of shape (n_places,)
        How many rows lie on each point.
    k : int
        Neighbours per row.
    places : ndarray of shape (n_queries,)
        The queries, ascending.
    bounds : ndarray of shape (n_queries,)
        The squared distance of the k-th nearest row is at most this.
    workers : Workers
        Share the work.
    which : ndarray of int, default=None
        The leaves to look at; all, by default.
    tight : bool, default=False
        Whether bounds, where they are finite, are as low as the nearest leaves would make them.

    Yields
    ------
    Candidates
        For every query once. Where some leaves are left out, k rows may not be found.
    """
    which = np.arange(frame.leaves.n) if which is None else which
    look = _Look(frame, weights, k, which, tight)
    coarse: list[tuple[Ints, Floats]] = []
    # Not by the number of workers, so that they change nothing.
    count = max(-(-len(places) // _QUERIES), min(4, -(-len(places) // 300)))
    tasks = zip(np.array_split(places, count), np.array_split(bounds, count), strict=True)
    for found, unresolved in workers.map(look, tasks):
        yield from found
        coarse.append(unresolved)
    again = np.concatenate([some for some, _ in coarse])
    if len(again):
        tighter = np.concatenate([bound for _, bound in coarse])
        yield from search(
            frame.finer(), weights, k, again, tighter, workers, which=which, tight=tight
        )


def estimate(
    frame: Frame,
    weights: Ints,
    k: int,
    places: Ints,
    bounds: Floats,
    which: Ints | None = None,
) -> tuple[Floats, float]:
    """Estimate what a search will look at, on a few queries.

    Gives, for each, a squared distance within which its neighbours are; and the pairs of
    points that a query looks at, on average.
    """
    every = which is None
    which = np.arange(frame.leaves.n) if which is None else which
    pairs = 0
    # Bounds that come with some leaves only are tight, where they are finite: see `search`.
    if every or not np.isfinite(bounds).all():
        bounds, pairs = _Look(frame, weights, k, which)._tightened(places, bounds)
    if not frame.resolves(bounds, places).all():
        bounds, _ = _Look(frame.finer(), weights, k, which)._tightened(places, bounds)
    near = frame.near(places, bounds, which)
    looked = np.count_nonzero(near) * frame.leaves.size + pairs
    return bounds, looked / len(places)


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    frame: Frame
    weights: Ints
    k: int
    #: The leaves to look at.
    which: Ints
    #: Whether finite bounds are good enough.
    tight: bool = False

    def __call__(self, task: tuple[Ints, Floats]) -> tuple[list[Candidates], tuple[Ints, Floats]]:
        """Search for some queries; give back those for which rounding is too coarse."""
        places, bounds = task
        pairs = 0
        if not self.tight or not np.isfinite(bounds).all():
            bounds, pairs = self._tightened(places, bounds)
        if self.frame.dtype == np.float64:
            fine = np.ones(len(places), dtype=bool)
        else:
            fine = self.frame.resolves(bounds, places)
        found = []
        todo = [(places[fine], bounds[fine])] if fine.any() else []
        while todo:
            some, within = todo.pop()
            hits = self._collected(some, within, pairs)
            if hits is None:
                half = len(some) // 2
                todo += [(some[half:], within[half:]), (some[:half], within[:half])]
            else:
                found.append(hits)
                pairs = 0
        return found, (places[~fine], bounds[~fine])

    def _tightened(self, places: Ints, bounds: Floats) -> tuple[Floats, int]:
        """Lower the bounds to the k-th nearest point of the nearest leaves."""
        size = self.frame.leaves.size
        count = min(len(self.which), FIRST)
        # The row itself is among them, so k + 1 are counted.
        if count * size <= self.k:
            return bounds, 0
        mask = self.frame.nearest(places, self.which, count)
        # Equally near centres may make it more leaves for some.
        count = int(mask.sum(axis=1).max())
        slot = np.zeros((len(places) + 1, self.frame.leaves.n), dtype=int)
        slot[:-1, self.which] = np.cumsum(mask, axis=1)
        slot -= 1
        queries = self.frame.queries(places)
        nearest = scratch("nearest", (len(places) + 1, count, size), self.frame.dtype)
        nearest.fill(-np.inf)
        pairs = 0
        for visit in visits(self.which, mask, size):
            found = self.frame.look(queries, visit)
            nearest[visit.queries, slot[visit.queries, visit.leaves[:, None]]] = found
            pairs += found.size
        kth = kth_at_least(nearest[:-1].reshape(len(places), -1), self.k + 1)
        return np.minimum(bounds, self.frame.at_most(kth, places)), pairs

    def _collected(self, places: Ints, bounds: Floats, pairs: int) -> Candidates | None:
        """All points within the bounds; None if they are too many to be held at once."""
        size = self.frame.leaves.size
        within = self.frame.above(bounds, places)
        queries = self.frame.queries(places, within)
        hits, held = [], 0
        near = self.frame.near(places, bounds, self.which)
        for visit in visits(self.which, near, size):
            found = self.frame.look(queries, visit)
            pairs += found.size
            where = np.flatnonzero(positive(found))
            block, rest = np.divmod(where, found.shape[1] * size)
            query, point = np.divmod(rest, size)
            hits.append(
                (
                    visit.queries[block, query],
                    visit.leaves[block] * size + point,
                    found.ravel()[where],
                )
            )
            held += len(point)
            if held > _PAIRS and len(places) > 1:
                return None
        if not hits:
            nobody = np.empty(0, dtype=np.intp)
            return Candidates(places, np.zeros(len(places) + 1, dtype=np.intp), nobody, pairs)
        owner, neighbours, nearness = (np.concatenate(parts) for parts in zip(*hits, strict=True))
        if len(owner) <= _FEW * (self.k + 1) * len(places):
            order = np.argsort(owner.astype(np.uint16), kind="stable")
            return Candidates(places, _offsets(owner, len(places)), neighbours[order], pairs)
        # Now that all are there, the k-th nearest gives a tighter bound. (A product with the
        # bound b adds c b to the error of each of the two that are compared; see `rounding`.)
        squares = within[owner] - 2.0 * nearness
        order = np.lexsort((squares, owner))
        owner, neighbours, squares = owner[order], neighbours[order], squares[order]
        rows = np.cumsum(self.weights[neighbours])
        starts = np.searchsorted(owner, np.arange(len(places)))
        before = np.append(0, rows)[starts]
        last = np.minimum(np.searchsorted(rows, before + self.k + 1), len(rows) - 1)
        enough = owner[last] == np.arange(len(places))
        most = self.frame.above(self.frame.at_most(-squares[last] / 2, places), places)
        most = np.where(enough, most + 8 * self.frame.rounding.relative * within, np.inf)
        keep = squares <= most[owner]
        owner, neighbours = owner[keep], neighbours[keep]
        return Candidates(places, _offsets(owner, len(places)), neighbours, pairs)


def _offsets(owner: Ints, n: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n))))
