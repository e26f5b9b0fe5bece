"""Points in leaves on a device, their products, and what those prove."""

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
from rectifold._engines.rounding import Rounding, ball_margin, rounding, underflow

#: Queries of a block: from 2 to the first to 2 to the second.
_NARROW, _BROAD = 4, 7


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """What is looked at: each block is a leaf, and some of the queries that look at it."""

    leaves: Tensor
    #: Numbers of pairs of a query and the block's leaf, one row a block; one more than the last
    #: pair stands for nobody.
    pairs: Tensor
    #: The queries of those; one more than the last query is nobody.
    queries: Tensor

    def split(self, step: int) -> Iterator["Blocks"]:
        """So many blocks at a time."""
        parts = (torch.split(one, step) for one in (self.leaves, self.pairs, self.queries))
        return (Blocks(*part) for part in zip(*parts, strict=True))


def blocks_of(query: Tensor, leaf: Tensor, n_queries: int) -> Blocks:
    """Group pairs of a query and a leaf by leaf.

    So each query is multiplied with the leaves it has to see and hardly others, and that in few and
    large operations.

    Parameters
    ----------
    query, leaf : Tensor of shape (n_pairs,)
        Which query looks at which leaf, by their numbers; leaves ascending.
    n_queries : int
        How many queries there are.

    Returns
    -------
    Blocks
    """
    which, counts = torch.unique_consecutive(leaf, return_counts=True)
    # Blocks of a fraction of what a leaf has to be seen by, so that few places are empty.
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
class Frame:
    """Points in leaves. They are kept at home; products are computed on the device."""

    #: Distinct points, float64, and how coordinates are made of them.
    values: Tensor
    centre: Tensor | None
    exponent: int
    leaves: Leaves
    #: Coordinates by place and the two more columns of a target; see `engines.rounding`.
    table: Tensor
    #: |x|^2 by place.
    squares: Tensor
    rounding: Rounding
    #: The part of its length by which rounding can have moved a point in the leaves' sketch,
    #: and its squared length there, by place.
    blur: float
    sketch_squares: Tensor
    #: Leaves as the right side of products with a sketch, on the device.
    balls: Tensor
    budget: Budget

    @property
    def device(self) -> torch.device:
        """Where products are computed."""
        return self.budget.device

    @property
    def home(self) -> torch.device:
        """Where points are kept, and all but products is computed."""
        return self.table.device

    def queries(self, places: Tensor, bounds: Tensor | None = None) -> Tensor:
        """Points as the left side of products, each with its bound; a last row is nobody."""
        squares = self.squares[places]
        within = -squares if bounds is None else self.rounding.clipped(bounds) - squares
        left = functional.pad(self.table[places], (0, 0, 0, 1))
        left[:, -2] = functional.pad(within / 2, (0, 1), value=-4 * self.rounding.reach)
        left[:-1, -1] = 1
        return left.to(self.device)

    def targets(self, leaves: Tensor | slice) -> Tensor:
        """The points of some leaves as the right side of products."""
        by_leaf = self.table.view(self.leaves.n, self.leaves.size, -1)
        if isinstance(leaves, slice):
            return by_leaf[leaves].to(self.device)
        return by_leaf[leaves.to(self.home)].to(self.device)

    def at_home(self, part: slice) -> Tensor:
        """Products of all points of some leaves with those of their own leaf, without bounds."""
        targets = self.targets(part)
        left = targets.clone()
        squares = self.squares.view(-1, self.leaves.size)[part] / -2
        left[:, :, -2] = squares.to(left.dtype).to(self.device)
        left[:, :, -1] = 1
        return product(left, targets)

    def look(self, queries: Tensor, blocks: Blocks) -> Iterator[tuple[Blocks, Tensor]]:
        """Multiply queries with the leaves they look at.

        Parameters
        ----------
        queries : Tensor
            As `queries` gives them.
        blocks : Blocks
            Who looks at which leaf.

        Yields
        ------
        blocks : Blocks
            Some of them.
        products : Tensor of shape (n_blocks, n_queries, size of a leaf)
            (b - squared distance) / 2; far below zero at an empty slot, and for nobody.
        """
        width, size = blocks.queries.shape[1], self.leaves.size
        each = width * size + (width + size) * queries.shape[1]
        for some in blocks.split(max(1, self.budget.numbers // each)):
            yield some, product(queries[some.queries], self.targets(some.leaves))

    def near(self, places: Tensor, bounds: Tensor, which: Tensor) -> Tensor:
        """Tell which leaves can hold a point within the bounds of each query.

        See `rectifold._engines.exact.leaves.Leaves.near`.
        """
        m = self.leaves.sketch.shape[1]
        squares, margin = self.squares[places], ball_margin(m)
        radii = self.rounding.above(bounds, squares).clip(min=0).sqrt() + self.blur * squares.sqrt()
        radii = radii * (1 + margin)
        left = torch.empty((len(places), m + 3), dtype=torch.float32, device=self.home)
        left[:, :m] = self.leaves.sketch[places]
        left[:, m] = radii.square() - self.sketch_squares[places] * (1 - margin)
        left[:, m + 1] = 1
        left[:, m + 2] = radii
        return product(left.to(self.device), self.balls[which]) >= 0

    def nearest(self, places: Tensor, which: Tensor, count: int) -> Tensor:
        """Give the numbers of leaves with the nearest centres. No proof rests on it."""
        return self._closest(self.leaves.sketch[places].to(self.device), which, count)

    def nearest_to_leaves(self, leaves: Tensor, which: Tensor, count: int) -> Tensor:
        """Give for some leaves the numbers of others with the nearest centres, likewise."""
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
        """What the squared distance of a product without a bound is at most."""
        found = found.to(self.home).double()
        most: Tensor = self.rounding.at_most(found, self.squares[places])
        return most.masked_fill(self.rounding.is_empty(found), math.inf)

    def at_least(self, found: Tensor, places: Tensor) -> Tensor:
        """What the squared distance of a product without a bound is at least."""
        found = found.to(self.home).double()
        least: Tensor = self.rounding.at_least(found, self.squares[places])
        return least

    def scaled(self, squares: Tensor) -> Tensor:
        """Squared distances of points become those of their coordinates."""
        # Twice, as the square of the factor may be out of range. What is too small to be told apart
        # from nothing is left a little above it.
        factor = 2.0**self.exponent
        return (squares * factor * factor).clamp(min=1e-290)

    def finer(self) -> "Frame":
        """The same points in float64, where float64 is computed."""
        budget = Budget(self.home)
        table, squares = _table(self.values, self.centre, self.exponent, self.leaves.order, budget)
        d = self.values.shape[1]
        bounds = rounding(d, True, self.rounding.absolute, float(squares.max()))
        _finish(table, squares, self.leaves.order, bounds)
        return replace(
            self,
            table=table,
            squares=squares,
            rounding=bounds,
            balls=self.balls.to(self.home),
            budget=budget,
        )


def product(left: Tensor, right: Tensor) -> Tensor:
    """Multiply points with points."""
    return left @ right.transpose(-1, -2)


def build(
    values: Tensor, classes: Tensor, size: int, budget: Budget, *, unit_length: bool
) -> Frame:
    """Bring points into float32 coordinates and into leaves.

    Parameters
    ----------
    values : Tensor of shape (n_points, n_columns)
        Float64 points; where they are is home.
    classes : Tensor of shape (n_points,)
        Their classes.
    size : int
        Slots of a leaf.
    budget : Budget
        Says on which device products are computed, and how many at once.
    unit_length : bool
        Whether all points have length one, and so need no centre.

    Returns
    -------
    Frame
    """
    d = values.shape[1]
    centre, exponent = _placed(values, unit_length=unit_length)
    sketch, squares, blur = _sketch(values, centre, exponent, budget)
    leaves = partition(sketch, blur * squares.sqrt(), classes, size, budget)
    del sketch
    plain = d <= WIDE
    if plain:
        table = leaves.sketch.new_empty((len(leaves.order), d + 2))
        table[:, :d] = leaves.sketch
        leaves = replace(leaves, sketch=table[:, :d])
        squares = squares[leaves.order.clamp(min=0)]
    else:
        table, squares = _table(values, centre, exponent, leaves.order, budget, torch.float32)
    squares = squares.masked_fill(leaves.order == EMPTY, 0.0)
    bounds = rounding(d, False, underflow(d, exponent), float(squares.max()))
    sketch_squares = leaves.sketch.double().square().sum(dim=1)
    _finish(table, squares, leaves.order, bounds)
    return Frame(
        values=values,
        centre=centre,
        exponent=exponent,
        leaves=leaves,
        table=table,
        squares=squares,
        rounding=bounds,
        blur=blur,
        sketch_squares=sketch_squares,
        balls=leaves.balls.to(budget.device),
        budget=budget,
    )


def _finish(table: Tensor, squares: Tensor, order: Tensor, bounds: Rounding) -> None:
    """Fill in the two more columns of targets. An empty slot is far away from all."""
    table[:, -2] = 1
    table[:, -1] = (squares / -2).masked_fill(order == EMPTY, -4 * bounds.reach)


def _placed(values: Tensor, *, unit_length: bool) -> tuple[Tensor | None, int]:
    """Choose where points are moved to, and the power of two by which they are scaled."""
    centre = None
    low, high = torch.aminmax(values, dim=0)
    if not unit_length:
        # Medians, so that a few outliers don't move the rest away from the origin.
        generator = torch.Generator("cpu").manual_seed(0)
        some = torch.randint(0, len(values), (SAMPLE,), generator=generator, device="cpu")
        centre = values[some.to(values.device)].sort(dim=0).values[SAMPLE // 2]
        low, high = low - centre, high - centre
    largest = float(torch.maximum(high.max(), -low.min()))
    return centre, min(max(LARGEST - math.frexp(largest)[1], -1000), 1000)


def _coordinates(values: Tensor, centre: Tensor | None, exponent: int) -> Tensor:
    moved = values if centre is None else values - centre
    return moved * 2.0**exponent


def _sketch(
    values: Tensor, centre: Tensor | None, exponent: int, budget: Budget
) -> tuple[Tensor, Tensor, float]:
    """Give coordinates in which no distance is larger, squared lengths, and how blurred they are.

    Points of few columns are their own sketch. Others are projected on an orthonormal basis.
    """
    n, d = values.shape
    basis = _basis(values, centre, exponent) if d > WIDE else None

    def some(part: slice) -> tuple[Tensor, Tensor]:
        points = _coordinates(values[part], centre, exponent).float()
        squares = points.double().square().sum(dim=1)
        return (points if basis is None else product(points, basis.T)), squares

    parts: Any = [result for _, result in budget.pieces(n, 8 * d, some)]
    sketch, squares = (torch.cat(some) for some in zip(*parts, strict=True))
    return sketch, squares, blur_of(d, None if basis is None else PROJECTIONS)


def _basis(values: Tensor, centre: Tensor | None, exponent: int) -> Tensor:
    """Find the first principal directions, by a few steps of subspace iteration."""
    n, d = values.shape
    generator = torch.Generator("cpu").manual_seed(0)
    sample = torch.randint(0, n, (MORE,), generator=generator, device="cpu").to(values.device)
    some = _coordinates(values[sample], centre, exponent)
    some = some - some.mean(dim=0)
    basis = torch.randn(
        (d, PROJECTIONS), generator=generator, dtype=torch.float64, device="cpu"
    ).to(values.device)
    for _ in range(3):
        basis, _ = torch.linalg.qr(some.T @ (some @ basis))
    return basis.float()


def _table(
    values: Tensor,
    centre: Tensor | None,
    exponent: int,
    order: Tensor,
    budget: Budget,
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor]:
    """Coordinates by place, with room for two more columns; and squared lengths."""
    d = values.shape[1]
    table = torch.zeros((len(order), d + 2), dtype=dtype, device=values.device)
    squares = torch.zeros(len(order), dtype=torch.float64, device=values.device)

    def some(part: slice) -> Tensor:
        return _coordinates(values[order[part].clamp(min=0)], centre, exponent).to(dtype)

    for part, points in budget.pieces(len(order), 8 * d, some):
        table[part, :d] = points
        squares[part] = points.double().square().sum(dim=1)
    return table, squares.masked_fill_(order == EMPTY, 0.0)
