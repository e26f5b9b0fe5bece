"""Rows grouped by equality on a device, as `rectifold.engines.exact.groups` does on the CPU."""

from dataclasses import dataclass

import torch

from rectifold._typing import Tensor
from rectifold.engines.exact.groups import MIXED
from rectifold.engines.gpu.devices import Budget


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The distinct points of a table, and the rows that lie on each."""

    #: The distinct points, float64.
    values: Tensor
    #: All rows, those of one point together, ascending within it; None where every row is alone.
    members: Tensor | None
    #: Where the rows of each point begin in `members`, and how many there are.
    starts: Tensor
    counts: Tensor

    def rows(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """All rows that lie on some points, and for each the number of its point among them."""
        if self.members is None:
            return points, torch.arange(len(points), device=points.device)
        counts = self.counts[points]
        owner = torch.repeat_interleave(counts)
        return self.some_rows(points, counts, owner), owner

    def some_rows(self, points: Tensor, counts: Tensor, owner: Tensor) -> Tensor:
        """The first so many rows of each point; `owner` repeats their numbers as often."""
        if self.members is None:
            return points[owner]
        begins = torch.cumsum(counts, 0) - counts
        within = torch.arange(len(owner), device=owner.device) - begins[owner]
        return self.members[self.starts[points][owner] + within]

    def classes(self, labels: Tensor, least: int) -> Tensor:
        """The class of each point, `MIXED` where its rows disagree or its class has few points."""
        classes = labels
        if self.members is not None:
            ordered = labels[self.members]
            owner = torch.repeat_interleave(self.counts)
            lowest = torch.full_like(self.counts, torch.iinfo(torch.int64).max)
            lowest.scatter_reduce_(0, owner, ordered, "amin")
            highest = torch.full_like(self.counts, -1).scatter_reduce_(0, owner, ordered, "amax")
            classes = torch.where(lowest == highest, lowest, MIXED)
        sizes = torch.bincount(classes[classes != MIXED], minlength=1)
        few = (classes == MIXED) | (sizes[classes.clamp(min=0)] < least)
        return torch.where(few, MIXED, classes)


def group(values: Tensor, budget: Budget) -> Groups:
    """Group equal rows.

    Parameters
    ----------
    values : Tensor of shape (n_rows, n_columns)
        Float64 rows.
    budget : Budget
        How much is done at once.

    Returns
    -------
    Groups
    """
    n = len(values)
    every = torch.arange(n, device=values.device)
    key, members = torch.sort(_keys(values, budget), stable=True)
    alike = torch.nonzero(key[1:] == key[:-1]).ravel()
    # Whole tables of distinct rows are common, and then this is all.
    if len(alike):
        left, right = members[alike], members[alike + 1]

        def equal(part: slice) -> Tensor:
            return (values[left[part]] == values[right[part]]).all(dim=1)

        pieces = budget.pieces(len(alike), 4 * values.shape[1], equal)
        alike = alike[torch.cat([same for _, same in pieces])]
    if not len(alike):
        return Groups(values, None, every, torch.ones_like(every))
    begins = torch.ones(n, dtype=torch.bool, device=values.device)
    begins[alike + 1] = False
    starts = torch.nonzero(begins).ravel()
    counts = torch.diff(starts, append=starts.new_tensor([n]))
    return Groups(values[members[starts]], members, starts, counts)


def _keys(values: Tensor, budget: Budget) -> Tensor:
    # Sums of whole numbers, which wrap around, are the same in any order: equal rows have equal
    # keys. Unequal rows seldom do.
    n, d = values.shape
    generator = torch.Generator("cpu").manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, (d,), generator=generator, device="cpu") * 2 + 1
    factors = factors.to(values.device)

    def keys(part: slice) -> Tensor:
        # Zero has two signs.
        return ((values[part] + 0.0).view(torch.int64) * factors).sum(dim=1)

    return torch.cat([some for _, some in budget.pieces(n, 6 * d, keys)])
