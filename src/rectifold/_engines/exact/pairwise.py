"""Comparison of all pairs at once, for certificates and neighbours of small tables."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rectifold._core.threads import Workers
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.exact.index import LeafIndex
from rectifold._engines.exact.leaf_search import Candidates
from rectifold._engines.exact.leaves import PRODUCTS, Visits
from rectifold._engines.exact.products import Frame
from rectifold._engines.exact.top_k import count, kth_at_least


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseResult:
    """The result for some queries, given by place."""

    #: Queries that hold a certificate.
    certified: Ints
    candidates: Candidates
    #: Queries for which rounding is too coarse.
    unresolved: Ints


def search(
    index: LeafIndex, classes: Ints, k: int, places: Ints, workers: Workers
) -> Iterator[PairwiseResult]:
    """Yield certificates of the queries `places`, and points that hold the neighbours of the rest.

    The index has a single leaf. `classes` are those of the points, ascending.
    """
    compare = _Comparison(index.frame, classes, index.weights, k, index.ceiling)
    step = max(64, PRODUCTS // len(classes))
    edges = np.flatnonzero(np.diff(classes[places])) + 1
    tasks = [
        part
        for one_class in np.split(places, edges)
        for part in np.split(one_class, np.arange(step, len(one_class), step))
    ]
    unresolved = []
    for result in workers.map(compare, tasks):
        yield result
        unresolved.append(result.unresolved)
    left = np.concatenate(unresolved)
    if len(left):
        yield from search(replace(index, frame=index.frame.finer()), classes, k, left, workers)


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    frame: Frame
    classes: Ints
    weights: Ints
    k: int
    ceiling: float

    def __call__(self, places: Ints) -> PairwiseResult:
        """Compare some queries of one class with all points."""
        label = self.classes[places[0]]
        begin, end = np.searchsorted(self.classes, (label, label + 1))
        visits = Visits(np.zeros(1, dtype=np.intp), np.arange(len(places))[None], all_queries=True)
        products = self.frame.products(self.frame.queries(places), visits)[0]
        pairs = products.size
        itself = (np.arange(len(places)), places)
        products[itself] = -np.inf
        left = np.arange(len(places))
        if label >= 0:
            left = np.flatnonzero(~self._certified(products, places, begin, end))
        certified = np.delete(places, left)
        places, products = places[left], products[left] if len(certified) else products
        bounds = np.full(len(places), np.inf)
        n = products.shape[1]
        if n > self.k:
            bounds = self.frame.at_most(kth_at_least(products, self.k), places)
        fine = np.ones(len(places), dtype=bool)
        if self.frame.dtype == np.float32:
            fine = self.frame.resolves(bounds, places)
        # The point of the query may hold other samples.
        products[np.arange(len(places)), places] = 0
        within = self.frame.above(bounds, places) / -2
        within[~fine] = np.inf
        near = products >= np.nextafter(within.astype(products.dtype), -np.inf)[:, None]
        owner, neighbours = np.divmod(np.flatnonzero(near), n)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(places))[fine])))
        candidates = Candidates(places[fine], offsets, neighbours, pairs)
        return PairwiseResult(certified, candidates, places[~fine])

    def _certified(self, products: Floats, places: Ints, begin: int, end: int) -> Bools:
        """Return which queries have k samples of their class nearer than any other class."""
        nearest = np.full(len(places), -np.inf)
        for others in (products[:, :begin], products[:, end:]):
            if others.shape[1]:
                nearest = np.maximum(nearest, others.max(axis=1))
        enemy = np.minimum(self.frame.at_least(nearest, places), self.ceiling)
        # Rounded up, so that a comparison is a proof.
        bounds = self.frame.rounding.clipped(self.frame.below(enemy, places))
        least = np.nextafter((bounds / -2).astype(products.dtype), np.inf)
        friends = products[:, begin:end]
        enough = np.zeros(len(places), dtype=bool)
        if friends.shape[1] > self.k:
            enough = kth_at_least(friends, self.k) > least
        # If that proves nothing, the nearer points are counted, each with the samples on it.
        few = np.flatnonzero(~enough)
        nearer = friends[few] > least[few, None]
        # Other samples on the query's point are nearer than an enemy anywhere else.
        duplicates = np.where(enemy[few] > 0, self.weights[places[few]] - 1, 0)
        counts = count(nearer, self.weights[begin:end]) + duplicates
        enough[few] = counts >= self.k
        return enough
