"""Samples grouped by equality: duplicates are searched for once and can't crowd a search."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rectifold._core.space import Points
from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.contract import Proposal
from rectifold._engines.exact.sorting import stable_order
from rectifold._engines.settle import settle_few

#: Samples per block when keys are computed: a block fits a core's cache.
_ROWS = 4096
#: Approximate maximum number of candidates of a proposal.
_PAIRS = 1 << 20
#: With more neighbours than this multiple of k, and as many times more pairs of samples than of
#: points, the neighbours of a point are reduced before its samples get them.
_CROWDED = 4
#: The class of a point that gets no certificate and prevents those of other points.
MIXED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The distinct points of a table, and the samples that lie on each."""

    #: The distinct points.
    values: Matrix
    #: All samples, grouped by point, ascending within each.
    members: Ints
    #: The samples of point i are ``members[starts[i]:starts[i] + counts[i]]``.
    starts: Ints
    counts: Ints

    def rows(self, points: Ints) -> Ints:
        """Return all samples that lie on some points."""
        if len(self.counts) == len(self.members):
            return self.members[points]
        return self.members[ranges(self.starts[points], self.counts[points])]

    def points(self) -> Ints:
        """Return the point that each sample lies on."""
        points = np.empty_like(self.members)
        points[self.members] = np.repeat(np.arange(len(self.counts)), self.counts)
        return points

    def classes(self, labels: Ints, least: int = 1) -> Ints:
        """Return the class of each point.

        It is `MIXED` if the labels of its samples differ, or if its class has fewer than `least`
        points.
        """
        ordered = labels[self.members]
        classes = ordered[self.starts]
        changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        point = np.searchsorted(self.starts, changes, side="right") - 1
        # The label may change with the point.
        classes[point[self.starts[point] != changes]] = MIXED
        sizes = np.bincount(classes + 1)
        few = np.flatnonzero(sizes[1:] < least)
        if len(few) and sizes[1:][few].any():
            classes[np.isin(classes, few)] = MIXED
        return classes

    def expand(
        self, points: Ints, offsets: Ints, neighbours: Ints, k: int, samples: Points
    ) -> list[Proposal]:
        """Return proposals of bounded size for the samples on some points.

        ``neighbours[offsets[i]:offsets[i + 1]]`` are points that hold the k nearest samples of
        ``points[i]``, and include it. `samples` are all samples.
        """
        lengths = np.diff(offsets)
        n_samples = np.diff(np.concatenate(([0], np.cumsum(self.counts[neighbours])))[offsets])
        # With many ties and duplicates, all samples can be candidates of every sample.
        crowded = (lengths > _CROWDED * k) & (n_samples * self.counts[points] > _CROWDED * lengths)
        if not crowded.any():
            return self._spread(points, offsets, neighbours, k)
        proposals = []
        for which, take in ((crowded, self._take_nearest), (~crowded, None)):
            some, count = points[which], lengths[which]
            near = neighbours[ranges(offsets[:-1][which], count)]
            bounds, distances = np.concatenate(([0], np.cumsum(count))), None
            if take is not None:
                bounds, near, distances = take(some, bounds, near, k, samples)
            if len(some):
                proposals += self._spread(some, bounds, near, k, distances)
        return proposals

    def _take_nearest(
        self, points: Ints, offsets: Ints, neighbours: Ints, k: int, samples: Points
    ) -> tuple[Ints, Ints, Floats]:
        """Return the neighbours that hold the k nearest samples of every point, and distances."""
        # Besides the point itself, at most k - 1 are nearer than the k-th, and of those at its
        # distance k are enough, in the order of their first samples.
        first = self.members[self.starts]
        proposal = Proposal(first[points], offsets, first[neighbours])
        indices, distances, _ = settle_few(samples, proposal, 2 * k - 1)
        order = np.argsort(first[neighbours])
        places = np.searchsorted(first[neighbours], indices, sorter=order)
        nearest = np.column_stack([points, neighbours[order[places]]])
        distances = np.column_stack([np.zeros(len(points)), distances])
        return np.arange(len(points) + 1) * 2 * k, nearest.ravel(), distances.ravel()

    def _spread(
        self,
        points: Ints,
        offsets: Ints,
        neighbours: Ints,
        k: int,
        distances: Floats | None = None,
    ) -> list[Proposal]:
        # Of equally distant samples the first k + 1 are enough: the order prefers low indices.
        take = np.minimum(self.counts[neighbours], k + 1)
        candidates = self.members[ranges(self.starts[neighbours], take)]
        if distances is not None:
            distances = np.repeat(distances, take)
        bounds = np.concatenate(([0], np.cumsum(take)))[offsets]
        lengths = np.diff(bounds)
        # All samples on a point share its candidates.
        owner = np.repeat(np.arange(len(points)), self.counts[points])
        rows = self.rows(points)
        piece = np.cumsum(lengths[owner]) // _PAIRS
        proposals = []
        for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(piece)) + 1):
            mine = owner[some]
            which = ranges(bounds[mine], lengths[mine])
            proposals.append(
                Proposal(
                    rows[some],
                    np.concatenate(([0], np.cumsum(lengths[mine]))),
                    candidates[which],
                    None if distances is None else distances[which],
                )
            )
        return proposals

    def near_queries(
        self, queries: Ints, offsets: Ints, neighbours: Ints, k: int
    ) -> Iterator[Proposal]:
        """Yield proposals of bounded size for queries that are not among the samples.

        ``neighbours[offsets[i]:offsets[i + 1]]`` are points that hold the k nearest samples of
        ``queries[i]``.
        """
        # Of equally distant samples the first k are enough: the order prefers low indices.
        take = np.minimum(self.counts[neighbours], k)
        candidates = self.members[ranges(self.starts[neighbours], take)]
        offsets = np.concatenate(([0], np.cumsum(take)))[offsets]
        piece = offsets[:-1] // _PAIRS
        cuts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(queries)]
        for begin, end in itertools.pairwise(cuts):
            first, last = offsets[begin], offsets[end]
            some = offsets[begin : end + 1] - first
            yield Proposal(queries[begin:end], some, candidates[first:last])


