"""The search on a device for rows without a certificate, down to the order of their neighbours."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from rectifold._summing import add_columns
from rectifold.engines.exact.groups import MIXED
from rectifold.engines.exact.remaining import FIRST
from rectifold.engines.gpu.certificates import pairs_of
from rectifold.engines.gpu.devices import TooMuch
from rectifold.engines.gpu.frame import Frame
from rectifold.engines.gpu.groups import Groups
from rectifold.engines.gpu.selection import kth_at_least

Tensor = torch.Tensor
#: As long as so many times more leaves are near than were looked at, more are looked at before
#: all that can be neighbours are collected; the number grows by this factor.
_GROWTH = 4
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


class Searcher:
    """Finds the points that can be among the k nearest rows.

    Parameters
    ----------
    frame : Frame
        Points in leaves.
    groups : Groups
        The rows on each point.
    classes : Tensor of shape (n_points,)
        The class of each point.
    k : int
        Neighbours per row.
    metric : str
        Of the distances.
    ceiling : float
        A distance at which rows of other classes lie that are not among the points.
    """

    def __init__(
        self, frame: Frame, groups: Groups, classes: Tensor, k: int, metric: str, ceiling: float
    ) -> None:
        self.frame = frame
        self.groups = groups
        self.classes = classes
        self.k = k
        self.metric = metric
        self.ceiling = ceiling

    def search(self, places: Tensor, bounds: Tensor) -> Iterator[Found]:
        """Search for the neighbours of some places, with bounds on how far they can be.

        Yields
        ------
        Found
            For every place once.
        """
        frame = self.frame
        number = min(frame.leaves.n, FIRST)
        # The row itself is among them, so k + 1 are counted.
        if number * frame.leaves.size > self.k:
            bounds = self._tightened(places, bounds, number)
        double = frame.table.dtype == torch.float64
        fine = torch.ones_like(places, dtype=torch.bool)
        if not double:
            fine = frame.rounding.resolves(bounds, frame.squares[places])
        some, within = places[fine], bounds[fine]

        def collect(part: slice) -> Found:
            return self._collected(some[part], within[part])

        each = 2 * frame.leaves.n + frame.table.shape[1]
        for _, found in frame.budget.pieces(len(some), each, collect):
            yield found
        if not bool(fine.all()):
            again = Searcher(
                frame.finer(), self.groups, self.classes, self.k, self.metric, self.ceiling
            )
            yield from again.search(places[~fine], bounds[~fine])

    def _tightened(self, places: Tensor, bounds: Tensor, number: int) -> Tensor:
        """Lower bounds to the k-th nearest point of the nearest leaves."""
        frame, bounds = self.frame, bounds.clone()
        every = torch.arange(frame.leaves.n, device=frame.device)
        left = torch.arange(len(places), device=frame.home)
        while len(left):

            def look(part: slice, left: Tensor = left, number: int = number) -> tuple[Tensor, Tensor]:
                some = left[part]
                kth = self._kth(places[some], frame.nearest(places[some], every, number))
                lower = torch.minimum(bounds[some], frame.at_most(kth, places[some]))
                near = frame.near(places[some], lower, every).sum(dim=1)
                return lower, near.to(frame.home)

            each = 2 * frame.leaves.n + number * frame.leaves.size
            again = []
            for part, (lower, near) in frame.budget.pieces(len(left), each, look):
                bounds[left[part]] = lower
                again.append(near > _GROWTH * number)
            left = left[torch.cat(again)]
            number *= _GROWTH
        return bounds

    def _kth(self, places: Tensor, leaves: Tensor) -> Tensor:
        """A product that k rows and the query have at least, with points of its nearest leaves."""
        frame, number = self.frame, leaves.shape[1]
        size = frame.leaves.size
        slot = torch.arange(number, device=leaves.device).expand_as(leaves)
        query, leaf = pairs_of(leaves)
        # Which of a query's leaves a pair is, in the order of pairs.
        slots = torch.zeros((len(places) + 1, frame.leaves.n), dtype=torch.int16).to(frame.device)
        slots[:-1].scatter_(1, leaves, slot.to(torch.int16))
        nearest = torch.full((len(places) + 1, number, size), -math.inf, dtype=frame.table.dtype)
        nearest = nearest.to(frame.device)
        for blocks in frame.look(frame.queries(places), query, leaf):
            where = slots[blocks.queries, blocks.leaves[:, None]].long()
            nearest[blocks.queries, where] = blocks.products
        return kth_at_least(nearest[:-1].flatten(1), self.k + 1)

    def _collected(self, places: Tensor, bounds: Tensor) -> Found:
        """All points within the bounds, cut to those that the order can keep."""
        frame, home = self.frame, self.frame.home
        every = torch.arange(frame.leaves.n, device=frame.device)
        leaf, query = torch.nonzero(frame.near(places, bounds, every).T, as_tuple=True)
        within = frame.rounding.above(bounds, frame.squares[places])
        hits, held, pairs = [], 0, 0
        for blocks in frame.look(frame.queries(places, within), query, leaf):
            block, who, point = torch.nonzero(blocks.products > 0, as_tuple=True)
            pairs += blocks.products.numel()
            held += len(point)
            if held * _HELD > frame.budget.numbers and len(places) > 1:
                raise TooMuch
            place = blocks.leaves[block] * frame.leaves.size + point
            hits.append((blocks.queries[block, who].to(home), place.to(home)))
        owner, place = (torch.cat(parts) for parts in zip(*hits, strict=True))
        order = frame.leaves.order
        points, neighbours = order[places], order[place]
        distances = self._distances(points[owner], neighbours)
        # By owner, then by distance.
        by_distance = torch.argsort(distances)
        by_owner = by_distance[torch.argsort(owner[by_distance], stable=True)]
        owner, neighbours, distances = owner[by_owner], neighbours[by_owner], distances[by_owner]
        keep = self._kept(owner, neighbours, distances, len(points))
        owner, neighbours, distances = owner[keep], neighbours[keep], distances[keep]
        return self._judged(points, owner, neighbours, distances, pairs)

    def _distances(self, left: Tensor, right: Tensor) -> Tensor:
        """The distances that `rectifold.engines.settle` computes, to the last bit."""
        values = self.frame.values

        def some(part: slice) -> Tensor:
            difference = values[left[part]] - values[right[part]]
            return add_columns((difference * difference).unbind(dim=1))

        parts = self.frame.budget.pieces(len(left), 6 * values.shape[1], some)
        squares = torch.cat([part for _, part in parts])
        if self.metric == "cosine":
            return squares / 2
        return squares if self.metric == "sqeuclidean" else _roots(squares)

    def _kept(self, owner: Tensor, neighbours: Tensor, distances: Tensor, n: int) -> Tensor:
        """Tell which are no farther than the k-th nearest row, of neighbours in order."""
        rows = torch.cumsum(self.groups.counts[neighbours], 0)
        starts = torch.searchsorted(owner, torch.arange(n, device=owner.device))
        before = torch.where(starts > 0, rows[(starts - 1).clamp(min=0)], 0)
        # With the row itself that makes k + 1.
        last = torch.searchsorted(rows, before + self.k + 1)
        return distances <= distances[last.clamp(max=len(rows) - 1)][owner]

    def _judged(
        self, points: Tensor, owner: Tensor, neighbours: Tensor, distances: Tensor, pairs: int
    ) -> Found:
        """Certify points whose neighbours are all of their class; give those of the others."""
        mine = self.classes[points]
        strangers = (self.classes[neighbours] != mine[owner]) | (distances >= self.ceiling)
        doubtful = (mine == MIXED).scatter_reduce(0, owner, strangers, "amax")
        keep = doubtful[owner]
        owner, neighbours, distances = owner[keep], neighbours[keep], distances[keep]
        counts = torch.bincount(owner, minlength=len(points))[doubtful]
        offsets = torch.cat((counts.new_zeros(1), torch.cumsum(counts, 0)))
        return Found(points[~doubtful], points[doubtful], offsets, neighbours, distances, pairs)


def _roots(squares: Tensor) -> Tensor:
    """Square roots that are correctly rounded, as NumPy's and CUDA's are and torch's on the CPU not."""
    if squares.device.type == "cpu":
        return torch.from_numpy(np.sqrt(squares.numpy()))
    return squares.sqrt()


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
        The neighbours of each.
    """
    lengths = torch.diff(found.offsets)
    owner = torch.repeat_interleave(lengths)
    # Of equally distant rows the first k + 1 are enough: the order prefers low indices.
    take = groups.counts[found.candidates].clamp(max=k + 1)
    which = torch.repeat_interleave(take)
    candidates = groups.some_rows(found.candidates, take, which)
    owner, distances = owner[which], found.distances[which]
    order = torch.argsort(candidates)
    for key in (distances, owner):
        order = order[torch.argsort(key[order], stable=True)]
    counts = torch.bincount(owner, minlength=len(lengths))
    first = (torch.cumsum(counts, 0) - counts)[:, None]
    # All rows of a point share its candidates, but for themselves.
    nearest = order[first + torch.arange(k + 1, device=order.device)]
    rows, point = groups.rows(found.points)
    nearest = nearest[point]
    itself = candidates[nearest] == rows[:, None]
    place = torch.where(itself.any(dim=1), itself.byte().argmax(dim=1), k)
    columns = torch.arange(k, device=order.device)
    kept = nearest.gather(1, columns + (columns >= place[:, None]).long())
    return rows, candidates[kept], distances[kept]
