"""Certificates on a device: the steps of `rectifold._engines.exact.certificates`, with tensors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.certificates import GLANCE, MANY
from rectifold._engines.exact.leaves import EMPTY
from rectifold._engines.gpu.products import Frame, blocks_of
from rectifold._engines.gpu.reductions import highest, highest_of_all, kth_at_least, nearer

#: Leaves of its own class that a query searches in the first round, and the factor by which each
#: round searches more. Larger than on the CPU, because of the fixed cost of a round.
_FIRST, _GROWTH = 8, 8
#: A class is small below this number of points and this fraction of all points. Its points are not
#: certified, because the search for their neighbours costs little.
_SMALL, _PART = 4096, 0.1


@dataclass(slots=True, eq=False)
class SearchState:
    """Bounds of the distances of every point, by place; stored on the home device."""

    #: Upper bound of the squared distance of the k-th nearest sample.
    bounds: Tensor
    certified: Tensor
    #: Lower bound of the squared distance of the nearest sample of another class.
    enemies: Tensor
    #: Number of pairs of points that were compared.
    pairs: int = 0


class Certifier:
    """Find points that hold a certificate.

    `weights` is the number of samples on the point at each place, or None if there are no
    duplicates. `ceiling` is the squared distance of samples of other classes that are not among the
    points.
    """

    def __init__(self, frame: Frame, weights: Tensor | None, k: int, ceiling: float) -> None:
        self.frame = frame
        self.k = k
        leaves = frame.leaves
        self.weights = None
        if weights is not None:
            self.weights = weights.view(-1, leaves.size).to(frame.device)
        self.state = SearchState(
            bounds=torch.full_like(frame.squares, math.inf),
            certified=leaves.order == EMPTY,
            enemies=torch.full_like(frame.squares, ceiling),
        )

    def certify(self, *, small: bool = False) -> Iterator[Tensor]:
        """Yield the places of certified points; those of small classes only with `small`."""
        leaves, state = self.frame.leaves, self.state
        for part, kth in self.frame.budget.pieces(
            leaves.n, (leaves.size + 3 * self.frame.table.shape[1]) * leaves.size, self._kth_of_leaf
        ):
            places = torch.arange(
                part.start * leaves.size, part.stop * leaves.size, device=self.frame.home
            )
            state.bounds[places] = self.frame.at_most(kth.ravel(), places)
            state.pairs += len(places) * leaves.size
        undecided = []
        labels, counts = torch.unique(leaves.labels, return_counts=True)
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            is_small = count < min(_SMALL / leaves.size, _PART * leaves.n)
            if label < 0 or (is_small and not small):
                continue
            own = (leaves.labels == label).repeat_interleave(leaves.size)
            left = torch.nonzero(own & ~state.certified & (state.bounds < math.inf)).ravel()
            others = torch.nonzero(leaves.labels != label).ravel().to(self.frame.device)
            if len(others) > MANY * leaves.n:
                left = self._prefiltered(left, others)
            proved = self._proved(left, others)
            yield self._mark(left[proved])
            undecided.append(left[~proved])
        for left in undecided:
            yield from self._rounds(left)

    def _mark(self, places: Tensor) -> Tensor:
        self.state.certified[places] = True
        return places

    def _kth_of_leaf(self, part: slice) -> Tensor:
        """Return for each point of some leaves a product that k points of its leaf reach."""
        found = self.frame.products_within(part)
        found.diagonal(dim1=1, dim2=2).fill_(-math.inf)
        return kth_at_least(found, self.k)

    def _prefiltered(self, places: Tensor, others: Tensor) -> Tensor:
        """Return the places without those whose certificate a few leaves show to be unlikely."""
        frame = self.frame

        def search(part: slice) -> tuple[Tensor, int]:
            some = places[part]
            query, leaf, _ = by_leaf(frame.nearest(some, others, GLANCE))
            return self._nearest(some, query, leaf)

        keep = []
        for part, (found, pairs) in frame.budget.pieces(len(places), len(others) + 64, search):
            some = places[part]
            self._lower_enemies(some, found)
            self.state.pairs += pairs
            keep.append(self.state.enemies[some] > self.state.bounds[some])
        hopeful = torch.cat(keep) if keep else torch.zeros(0, dtype=torch.bool, device=frame.home)
        close = torch.nonzero(~hopeful).ravel()
        enough, _ = self._counted(places[close], _FIRST)
        hopeful[close[enough]] = True
        return places[hopeful]

    def _proved(self, places: Tensor, others: Tensor) -> Tensor:
        """Return which places have k samples of their class nearer than any in `others`."""
        frame, state = self.frame, self.state
        if not len(others):
            return state.bounds[places] < state.enemies[places]

        def search(part: slice) -> tuple[Tensor, int]:
            some = places[part]
            mask = frame.near(some, state.bounds[some], others)
            if 2 * int(mask.sum()) > mask.numel():
                found = highest_of_all(frame, frame.queries(some), others)
                return found[:-1], len(some) * len(others) * frame.leaves.size
            leaf, query = torch.nonzero(mask.T, as_tuple=True)
            return self._nearest(some, query, others[leaf])

        each = len(others) + frame.table.shape[1]
        for part, (found, pairs) in frame.budget.pieces(len(places), each, search):
            self._lower_enemies(places[part], found)
            state.pairs += pairs
        return state.bounds[places] < state.enemies[places]

    def _lower_enemies(self, places: Tensor, found: Tensor) -> None:
        """Update the bounds of the nearest enemies, given products without a bound."""
        enemies = self.frame.at_least(found, places)
        self.state.enemies[places] = torch.minimum(self.state.enemies[places], enemies)

    def _nearest(self, places: Tensor, query: Tensor, leaf: Tensor) -> tuple[Tensor, int]:
        """Return the largest product of each query with its leaves, and the number of pairs."""
        blocks = blocks_of(query, leaf, len(places))
        found = highest(self.frame, self.frame.queries(places), blocks)
        return found[:-1], blocks.queries.numel() * self.frame.leaves.size

    def _rounds(self, left: Tensor) -> Iterator[Tensor]:
        """Count nearer samples of the same class, in more leaves with every round."""
        leaves, n_leaves = self.frame.leaves, _FIRST
        while len(left):
            enough, pairs = self._counted(left, n_leaves)
            yield self._mark(left[enough])
            # Another round searches `_GROWTH` times as many leaves, and may certify half as large
            # a share; the neighbours of the others are searched among all points.
            saved = float(enough.double().mean()) / 2 * len(leaves.order)
            cost = _GROWTH * pairs / len(left)
            left = left[~enough]
            if saved < cost or n_leaves >= leaves.n:
                return
            n_leaves *= _GROWTH

    def _counted(self, places: Tensor, n_leaves: int) -> tuple[Tensor, int]:
        """Return which places of one class have k samples of it nearer than any other class.

        Only the nearest `n_leaves` leaves of the class are searched. Return the pairs compared too.
        """
        frame, state = self.frame, self.state
        if not len(places):
            return torch.zeros(0, dtype=torch.bool, device=frame.home), 0
        label = frame.leaves.labels[places[0] // frame.leaves.size]
        which = torch.nonzero(frame.leaves.labels == label).ravel().to(frame.device)

        def count(part: slice) -> tuple[Tensor, int]:
            some = places[part]
            bounds = frame.rounding.below(state.enemies[some], frame.squares[some])
            # The points of a leaf search the same leaves, which are then found in a hundredth of
            # the time.
            own = torch.div(some, frame.leaves.size, rounding_mode="floor").to(frame.device)
            own, inverse = torch.unique_consecutive(own, return_inverse=True)
            query, leaf, _ = by_leaf(frame.nearest_to_leaves(own, which, n_leaves)[inverse])
            blocks = blocks_of(query, leaf, len(some))
            counts = nearer(frame, frame.queries(some, bounds), blocks, self.weights)
            pairs = blocks.queries.numel() * frame.leaves.size
            # The counts include the samples on the query's own point, and so the query itself.
            return (counts[:-1] > self.k).to(frame.home), pairs

        each = 16 * min(n_leaves, len(which)) + 2 * frame.table.shape[1]
        results = [result for _, result in frame.budget.pieces(len(places), each, count)]
        pairs = sum(pairs for _, pairs in results)
        state.pairs += pairs
        return torch.cat([enough for enough, _ in results]), pairs


def by_leaf(leaf: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sort pairs of a query and one of its leaves, given one row of leaves per query, by leaf.

    Return the query and the leaf of each pair, and its position in the flattened input.
    """
    leaves, order = torch.sort(leaf.ravel(), stable=True)
    return order // leaf.shape[1], leaves, order
