"""Certificates: proof that the k nearest rows of a row all carry its own label.

A row holds one if k rows of its class are nearer than any row of another class. Both sides are
cheap to prove: the k-th nearest among a few rows of its own class is never nearer than the
true one, and the other classes are few, or their leaves are out of reach.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.exact.leaves import EMPTY, visits
from rectifold._engines.exact.products import Frame
from rectifold._engines.exact.top_k import count, kth_at_least
from rectifold._engines.threads import Workers, positive

#: Queries handled at once.
_QUERIES = 1024
#: Leaves of its own class that a row looks at first, and how many times more in each round.
FIRST, GROWTH = 6, 4
#: Leaves of other classes that a row looks at first, where those are many.
GLANCE = 4
#: Chunks of rows of a trial: a small part of all.
TRIED, LEAST_TRIED = 16, 4
#: Other classes are many if they hold more than this share of all points.
MANY = 0.1


@dataclass(slots=True, eq=False)
class SearchState:
    """What is known of every point, by place."""

    #: The squared distance of the k-th nearest row is provably at most this.
    bounds: Floats
    #: Whether the point holds a certificate.
    certified: Bools
    #: Pairs of points that were looked at.
    pairs: int = 0


def certify(
    frame: Frame, weights: Ints, k: int, state: SearchState, workers: Workers, *, ceiling: float
) -> Iterator[Ints]:
    """Find rows that hold a certificate.

    Parameters
    ----------
    frame : Frame
        Points in leaves.
    weights : ndarray of shape (n_places,)
        How many rows lie on each point.
    k : int
        Neighbours per row.
    state : SearchState
        Updated as things become known.
    workers : Workers
        Share the work.
    ceiling : float
        A squared distance at which rows of other classes lie that are not among the points.

    Yields
    ------
    ndarray
        Places of points that hold a certificate.
    """
    look = _Look(frame, weights, k, ceiling)
    doubtful: list[Ints] = []
    enemies: list[Floats] = []
    for chunk in workers.map(look.at_home, look.chunks()):
        state.bounds[chunk.places] = chunk.bounds
        state.pairs += chunk.pairs
        yield _noted(chunk.places[chunk.certified], state)
        doubtful.append(chunk.places[chunk.hopeful])
        enemies.append(chunk.nearest_enemy[chunk.hopeful])
    left, nearest = np.concatenate(doubtful), np.concatenate(enemies)
    leaves_seen = FIRST
    while len(left):
        tasks = [(left[part], nearest[part], leaves_seen) for part in _split_by_class(frame, left)]
        # Every round counts anew: a leaf that two rounds both count would prove nothing.
        found = list(workers.map(look.further, tasks))
        enough = np.concatenate([enough for enough, _ in found])
        pairs = sum(pairs for _, pairs in found)
        state.pairs += pairs
        yield _noted(left[enough], state)
        # Another round looks at `GROWTH` times as many leaves, and may prove half as large
        # a share; what it does not prove is searched for among all points.
        spared = enough.mean() / 2 * len(weights)
        cost = GROWTH * pairs / len(left)
        left, nearest = left[~enough], nearest[~enough]
        if spared < cost or leaves_seen >= frame.leaves.n:
            break
        leaves_seen *= GROWTH


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What certificates take and give, a row on average."""

    pairs: float
    #: Leaves of other classes, each of which may have to be looked at.
    leaves: float
    #: The share of rows that hold one.
    certified: float


