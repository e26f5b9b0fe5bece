"""The search on a device for rows without a certificate, down to the order of their neighbours."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch.nn import functional

from rectifold._core.summation import add_columns, roots
from rectifold._core.utils import Tensor
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.exact.leaf_search import FIRST
from rectifold._engines.exact.leaves import EMPTY
from rectifold._engines.gpu.certificates import by_leaf
from rectifold._engines.gpu.devices import TooMuchError
from rectifold._engines.gpu.duplicates import Groups
from rectifold._engines.gpu.products import Frame, blocks_of
from rectifold._engines.gpu.top_k import kth_at_least

#: Where bounds let pass more than so many times the points needed, they are lowered once more, by
#: looking at so many times as many leaves. That is told from a sample, where queries are many.
_CROWD, _GROWTH, _SAMPLE, _FEW = 32, 8, 64, 8192
#: Pairs of neighbours held at once are at most such a part of all numbers.
_HELD = 8


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What became of some points."""

    #: Points whose neighbours are all of their own class.
    certified: Tensor
    #: Other points, where each one's candidates begin, those, and their distances.
    points: Tensor
    offsets: Tensor
    candidates: Tensor
    distances: Tensor
    pairs: int

    def part(self, begin: int, end: int) -> "Found":
        """Some of the points, and their candidates."""
        first, last = int(self.offsets[begin]), int(self.offsets[end])
        return replace(
            self,
            points=self.points[begin:end],
            offsets=self.offsets[begin : end + 1] - first,
            candidates=self.candidates[first:last],
            distances=self.distances[first:last],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Searcher:
    """Finds the points that can be among the k nearest rows."""

    #: Points in leaves.
    frame: Frame
    #: The rows on each point.
    groups: Groups
    #: The class of each point.
    classes: Tensor
    #: Neighbours per row.
    k: int
    #: Of the distances.
    metric: str
    #: A distance at which rows of other classes lie that are not among the points.
    ceiling: float
    #: The leaves to look at.
    which: Tensor

    def search(self, places: Tensor, bounds: Tensor) -> Iterator[Found]:
        """Search for the neighbours of some places, with bounds on how far they can be.

        Yields
        ------
        Found
            For every place once. Where some leaves are left out, k rows may not be found.
        """
        frame = self.frame
        number = FIRST
        bounds = self._tightened(places, bounds, number)
        if frame.table.dtype != torch.float64:
            # What rounding hides now, it hides behind lower bounds as well.
            coarse = ~frame.rounding.resolves(bounds, frame.squares[places])
            if bool(coarse.any()):
                again = replace(self, frame=frame.finer())
                yield from again.search(places[coarse], bounds[coarse])
                places, bounds = places[~coarse], bounds[~coarse]
        while self._crowded(places, bounds) and number < len(self.which):
            number *= _GROWTH
            bounds = self._tightened(places, bounds, number)

        def collect(part: slice) -> Found:
            return self._judged(*self._collected(places[part], bounds[part]))

        each = 2 * len(self.which) + frame.table.shape[1]
        for _, found in frame.budget.pieces(len(places), each, collect):
            yield found

    def _crowded(self, places: Tensor, bounds: Tensor) -> bool:
        """Tell from a few of many queries whether bounds let far too many points pass."""
        if len(places) < _FEW:
            return False
        some = torch.arange(_SAMPLE, device=places.device) * (len(places) - 1) // (_SAMPLE - 1)

        def look(_: slice) -> bool:
            try:
                owner = self._hits(places[some], bounds[some])[0]
            except TooMuchError:
                return True
            return len(owner) > _CROWD * (self.k + 1) * _SAMPLE

        ((_, crowded),) = self.frame.budget.pieces(1, 1, look)
        return crowded

    def _tightened(self, places: Tensor, bounds: Tensor, number: int) -> Tensor:
        """Lower bounds to the k-th nearest point of the nearest leaves."""
        frame = self.frame
        number = min(number, len(self.which))
        # The row itself is among them, so k + 1 are counted.
        if number * frame.leaves.size <= self.k or not len(places):
            return bounds
        which = self.which.to(frame.device)

        def look(part: slice) -> Tensor:
            some = places[part]
            kth = self._kth(some, frame.nearest(some, which, number))
            return torch.minimum(bounds[part], frame.at_most(kth, some))

        each = len(which) + number * frame.leaves.size
        pieces = frame.budget.pieces(len(places), each, look)
        return torch.cat([lower for _, lower in pieces])

    def _kth(self, places: Tensor, leaves: Tensor) -> Tensor:
        """A product that k rows and the query have at least, with points of its nearest leaves."""
        frame = self.frame
        query, leaf, place = by_leaf(leaves)
        place = functional.pad(place, (0, 1), value=len(leaf))
        queries = frame.queries(places)
        nearest = queries.new_empty((len(leaf) + 1, frame.leaves.size))
        for some, products in frame.look(queries, blocks_of(query, leaf, len(places))):
            nearest[place[some.pairs]] = products
        return kth_at_least(nearest[:-1].view(len(places), -1), self.k + 1)

    def _hits(self, places: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor, int]:
        """All points within the bounds: whose, at which place, and how many pairs that took."""
        frame, home = self.frame, self.frame.home
        which = self.which.to(frame.device)
        leaf, query = torch.nonzero(frame.near(places, bounds, which).T, as_tuple=True)
        within = frame.rounding.above(bounds, frame.squares[places])
        hits, held, pairs = [], 0, 0
        blocks = blocks_of(query, which[leaf], len(places))
        for some, products in frame.look(frame.queries(places, within), blocks):
            block, who, point = torch.nonzero(products > 0, as_tuple=True)
            pairs += products.numel()
            held += len(point)
            if held * _HELD > frame.budget.numbers and len(places) > 1:
                raise TooMuchError
            place = some.leaves[block] * frame.leaves.size + point
            hits.append((some.queries[block, who].to(home), place.to(home)))
        owner, place = (torch.cat(parts) for parts in zip(*hits, strict=True))
        return owner, place, pairs

    def _collected(
        self, places: Tensor, bounds: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
        """Points, and for each its neighbours, nearest first, as far as the order can keep them."""
        owner, place, pairs = self._hits(places, bounds)
        order = self.frame.leaves.order
        points, neighbours = order[places], order[place]
        distances = self._distances(points[owner], neighbours)
        # By owner, then by distance.
        by_distance = torch.argsort(distances)
        by_owner = by_distance[torch.argsort(owner[by_distance], stable=True)]
        owner, neighbours, distances = owner[by_owner], neighbours[by_owner], distances[by_owner]
        keep = self._kept(owner, neighbours, distances, len(points))
        return points, owner[keep], neighbours[keep], distances[keep], pairs

    def _distances(self, left: Tensor, right: Tensor) -> Tensor:
        """The distances that `rectifold._engines.settle` computes, to the last bit."""
        values = self.frame.values

        def some(part: slice) -> Tensor:
            difference = values[left[part]] - values[right[part]]
            squares = (difference * difference).unbind(dim=1)
            return add_columns(difference.new_zeros(len(difference)), squares)

        parts = self.frame.budget.pieces(len(left), 6 * values.shape[1], some)
        squares = torch.cat([values.new_empty(0), *(part for _, part in parts)])
        if self.metric == "cosine":
            return squares / 2
        return squares if self.metric == "sqeuclidean" else roots(squares)

    def _kept(self, owner: Tensor, neighbours: Tensor, distances: Tensor, n: int) -> Tensor:
        """Tell which are no farther than the k-th nearest row, of neighbours in order."""
        if not len(owner):
            return torch.ones_like(owner, dtype=torch.bool)
        every = torch.arange(n, device=owner.device)
        rows = torch.cumsum(self.groups.targets[neighbours], 0)
        starts = torch.searchsorted(owner, every)
        before = torch.where(starts > 0, rows[(starts - 1).clamp(min=0)], 0)
        # With the row itself that makes k + 1. Who has fewer keeps them all.
        last = torch.searchsorted(rows, before + self.k + 1).clamp(max=len(rows) - 1)
        farthest = distances[last].masked_fill(owner[last] != every, math.inf)
        return distances <= farthest[owner]

    def _judged(
        self, points: Tensor, owner: Tensor, neighbours: Tensor, distances: Tensor, pairs: int
    ) -> Found:
        """Certify points whose neighbours are all of their class; give those of the others."""
        mine = self.classes[points]
        strangers = (self.classes[neighbours] != mine[owner]) | (distances >= self.ceiling)
        doubtful = mine == MIXED
        doubtful[owner[strangers]] = True
        keep = doubtful[owner]
        owner, neighbours, distances = owner[keep], neighbours[keep], distances[keep]
        counts = torch.bincount(owner, minlength=len(points))[doubtful]
        offsets = torch.cat((counts.new_zeros(1), torch.cumsum(counts, 0)))
        return Found(points[~doubtful], points[doubtful], offsets, neighbours, distances, pairs)


def ordered(found: Found, groups: Groups, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Turn points and the points near them into rows and their neighbours in canonical order.

    Parameters
    ----------
    found : Found
        Points and their candidates.
    groups : Groups
        The rows on each point.
    k : int
        Neighbours per row.

    Returns
    -------
    rows : Tensor of shape (n_rows,)
        All rows on the points.
    indices, distances : Tensor of shape (n_rows, k)
        The neighbours of each; where there are fewer, the rest is `EMPTY`, at an infinite distance.
    """
    lengths = torch.diff(found.offsets)
    owner = torch.repeat_interleave(lengths)
    # Of equally distant rows the first k + 1 are enough: the order prefers low indices.
    take = groups.targets[found.candidates].clamp(max=k + 1)
    which = torch.repeat_interleave(take)
    candidates = groups.some_rows(found.candidates, take, which)
    owner, distances = owner[which], found.distances[which]
    order = torch.argsort(candidates)
    for key in (distances, owner):
        order = order[torch.argsort(key[order], stable=True)]
    counts = torch.bincount(owner, minlength=len(lengths))[:, None]
    first = torch.cumsum(counts, 0) - counts
    # One more, for those who have fewer.
    candidates = functional.pad(candidates, (0, 1), value=EMPTY)
    distances = functional.pad(distances, (0, 1), value=math.inf)
    order = functional.pad(order, (0, 1), value=len(order))
    columns = torch.arange(k + 1, device=order.device)
    # All rows of a point share its candidates, but for themselves.
    nearest = order[torch.where(columns < counts, first + columns, -1)]
    rows, point = groups.rows(found.points)
    nearest = nearest[point]
    itself = candidates[nearest] == rows[:, None]
    place = torch.where(itself.any(dim=1), itself.byte().argmax(dim=1), k)
    columns = columns[:k]
    kept = nearest.gather(1, columns + (columns >= place[:, None]).long())
    return rows, candidates[kept], distances[kept]
