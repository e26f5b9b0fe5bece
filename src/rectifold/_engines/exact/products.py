"""Points in leaves, and their products with queries, which tell squared distances."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.exact.coordinates import (
    ROWS,
    Coordinates,
    fit_coordinates,
    sketch,
    squared_lengths,
)
from rectifold._engines.exact.leaves import EMPTY, Leaves, Visits, one_leaf, partition
from rectifold._engines.rounding import Rounding, rounding, underflow
from rectifold._engines.threads import Workers, scratch

#: Sparse points are kept as dense blocks while those take at most so many bytes.
_BLOCK = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Points in leaves, in coordinates in which their products are taken."""

    coordinates: Coordinates
    leaves: Leaves
    dtype: np.dtype[np.floating]
    #: How far products can be wrong.
    rounding: Rounding
    #: Leaves as the right side of products, where they are kept: a leaf's points are the
    #: columns of a matrix, which makes products with few queries twice as fast. Of sparse
    #: points one matrix a leaf, without the two more columns.
    stored: Floats | list[Matrix] | None
    #: |x|^2 by place.
    squares: Floats
    #: Whether the leaves' sketch of the points is their coordinates; the part of its length by
    #: which rounding can have moved a point there; and its squared length there, by place.
    plain: bool
    blur: float
    sketch_squares: Floats

    @property
    def usable(self) -> bool:
        """Whether the bounds prove anything."""
        return self.rounding.usable

    def queries(self, places: Ints, bounds: Floats | float = 0.0) -> "Queries":
        """Points as the left side of products, each with its bound; a last row is nobody."""
        n, d = len(places), self.coordinates.values.shape[1]
        bounds = self.rounding.clipped(np.asarray(bounds))
        first = np.append((bounds - self.squares[places]) / 2, -4 * self.rounding.reach)
        first = first.astype(self.dtype)
        left = self._points(places)
        if self.coordinates.sparse:
            nobody = sparse.csr_array((1, d), dtype=self.dtype)
            return Queries(sparse.vstack((left, nobody), format="csr"), first)
        whole = np.zeros((n + 1, d + 2), dtype=self.dtype)
        whole[:n, :d] = left
        whole[:, d] = first
        whole[:n, d + 1] = 1
        return Queries(whole, first)

    def look(self, queries: "Queries", visits: Visits) -> Floats:
        """Products of queries with the leaves they visit.

        Parameters
        ----------
        queries : Queries
            As `queries` gives them.
        visits : Visits
            Who looks at which leaf.

        Returns
        -------
        ndarray of shape (n_blocks, n_queries, size of a leaf)
            (b - squared distance) / 2; far below zero at an empty slot, and for nobody.
            Good until the next call in this thread.
        """
        if self.coordinates.sparse:
            return np.stack([self._sparse_product(queries, visits, n) for n in range(len(visits))])
        targets = self._targets(visits.leaves)
        if visits.all_queries:
            left = queries.points[:-1]
        else:
            shape = (*visits.queries.shape, queries.points.shape[1])
            left = scratch("left", shape, self.dtype)
            # What is out of range is clipped only because that needs no copy.
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
        found += self._last(places).astype(self.dtype)
        return found

    def _columns(self, leaf: int) -> Matrix:
        """Points of a leaf as columns of a sparse matrix."""
        places = np.arange(leaf * self.leaves.size, (leaf + 1) * self.leaves.size)
        return sparse.csr_array(self._points(places).T)

    def at_home(self, leaves: slice) -> Floats:
        """Products of all points of some leaves with those of their own leaf, without bounds."""
        size = self.leaves.size
        numbers = np.arange(leaves.start, leaves.stop)
        if self.stored is None or isinstance(self.stored, list):
            places = np.arange(leaves.start * size, leaves.stop * size)
            own = Visits(numbers, np.arange(len(places)).reshape(-1, size))
            return self.look(self.queries(places), own)
        targets = self.stored[leaves]
        queries = targets.transpose(0, 2, 1).copy()
        queries[:, :, -2] = self.squares.reshape(-1, size)[leaves] / -2
        queries[:, :, -1] = 1
        return _product(queries, targets)

    def _targets(self, leaves: Ints) -> Floats:
        """Leaves as the right side of products."""
        if self.stored is None or isinstance(self.stored, list):
            return self.in_leaves(leaves)
        first, last = int(leaves[0]), int(leaves[-1])
        if last - first + 1 == len(leaves) and (np.diff(leaves) == 1).all():
            return self.stored[first : last + 1]
        return self.stored.take(leaves, axis=0)

    def in_leaves(self, leaves: Ints) -> Floats:
        """Bring the points of some leaves into the form of targets."""
        size, d = self.leaves.size, self.coordinates.values.shape[1]
        places = (leaves[:, None] * size + np.arange(size)).ravel()
        targets = np.empty((len(leaves), d + 2, size), dtype=self.dtype)
        targets[:, :d] = self._points(places).reshape(len(leaves), size, d).transpose(0, 2, 1)
        targets[:, d] = 1
        targets[:, d + 1] = self._last(places).reshape(-1, size)
        return targets

    def _points(self, places: Ints) -> Matrix:
        if self.plain and self.dtype == np.float32:
            return self.leaves.sketch.take(places, axis=0)
        return self.coordinates.of(self.leaves.order[places], self.dtype)

    def _last(self, places: Ints) -> Floats:
        # An empty slot holds some point's coordinates, and is far away from all: products with
        # those coordinates are less than the reach.
        empty = self.leaves.order[places] == EMPTY
        return np.where(empty, -4 * self.rounding.reach, self.squares[places] / -2)

    def near(self, places: Ints, bounds: Floats, which: Ints) -> Bools:
        """Tell which leaves can hold a point within the bounds of each query."""
        radii = np.sqrt(self.above(bounds, places))
        radii += self.blur * np.sqrt(self.squares[places])
        return self.leaves.near(places, self.sketch_squares[places], radii, which)

    def nearest(self, places: Ints, which: Ints, count: int) -> Bools:
        """Tell which leaves have the nearest centres."""
        return self.leaves.nearest(places, which, count)

    def below(self, bounds: Floats, places: Ints) -> Floats:
        """For each query the bound that proves a point nearer than `bounds`."""
        lower: Floats = self.rounding.below(bounds, self.squares[places])
        return lower

    def above(self, bounds: Floats, places: Ints) -> Floats:
        """For each query the bound that proves a point not nearer than `bounds`."""
        higher: Floats = self.rounding.above(bounds, self.squares[places])
        return higher

    def at_most(self, found: Floats, places: Ints) -> Floats:
        """What the squared distance of a product without a bound is at most."""
        most = self.rounding.at_most(found, self.squares[places])
        return np.where(self.rounding.is_empty(found), np.inf, most)

    def at_least(self, found: Floats, places: Ints) -> Floats:
        """What the squared distance of a product without a bound is at least."""
        least: Floats = self.rounding.at_least(found, self.squares[places])
        return least

    def resolves(self, bounds: Floats, places: Ints) -> Bools:
        """Whether rounding is small beside the bounds, query by query."""
        fine: Bools = self.rounding.resolves(bounds, self.squares[places])
        return fine

    def finer(self) -> "Frame":
        """The same points in float64, computed when asked for."""
        dtype = np.dtype(np.float64)
        order = self.leaves.order
        squares = np.empty(len(order))
        for at in range(0, len(order), ROWS):
            part = slice(at, at + ROWS)
            squares[part] = squared_lengths(self.coordinates.of(order[part], dtype))
        squares[order == EMPTY] = 0
        return replace(
            self,
            dtype=dtype,
            rounding=rounding(
                self.coordinates.terms, True, self.rounding.absolute, squares.max(initial=0)
            ),
            stored=None,
            squares=squares,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Some points as the left side of products, and after the last of them nobody."""

    #: Dense with the two more columns, or sparse without.
    points: Matrix
    #: The first of those columns.
    first: Floats


def build(
    values: Matrix, classes: Ints, size: int | None, workers: Workers, *, unit_length: bool
) -> Frame:
    """Bring points into float32 coordinates and into leaves.

    Parameters
    ----------
    values : {ndarray, csr_array} of shape (n_points, n_columns)
        Float64 points.
    classes : ndarray of shape (n_points,)
        Their classes.
    size : int or None
        Slots of a leaf; None for all points in one.
    workers : Workers
        Share the work.
    unit_length : bool
        Whether all points have length one, and so need no centre.

    Returns
    -------
    Frame
    """
    dtype = np.dtype(np.float32)
    d = values.shape[1]
    coordinates = fit_coordinates(values, unit_length=unit_length)
    drawn = sketch(coordinates, projected=size is not None)
    if size is None:
        leaves = one_leaf(drawn.points, classes)
    else:
        moved = drawn.blur * np.sqrt(drawn.squares)
        leaves = partition(drawn.points, moved, classes, size, workers)
    squares = np.where(leaves.order == EMPTY, 0.0, drawn.squares[leaves.order])
    frame = Frame(
        coordinates=coordinates,
        leaves=leaves,
        dtype=dtype,
        rounding=rounding(
            coordinates.terms,
            False,
            underflow(d, coordinates.exponent),
            squares.max(initial=0),
        ),
        stored=None,
        squares=squares,
        plain=drawn.plain,
        blur=drawn.blur,
        sketch_squares=np.einsum("ij,ij->i", leaves.sketch, leaves.sketch, dtype=np.float64),
    )
    del drawn
    if coordinates.sparse:
        return replace(frame, stored=[frame._columns(leaf) for leaf in range(leaves.n)])
    if sparse.issparse(values) and leaves.n * (d + 2) * leaves.size * 4 > _BLOCK:
        return frame
    stored = np.empty((leaves.n, d + 2, leaves.size), dtype=dtype)
    step = max(1, ROWS // leaves.size)
    starts = range(0, leaves.n, step)

    def keep(at: int) -> None:
        some = np.arange(at, min(at + step, leaves.n))
        stored[at : at + step] = frame.in_leaves(some)

    for _ in workers.map(keep, starts):
        pass
    return replace(frame, stored=stored)


def _product(left: Floats, right: Floats) -> Floats:
    shape = (len(right), left.shape[-2], right.shape[2])
    found: Floats = np.matmul(left, right, out=scratch("products", shape, left.dtype))
    return found
