"""Small tables: every pair is looked at once, for certificates and neighbours alike."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.exact.leaf_search import Candidates
from rectifold._engines.exact.leaves import PRODUCTS, Visits
from rectifold._engines.exact.products import Frame
from rectifold._engines.exact.top_k import count, kth_at_least
from rectifold._engines.threads import Workers


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseResult:
    """What became of some queries."""

    #: Those that hold a certificate.
    certified: Ints
    found: Candidates
    #: Those for which rounding is too coarse.
    unresolved: Ints


def search(
    frame: Frame,
    classes: Ints,
    weights: Ints,
    k: int,
    places: Ints,
    workers: Workers,
    *,
    ceiling: float,
) -> Iterator[PairwiseResult]:
    """Find certificates, and the points that can be among the k nearest rows of the rest.

    Parameters
    ----------
    frame : Frame
        Points in one leaf.
    classes, weights : ndarray of shape (n_places,)
        The class of each point, ascending; how many rows lie on it.
    k : int
        Neighbours per row.
    places : ndarray of shape (n_queries,)
        The queries, ascending.
    workers : Workers
        Share the work.
    ceiling : float
        A squared distance at which rows of other classes lie that are not among the points.

    Yields
    ------
    PairwiseResult
    """
    look = _Look(frame, classes, weights, k, ceiling)
    step = max(64, PRODUCTS // len(weights))
    edges = np.flatnonzero(np.diff(classes[places])) + 1
    tasks = [
        part
        for mine in np.split(places, edges)
        for part in np.split(mine, np.arange(step, len(mine), step))
    ]
    again = []
    for whole in workers.map(look, tasks):
        yield whole
        again.append(whole.unresolved)
    left = np.concatenate(again)
    if len(left):
        yield from search(frame.finer(), classes, weights, k, left, workers, ceiling=ceiling)


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    frame: Frame
    classes: Ints
    weights: Ints
    k: int
    ceiling: float

    def __call__(self, places: Ints) -> PairwiseResult:
        """Look at all pairs of some queries of one class."""
        label = self.classes[places[0]]
        begin, end = np.searchsorted(self.classes, (label, label + 1))
        everyone = Visits(
            np.zeros(1, dtype=np.intp), np.arange(len(places))[None], all_queries=True
        )
        found = self.frame.look(self.frame.queries(places), everyone)[0]
        pairs = found.size
        itself = (np.arange(len(places)), places)
        found[itself] = -np.inf
        left = np.arange(len(places))
        if label >= 0:
            left = np.flatnonzero(~self._certified(found, places, begin, end))
        certified = np.delete(places, left)
        places, found = places[left], found[left] if len(certified) else found
        bounds = np.full(len(places), np.inf)
        n = found.shape[1]
        if n > self.k:
            bounds = self.frame.at_most(kth_at_least(found, self.k), places)
        fine = np.ones(len(places), dtype=bool)
        if self.frame.dtype == np.float32:
            fine = self.frame.resolves(bounds, places)
        # Its own point may hold other rows.
        found[np.arange(len(places)), places] = 0
        within = self.frame.above(bounds, places) / -2
        within[~fine] = np.inf
        near = found >= np.nextafter(within.astype(found.dtype), -np.inf)[:, None]
        owner, neighbours = np.divmod(np.flatnonzero(near), n)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(places))[fine])))
        return PairwiseResult(
            certified, Candidates(places[fine], offsets, neighbours, pairs), places[~fine]
        )

    def _certified(self, found: Floats, places: Ints, begin: int, end: int) -> Bools:
        """Tell which queries have k rows of their class nearer than any other."""
        nearest = np.full(len(places), -np.inf)
        for others in (found[:, :begin], found[:, end:]):
            if others.shape[1]:
                nearest = np.maximum(nearest, others.max(axis=1))
        enemy = np.minimum(self.frame.at_least(nearest, places), self.ceiling)
        # Rounded up, so that the comparison proves what it shall.
        bounds = self.frame.rounding.clipped(self.frame.below(enemy, places))
        least = np.nextafter((bounds / -2).astype(found.dtype), np.inf)
        friends = found[:, begin:end]
        enough = np.zeros(len(places), dtype=bool)
        if friends.shape[1] > self.k:
            enough = kth_at_least(friends, self.k) > least
        # Where that does not tell, they are counted, each with the rows on it.
        few = np.flatnonzero(~enough)
        nearer = friends[few] > least[few, None]
        # Other rows on its own point are nearer than an enemy that is anywhere else.
        together = np.where(enemy[few] > 0, self.weights[places[few]] - 1, 0)
        counts = count(nearer, self.weights[begin:end]) + together
        enough[few] = counts >= self.k
        return enough
