"""Rows grouped by equality on a device, as `_engines.exact.duplicates` does on the CPU."""

from dataclasses import dataclass, replace

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.gpu.devices import Budget


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
    #: How many of those may be found, the first ones: all, if not said otherwise.
    targets: Tensor

    def first(self, limit: int) -> "Groups":
        """The same where only the rows before the row `limit` may be found."""
        rows = torch.arange(int(self.counts.sum()), device=self.counts.device)
        return replace(self, targets=self.reduced((rows < limit).long(), "sum"))

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

    def reduced(self, values: Tensor, how: str) -> Tensor:
        """Reduce a value of each row to one of each point: to its "sum", "amin" or "amax"."""
        if self.members is None:
            return values
        owner = torch.repeat_interleave(self.counts)
        nothing = values.new_zeros(len(self.counts))
        return nothing.scatter_reduce_(0, owner, values[self.members], how, include_self=False)

    def classes(self, labels: Tensor, least: int) -> Tensor:
        """The class of each point, `MIXED` where its rows disagree or its class has few points."""
        classes = labels
        if self.members is not None:
            lowest, highest = (self.reduced(labels, how) for how in ("amin", "amax"))
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
        counts = torch.ones_like(every)
        return Groups(values, None, every, counts, counts)
    begins = torch.ones(n, dtype=torch.bool, device=values.device)
    begins[alike + 1] = False
    starts = torch.nonzero(begins).ravel()
    counts = torch.diff(starts, append=starts.new_tensor([n]))
    return Groups(values[members[starts]], members, starts, counts, counts)


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
