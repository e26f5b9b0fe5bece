"""Certificates on a device: the steps of `rectifold._engines.exact.certificates`, with tensors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.certificates import GLANCE, MANY
from rectifold._engines.exact.leaves import EMPTY
from rectifold._engines.gpu.products import Frame, blocks_of
from rectifold._engines.gpu.reductions import highest, highest_of_all, nearer
from rectifold._engines.gpu.top_k import kth_at_least

#: Leaves of its own class that a row looks at first, and how many times more in each round: more
#: than on the CPU, since a round takes a while however little there is to do.
_FIRST, _GROWTH = 8, 8
#: Classes of fewer points, and of less than such a part of all, are searched for at once.
_SMALL, _PART = 4096, 0.1


@dataclass(slots=True, eq=False)
class Standing:
    """What is known of every point, by place; all of it at home."""

    #: The squared distance of the k-th nearest row is provably at most this.
    bounds: Tensor
    #: Whether the point holds a certificate.
    certified: Tensor
    #: The squared distance of the nearest row of another class, at least, where it is known.
    enemies: Tensor
    #: Pairs of points that were looked at.
    pairs: int = 0


class Certifier:
    """Finds rows that hold a certificate.

    Parameters
    ----------
    frame : Frame
        Points in leaves.
    weights : Tensor of shape (n_places,) or None
        How many rows lie on each point; None where it is one each.
    k : int
        Neighbours per row.
    ceiling : float
        A squared distance at which rows of other classes lie that are not among the points.
    """

    def __init__(self, frame: Frame, weights: Tensor | None, k: int, ceiling: float) -> None:
        self.frame = frame
        self.k = k
        leaves = frame.leaves
        self.weights = None
        if weights is not None:
            self.weights = weights.view(-1, leaves.size).to(frame.device)
        self.standing = Standing(
            bounds=torch.full_like(frame.squares, math.inf),
            certified=leaves.order == EMPTY,
            enemies=torch.full_like(frame.squares, ceiling),
        )

    def certify(self, *, small: bool = False) -> Iterator[Tensor]:
        """Yield places of points that hold a certificate, as they become known.

        Parameters
        ----------
        small : bool
            Whether to look for those of small classes too, since nobody will search for their rows.
        """
        leaves, standing = self.frame.leaves, self.standing
        for part, kth in self.frame.budget.pieces(
            leaves.n, (leaves.size + 3 * self.frame.table.shape[1]) * leaves.size, self._at_home
        ):
            places = torch.arange(
                part.start * leaves.size, part.stop * leaves.size, device=self.frame.home
            )
            standing.bounds[places] = self.frame.at_most(kth.ravel(), places)
            standing.pairs += len(places) * leaves.size
        doubtful = []
        labels, counts = torch.unique(leaves.labels, return_counts=True)
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            few = count < min(_SMALL / leaves.size, _PART * leaves.n)
            if label < 0 or (few and not small):
                continue
            mine = (leaves.labels == label).repeat_interleave(leaves.size)
            hopeful = mine & ~standing.certified & (standing.bounds < math.inf)
            left = torch.nonzero(hopeful).ravel()
            others = torch.nonzero(leaves.labels != label).ravel().to(self.frame.device)
            if len(others) > MANY * leaves.n:
                left = self._glanced(left, others)
            near = self._enemies(left, others)
            yield self._noted(left[near])
            doubtful.append(left[~near])
        for left in doubtful:
            yield from self._rounds(left)

    def _noted(self, places: Tensor) -> Tensor:
        self.standing.certified[places] = True
        return places

    def _at_home(self, part: slice) -> Tensor:
        """For each row of some leaves, a product that k rows of its own leaf have at least."""
        found = self.frame.at_home(part)
        found.diagonal(dim1=1, dim2=2).fill_(-math.inf)
        return kth_at_least(found, self.k)

    def _glanced(self, places: Tensor, others: Tensor) -> Tensor:
        """Give up, before all of the many others are looked at, where a few suffice."""
        frame = self.frame

        def glance(part: slice) -> tuple[Tensor, int]:
            some = places[part]
            query, leaf, _ = by_leaf(frame.nearest(some, others, GLANCE))
            return self._nearest(some, query, leaf)

        keep = []
        for part, (found, pairs) in frame.budget.pieces(len(places), len(others) + 64, glance):
            some = places[part]
            self._closer(some, found)
            self.standing.pairs += pairs
            close = self.standing.enemies[some] <= self.standing.bounds[some]
            keep.append(~close)
        hopeful = torch.cat(keep) if keep else torch.zeros(0, dtype=torch.bool, device=frame.home)
        close = torch.nonzero(~hopeful).ravel()
        enough, _ = self._counted(places[close], _FIRST)
        hopeful[close[enough]] = True
        return places[hopeful]

    def _enemies(self, places: Tensor, others: Tensor) -> Tensor:
        """Tell which rows have k of their class nearer than all of some leaves."""
        frame, standing = self.frame, self.standing
        if not len(others):
            return standing.bounds[places] < standing.enemies[places]

        def look(part: slice) -> tuple[Tensor, int]:
            some = places[part]
            mask = frame.near(some, standing.bounds[some], others)
            if 2 * int(mask.sum()) > mask.numel():
                found = highest_of_all(frame, frame.queries(some), others)
                return found[:-1], len(some) * len(others) * frame.leaves.size
            leaf, query = torch.nonzero(mask.T, as_tuple=True)
            return self._nearest(some, query, others[leaf])

        each = len(others) + frame.table.shape[1]
        for part, (found, pairs) in frame.budget.pieces(len(places), each, look):
            self._closer(places[part], found)
            standing.pairs += pairs
        return standing.bounds[places] < standing.enemies[places]

    def _closer(self, places: Tensor, found: Tensor) -> None:
        """Note how near another class comes, given products without a bound."""
        enemies = self.frame.at_least(found, places)
        self.standing.enemies[places] = torch.minimum(self.standing.enemies[places], enemies)

    def _nearest(self, places: Tensor, query: Tensor, leaf: Tensor) -> tuple[Tensor, int]:
        """The largest product of each query with the leaves it looks at."""
        blocks = blocks_of(query, leaf, len(places))
        found = highest(self.frame, self.frame.queries(places), blocks)
        return found[:-1], blocks.queries.numel() * self.frame.leaves.size

    def _rounds(self, left: Tensor) -> Iterator[Tensor]:
        """Count nearer rows of the same class, in more and more leaves."""
        leaves, seen = self.frame.leaves, _FIRST
        while len(left):
            enough, pairs = self._counted(left, seen)
            yield self._noted(left[enough])
            # Another round looks at `_GROWTH` times as many leaves, and may prove half as large
            # a share; what it does not prove is searched for among all points.
            spared = float(enough.double().mean()) / 2 * len(leaves.order)
            cost = _GROWTH * pairs / len(left)
            left = left[~enough]
            if spared < cost or seen >= leaves.n:
                return
            seen *= _GROWTH

    def _counted(self, places: Tensor, number: int) -> tuple[Tensor, int]:
        """Tell for which rows of one class k of it are nearer than any other class."""
        frame, standing = self.frame, self.standing
        if not len(places):
            return torch.zeros(0, dtype=torch.bool, device=frame.home), 0
        label = frame.leaves.labels[places[0] // frame.leaves.size]
        which = torch.nonzero(frame.leaves.labels == label).ravel().to(frame.device)

        def look(part: slice) -> tuple[Tensor, int]:
            some = places[part]
            bounds = frame.rounding.below(standing.enemies[some], frame.squares[some])
            # The rows of a leaf look at the same leaves: it takes a hundredth of the time to tell
            # which those are.
            homes = torch.div(some, frame.leaves.size, rounding_mode="floor").to(frame.device)
            homes, inverse = torch.unique_consecutive(homes, return_inverse=True)
            query, leaf, _ = by_leaf(frame.nearest_to_leaves(homes, which, number)[inverse])
            blocks = blocks_of(query, leaf, len(some))
            counts = nearer(frame, frame.queries(some, bounds), blocks, self.weights)
            pairs = blocks.queries.numel() * frame.leaves.size
            # The rows on the query's own point are counted too, itself among them.
            return (counts[:-1] > self.k).to(frame.home), pairs

        each = 16 * min(number, len(which)) + 2 * frame.table.shape[1]
        results = [result for _, result in frame.budget.pieces(len(places), each, look)]
        pairs = sum(pairs for _, pairs in results)
        standing.pairs += pairs
        return torch.cat([enough for enough, _ in results]), pairs


def by_leaf(leaf: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Order pairs of a query and one of its leaves by leaf.

    Gives the query and the leaf of each pair, and its place among all in the order of queries.
    """
    leaves, order = torch.sort(leaf.ravel(), stable=True)
    return order // leaf.shape[1], leaves, order
