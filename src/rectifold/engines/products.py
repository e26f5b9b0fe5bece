"""Squared distances from matrix products, with a bound on their rounding.

Points are moved to a centre, scaled by a power of two and given two more columns, so that
one product of a query x and a target y is (b - |x - y|^2) / 2 for a bound b of the query:

    [x, (b - |x|^2) / 2, 1] . [y, 1, -|y|^2 / 2]

Its sign says whether y is nearer than the bound. Nothing is sorted, and nothing but the
product is computed.

How far it can be wrong
-----------------------
Let u be the unit roundoff (2^-24 in float32, 2^-53 in float64), s the squared distance in
exact arithmetic, in scaled coordinates, and t = b - 2 (product).

1. Moving and rounding a point changes it by at most 2 u |x|, so that the distance changes by
   at most 2 u (|x| + |y|), and s by at most 4 u (|x| + |y|)^2 + 4 u^2 (|x| + |y|)^2, which is
   less than 9 u (|x|^2 + |y|^2).
2. The two more columns are rounded once: by at most u (b + |x|^2) / 2 and u |y|^2 / 2.
3. A product of m terms, m the number of columns in which both rows have entries and two
   more, added in any order, with or without fused operations, is wrong by at most
   m u / (1 - m u) times the sum of its terms' magnitudes, which is at most
   |x| |y| + (b + |x|^2) / 2 + |y|^2 / 2 <= |x|^2 + |y|^2 + b / 2.

Together, doubled because t is, |s - t| <= (2 m + 12) u (|x|^2 + |y|^2 + b). `settle` decides by
sums of d squares in float64, which adds less than (d + 3) 2^-53 s, and s is at most
2 (|x|^2 + |y|^2). So with c = (4 d + 32) u, while c < 1 / 8,

    |s - t| <= c (|x|^2 + |y|^2 + b)  holds for the distances that `settle` compares.

The triangle inequality removes y: |y|^2 <= 2 |x|^2 + 2 s, so |s - t| <= c (3 |x|^2 + 2 s + b).
Hence, as long as 4 c < 1 / 2:

- if t < b for the bound b = (1 - 4 c) B - 4 c |x|^2, then s < B: y is provably nearer;
- if t >= b for the bound b = (1 + 4 c) B + 4 c |x|^2, then s > B: y is provably farther;
- without a bound (b = 0), t (1 - 4 c) - 4 c |x|^2 <= s <= t (1 + 4 c) + 4 c |x|^2.

(First: s (1 - 2 c) < b (1 + c) + 3 c |x|^2 <= B (1 - 4 c) (1 + c) <= B (1 - 2 c). Second:
s (1 + 2 c) >= b (1 - c) - 3 c |x|^2 >= B (1 + 4 c) (1 - c) > B (1 + 2 c) while c < 1 / 8. Third:
the same with b = 0.) What underflows is covered by an absolute term: at most d + 2 products of
float32, each less than 2^-126 wrong, and the d squares that `settle` adds in the units of the data,
each less than 2^-1074 wrong.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from rectifold._typing import Bools, Floats, Ints, Matrix
from rectifold.engines.leaves import EMPTY, Leaves, Visits, partition, together
from rectifold.engines.scratch import scratch
from rectifold.engines.workers import Workers

#: Rows brought into coordinates at once.
_ROWS = 8192
#: Rows whose medians are the centre.
_SAMPLE = 256
#: The largest coordinate after scaling is below 2 to this: its square, times any number of
#: columns, is far within float32, and coordinates 10^26 times smaller still have a square there.
_LARGEST = 40
#: Wider points, and sparse ones, are partitioned and pruned by projections.
_WIDE = 128
_PROJECTIONS = 64
#: Sparse points of more columns are multiplied as they are; blocks of others are made dense.
_SPARSE = 4096
#: Sparse points are kept as dense blocks while those take at most so many bytes.
_BLOCK = 1 << 26
#: Above this, bounds on rounding say nothing.
_USELESS = 1 / 64


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """How a point becomes coordinates: moved, then scaled by a power of two."""

    values: Matrix
    centre: Floats | None
    factor: float

    def of(self, points: Ints, dtype: np.dtype[np.floating]) -> Matrix:
        """Coordinates of some points; zero for a number that is no point."""
        some = self.values[points]
        if sparse.issparse(some):
            some = sparse.csr_array(
                (some.data * self.factor, some.indices, some.indptr), some.shape
            )
            some = some.astype(dtype)
            return some if some.shape[1] > _SPARSE else some.toarray()
        if self.centre is not None:
            some -= self.centre
        some *= self.factor
        return some.astype(dtype, copy=False)

    @property
    def terms(self) -> int:
        """Bound the entries of a product or a difference of two points: the d of the bounds."""
        d = int(self.values.shape[1])
        if sparse.issparse(self.values):
            return min(d, 2 * int(np.diff(self.values.indptr).max(initial=0)))
        return d


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Points in leaves, in coordinates in which their products are taken."""

    coordinates: Coordinates
    leaves: Leaves
    dtype: np.dtype[np.floating]
    #: The c of the bounds, and what covers underflow.
    relative: float
    absolute: float
    #: Leaves as the right side of products, where they are kept: a leaf's points are the
    #: columns of a matrix, which makes products with few queries twice as fast.
    stored: Floats | None
    #: |x|^2 by place.
    squares: Floats
    #: No squared distance is larger.
    reach: float
    #: The part of its length by which rounding can have moved a point of the leaves' sketch,
    #: and its squared length there, by place.
    blur: float
    sketch_squares: Floats

    @property
    def usable(self) -> bool:
        """Whether the bounds prove anything."""
        return self.relative < _USELESS

    def queries(self, places: Ints, bounds: Floats | float = 0.0) -> Matrix:
        """Points as the left side of products, each with its bound; a last row is nobody."""
        n, d = len(places), self.coordinates.values.shape[1]
        if self.dtype == np.float32 and self.leaves.sketch.shape[1] == d:
            left = self.leaves.sketch.take(places, axis=0)
        else:
            left = self.coordinates.of(self.leaves.order[places], self.dtype)
        first = (self.clipped(bounds) - self.squares[places]) / 2
        first = np.append(first, -4 * self.reach)
        last = np.append(np.ones(n), 0.0)
        if sparse.issparse(left):
            nobody = sparse.csr_array((1, d), dtype=self.dtype)
            two = np.column_stack((first, last)).astype(self.dtype)
            return sparse.hstack((sparse.vstack((left, nobody)), two), format="csr")
        whole = np.zeros((n + 1, d + 2), dtype=self.dtype)
        whole[:n, :d] = left
        whole[:, d] = first
        whole[:, d + 1] = last
        return whole

    def look(self, queries: Matrix, visits: Visits) -> Floats:
        """Products of queries with the leaves they visit.

        Parameters
        ----------
        queries : matrix
            As `queries` gives them.
        visits : Visits
            Who looks at which leaf.

        Returns
        -------
        ndarray of shape (n_blocks, n_queries, size of a leaf)
            (b - squared distance) / 2; far below zero at an empty slot, and for nobody.
            Good until the next call in this thread.
        """
        if sparse.issparse(queries):
            return np.stack(
                [
                    (queries[some] @ self._sparse_targets(leaf)).toarray()
                    for leaf, some in zip(visits.leaves, visits.queries, strict=True)
                ]
            )
        targets = self._targets(visits.leaves)
        if visits.everyone:
            left = queries[:-1]
        else:
            shape = (*visits.queries.shape, queries.shape[1])
            left = scratch("left", shape, queries.dtype)
            # What is out of range is clipped only because that needs no copy.
            queries.take(visits.queries, axis=0, out=left, mode="clip")
        return _product(left, targets)

    def at_home(self, leaves: slice) -> Floats:
        """Products of all points of some leaves with those of their own leaf, without bounds."""
        size = self.leaves.size
        numbers = np.arange(leaves.start, leaves.stop)
        if self.stored is None:
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
        if self.stored is None:
            return self.in_leaves(leaves)
        first, last = int(leaves[0]), int(leaves[-1])
        if last - first + 1 == len(leaves) and (np.diff(leaves) == 1).all():
            return self.stored[first : last + 1]
        return self.stored.take(leaves, axis=0)

    def in_leaves(self, leaves: Ints) -> Floats:
        """Bring the points of some leaves into the form of targets."""
        size, d = self.leaves.size, self.coordinates.values.shape[1]
        places = (leaves[:, None] * size + np.arange(size)).ravel()
        empty = self.leaves.order[places] == EMPTY
        if self.dtype == np.float32 and self.leaves.sketch.shape[1] == d:
            some = self.leaves.sketch.take(places, axis=0)
        else:
            some = self.coordinates.of(self.leaves.order[places], self.dtype)
        # An empty slot is far away from all.
        some[empty] = 0
        targets = np.empty((len(leaves), d + 2, size), dtype=self.dtype)
        targets[:, :d] = some.reshape(len(leaves), size, d).transpose(0, 2, 1)
        targets[:, d] = 1
        targets[:, d + 1] = self._last(places, empty).reshape(-1, size)
        return targets

    def _last(self, places: slice | Ints, empty: Bools) -> Floats:
        return np.where(empty, -4 * self.reach, self.squares[places] / -2)

    def _sparse_targets(self, leaf: int) -> Matrix:
        size = self.leaves.size
        places = slice(leaf * size, (leaf + 1) * size)
        points = self.leaves.order[places]
        empty = points == EMPTY
        some = self.coordinates.of(np.where(empty, 0, points), self.dtype)
        two = np.column_stack((np.ones(size), self._last(places, empty))).astype(self.dtype)
        return sparse.hstack((some, two), format="csr").T

    def clipped(self, bounds: Floats | float) -> Floats:
        """Bounds within what single precision holds: beyond it, all or nothing is nearer."""
        return np.clip(bounds, -self.reach, self.reach)

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
        return (1 - 4 * self.relative) * bounds - self._margin(places)

    def above(self, bounds: Floats, places: Ints) -> Floats:
        """For each query the bound that proves a point not nearer than `bounds`."""
        return np.minimum((1 + 4 * self.relative) * bounds + self._margin(places), self.reach)

    def at_most(self, found: Floats, places: Ints) -> Floats:
        """What the squared distance of a product without a bound is at most."""
        squares = np.maximum(-2.0 * found, 0)
        most = (1 + 4 * self.relative) * squares + self._margin(places)
        # So far is an empty slot.
        return np.where(squares > self.reach, np.inf, most)

    def at_least(self, found: Floats, places: Ints) -> Floats:
        """What the squared distance of a product without a bound is at least."""
        return self.below(np.maximum(-2.0 * found, 0), places)

    def resolves(self, bounds: Floats, places: Ints) -> Bools:
        """Whether rounding is small beside the bounds, query by query."""
        return self._margin(places) < 0.05 * bounds

    def _margin(self, places: Ints) -> Floats:
        return 4 * self.relative * self.squares[places] + self.absolute

    def finer(self) -> "Frame":
        """The same points in float64, computed when asked for."""
        dtype = np.dtype(np.float64)
        order = self.leaves.order
        squares = np.empty(len(order))
        for at in range(0, len(order), _ROWS):
            part = slice(at, at + _ROWS)
            squares[part] = _squares(self.coordinates.of(order[part], dtype))
        squares[order == EMPTY] = 0
        return replace(
            self,
            dtype=dtype,
            relative=_relative(self.coordinates.terms, dtype),
            stored=None,
            squares=squares,
            reach=_reach(squares),
        )


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
    coordinates, exponent = _coordinates(values, unit_length)
    with np.errstate(over="ignore"):
        underflow = float(np.ldexp(d + 3.0, min(2 * exponent - 1074, 1000)))
    sketch, squares, blur = _sketch(coordinates, dtype)
    if size is None:
        leaves = together(sketch, classes)
    else:
        leaves = partition(sketch, blur * np.sqrt(squares), classes, size, workers)
    del sketch
    squares = np.where(leaves.order == EMPTY, 0.0, squares[leaves.order])
    frame = Frame(
        coordinates=coordinates,
        leaves=leaves,
        dtype=dtype,
        relative=_relative(coordinates.terms, dtype),
        absolute=underflow + (d + 3) * 2.0**-125,
        stored=None,
        squares=squares,
        reach=_reach(squares),
        blur=blur,
        sketch_squares=np.einsum("ij,ij->i", leaves.sketch, leaves.sketch, dtype=np.float64),
    )
    if sparse.issparse(values) and leaves.n * (d + 2) * leaves.size * 4 > _BLOCK:
        return frame
    stored = np.empty((leaves.n, d + 2, leaves.size), dtype=dtype)
    step = max(1, _ROWS // leaves.size)
    starts = range(0, leaves.n, step)

    def keep(at: int) -> None:
        some = np.arange(at, min(at + step, leaves.n))
        stored[at : at + step] = frame.in_leaves(some)

    for _ in workers.map(keep, starts):
        pass
    return replace(frame, stored=stored)


def _coordinates(values: Matrix, unit_length: bool) -> tuple[Coordinates, int]:
    n = values.shape[0]
    centre = None
    if not unit_length and not sparse.issparse(values):
        # Medians, so that a few outliers don't move the rest away from the origin.
        sample = np.random.default_rng(0).choice(n, min(n, _SAMPLE), replace=False)
        centre = np.median(values[np.sort(sample)], axis=0)
    if centre is None:
        largest = max(values.max(), -values.min())
    else:
        largest = max((values.max(axis=0) - centre).max(), (centre - values.min(axis=0)).max())
    exponent = int(np.clip(_LARGEST - np.frexp(largest)[1], -1000, 1000))
    return Coordinates(values, centre, 2.0**exponent), exponent


def _sketch(coordinates: Coordinates, dtype: np.dtype[np.floating]) -> tuple[Floats, Floats, float]:
    """Give coordinates for pruning, and how far they are off, as a part of a point's length.

    Squared lengths of the points come with them, to go through the points once.

    Points of few columns are their own sketch. Others are projected on an orthonormal
    basis, which makes no distance larger.
    """
    n, d = coordinates.values.shape
    u = float(np.finfo(np.float32).eps) / 2
    narrow = d <= _WIDE and not sparse.issparse(coordinates.values)
    count = d if narrow else min(_PROJECTIONS, d)
    sketch, squares = np.empty((n, count), dtype=dtype), np.empty(n)
    basis = None if narrow else _basis(coordinates, count)
    for at in range(0, n, _ROWS):
        some = coordinates.of(np.arange(at, min(at + _ROWS, n)), dtype)
        squares[at : at + _ROWS] = _squares(some)
        sketch[at : at + _ROWS] = some if basis is None else some @ basis
    # A projection is a product of d terms with a column of length one, itself rounded.
    return sketch, squares, 2 * u if narrow else (d + 4) * u * np.sqrt(count) + 2 * u


def _basis(coordinates: Coordinates, count: int) -> Floats:
    """Find the first principal directions, by a few steps of subspace iteration."""
    n, d = coordinates.values.shape
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(n, min(n, 8 * _SAMPLE), replace=False))
    some = coordinates.of(sample, np.dtype(np.float64))
    some = some if sparse.issparse(some) else some - some.mean(axis=0)
    basis = rng.standard_normal((d, count))
    for _ in range(3):
        basis, _ = np.linalg.qr(some.T @ (some @ basis))
    return basis.astype(np.float32)


def _squares(some: Matrix) -> Floats:
    some = some.astype(np.float64)
    if sparse.issparse(some):
        return np.asarray(some.power(2).sum(axis=1)).ravel()
    squares: Floats = np.einsum("ij,ij->i", some, some)
    return squares


def _product(left: Floats, right: Floats) -> Floats:
    shape = (len(right), left.shape[-2], right.shape[2])
    found: Floats = np.matmul(left, right, out=scratch("products", shape, left.dtype))
    return found


def _relative(terms: int, dtype: np.dtype[np.floating]) -> float:
    return (4 * terms + 32) * float(np.finfo(dtype).eps) / 2


def _reach(squares: Floats) -> float:
    """More than any squared distance: (|x| + |y|)^2, and its rounding."""
    return 4.5 * float(squares.max(initial=0)) + 1e-30
