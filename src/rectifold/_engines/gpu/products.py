"""Points in leaves on a device, their products, and the distances that these prove."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional

from rectifold._core.utils import Tensor
from rectifold._engines.exact.coordinates import (
    LARGEST,
    MORE,
    PROJECTIONS,
    SAMPLE,
    WIDE,
    blur_of,
)
from rectifold._engines.exact.leaves import EMPTY
from rectifold._engines.gpu.devices import Budget
from rectifold._engines.gpu.leaves import Leaves, partition
from rectifold._engines.rounding import (
    Rounding,
    ball_margin,
    relative_error,
    rounding,
    underflow,
)

#: Minimum and maximum number of queries of a block, as powers of two.
_NARROW, _BROAD = 4, 7


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Products to compute: each block is a leaf and some of the queries that search it."""

    leaves: Tensor
    #: Numbers of pairs of a query and the block's leaf, one row per block, padded with the number
    #: of pairs.
    pairs: Tensor
    #: The queries of these pairs, padded with the number of queries.
    queries: Tensor

    def split(self, step: int) -> Iterator["Blocks"]:
        """Yield `step` blocks at a time."""
        parts = (torch.split(field, step) for field in (self.leaves, self.pairs, self.queries))
        return (Blocks(*part) for part in zip(*parts, strict=True))


