"""Certificates: proof that the k nearest samples of a sample all carry its own label.

A sample holds one if k samples of its class are nearer than any sample of another class. Both sides
are cheap to prove: the k-th nearest among some samples of its class is never nearer than the
true one, and samples of other classes are few, or their leaves are out of reach.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rectifold._core.threads import Workers, positive
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.compiled import CERTIFIED, TASKS, UNDECIDED, CompiledFrame
from rectifold._engines.exact.index import LeafIndex, SearchState
from rectifold._engines.exact.leaves import EMPTY, visits
from rectifold._engines.exact.products import Frame
from rectifold._engines.exact.top_k import count, kth_at_least

#: Queries per task.
_QUERIES = 1024
#: Leaves of its own class that a query is first compared with, and the factor of further rounds.
FIRST, GROWTH = 6, 4
#: Leaves of other classes that a query is first compared with, if those are many.
GLANCE = 4
#: Chunks of a trial, at most and at least: a small part of all.
TRIED, LEAST_TRIED = 16, 4
#: Leaves of other classes are many above this share of all leaves.
MANY = 0.1


def certify(index: LeafIndex, k: int, state: SearchState, workers: Workers) -> Iterator[Ints]:
    """Yield the samples that hold a certificate, and update `state`."""
    frame, weights = index.frame, index.weights
    certifier = _certifier(index, k)

    def note(places: Ints) -> Ints:
        state.certified[places] = True
        return index.groups.rows(frame.leaves.order[places])

    # Each task has its own places, whose state it updates.
    def compare(leaves: slice) -> tuple[Ints, Ints, Floats, int]:
        chunk = certifier.compare_leaves(leaves)
        state.bounds[chunk.places] = chunk.bounds
        found = note(chunk.places[chunk.certified])
        undecided = chunk.undecided
        return found, chunk.places[undecided], chunk.nearest_enemy[undecided], chunk.pairs

    undecided: list[Ints] = []
    enemies: list[Floats] = []
    for found, places, distances, pairs in workers.map(compare, certifier.chunks()):
        state.pairs += pairs
        yield found
        undecided.append(places)
        enemies.append(distances)
    left, nearest = np.concatenate(undecided), np.concatenate(enemies)
    n_leaves = certifier.first_round
    while len(left):
        parts = _split_by_class(frame, left, certifier.tasks)
        tasks = [(left[part], nearest[part], n_leaves) for part in parts]
        # Every round starts from zero, since a leaf counted in two rounds would prove nothing.
        results = list(workers.map(certifier.count_friends, tasks))
        enough = np.concatenate([enough for enough, _ in results])
        pairs = sum(pairs for _, pairs in results)
        state.pairs += pairs
        yield note(left[enough])
        # Another round compares with `GROWTH` times as many leaves, and may prove half as large
        # a share; the others are searched for among all points.
        spared = enough.mean() / 2 * len(weights)
        cost = GROWTH * pairs / len(left)
        left, nearest = left[~enough], nearest[~enough]
        if spared < cost or n_leaves >= frame.leaves.n:
            break
        n_leaves *= GROWTH


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The cost and the yield of certificates, per sample on average."""

    pairs: float
    #: Leaves of other classes.
    leaves: float
    #: The share of points that hold one.
    certified: float


