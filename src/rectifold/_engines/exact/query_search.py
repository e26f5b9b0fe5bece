"""Nearest training samples of queries that are not among them: the index, and the search."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.spatial import cKDTree

from rectifold._core.space import Points
from rectifold._core.threads import Workers, positive
from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.compiled import CompiledFrame, CrowdedError
from rectifold._engines.exact import tree
from rectifold._engines.exact.duplicates import MIXED, Groups
from rectifold._engines.exact.estimates import price
from rectifold._engines.exact.index import build_index
from rectifold._engines.exact.leaf_search import FIRST, Searcher
from rectifold._engines.exact.leaves import EMPTY, visits
from rectifold._engines.exact.products import Frame
from rectifold._engines.exact.top_k import kth_at_least
from rectifold._engines.query_contract import (
    FARTHEST,
    Agreed,
    Nearest,
    Settle,
    settled,
    within_range,
)

#: Queries of a task at most, and those that are too few for several tasks.
_QUERIES, _BATCH = 512, 64
#: Maximum number of queries that are put in the order of leaves at once, and of their scores.
_BLOCK, _SCORES = 2048, 1 << 22
#: Leaves that a query is first compared with, and the maximum number of leaves of other classes for
#: a first certificate.
GLANCE, _FEW = 2, 8


@dataclass(frozen=True, slots=True, eq=False)
class LeafQueryIndex:
    """Training samples, none of them a zero vector under cosine, prepared for queries."""

    frame: Frame
    #: The samples on the point at each place.
    groups: Groups
    #: See `LeafIndex.ceiling`.
    ceiling: float
    k: int
    #: If it is faster than leaves, and the place of each of its points.
    tree: cKDTree | None
    places: Ints | None

    def within_range(self, values: Matrix) -> Bools:
        """Return which queries are near enough for products."""
        return within_range(self.frame.coordinates, values)

    def search(
        self, values: Matrix, settle: Settle, n_jobs: int | None, *, certify: bool
    ) -> Iterator[Agreed | Nearest]:
        """Yield the label or the neighbours of every query, all within range."""
        n = values.shape[0]
        with Workers(n_jobs if n > _BATCH else 1) as workers:
            frame = self.frame.facing(replace(self.frame.coordinates, values=values), workers)
            numbers, first = _by_leaf(frame, n, workers)
            # To prepare the leaves for the library takes longer than a few queries.
            compiled = CompiledFrame.of(frame, self.groups.counts) if n > _BATCH else None
            if certify:
                # All before the first search, so that queries without one are searched together.
                glance = partial(_QuerySearch(self, frame, settle, certify).glance, first)
                parts = []
                for found, left in workers.map(glance, _tasks(numbers, workers)):
                    yield found
                    parts.append(left)
                numbers = np.concatenate(parts)
            later: list[Ints] = []
            while len(numbers):
                coarse = []
                search: _QuerySearch = _QuerySearch(self, frame, settle, certify)
                if compiled is not None:
                    search = _CompiledQuerySearch(
                        self, frame, settle, certify, compiled, first[:, 0]
                    )
                for result in workers.map(search, _tasks(numbers, workers)):
                    yield from result.found
                    coarse.append(result.coarse)
                    later.append(result.later)
                numbers = np.concatenate(coarse)
                if len(numbers):
                    frame, compiled = frame.finer(), None
            left = np.concatenate([numbers, *later])
            if len(left):
                yield from self._search_tree(values, left, settle, workers)

    def _search_tree(
        self, values: Matrix, numbers: Ints, settle: Settle, workers: Workers
    ) -> Iterator[Agreed | Nearest]:
        assert self.tree is not None
        assert self.places is not None
        queries, weights = values[numbers].astype(np.float64), self.groups.counts[self.places]
        # The k nearest of a query that is no sample: k - 1 besides the first.
        proposals = (
            proposal
            for some, offsets, near in tree.search(
                self.tree, weights, self.k - 1, queries, workers.jobs
            )
            for proposal in self.groups.near_queries(
                numbers[some], offsets, self.places[near], self.k
            )
        )
        yield from workers.map(lambda proposal: settled(proposal, settle), proposals)


def prepare(
    values: Matrix, labels: Ints, k: int, n_jobs: int | None, *, unit_length: bool, ceiling: float
) -> LeafQueryIndex:
    """Put training samples into leaves, or also into a tree; see `index.build_index`."""
    with Workers(n_jobs) as workers:
        index = build_index(
            Points(values, "cosine" if unit_length else "euclidean"),
            labels,
            k,
            workers,
            ceiling=ceiling,
            farthest=FARTHEST,
        )
        built, places = None, None
        if not index.single_leaf:
            # As many queries as there are points, since the true number is not known.
            places = np.sort(index.places())
            built = price(index, k, places, np.full(len(places), np.inf)).tree
            places = None if built is None else index.places()
    groups, frame = index.groups, index.frame
    order = frame.leaves.order
    empty = order == EMPTY
    starts = np.where(empty, 0, groups.starts[order])
    # Nothing is stored twice: not the distinct points, nor the leaves in other forms.
    leaves = replace(
        frame.leaves,
        # A single leaf holds samples of all classes.
        labels=np.full(1, MIXED) if index.single_leaf else frame.leaves.labels,
        order=np.where(empty, EMPTY, groups.members[starts]),
        sketch=frame.leaves.sketch[:0].copy(),
    )
    coordinates = replace(frame.coordinates, values=values)
    frame = replace(
        frame,
        coordinates=coordinates,
        leaves=leaves,
        squares=None if isinstance(frame.stored, np.ndarray) else frame.squares,
    )
    nothing = frame.facing(replace(coordinates, values=values[:0]), workers)
    by_place = Groups(values[:0], groups.members, starts, index.weights)
    return LeafQueryIndex(nothing, by_place, index.ceiling, k, built, places)


def _by_leaf(frame: Frame, n: int, workers: Workers) -> tuple[Ints, Ints]:
    """Return the numbers of n queries in the order of leaves, and the nearest leaves of each."""
    every, leaves = np.arange(n), np.arange(frame.leaves.n)
    count = min(frame.leaves.n, GLANCE)

    def nearest(some: Ints) -> Ints:
        scores = frame.leaves.scores(frame.side.sketch[some], leaves)
        best = np.empty((len(some), count), dtype=np.intp)
        for number in range(count):
            best[:, number] = scores.argmax(axis=1)
            scores[np.arange(len(some)), best[:, number]] = -np.inf
        return best

    step = max(1, min(_BLOCK, _SCORES // len(leaves)))
    parts = np.array_split(every, -(-n // step))
    first = np.concatenate([*workers.map(nearest, parts)])
    return np.argsort(first[:, 0], kind="stable"), first


def _tasks(numbers: Ints, workers: Workers) -> list[Ints]:
    """Return parts of the queries for the workers."""
    count = max(-(-len(numbers) // _QUERIES), min(workers.jobs, len(numbers) // _BATCH), 1)
    return np.array_split(numbers, count)


@dataclass(frozen=True, slots=True, eq=False)
class _Result:
    found: list[Agreed | Nearest]
    #: Queries for which rounding is too coarse, and queries to search in the tree.
    coarse: Ints
    later: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """What a few leaves show about some queries."""

    #: Upper bounds of the squared distance of the k-th nearest sample.
    bounds: Floats
    #: The label of the nearest k points in these leaves, or `MIXED`.
    labels: Ints

    def only(self, mask: Bools) -> "_Look":
        """Return that about the queries of a mask."""
        return _Look(self.bounds[mask], self.labels[mask])


@dataclass(frozen=True, slots=True, eq=False)
class _QuerySearch:
    """Find the label or the neighbours of some queries."""

    index: LeafQueryIndex
    frame: Frame
    settle: Settle
    certify: bool

    def glance(self, first: Ints, numbers: Ints) -> tuple[Agreed, Ints]:
        """Return certificates that a few leaves give, and the other queries.

        `first` are the nearest leaves of each of all queries.
        """
        look = self._look(self._searcher(), numbers, first[numbers])
        held = self._certified(numbers, look, _FEW)
        return Agreed(numbers[held], look.labels[held]), numbers[~held]

    def __call__(self, numbers: Ints) -> _Result:
        """Bound the distance of the k-th neighbour, and search the leaves within the bound."""
        leaves, searcher = self.frame.leaves, self._searcher()
        found: list[Agreed | Nearest] = []
        look = self._look(searcher, numbers, searcher.nearest(numbers, min(leaves.n, FIRST)))
        if self.certify:
            held = self._certified(numbers, look, leaves.n)
            found.append(Agreed(numbers[held], look.labels[held]))
            numbers, look = numbers[~held], look.only(~held)
        result = self._search(numbers, look.bounds)
        return replace(result, found=found + result.found)

    def _search(self, numbers: Ints, bounds: Floats) -> _Result:
        """Find the neighbours of some queries; `bounds` are as in `_Look`."""
        searcher = self._searcher()
        fine = searcher.fine(numbers, bounds)
        coarse, numbers, bounds = numbers[~fine], numbers[fine], bounds[fine]
        if self.index.tree is not None:
            return _Result([], coarse, numbers)
        near = self.frame.near(numbers, bounds, searcher.which)
        found = [
            settled(proposal, self.settle)
            for candidates in searcher.collect(numbers, bounds, near)
            for proposal in self.index.groups.near_queries(
                candidates.places, candidates.offsets, candidates.neighbours, self.index.k
            )
        ]
        return _Result(list[Agreed | Nearest](found), coarse, numbers[:0])

    def _searcher(self) -> Searcher:
        which = np.arange(self.frame.leaves.n)
        return Searcher(self.frame, self.index.groups.counts, self.index.k, which)

    def _look(self, searcher: Searcher, numbers: Ints, leaves: Ints) -> _Look:
        """Compare queries with some leaves each."""
        n, size, labels = len(numbers), self.frame.leaves.size, self.frame.leaves.labels
        if leaves.shape[1] * size < searcher.wanted or not n:
            return _Look(np.full(n, np.inf), np.full(n, MIXED))
        products = searcher.products(numbers, leaves)
        best = products.max(axis=2)
        kth = kth_at_least(products.reshape(n, -1), searcher.wanted)
        label = labels[leaves]
        own = label[np.arange(n), best.argmax(axis=1)]
        enemy = np.where(label == own[:, None], -np.inf, best).max(axis=1)
        return _Look(self.frame.at_most(kth, numbers), np.where(enemy < kth, own, MIXED))

    def _certified(self, numbers: Ints, look: _Look, most: int) -> Bools:
        """Return for which queries no sample of another class is within the bound.

        Those with more than `most` leaves of other classes within the bound are not decided.
        """
        frame, leaves = self.frame, self.frame.leaves
        held = np.zeros(len(numbers), dtype=bool)
        hopeful = (look.labels >= 0) & (look.bounds < self.index.ceiling)
        for label in np.unique(look.labels[hopeful]).tolist():
            some = np.flatnonzero(hopeful & (look.labels == label))
            others = np.flatnonzero(leaves.labels != label)
            near = frame.near(numbers[some], look.bounds[some], others)
            few = near.sum(axis=1) <= most
            some, near = some[few], near[few]
            held[some[~self._struck(numbers[some], look.bounds[some], others, near)]] = True
        return held

    def _struck(self, numbers: Ints, bounds: Floats, which: Ints, near: Bools) -> Bools:
        """Return which queries may have a point of the leaves `near` within the bound."""
        frame = self.frame
        struck = np.zeros(len(numbers) + 1, dtype=bool)
        if near.any():
            queries = frame.queries(numbers, frame.above(bounds, numbers))
            for visit in visits(which, near, frame.leaves.size):
                hit = positive(frame.products(queries, visit)).any(axis=2)
                struck[visit.queries[hit]] = True
        return struck[:-1]


@dataclass(frozen=True, slots=True, eq=False)
class _CompiledQuerySearch(_QuerySearch):
    """The same with the search in the compiled library."""

    compiled: CompiledFrame
    #: The nearest leaf of each of all queries.
    leaf: Ints

    def _search(self, numbers: Ints, bounds: Floats) -> _Result:
        leaves, index = self.frame.leaves, self.index
        try:
            parts, coarse, _, _ = self.compiled.search(
                numbers, bounds, np.arange(leaves.n), index.k, self.leaf[numbers]
            )
        except CrowdedError:
            # Not super(), which a dataclass with slots breaks.
            return _QuerySearch._search(self, numbers, bounds)
        found: list[Agreed | Nearest] = []
        for part in parts:
            some, offsets, near = part.numbers, part.offsets, part.places
            if self.certify and len(some):
                labels = leaves.labels[near // leaves.size]
                lowest = np.minimum.reduceat(labels, offsets[:-1])
                agreed = (lowest == np.maximum.reduceat(labels, offsets[:-1])) & (lowest >= 0)
                agreed &= part.bounds < index.ceiling
                found.append(Agreed(some[agreed], lowest[agreed]))
                lengths = np.diff(offsets)
                near, some = near[np.repeat(~agreed, lengths)], some[~agreed]
                offsets = np.concatenate(([0], np.cumsum(lengths[~agreed])))
            if len(some):
                proposals = index.groups.near_queries(some, offsets, near, index.k)
                found += [settled(proposal, self.settle) for proposal in proposals]
        return _Result(found, coarse, numbers[:0])
