"""What an index of training samples does for `queries`, and what its search yields."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import sparse

from rectifold._core.space import LARGEST, ROWS
from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.contract import Proposal
from rectifold._engines.exact.coordinates import Coordinates, squared_lengths

#: The largest squared length of a query in coordinates: about 2^20 times that of the points, and
#: within float32 with all its products. Farther queries are compared with all samples.
FARTHEST = 2.0**100

#: Computes distances and sorts.
Settle = Callable[[Proposal], tuple[Ints, Floats]]


@dataclass(frozen=True, slots=True, eq=False)
class Agreed:
    """Queries whose k nearest samples provably share a label."""

    rows: Ints
    labels: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The k nearest samples of some queries, in the order (distance, index)."""

    rows: Ints
    indices: Ints
    distances: Floats


class TrainingIndex(Protocol):
    """Training samples, none of them a zero vector under cosine, prepared for queries."""

    def within_range(self, values: Matrix) -> Bools:
        """Return which queries are near enough for `search`."""
        ...

    def search(
        self, values: Matrix, settle: Settle, n_jobs: int | None, *, certify: bool
    ) -> Iterator[Agreed | Nearest]:
        """Yield the label or the neighbours of every query, all within range, once."""
        ...


def settled(proposal: Proposal, settle: Settle) -> Nearest:
    """Return the neighbours of the queries of a proposal."""
    return Nearest(proposal.rows, *settle(proposal))


def within_range(coordinates: Coordinates, values: Matrix) -> Bools:
    """Return which queries are near enough for products with points in these coordinates."""
    coordinates = replace(coordinates, values=values)
    inside = np.empty(values.shape[0], dtype=bool)
    with np.errstate(over="ignore"):
        for at in range(0, len(inside), ROWS):
            some = np.arange(at, min(at + ROWS, len(inside)))
            scaled = coordinates.of(some, np.dtype(np.float64))
            inside[some] = squared_lengths(scaled) <= FARTHEST
    # As float64: in float32 the limit itself would overflow.
    largest = np.maximum(_along(values.max(axis=1)), -_along(values.min(axis=1)))
    return np.asarray(inside & (largest <= LARGEST))


def _along(values: Matrix) -> Floats:
    dense = values.toarray() if sparse.issparse(values) else values
    return np.asarray(dense.ravel().astype(np.float64))
