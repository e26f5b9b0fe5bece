"""Nearest training samples of queries on a device; there are no certificates."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from rectifold._core.space import LARGEST
from rectifold._core.threads import Workers
from rectifold._core.utils import Bools, Ints, Matrix, Tensor
from rectifold._engines import gpu
from rectifold._engines.contract import Proposal
from rectifold._engines.gpu import devices
from rectifold._engines.gpu.devices import Budget, to_numpy
from rectifold._engines.gpu.duplicates import Groups, group
from rectifold._engines.gpu.leaf_search import Found, Searcher
from rectifold._engines.gpu.products import Frame, build
from rectifold._engines.query_contract import FARTHEST, Nearest, Settle, settled

#: Maximum number of values of queries on a device.
_VALUES = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class DeviceQueryIndex:
    """Training samples, none of them a zero vector under cosine, prepared for queries."""

    frame: Frame
    #: The samples on each point.
    groups: Groups
    k: int

    def within_range(self, values: Matrix) -> Bools:
        """Return which queries are near enough for products."""
        with torch.inference_mode():
            parts = [self._within_range(some) for _, some in self._parts(values)]
        return np.concatenate([np.empty(0, dtype=bool), *parts])

    def search(
        self, values: Matrix, settle: Settle, n_jobs: int | None, *, certify: bool
    ) -> Iterator[Nearest]:
        """Yield the neighbours of every query once; `certify` has no effect."""
        found = self._proposals(values)
        with Workers(n_jobs) as workers:
            proposals = devices.in_full_precision(self.frame.device, found)
            yield from workers.map(lambda proposal: settled(proposal, settle), proposals)

    def _parts(self, values: Matrix) -> Iterator[tuple[int, Tensor]]:
        """Yield float64 queries on the home device, and the number of the first of them."""
        step = max(1, _VALUES // values.shape[1])
        for at in range(0, values.shape[0], step):
            yield at, devices.to_device(values[at : at + step], self.frame.home).double()

    def _within_range(self, values: Tensor) -> Bools:
        scaled = replace(self.frame.coordinates, values=values).of(slice(None))
        near = scaled.square().sum(dim=1) <= FARTHEST
        inside: Bools = to_numpy(near & (values.abs().amax(dim=1) <= LARGEST))
        return inside

    def _proposals(self, values: Matrix) -> Generator[Proposal, None, None]:
        for at, some in self._parts(values):
            frame = self.frame.facing(some)
            home, n_points = frame.home, len(self.groups.counts)
            # Equal squares have equal roots, so neighbours by these include all ties.
            searcher = Searcher(
                frame,
                self.groups,
                torch.zeros(n_points, dtype=torch.int64, device=home),
                self.k,
                "euclidean",
                torch.inf,
                torch.arange(frame.leaves.n, device=home),
            )
            numbers = torch.arange(len(some), device=home)
            bounds = torch.full((len(some),), torch.inf, dtype=torch.float64, device=home)
            for found in searcher.search(numbers, bounds):
                yield self._proposal(found, at)

    def _proposal(self, found: Found, first: int) -> Proposal:
        """Return the samples on the points that were found."""
        # Of equally distant samples the first k are enough: the order prefers low indices.
        take = self.groups.counts[found.candidates].clamp(max=self.k)
        owner = torch.repeat_interleave(take)
        candidates = self.groups.some_rows(found.candidates, take, owner)
        ends: Ints = to_numpy(torch.cumsum(take, 0))
        offsets = np.append(0, ends)[to_numpy(found.offsets)]
        return Proposal(to_numpy(found.points) + first, offsets, to_numpy(candidates))


def prepare(
    values: Matrix,
    labels: Ints,
    k: int,
    n_jobs: int | None,
    *,
    unit_length: bool,
    ceiling: float,
    device: Any = None,
) -> DeviceQueryIndex:
    """Put training samples into leaves, stored on the device, or on the host if they don't fit.

    `device` is as in `devices.find`. As there are no certificates, `labels` and `ceiling` are not
    needed.
    """
    found = devices.find(device)
    home = devices.storage_device(found, gpu.BYTES * values.shape[0] * (values.shape[1] + 2))
    host = torch.device("cpu")
    try:
        return _prepared(values, k, found, home, unit_length=unit_length)
    except (RuntimeError, MemoryError) as error:
        if not devices.is_full(error):
            raise
        if home == host:
            raise devices.memory_error(found) from None
    # Outside of the except clause, whose traceback would keep the tensors alive.
    devices.empty_cache(found)
    return _prepared(values, k, found, host, unit_length=unit_length)


def _prepared(
    values: Matrix, k: int, device: torch.device, home: torch.device, *, unit_length: bool
) -> DeviceQueryIndex:
    budget = Budget(device)
    with devices.full_precision(device), torch.inference_mode():
        groups = group(devices.to_device(values, home).double(), budget)
        one_class = torch.zeros_like(groups.counts)
        frame = build(
            groups.values,
            one_class,
            gpu.slots(k),
            budget,
            unit_length=unit_length,
            farthest=FARTHEST,
        )
        # With very many features single precision proves nothing.
        frame = frame if frame.rounding.usable else frame.finer()
    return DeviceQueryIndex(frame, groups, k)