def trial(index: LeafIndex, k: int, workers: Workers) -> Trial:
    """Try certificates on a few chunks spread over the table."""
    certifier = _certifier(index, k)
    chunks = list(certifier.chunks())
    count = min(len(chunks), max(LEAST_TRIED, min(TRIED, len(chunks) // 32)))
    some = ((np.arange(count) + 0.5) / count * len(chunks)).astype(np.intp)
    tried = list(workers.map(certifier.compare_leaves, (chunks[number] for number in some)))
    n_points = sum(len(chunk.places) for chunk in tried)
    labels = index.frame.leaves.labels
    others = [np.count_nonzero(labels != labels[chunks[number].start]) for number in some]
    return Trial(
        sum(chunk.pairs for chunk in tried) / n_points,
        float(np.mean(others)),
        sum(int(chunk.certified.sum()) for chunk in tried) / n_points,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    places: Ints
    #: Upper bounds of the squared distance of the k-th nearest sample.
    bounds: Floats
    certified: Bools
    #: Points for which more comparisons may give a certificate.
    undecided: Bools
    #: For those, lower bounds of the squared distance of the nearest sample of another class.
    nearest_enemy: Floats
    pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class _Certifier:
    frame: Frame
    weights: Ints
    k: int
    ceiling: float

    #: The largest number of tasks into which few queries are split.
    tasks = 2

    @property
    def first_round(self) -> int:
        """Return the number of leaves of its own class that an undecided point is compared with."""
        return FIRST

    @property
    def queries(self) -> int:
        """Return the number of queries per task."""
        return _QUERIES

    def chunks(self) -> Iterator[slice]:
        """Yield slices of consecutive leaves of one class."""
        labels = self.frame.leaves.labels
        step = max(1, min(self.queries // self.frame.leaves.size, len(labels) // 2))
        for begin, end in itertools.pairwise(_edges(labels)):
            for at in range(begin, end, step):
                yield slice(at, min(at + step, end))

    def compare_leaves(self, leaves: slice) -> _Chunk:
        """Bound the distances within each leaf, then those to leaves of other classes."""
        size = self.frame.leaves.size
        products = self.frame.within_leaves(leaves)
        pairs = products.size
        itself = np.arange(size)
        products[:, itself, itself] = -np.inf
        friends = kth_at_least(products.reshape(-1, size), self.k)
        real = np.flatnonzero(
            self.frame.leaves.order[leaves.start * size : leaves.stop * size] != EMPTY
        )
        places = leaves.start * size + real
        bounds = self.frame.at_most(friends[real], places)
        label = self.frame.leaves.labels[leaves.start]
        others = np.flatnonzero(self.frame.leaves.labels != label)
        nearest = np.full(len(places), self.ceiling)
        undecided = (bounds < np.inf) & (label >= 0)
        if undecided.any() and len(others) > MANY * self.frame.leaves.n:
            pairs += self._glance(places, bounds, undecided, nearest, others)
        some = np.flatnonzero(undecided)
        if len(some) and len(others):
            mask = self.frame.near(places[some], bounds[some], others)
            distances, number = self._nearest(places[some], others, mask)
            nearest[some] = np.minimum(nearest[some], distances)
            pairs += number
        certified = undecided & (bounds < nearest)
        return _Chunk(places, bounds, certified, undecided & ~certified, nearest, pairs)

    def _glance(
        self, places: Ints, bounds: Floats, undecided: Bools, nearest: Floats, others: Ints
    ) -> int:
        """Update `undecided` and `nearest` from a few of many other leaves; return the pairs."""
        some = np.flatnonzero(undecided)
        mask = self.frame.nearest(places[some], others, GLANCE)
        distances, pairs = self._nearest(places[some], others, mask)
        nearest[some] = np.minimum(nearest[some], distances)
        close = some[nearest[some] <= bounds[some]]
        if len(close):
            enough, more = self.count_friends((places[close], nearest[close], FIRST))
            pairs += more
            undecided[close[~enough]] = False
        return pairs

    def count_friends(self, task: tuple[Ints, Floats, int]) -> tuple[Bools, int]:
        """Return for which queries k samples of their class are nearer than other classes.

        The task is queries, the squared distances of other classes, and the number of leaves.
        """
        places, nearest, number = task
        which = self.frame.leaves.of(self.frame.leaves.labels[places[0] // self.frame.leaves.size])
        counts, pairs = _count(self.frame, self.weights, places, nearest, which, number)
        # The samples on the query's point are counted too, itself included.
        return counts > self.k, pairs

    def _nearest(self, places: Ints, which: Ints, mask: Bools) -> tuple[Floats, int]:
        """Return lower bounds of the distance to the nearest point in the leaves of `mask`."""
        queries = self.frame.queries(places)
        highest = np.full(len(places) + 1, -np.inf, dtype=self.frame.dtype)
        pairs = 0
        for visit in visits(which, mask, self.frame.leaves.size):
            products = self.frame.products(queries, visit)
            np.maximum.at(highest, visit.queries, products.max(axis=2))
            pairs += products.size
        return self.frame.at_least(highest[:-1], places), pairs


@dataclass(frozen=True, slots=True, eq=False)
class _CompiledCertifier(_Certifier):
    compiled: CompiledFrame
    tasks = TASKS

    @property
    def first_round(self) -> int:
        # `compare_leaves` has compared them with `FIRST` leaves already.
        return FIRST * GROWTH

    @property
    def queries(self) -> int:
        # Fewer tasks take the interpreter less often from the other threads.
        return max(_QUERIES, min(len(self.weights) // (4 * TASKS), 8 * _QUERIES))

    def compare_leaves(self, leaves: slice) -> _Chunk:
        size, labels = self.frame.leaves.size, self.frame.leaves.labels
        others = int(np.count_nonzero(labels != labels[leaves.start]))
        glance = GLANCE if others > MANY * len(labels) else others
        bounds, nearest, state, pairs = self.compiled.certify(
            leaves, self.k, self.ceiling, FIRST, glance
        )
        real = np.flatnonzero(
            self.frame.leaves.order[leaves.start * size : leaves.stop * size] != EMPTY
        )
        state = state[real]
        return _Chunk(
            leaves.start * size + real,
            bounds[real],
            state == CERTIFIED,
            state == UNDECIDED,
            nearest[real],
            pairs,
        )

    def count_friends(self, task: tuple[Ints, Floats, int]) -> tuple[Bools, int]:
        places, nearest, number = task
        which = self.frame.leaves.of(self.frame.leaves.labels[places[0] // self.frame.leaves.size])
        counts, pairs = self.compiled.count_nearer(places, nearest, which, self.k, number)
        return counts > self.k, pairs


def _certifier(index: LeafIndex, k: int) -> _Certifier:
    compiled = CompiledFrame.of(index.frame, index.weights)
    if compiled is None:
        return _Certifier(index.frame, index.weights, k, index.ceiling)
    return _CompiledCertifier(index.frame, index.weights, k, index.ceiling, compiled)


def count_nearer(
    index: LeafIndex, k: int, places: Ints, squares: Floats, which: Ints, workers: Workers
) -> Ints:
    """Count samples in the leaves `which` that are nearer to some places than squared distances.

    The counts are lower bounds: only the nearest leaves are examined, and counting stops above k.
    """
    frame, weights = index.frame, index.weights

    def count_part(some: slice) -> Ints:
        queries, within = places[some], squares[some]
        counts, _ = _count(frame, weights, queries, within, which, FIRST)
        few = counts <= k
        if few.any() and len(which) > FIRST:
            more, _ = _count(frame, weights, queries[few], within[few], which, FIRST * GROWTH)
            counts[few] = np.maximum(counts[few], more)
        return counts

    parts = [slice(at, at + _QUERIES) for at in range(0, len(places), _QUERIES)]
    return np.concatenate([np.empty(0, dtype=np.intp), *workers.map(count_part, parts)])


def _count(
    frame: Frame, weights: Ints, places: Ints, squares: Floats, which: Ints, number: int
) -> tuple[Ints, int]:
    """Count samples nearer than squared distances, in the nearest `number` leaves."""
    mask = frame.nearest(places, which, number)
    queries = frame.queries(places, frame.below(squares, places))
    counts = np.zeros(len(places) + 1, dtype=np.intp)
    by_leaf = weights.reshape(-1, frame.leaves.size)
    pairs = 0
    for visit in visits(which, mask, frame.leaves.size):
        products = frame.products(queries, visit)
        np.add.at(counts, visit.queries, count(positive(products), by_leaf[visit.leaves]))
        pairs += products.size
    return counts[:-1], pairs


def _split_by_class(frame: Frame, places: Ints, tasks: int) -> list[slice]:
    """Return slices of one class and bounded size; few places are split into up to `tasks`."""
    labels = frame.leaves.labels[places // frame.leaves.size]
    pieces = []
    for begin, end in itertools.pairwise(_edges(labels)):
        # Independent of the number of workers, on which results must not depend.
        number = max(-(-(end - begin) // _QUERIES), min(tasks, -(-(end - begin) // 64)))
        cuts = np.linspace(begin, end, number + 1).astype(int).tolist()
        pieces += [slice(a, b) for a, b in itertools.pairwise(cuts)]
    return pieces


def _edges(labels: Ints) -> list[int]:
    """Return the starts of runs of equal labels, and the end of the last."""
    return [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