def group(values: Matrix, workers: Workers) -> Groups:
    """Group equal samples."""
    n = values.shape[0]
    members, ordered = stable_order(_keys(values, workers), workers)
    alike = np.flatnonzero(ordered[1:] == ordered[:-1])
    if sparse.issparse(values):
        left, right = values[members[alike]], values[members[alike + 1]]
        equal = np.asarray(abs(left - right).sum(axis=1)).ravel() == 0
    else:
        equal = np.empty(len(alike), dtype=bool)

        def compare(some: slice) -> None:
            left = values[members[alike[some]]]
            equal[some] = (left == values[members[alike[some] + 1]]).all(axis=1)

        workers.over(compare, len(alike), _ROWS)
    begins = np.ones(n, dtype=bool)
    begins[alike[equal] + 1] = False
    starts = np.flatnonzero(begins)
    if len(starts) == n:
        every = np.arange(n)
        return Groups(values, every, every, np.ones(n, dtype=np.intp))
    counts = np.diff(np.append(starts, n))
    if sparse.issparse(values):
        return Groups(values[members[starts]], members, starts, counts)
    distinct = np.empty((len(starts), values.shape[1]), dtype=values.dtype)

    def copy(some: slice) -> None:
        values.take(members[starts[some]], axis=0, out=distinct[some], mode="clip")

    workers.over(copy, len(starts), _ROWS)
    return Groups(distinct, members, starts, counts)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return the concatenation of ``arange(start, start + length)`` over all pairs."""
    begins = np.cumsum(lengths) - lengths
    return np.repeat(starts - begins, lengths) + np.arange(lengths.sum(), dtype=np.intp)


def _keys(values: Matrix, workers: Workers) -> Floats:
    # Equal samples have equal keys, since all go through the same operations in the same order.
    # Unequal samples rarely do; if so, they may come between equal ones and split a group in two.
    # A point can therefore have others at distance zero.
    n, d = values.shape
    factors = np.random.default_rng(0).uniform(1, 2, d)
    if sparse.issparse(values):
        return np.asarray(values @ factors)
    key = np.empty(n)

    def fill(rows: slice) -> None:
        np.einsum("ij,j->i", values[rows], factors, out=key[rows])

    workers.over(fill, n, _ROWS)
    return key