def trial(frame: Frame, weights: Ints, k: int, workers: Workers, *, ceiling: float) -> Trial:
    """Look for certificates of a few rows all over the table, as `certify` does for all."""
    look = _Look(frame, weights, k, ceiling)
    chunks = list(look.chunks())
    count = min(len(chunks), max(LEAST_TRIED, min(TRIED, len(chunks) // 32)))
    some = ((np.arange(count) + 0.5) / count * len(chunks)).astype(np.intp)
    found = list(workers.map(look.at_home, (chunks[one] for one in some)))
    rows = sum(len(chunk.places) for chunk in found)
    labels = frame.leaves.labels
    others = [np.count_nonzero(labels != labels[chunks[one].start]) for one in some]
    return Trial(
        sum(chunk.pairs for chunk in found) / rows,
        float(np.mean(others)),
        sum(int(chunk.certified.sum()) for chunk in found) / rows,
    )


def _noted(places: Ints, state: SearchState) -> Ints:
    state.certified[places] = True
    return places


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    places: Ints
    #: Squared distance of the k-th nearest row, at most.
    bounds: Floats
    certified: Bools
    #: Rows for which more looking may find a certificate.
    hopeful: Bools
    #: For those, the squared distance of the nearest row of another class, at least.
    nearest_enemy: Floats
    pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    frame: Frame
    weights: Ints
    k: int
    ceiling: float

    def chunks(self) -> Iterator[slice]:
        """Consecutive leaves of one class."""
        labels = self.frame.leaves.labels
        step = max(1, min(_QUERIES // self.frame.leaves.size, len(labels) // 2))
        for begin, end in itertools.pairwise(_edges(labels)):
            for at in range(begin, end, step):
                yield slice(at, min(at + step, end))

    def at_home(self, leaves: slice) -> _Chunk:
        """Look at each row's own leaf, then whether another class comes as near."""
        size = self.frame.leaves.size
        found = self.frame.at_home(leaves)
        pairs = found.size
        itself = np.arange(size)
        found[:, itself, itself] = -np.inf
        friends = kth_at_least(found.reshape(-1, size), self.k)
        real = np.flatnonzero(
            self.frame.leaves.order[leaves.start * size : leaves.stop * size] != EMPTY
        )
        places = leaves.start * size + real
        bounds = self.frame.at_most(friends[real], places)
        label = self.frame.leaves.labels[leaves.start]
        others = np.flatnonzero(self.frame.leaves.labels != label)
        nearest = np.full(len(places), self.ceiling)
        hopeful = (bounds < np.inf) & (label >= 0)
        if hopeful.any() and len(others) > MANY * self.frame.leaves.n:
            pairs += self._glance(places, bounds, hopeful, nearest, others)
        some = np.flatnonzero(hopeful)
        if len(some) and len(others):
            mask = self.frame.near(places[some], bounds[some], others)
            distances, number = self._nearest(places[some], others, mask)
            nearest[some] = np.minimum(nearest[some], distances)
            pairs += number
        certified = hopeful & (bounds < nearest)
        return _Chunk(places, bounds, certified, hopeful & ~certified, nearest, pairs)

    def _glance(
        self, places: Ints, bounds: Floats, hopeful: Bools, nearest: Floats, others: Ints
    ) -> int:
        """Give up, before all of the many others are looked at, where a few suffice."""
        some = np.flatnonzero(hopeful)
        mask = self.frame.nearest(places[some], others, GLANCE)
        distances, pairs = self._nearest(places[some], others, mask)
        nearest[some] = np.minimum(nearest[some], distances)
        close = some[nearest[some] <= bounds[some]]
        if len(close):
            enough, more = self.further((places[close], nearest[close], FIRST))
            pairs += more
            hopeful[close[~enough]] = False
        return pairs

    def further(self, task: tuple[Ints, Floats, int]) -> tuple[Bools, int]:
        """Tell for which rows k of their class are nearer than any other class.

        Only in the nearest leaves of their class, as many as the task says.
        """
        places, nearest, number = task
        which = self.frame.leaves.of(self.frame.leaves.labels[places[0] // self.frame.leaves.size])
        counts, pairs = _count(self.frame, self.weights, places, nearest, which, number)
        # The rows on the query's own point are counted too, itself among them.
        return counts > self.k, pairs

    def _nearest(self, places: Ints, which: Ints, mask: Bools) -> tuple[Floats, int]:
        """Squared distance of the nearest point in the leaves of `mask`, at least."""
        queries = self.frame.queries(places)
        highest = np.full(len(places) + 1, -np.inf, dtype=self.frame.dtype)
        pairs = 0
        for visit in visits(which, mask, self.frame.leaves.size):
            found = self.frame.look(queries, visit)
            np.maximum.at(highest, visit.queries, found.max(axis=2))
            pairs += found.size
        return self.frame.at_least(highest[:-1], places), pairs


def count_nearer(
    frame: Frame,
    weights: Ints,
    k: int,
    places: Ints,
    squares: Floats,
    which: Ints,
    workers: Workers,
) -> Ints:
    """Count rows that are nearer to some places than given squared distances.

    Parameters
    ----------
    frame : Frame
        Points in leaves.
    weights : ndarray of shape (n_places,)
        How many rows lie on each point.
    k : int
        Whoever has more than k has enough.
    places : ndarray of shape (n_queries,)
        The queries.
    squares : ndarray of shape (n_queries,)
        Squared distances.
    which : ndarray of int
        The leaves whose rows count.
    workers : Workers
        Share the work.

    Returns
    -------
    ndarray of shape (n_queries,)
        There are so many at least; only the nearest leaves are looked at.
    """

    def look(some: slice) -> Ints:
        mine, within = places[some], squares[some]
        counts, _ = _count(frame, weights, mine, within, which, FIRST)
        few = counts <= k
        if few.any() and len(which) > FIRST:
            more, _ = _count(frame, weights, mine[few], within[few], which, FIRST * GROWTH)
            counts[few] = np.maximum(counts[few], more)
        return counts

    parts = [slice(at, at + _QUERIES) for at in range(0, len(places), _QUERIES)]
    return np.concatenate([np.empty(0, dtype=np.intp), *workers.map(look, parts)])


def _count(
    frame: Frame, weights: Ints, places: Ints, squares: Floats, which: Ints, number: int
) -> tuple[Ints, int]:
    """Count rows nearer than squared distances, in so many of the nearest leaves."""
    mask = frame.nearest(places, which, number)
    queries = frame.queries(places, frame.below(squares, places))
    counts = np.zeros(len(places) + 1, dtype=np.intp)
    by_leaf = weights.reshape(-1, frame.leaves.size)
    pairs = 0
    for visit in visits(which, mask, frame.leaves.size):
        found = frame.look(queries, visit)
        np.add.at(counts, visit.queries, count(positive(found), by_leaf[visit.leaves]))
        pairs += found.size
    return counts[:-1], pairs


def _split_by_class(frame: Frame, places: Ints) -> list[slice]:
    """Cut places into pieces of one class and bounded size."""
    labels = frame.leaves.labels[places // frame.leaves.size]
    pieces = []
    for begin, end in itertools.pairwise(_edges(labels)):
        # Not by the number of workers, so that they change nothing.
        number = max(-(-(end - begin) // _QUERIES), min(2, -(-(end - begin) // 64)))
        cuts = np.linspace(begin, end, number + 1).astype(int).tolist()
        pieces += [slice(a, b) for a, b in itertools.pairwise(cuts)]
    return pieces


def _edges(labels: Ints) -> list[int]:
    """Where each run of equal labels begins, and where the last one ends."""
    return [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
