"""Groups of equal samples on a device, as `_engines.exact.duplicates` computes on the CPU."""

from dataclasses import dataclass, replace

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.gpu.devices import Budget


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The distinct points of a table, and the samples on each."""

    #: The distinct points, float64.
    values: Tensor
    #: All samples, grouped by point and ascending within a group; None if there are no duplicates.
    members: Tensor | None
    #: Where the samples of each point begin in `members`, and how many there are.
    starts: Tensor
    counts: Tensor
    #: How many of the samples of each point can be neighbours; these come first in `members`.
    targets: Tensor

    def first(self, limit: int) -> "Groups":
        """Return groups in which only samples before the index `limit` can be neighbours."""
        rows = torch.arange(int(self.counts.sum()), device=self.counts.device)
        return replace(self, targets=self.reduced((rows < limit).long(), "sum"))

    def rows(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return all samples on some points, and for each the position of its point in `points`."""
        if self.members is None:
            return points, torch.arange(len(points), device=points.device)
        counts = self.counts[points]
        owner = torch.repeat_interleave(counts)
        return self.some_rows(points, counts, owner), owner

    def some_rows(self, points: Tensor, counts: Tensor, owner: Tensor) -> Tensor:
        """Return the first samples of each point; `owner` is ``repeat_interleave(counts)``."""
        if self.members is None:
            return points[owner]
        begins = torch.cumsum(counts, 0) - counts
        within = torch.arange(len(owner), device=owner.device) - begins[owner]
        return self.members[self.starts[points][owner] + within]

    def reduced(self, values: Tensor, how: str) -> Tensor:
        """Reduce a value per sample to one per point: its "sum", "amin" or "amax"."""
        if self.members is None:
            return values
        owner = torch.repeat_interleave(self.counts)
        initial = values.new_zeros(len(self.counts))
        return initial.scatter_reduce_(0, owner, values[self.members], how, include_self=False)

    def classes(self, labels: Tensor, least: int) -> Tensor:
        """Return the class of each point.

        It is `MIXED` if its samples have several labels, or its class fewer than `least` points.
        """
        classes = labels
        if self.members is not None:
            lowest, highest = (self.reduced(labels, how) for how in ("amin", "amax"))
            classes = torch.where(lowest == highest, lowest, MIXED)
        sizes = torch.bincount(classes[classes != MIXED], minlength=1)
        few = (classes == MIXED) | (sizes[classes.clamp(min=0)] < least)
        return torch.where(few, MIXED, classes)


def group(values: Tensor, budget: Budget) -> Groups:
    """Group equal float64 samples."""
    n = len(values)
    every = torch.arange(n, device=values.device)
    key, members = torch.sort(_keys(values, budget), stable=True)
    same_key = torch.nonzero(key[1:] == key[:-1]).ravel()
    # Equal keys are rare in a table without duplicates.
    if len(same_key):
        left, right = members[same_key], members[same_key + 1]

        def equal(part: slice) -> Tensor:
            return (values[left[part]] == values[right[part]]).all(dim=1)

        pieces = budget.pieces(len(same_key), 4 * values.shape[1], equal)
        same_key = same_key[torch.cat([same for _, same in pieces])]
    if not len(same_key):
        counts = torch.ones_like(every)
        return Groups(values, None, every, counts, counts)
    begins = torch.ones(n, dtype=torch.bool, device=values.device)
    begins[same_key + 1] = False
    starts = torch.nonzero(begins).ravel()
    counts = torch.diff(starts, append=starts.new_tensor([n]))
    return Groups(values[members[starts]], members, starts, counts, counts)


def _keys(values: Tensor, budget: Budget) -> Tensor:
    """Return an integer hash of each sample."""
    # Sums of integers modulo 2^64 don't depend on the order of summation, so equal samples have
    # equal keys. Unequal samples seldom do.
    n, d = values.shape
    generator = torch.Generator("cpu").manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, (d,), generator=generator, device="cpu") * 2 + 1
    factors = factors.to(values.device)

    def keys(part: slice) -> Tensor:
        # Adding zero turns -0.0 into 0.0.
        return ((values[part] + 0.0).view(torch.int64) * factors).sum(dim=1)

    return torch.cat([some for _, some in budget.pieces(n, 6 * d, keys)])
