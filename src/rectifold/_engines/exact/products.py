"""Matrix products of queries and leaves, which bound squared distances (see `rounding`)."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from rectifold._core.space import ROWS
from rectifold._core.threads import Workers, scratch
from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.exact.coordinates import (
    Coordinates,
    fit_coordinates,
    sketch,
    squared_lengths,
)
from rectifold._engines.exact.leaves import EMPTY, Leaves, Visits, one_leaf, partition
from rectifold._engines.exact.query_side import QuerySide, other_side, own_side
from rectifold._engines.rounding import Rounding, relative_error, rounding, underflow

#: Sparse points are stored as dense blocks up to this number of bytes.
_BLOCK = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Points in leaves, and the coordinates of their products."""

    coordinates: Coordinates
    leaves: Leaves
    dtype: np.dtype[np.floating]
    #: Bounds of the error of products.
    rounding: Rounding
    #: Right sides of products, if stored: the points of a leaf are the columns of a matrix, which
    #: makes products with few queries twice as fast. For sparse points one matrix per leaf,
    #: without the two additional columns.
    stored: Floats | list[Matrix] | None
    #: |x|^2 by place; None to compute them on demand.
    squares: Floats | None
    #: See `coordinates.Sketch`.
    blur: float
    basis: Floats | None
    #: The queries: the points themselves, by place, unless replaced by others.
    side: QuerySide

    @property
    def usable(self) -> bool:
        """Return whether the bounds prove anything."""
        return self.rounding.usable

    def queries(self, places: Ints, bounds: Floats | float = 0.0) -> "Queries":
        """Return queries as left sides of products, with their bounds, and a row of padding."""
        n, d = len(places), self.coordinates.values.shape[1]
        bounds = self.rounding.clipped(np.asarray(bounds))
        first = np.append((bounds - self.side.squares[places]) / 2, -4 * self.rounding.reach)
        first = first.astype(self.dtype)
        left = self.side.points(places, self.dtype)
        if self.coordinates.sparse:
            padding = sparse.csr_array((1, d), dtype=self.dtype)
            return Queries(sparse.vstack((left, padding), format="csr"), first)
        whole = np.zeros((n + 1, d + 2), dtype=self.dtype)
        whole[:n, :d] = left
        whole[:, d] = first
        whole[:n, d + 1] = 1
        return Queries(whole, first)

    def products(self, queries: "Queries", visits: Visits) -> Floats:
        """Return (b - squared distance) / 2 of shape (n_blocks, n_queries, leaf size).

        Empty slots and padding are far below zero. Valid until the next call in this thread.
        """
        if self.coordinates.sparse:
            return np.stack([self._sparse_product(queries, visits, n) for n in range(len(visits))])
        targets = self._targets(visits.leaves)
        if visits.all_queries:
            left = queries.points[:-1]
        else:
            shape = (*visits.queries.shape, queries.points.shape[1])
            left = scratch("left", shape, self.dtype)
            # No index is out of range; "clip" is the mode that needs no copy.
            queries.points.take(visits.queries, axis=0, out=left, mode="clip")
        return _product(left, targets)

    def _sparse_product(self, queries: "Queries", visits: Visits, number: int) -> Floats:
        leaf, some = int(visits.leaves[number]), visits.queries[number]
        left = queries.points[:-1] if visits.all_queries else queries.points[some]
        size = self.leaves.size
        places = np.arange(leaf * size, (leaf + 1) * size)
        kept = self.stored[leaf] if isinstance(self.stored, list) else self._columns(leaf)
        found: Floats = (left @ kept).toarray()
        found += queries.first[some][:, None]
        found += self._last(places, None).astype(self.dtype)
        return found

    def _columns(self, leaf: int) -> Matrix:
        """Return the points of a leaf as columns of a sparse matrix."""
        places = np.arange(leaf * self.leaves.size, (leaf + 1) * self.leaves.size)
        return sparse.csr_array(self._points(places).T)

    def within_leaves(self, leaves: slice) -> Floats:
        """Return products of all pairs within each of some leaves, without bounds."""
        size = self.leaves.size
        numbers = np.arange(leaves.start, leaves.stop)
        if self.stored is None or isinstance(self.stored, list):
            places = np.arange(leaves.start * size, leaves.stop * size)
            own = Visits(numbers, np.arange(len(places)).reshape(-1, size))
            return self.products(self.queries(places), own)
        targets = self.stored[leaves]
        queries = targets.transpose(0, 2, 1).copy()
        queries[:, :, -2] = self.side.squares.reshape(-1, size)[leaves] / -2
        queries[:, :, -1] = 1
        return _product(queries, targets)

    def _targets(self, leaves: Ints) -> Floats:
        """Return leaves as right sides of products."""
        if self.stored is None or isinstance(self.stored, list):
            return self.in_leaves(leaves)
        first, last = int(leaves[0]), int(leaves[-1])
        if last - first + 1 == len(leaves) and (np.diff(leaves) == 1).all():
            return self.stored[first : last + 1]
        return self.stored.take(leaves, axis=0)

    def in_leaves(self, leaves: Ints) -> Floats:
        """Compute right sides of products for some leaves."""
        size, d = self.leaves.size, self.coordinates.values.shape[1]
        places = (leaves[:, None] * size + np.arange(size)).ravel()
        targets = np.empty((len(leaves), d + 2, size), dtype=self.dtype)
        points = self._points(places)
        targets[:, :d] = points.reshape(len(leaves), size, d).transpose(0, 2, 1)
        targets[:, d] = 1
        targets[:, d + 1] = self._last(places, points).reshape(-1, size)
        return targets

    def _points(self, places: Ints) -> Matrix:
        if self.basis is None and self.dtype == np.float32:
            return self.leaves.sketch.take(places, axis=0)
        return self.coordinates.of(self.leaves.order[places], self.dtype)

    def _last(self, places: Ints, points: Matrix | None) -> Floats:
        """Return the last column of targets; `points` are their coordinates, if known."""
        # An empty slot holds the coordinates of some point, whose products are below the reach, so
        # that this makes it far away from all queries.
        empty = self.leaves.order[places] == EMPTY
        if self.squares is None:
            squares = squared_lengths(self._points(places) if points is None else points)
        else:
            squares = self.squares[places]
        return np.where(empty, -4 * self.rounding.reach, squares / -2)

    def near(self, places: Ints, bounds: Floats, which: Ints) -> Bools:
        """Return which leaves can hold a point within the bounds of each query."""
        radii = np.sqrt(self.above(bounds, places))
        radii += self.blur * np.sqrt(self.side.squares[places])
        sketch, squares = self.side.sketch.take(places, axis=0), self.side.sketch_squares[places]
        return self.leaves.near(sketch, squares, radii, which)

    def nearest(self, places: Ints, which: Ints, count: int) -> Bools:
        """Return which leaves have the nearest centres."""
        return self.leaves.nearest(self.side.sketch.take(places, axis=0), which, count)

    def below(self, bounds: Floats, places: Ints) -> Floats:
        """See `Rounding.below`."""
        lower: Floats = self.rounding.below(bounds, self.side.squares[places])
        return lower

    def above(self, bounds: Floats, places: Ints) -> Floats:
        """See `Rounding.above`."""
        higher: Floats = self.rounding.above(bounds, self.side.squares[places])
        return higher

    def at_most(self, found: Floats, places: Ints) -> Floats:
        """Return upper bounds of squared distances from products; infinite for empty slots."""
        most = self.rounding.at_most(found, self.side.squares[places])
        return np.where(self.rounding.is_empty(found), np.inf, most)

    def at_least(self, found: Floats, places: Ints) -> Floats:
        """See `Rounding.at_least`."""
        least: Floats = self.rounding.at_least(found, self.side.squares[places])
        return least

    def resolves(self, bounds: Floats, places: Ints) -> Bools:
        """See `Rounding.resolves`."""
        fine: Bools = self.rounding.resolves(bounds, self.side.squares[places])
        return fine

    def finer(self) -> "Frame":
        """Return the same points in float64, computed on demand."""
        side = self.side.finer()
        terms = self.coordinates.terms(side.coordinates)
        return replace(
            self,
            dtype=np.dtype(np.float64),
            # Rounding moves no squared length as much as the reach exceeds it.
            rounding=replace(self.rounding, relative=relative_error(terms, True)),
            stored=None,
            squares=side.squares if side.itself else None,
            side=side,
        )

    def facing(self, coordinates: Coordinates, workers: Workers) -> "Frame":
        """Return the same points for queries that are not among them."""
        terms = self.coordinates.terms(coordinates)
        bounds = replace(self.rounding, relative=relative_error(terms, False))
        frame = replace(self, rounding=bounds, side=other_side(coordinates, self.basis, workers))
        # Sparse queries can have many more entries than the points.
        return frame if self.dtype == np.float32 and frame.usable else frame.finer()


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Points as left sides of products, and a last row of padding."""

    #: Dense with the two additional columns, or sparse without.
    points: Matrix
    #: The first of those columns.
    first: Floats


def build(
    values: Matrix,
    classes: Ints,
    size: int | None,
    workers: Workers,
    *,
    unit_length: bool,
    farthest: float = 0.0,
) -> Frame:
    """Put points into leaves of `size` slots, or all into one for None, with float32 products.

    `farthest` is the largest squared length of queries that are not among the points.
    """
    dtype = np.dtype(np.float32)
    d = values.shape[1]
    coordinates = fit_coordinates(values, workers, unit_length=unit_length)
    drawn = sketch(coordinates, workers, projected=size is not None)
    if size is None:
        leaves = one_leaf(drawn.points, classes)
    else:
        moved = drawn.blur * np.sqrt(drawn.squares)
        leaves = partition(drawn.points, moved, classes, size, workers)
    side = own_side(coordinates, leaves, drawn, workers)
    frame = Frame(
        coordinates=coordinates,
        leaves=leaves,
        dtype=dtype,
        rounding=rounding(
            coordinates.terms(coordinates),
            False,
            underflow(d, coordinates.exponent),
            side.squares.max(initial=farthest),
        ),
        stored=None,
        squares=side.squares,
        blur=drawn.blur,
        basis=drawn.basis,
        side=side,
    )
    del drawn
    if coordinates.sparse:
        return replace(frame, stored=[frame._columns(leaf) for leaf in range(leaves.n)])
    if sparse.issparse(values) and leaves.n * (d + 2) * leaves.size * 4 > _BLOCK:
        return frame
    stored = np.empty((leaves.n, d + 2, leaves.size), dtype=dtype)
    step = max(1, ROWS // leaves.size)

    def store(some: slice) -> None:
        stored[some] = frame.in_leaves(np.arange(some.start, some.stop))

    workers.over(store, leaves.n, step)
    return replace(frame, stored=stored)


def _product(left: Floats, right: Floats) -> Floats:
    shape = (len(right), left.shape[-2], right.shape[2])
    found: Floats = np.matmul(left, right, out=scratch("products", shape, left.dtype))
    return found