def blocks_of(query: Tensor, leaf: Tensor, n_queries: int) -> Blocks:
    """Group pairs of a query and a leaf, sorted by leaf, into blocks of one leaf.

    Few and large operations then compute hardly more products than needed.
    """
    which, counts = torch.unique_consecutive(leaf, return_counts=True)
    # Half of the mean number of queries per leaf, to keep the padding small.
    half = len(leaf) / max(1, len(which)) / 2
    width = 2 ** min(max(round(math.log2(half)), _NARROW), _BROAD) if half > 0 else 2**_NARROW
    blocks = (counts + width - 1) // width
    first = torch.cumsum(blocks, 0) - blocks
    begins = torch.cumsum(counts, 0) - counts
    owner = torch.repeat_interleave(counts)
    pairs = torch.arange(len(leaf), device=leaf.device)
    within = pairs - begins[owner]
    table = leaf.new_full((int(blocks.sum()), width), len(leaf))
    table[first[owner] + within // width, within % width] = pairs
    query = functional.pad(query, (0, 1), value=n_queries)
    return Blocks(torch.repeat_interleave(which, blocks), table, query[table])


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Distinct points, float64, and their coordinates ``(values - centre) * 2**exponent``."""

    values: Tensor
    centre: Tensor | None
    exponent: int

    def of(self, points: Tensor | slice) -> Tensor:
        """Return the coordinates of some points in float64."""
        some = self.values[points]
        moved = some if self.centre is None else some - self.centre
        return moved * 2.0**self.exponent


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Queries: the points in leaves, with their places as numbers, or others."""

    #: Float64 points, and the one that each query is, or `EMPTY`.
    values: Tensor
    rows: Tensor
    #: Coordinates of each query, with two more columns, and |x|^2.
    table: Tensor
    squares: Tensor
    #: Each query in the coordinates of the leaves, and its squared length there.
    sketch: Tensor
    sketch_squares: Tensor
    #: Whether every query is among the points, and so the nearest to itself.
    itself: bool


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Points in leaves, stored on the home device; products are computed on the other one."""

    coordinates: Coordinates
    leaves: Leaves
    #: Coordinates by place, with the two additional columns of a target; see `_engines.rounding`.
    table: Tensor
    rounding: Rounding
    #: Fraction of its length by which rounding can have moved a point in the sketch of the leaves.
    blur: float
    #: The directions of the sketch, if it is a projection.
    basis: Tensor | None
    #: Leaves as right-hand sides of products with a sketch, on the device of products.
    balls: Tensor
    budget: Budget
    #: The queries: the points themselves, unless replaced by others.
    side: Side

    @property
    def device(self) -> torch.device:
        """Device of the products."""
        return self.budget.device

    @property
    def home(self) -> torch.device:
        """Device that stores the points, and computes everything but products."""
        return self.table.device

    @property
    def squares(self) -> Tensor:
        """|x|^2 of each query."""
        return self.side.squares

    def queries(self, places: Tensor, bounds: Tensor | None = None) -> Tensor:
        """Return queries as left-hand sides of products with their bounds, and a row of padding."""
        squares = self.squares[places]
        within = -squares if bounds is None else self.rounding.clipped(bounds) - squares
        left = functional.pad(self.side.table[places], (0, 0, 0, 1))
        left[:, -2] = functional.pad(within / 2, (0, 1), value=-4 * self.rounding.reach)
        left[:-1, -1] = 1
        return left.to(self.device)

    def targets(self, leaves: Tensor | slice) -> Tensor:
        """Return the points of some leaves as right-hand sides of products."""
        by_leaf = self.table.view(self.leaves.n, self.leaves.size, -1)
        if isinstance(leaves, slice):
            return by_leaf[leaves].to(self.device)
        return by_leaf[leaves.to(self.home)].to(self.device)

    def products_within(self, part: slice) -> Tensor:
        """Return the products of the points of each leaf with each other, without bounds."""
        targets = self.targets(part)
        left = targets.clone()
        squares = self.squares.view(-1, self.leaves.size)[part] / -2
        left[:, :, -2] = squares.to(left.dtype).to(self.device)
        left[:, :, -1] = 1
        return product(left, targets)

    def products(self, queries: Tensor, blocks: Blocks) -> Iterator[tuple[Blocks, Tensor]]:
        """Multiply the result of `queries` with leaves; yield some blocks and their products.

        The products have the shape (n_blocks, n_queries, leaf size). They are
        (bound - squared distance) / 2, and far below zero for empty slots and padding.
        """
        width, size = blocks.queries.shape[1], self.leaves.size
        each = width * size + (width + size) * queries.shape[1]
        for some in blocks.split(max(1, self.budget.numbers // each)):
            yield some, product(queries[some.queries], self.targets(some.leaves))

    def near(self, places: Tensor, bounds: Tensor, which: Tensor) -> Tensor:
        """Return which leaves can hold points within the bounds; see `exact.leaves.Leaves.near`."""
        m = self.leaves.sketch.shape[1]
        squares, margin = self.squares[places], ball_margin(m)
        radii = self.rounding.above(bounds, squares).clip(min=0).sqrt() + self.blur * squares.sqrt()
        radii = radii * (1 + margin)
        left = torch.empty((len(places), m + 3), dtype=torch.float32, device=self.home)
        left[:, :m] = self.side.sketch[places]
        left[:, m] = radii.square() - self.side.sketch_squares[places] * (1 - margin)
        left[:, m + 1] = 1
        left[:, m + 2] = radii
        return product(left.to(self.device), self.balls[which]) >= 0

    def nearest(self, places: Tensor, which: Tensor, count: int) -> Tensor:
        """Return the leaves with the nearest centres, approximately; no proof depends on it."""
        return self._closest(self.side.sketch[places].to(self.device), which, count)

    def nearest_to_leaves(self, leaves: Tensor, which: Tensor, count: int) -> Tensor:
        """Return for some leaves those of `which` with the nearest centres, approximately."""
        centres = self.balls[leaves, : self.leaves.sketch.shape[1]] / 2

        def nearest(part: slice) -> Tensor:
            return self._closest(centres[part], which, count)

        pieces = self.budget.pieces(len(leaves), 2 * len(which), nearest)
        return torch.cat([some for _, some in pieces])

    def _closest(self, points: Tensor, which: Tensor, count: int) -> Tensor:
        doubled = self.balls[which, : points.shape[1]]
        scores = torch.addmm(doubled.square().sum(dim=1) / -4, points, doubled.T)
        return which[scores.topk(min(count, len(which)), dim=1, sorted=False).indices]

    def at_most(self, found: Tensor, places: Tensor) -> Tensor:
        """Return an upper bound of the squared distance of a product without a bound."""
        found = found.to(self.home).double()
        most = self.rounding.at_most(found, self.squares[places])
        return most.masked_fill(self.rounding.is_empty(found), math.inf)

    def at_least(self, found: Tensor, places: Tensor) -> Tensor:
        """Return a lower bound of the squared distance of a product without a bound."""
        return self.rounding.at_least(found.to(self.home).double(), self.squares[places])

    def scaled(self, squares: Tensor) -> Tensor:
        """Convert squared distances of points to those of their coordinates."""
        # In two steps, because the square of the factor can overflow. The result stays above zero.
        factor = 2.0**self.coordinates.exponent
        return (squares * factor * factor).clamp(min=1e-290)

    def finer(self) -> "Frame":
        """Return the same points in float64, with products on the home device."""
        budget = Budget(self.home)
        table, squares = _table(self.coordinates, self.leaves.order, budget, torch.float64)
        side, d = replace(self.side, table=table, squares=squares), self.coordinates.values.shape[1]
        if not self.side.itself:
            others = replace(self.coordinates, values=self.side.values)
            left, lengths = _table(others, self.side.rows, budget, torch.float64)
            side = replace(self.side, table=left, squares=lengths)
        # Rounding moves no squared length as much as the reach exceeds it.
        bounds = replace(self.rounding, relative=relative_error(d, True))
        _finish(table, squares, self.leaves.order, bounds)
        return replace(
            self,
            table=table,
            rounding=bounds,
            balls=self.balls.to(self.home),
            budget=budget,
            side=side,
        )

    def facing(self, values: Tensor) -> "Frame":
        """Return the same points for float64 queries that are not among them."""
        others = replace(self.coordinates, values=values)
        rows = torch.arange(len(values), device=self.home)
        sketch, _ = _sketch(others, self.basis, self.budget)
        table, squares = _table(others, rows, self.budget, self.table.dtype)
        sketch_squares = sketch.double().square().sum(dim=1)
        side = Side(values, rows, table, squares, sketch, sketch_squares, itself=False)
        return replace(self, side=side)


def product(left: Tensor, right: Tensor) -> Tensor:
    """Return the inner products of all pairs of points."""
    return left @ right.transpose(-1, -2)


def build(
    values: Tensor,
    classes: Tensor,
    size: int,
    budget: Budget,
    *,
    unit_length: bool,
    farthest: float = 0.0,
) -> Frame:
    """Convert float64 points to float32 coordinates, in leaves of `size` slots.

    The device of `values` is the home device, and that of `budget` computes products. Points of
    unit length are not centred. `farthest` is the largest squared length of queries that are not
    among the points.
    """
    d = values.shape[1]
    coordinates = _fit_coordinates(values, unit_length=unit_length)
    basis = _basis(coordinates) if d > WIDE else None
    sketch, squares = _sketch(coordinates, basis, budget)
    blur = blur_of(d, None if basis is None else PROJECTIONS)
    leaves = partition(sketch, blur * squares.sqrt(), classes, size, budget)
    del sketch
    if d <= WIDE:
        table = leaves.sketch.new_empty((len(leaves.order), d + 2))
        table[:, :d] = leaves.sketch
        leaves = replace(leaves, sketch=table[:, :d])
        squares = squares[leaves.order.clamp(min=0)]
    else:
        table, squares = _table(coordinates, leaves.order, budget, torch.float32)
    squares = squares.masked_fill(leaves.order == EMPTY, 0.0)
    largest = max(float(squares.max()), farthest)
    bounds = rounding(d, False, underflow(d, coordinates.exponent), largest)
    sketch_squares = leaves.sketch.double().square().sum(dim=1)
    _finish(table, squares, leaves.order, bounds)
    return Frame(
        coordinates=coordinates,
        leaves=leaves,
        table=table,
        rounding=bounds,
        blur=blur,
        basis=basis,
        balls=leaves.balls.to(budget.device),
        budget=budget,
        side=Side(values, leaves.order, table, squares, leaves.sketch, sketch_squares, itself=True),
    )


def _finish(table: Tensor, squares: Tensor, order: Tensor, bounds: Rounding) -> None:
    """Fill in the two additional columns of targets, with empty slots far away."""
    table[:, -2] = 1
    table[:, -1] = (squares / -2).masked_fill(order == EMPTY, -4 * bounds.reach)


def _fit_coordinates(values: Tensor, *, unit_length: bool) -> Coordinates:
    centre = None
    low, high = torch.aminmax(values, dim=0)
    if not unit_length:
        # The median, because a mean would depend on outliers.
        generator = torch.Generator("cpu").manual_seed(0)
        some = torch.randint(0, len(values), (SAMPLE,), generator=generator, device="cpu")
        centre = values[some.to(values.device)].sort(dim=0).values[SAMPLE // 2]
        low, high = low - centre, high - centre
    largest = float(torch.maximum(high.max(), -low.min()))
    return Coordinates(values, centre, min(max(LARGEST - math.frexp(largest)[1], -1000), 1000))


def _sketch(
    coordinates: Coordinates, basis: Tensor | None, budget: Budget
) -> tuple[Tensor, Tensor]:
    """Return coordinates in which no distance is larger, and squared lengths.

    The coordinates of wide points are projected on an orthonormal basis.
    """
    n, d = coordinates.values.shape

    def project(part: slice) -> tuple[Tensor, Tensor]:
        points = coordinates.of(part).float()
        squares = points.double().square().sum(dim=1)
        return (points if basis is None else product(points, basis.T)), squares

    parts: Any = [result for _, result in budget.pieces(n, 8 * d, project)]
    sketch, squares = (torch.cat(part) for part in zip(*parts, strict=True))
    return sketch, squares


def _basis(coordinates: Coordinates) -> Tensor:
    """Return the first principal directions, by a few steps of subspace iteration."""
    (n, d), device = coordinates.values.shape, coordinates.values.device
    generator = torch.Generator("cpu").manual_seed(0)
    sample = torch.randint(0, n, (MORE,), generator=generator, device="cpu").to(device)
    some = coordinates.of(sample)
    some = some - some.mean(dim=0)
    random = {"generator": generator, "dtype": torch.float64, "device": "cpu"}
    basis = torch.randn((d, PROJECTIONS), **random).to(device)
    for _ in range(3):
        basis, _ = torch.linalg.qr(some.T @ (some @ basis))
    return basis.float()


def _table(
    coordinates: Coordinates, order: Tensor, budget: Budget, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return coordinates by place, with room for two more columns, and squared lengths."""
    d = coordinates.values.shape[1]
    table = torch.zeros((len(order), d + 2), dtype=dtype, device=order.device)
    squares = torch.zeros(len(order), dtype=torch.float64, device=order.device)

    def convert(part: slice) -> Tensor:
        return coordinates.of(order[part].clamp(min=0)).to(dtype)

    for part, points in budget.pieces(len(order), 8 * d, convert):
        table[part, :d] = points
        squares[part] = points.double().square().sum(dim=1)
    return table, squares.masked_fill_(order == EMPTY, 0.0)
