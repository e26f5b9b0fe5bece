"""Search on a device for the neighbours of points without a certificate, sorted."""

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
from rectifold._engines.gpu.devices import PieceTooLargeError
from rectifold._engines.gpu.duplicates import Groups
from rectifold._engines.gpu.products import Frame, blocks_of
from rectifold._engines.gpu.reductions import kth_at_least

#: If bounds let pass more than `_CROWD` times the candidates needed, they are lowered by searching
#: `_GROWTH` times as many leaves. Estimated from `_SAMPLE` queries, if there are at least `_FEW`.
_CROWD, _GROWTH, _SAMPLE, _FEW = 32, 8, 64, 8192
#: At most this fraction (1 / _HELD) of the budget is held as pairs of neighbours.
_HELD = 8


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Certificates for some points, and candidates for the others."""

    #: Points whose neighbours are all of their own class.
    certified: Tensor
    #: Other points, the offsets of their candidates, the candidates and their distances.
    points: Tensor
    offsets: Tensor
    candidates: Tensor
    distances: Tensor
    pairs: int

    def part(self, begin: int, end: int) -> "Found":
        """Return a slice of the points, with their candidates."""
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
    """Find the points that can be among the k nearest samples."""

    frame: Frame
    groups: Groups
    #: The class of each point.
    classes: Tensor
    k: int
    metric: str
    #: Distance of samples of other classes that are not among the points.
    ceiling: float
    #: The leaves to search.
    which: Tensor

    @property
    def wanted(self) -> int:
        """Number of samples that candidates must include: a query may be one of them."""
        return self.k + self.frame.side.itself

    def search(self, places: Tensor, bounds: Tensor) -> Iterator[Found]:
        """Yield results for every place once.

        `bounds` are upper bounds of the squared distance of useful neighbours. If `which` does not
        include all leaves, fewer than k neighbours may be found.
        """
        frame = self.frame
        n_leaves = FIRST
        bounds = self._tightened(places, bounds, n_leaves)
        if frame.table.dtype != torch.float64:
            # Lower bounds would not help: single precision can't resolve them either.
            coarse = ~frame.rounding.resolves(bounds, frame.squares[places])
            if bool(coarse.any()):
                again = replace(self, frame=frame.finer())
                yield from again.search(places[coarse], bounds[coarse])
                places, bounds = places[~coarse], bounds[~coarse]
        while self._crowded(places, bounds) and n_leaves < len(self.which):
            n_leaves *= _GROWTH
            bounds = self._tightened(places, bounds, n_leaves)

        def collect(part: slice) -> Found:
            return self._certified_or_found(*self._collected(places[part], bounds[part]))

        each = 2 * len(self.which) + frame.table.shape[1]
        for _, found in frame.budget.pieces(len(places), each, collect):
            yield found

    def _crowded(self, places: Tensor, bounds: Tensor) -> bool:
        """Estimate from a few of many queries whether bounds let far too many points pass."""
        if len(places) < _FEW:
            return False
        some = torch.arange(_SAMPLE, device=places.device) * (len(places) - 1) // (_SAMPLE - 1)

        def estimate(_: slice) -> bool:
            try:
                owner = self._hits(places[some], bounds[some])[0]
            except PieceTooLargeError:
                return True
            return len(owner) > _CROWD * self.wanted * _SAMPLE

        ((_, crowded),) = self.frame.budget.pieces(1, 1, estimate)
        return crowded

    def _tightened(self, places: Tensor, bounds: Tensor, n_leaves: int) -> Tensor:
        """Lower bounds to the distance of the k-th nearest point in the nearest leaves."""
        frame = self.frame
        n_leaves = min(n_leaves, len(self.which))
        if n_leaves * frame.leaves.size < self.wanted or not len(places):
            return bounds
        which = self.which.to(frame.device)

        def tighten(part: slice) -> Tensor:
            some = places[part]
            kth = self._kth(some, frame.nearest(some, which, n_leaves))
            return torch.minimum(bounds[part], frame.at_most(kth, some))

        each = len(which) + n_leaves * frame.leaves.size
        pieces = frame.budget.pieces(len(places), each, tighten)
        return torch.cat([lower for _, lower in pieces])

    def _kth(self, places: Tensor, leaves: Tensor) -> Tensor:
        """Return for each query a product that the `wanted` points of its `leaves` reach."""
        frame = self.frame
        query, leaf, place = by_leaf(leaves)
        place = functional.pad(place, (0, 1), value=len(leaf))
        queries = frame.queries(places)
        nearest = queries.new_empty((len(leaf) + 1, frame.leaves.size))
        for some, products in frame.products(queries, blocks_of(query, leaf, len(places))):
            nearest[place[some.pairs]] = products
        return kth_at_least(nearest[:-1].view(len(places), -1), self.wanted)

    def _hits(self, places: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor, int]:
        """Return the query and place of each point within the bounds, and the pairs compared."""
        frame, home = self.frame, self.frame.home
        which = self.which.to(frame.device)
        leaf, query = torch.nonzero(frame.near(places, bounds, which).T, as_tuple=True)
        within = frame.rounding.above(bounds, frame.squares[places])
        hits, held, pairs = [], 0, 0
        blocks = blocks_of(query, which[leaf], len(places))
        for some, products in frame.products(frame.queries(places, within), blocks):
            block, row, point = torch.nonzero(products > 0, as_tuple=True)
            pairs += products.numel()
            held += len(point)
            if held * _HELD > frame.budget.numbers and len(places) > 1:
                raise PieceTooLargeError
            place = some.leaves[block] * frame.leaves.size + point
            hits.append((some.queries[block, row].to(home), place.to(home)))
        owner, place = (torch.cat(parts) for parts in zip(*hits, strict=True))
        return owner, place, pairs

    def _collected(
        self, places: Tensor, bounds: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
        """Return queries; the owner, index and distance of their neighbours, sorted; and the pairs.

        Ties of the k-th neighbour are included.
        """
        owner, place, pairs = self._hits(places, bounds)
        points, neighbours = self.frame.side.rows[places], self.frame.leaves.order[place]
        distances = self._distances(points[owner], neighbours)
        # By owner, then by distance.
        by_distance = torch.argsort(distances)
        by_owner = by_distance[torch.argsort(owner[by_distance], stable=True)]
        owner, neighbours, distances = owner[by_owner], neighbours[by_owner], distances[by_owner]
        keep = self._within_kth(owner, neighbours, distances, len(points))
        return points, owner[keep], neighbours[keep], distances[keep], pairs

    def _distances(self, left: Tensor, right: Tensor) -> Tensor:
        """Compute the same distances as `rectifold._engines.settle`, bit for bit."""
        queries, values = self.frame.side.values, self.frame.coordinates.values

        def squared(part: slice) -> Tensor:
            difference = queries[left[part]] - values[right[part]]
            squares = (difference * difference).unbind(dim=1)
            return add_columns(difference.new_zeros(len(difference)), squares)

        parts = self.frame.budget.pieces(len(left), 6 * values.shape[1], squared)
        squares = torch.cat([values.new_empty(0), *(part for _, part in parts)])
        if self.metric == "cosine":
            return squares / 2
        return squares if self.metric == "sqeuclidean" else roots(squares)

    def _within_kth(self, owner: Tensor, neighbours: Tensor, distances: Tensor, n: int) -> Tensor:
        """Return which of the sorted neighbours are no farther than the k-th nearest sample."""
        if not len(owner):
            return torch.ones_like(owner, dtype=torch.bool)
        every = torch.arange(n, device=owner.device)
        rows = torch.cumsum(self.groups.targets[neighbours], 0)
        starts = torch.searchsorted(owner, every)
        before = torch.where(starts > 0, rows[(starts - 1).clamp(min=0)], 0)
        # If there are fewer, all are kept.
        last = torch.searchsorted(rows, before + self.wanted).clamp(max=len(rows) - 1)
        farthest = distances[last].masked_fill(owner[last] != every, math.inf)
        return distances <= farthest[owner]

    def _certified_or_found(
        self, points: Tensor, owner: Tensor, neighbours: Tensor, distances: Tensor, pairs: int
    ) -> Found:
        """Certify the points whose neighbours are all of their class; other queries have none."""
        own = self.classes[points] if self.frame.side.itself else torch.full_like(points, MIXED)
        enemies = (self.classes[neighbours] != own[owner]) | (distances >= self.ceiling)
        uncertified = own == MIXED
        uncertified[owner[enemies]] = True
        keep = uncertified[owner]
        owner, neighbours, distances = owner[keep], neighbours[keep], distances[keep]
        counts = torch.bincount(owner, minlength=len(points))[uncertified]
        offsets = torch.cat((counts.new_zeros(1), torch.cumsum(counts, 0)))
        return Found(
            points[~uncertified], points[uncertified], offsets, neighbours, distances, pairs
        )


def ordered(found: Found, groups: Groups, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return all samples on the points, and the indices and distances of their neighbours.

    The neighbours have the shape (n_samples, k) and are sorted by (distance, index). Missing ones
    are `EMPTY`, at an infinite distance.
    """
    lengths = torch.diff(found.offsets)
    owner = torch.repeat_interleave(lengths)
    # The first k + 1 of equally distant samples suffice, because lower indices come first.
    take = groups.targets[found.candidates].clamp(max=k + 1)
    which = torch.repeat_interleave(take)
    candidates = groups.some_rows(found.candidates, take, which)
    owner, distances = owner[which], found.distances[which]
    order = torch.argsort(candidates)
    for key in (distances, owner):
        order = order[torch.argsort(key[order], stable=True)]
    counts = torch.bincount(owner, minlength=len(lengths))[:, None]
    first = torch.cumsum(counts, 0) - counts
    # The last entry stands for missing neighbours.
    candidates = functional.pad(candidates, (0, 1), value=EMPTY)
    distances = functional.pad(distances, (0, 1), value=math.inf)
    order = functional.pad(order, (0, 1), value=len(order))
    columns = torch.arange(k + 1, device=order.device)
    # All samples on a point share its candidates, except for themselves.
    nearest = order[torch.where(columns < counts, first + columns, -1)]
    rows, point = groups.rows(found.points)
    nearest = nearest[point]
    itself = candidates[nearest] == rows[:, None]
    place = torch.where(itself.any(dim=1), itself.byte().argmax(dim=1), k)
    columns = columns[:k]
    kept = nearest.gather(1, columns + (columns >= place[:, None]).long())
    return rows, candidates[kept], distances[kept]
