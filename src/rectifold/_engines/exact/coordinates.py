"""Coordinates of points: centred, scaled by a power of two, and projected to a sketch."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rectifold._core.space import ROWS
from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints, Matrix

#: Sizes of the random samples for the centre and for the directions of a projection.
SAMPLE, MORE = 256, 2048
#: The largest scaled coordinate is below 2 to this power: its square, times any number of
#: columns, is far within float32, and so is the square of coordinates 10^26 times smaller.
LARGEST = 40
#: Wider points, and sparse ones, are projected to this number of columns.
WIDE, PROJECTIONS = 128, 64
#: Sparse points stay sparse in products above this number of columns and below this density;
#: blocks of others are made dense, which multiplies faster.
_SPARSE, _DENSITY = 512, 0.1
_U = float(np.finfo(np.float32).eps) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Points, centred and scaled on demand."""

    values: Matrix
    #: Subtracted from every point; None for zero.
    centre: Floats | None
    #: Exponent of the power of two.
    exponent: int
    #: Whether coordinates are sparse matrices.
    sparse: bool

    @property
    def factor(self) -> float:
        """Return the power of two."""
        return float(2.0**self.exponent)

    def of(self, points: Ints, dtype: np.dtype[np.floating]) -> Matrix:
        """Return the coordinates of some points, given by an array of their numbers."""
        some = self.values[points].astype(np.float64, copy=False)
        if sparse.issparse(some):
            some = (some * self.factor).astype(dtype)
            return some if self.sparse else some.toarray()
        if self.centre is not None:
            some -= self.centre
        some *= self.factor
        return some.astype(dtype, copy=False)

    def scaled(self, squares: Floats) -> Floats:
        """Return squared distances of points in the units of coordinates."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(squares, 2 * self.exponent)
        # Squares that underflow are kept above zero.
        return np.maximum(scaled, 1e-290)

    def terms(self, others: "Coordinates") -> int:
        """Return the maximum number of terms of a product with other points: d in `rounding`."""
        return min(int(self.values.shape[1]), self._entries() + others._entries())

    def _entries(self) -> int:
        """Return the maximum number of entries of a point."""
        if sparse.issparse(self.values):
            return int(np.diff(self.values.indptr).max(initial=0))
        return int(self.values.shape[1])


def stays_sparse(values: Matrix) -> bool:
    """Return whether points are multiplied as sparse matrices."""
    if not sparse.issparse(values) or values.shape[1] <= _SPARSE:
        return False
    return bool(values.nnz < _DENSITY * values.shape[0] * values.shape[1])


def column_ranges(values: Floats, workers: Workers) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value of each column."""

    def ranges(rows: slice) -> tuple[Floats, Floats]:
        return values[rows].min(axis=0), values[rows].max(axis=0)

    low, high = zip(*workers.over(ranges, len(values), ROWS), strict=True)
    return np.minimum.reduce(low), np.maximum.reduce(high)


def fit_coordinates(values: Matrix, workers: Workers, *, unit_length: bool) -> Coordinates:
    """Choose centre and scale; points of length one, and sparse ones, need no centre."""
    n = values.shape[0]
    centre = None
    if not unit_length and not sparse.issparse(values):
        # Medians are robust: a few outliers don't move the rest away from the origin.
        sample = np.random.default_rng(0).choice(n, min(n, SAMPLE), replace=False)
        # In float64, since a difference of values in float32 can be out of its range.
        centre = np.median(values[np.sort(sample)].astype(np.float64), axis=0)
    if centre is None:
        largest = max(values.max(), -values.min())
    else:
        low, high = column_ranges(values, workers)
        largest = max((high - centre).max(), (centre - low).max())
    exponent = int(np.clip(LARGEST - np.frexp(largest)[1], -1000, 1000))
    return Coordinates(values, centre, exponent, stays_sparse(values))


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Float32 points, projected so that no distance is larger than the true one."""

    points: Floats
    #: Whether they are the coordinates themselves.
    plain: bool
    #: Squared lengths of the coordinates.
    squares: Floats
    #: Bound of the rounding error of a point, relative to its length.
    blur: float
    #: The columns of the projection, if there is one.
    basis: Floats | None


def sketch(coordinates: Coordinates, workers: Workers, *, projected: bool = True) -> Sketch:
    """Return the sketch of all points.

    Points of few columns are their own sketch. Others are projected on an orthonormal basis, which
    makes no distance larger; or, unless `projected`, to no columns.
    """
    d = coordinates.values.shape[1]
    if d <= WIDE and not sparse.issparse(coordinates.values):
        return sketch_with(None, coordinates, workers)
    basis = _basis(coordinates, min(PROJECTIONS, d) if projected else 0)
    return sketch_with(basis, coordinates, workers)


def sketch_with(basis: Floats | None, coordinates: Coordinates, workers: Workers) -> Sketch:
    """Return the sketch of all points for the basis of another, None if that is plain."""
    n, d = coordinates.values.shape
    count = d if basis is None else basis.shape[1]
    points, squares = np.empty((n, count), dtype=np.float32), np.empty(n)

    def fill(rows: slice) -> None:
        some = coordinates.of(np.arange(rows.start, rows.stop), np.dtype(np.float32))
        squares[rows] = squared_lengths(some)
        points[rows] = some if basis is None else some @ basis

    workers.over(fill, n, ROWS)
    blur = blur_of(d, None if basis is None else count)
    return Sketch(points, basis is None, squares, blur, basis)


def blur_of(columns: int, projections: int | None) -> float:
    """Return `Sketch.blur` for points of some columns; `projections` is None without any."""
    if projections is None:
        return 2 * _U
    # A projection is a product of d terms with a column of length one, itself rounded.
    return (columns + 4) * _U * float(np.sqrt(projections)) + 2 * _U


def _basis(coordinates: Coordinates, count: int) -> Floats:
    """Return the first principal directions, by a few steps of subspace iteration."""
    n, d = coordinates.values.shape
    if count == 0:
        return np.empty((d, 0), dtype=np.float32)
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(n, min(n, MORE), replace=False))
    some = coordinates.of(sample, np.dtype(np.float64))
    some = some if sparse.issparse(some) else some - some.mean(axis=0)
    basis = rng.standard_normal((d, count))
    for _ in range(3):
        basis, _ = np.linalg.qr(some.T @ (some @ basis))
    return basis.astype(np.float32)


def squared_lengths(some: Matrix) -> Floats:
    """Return the squared lengths of some points."""
    some = some.astype(np.float64)
    if sparse.issparse(some):
        return np.asarray(some.power(2).sum(axis=1)).ravel()
    squares: Floats = np.einsum("ij,ij->i", some, some)
    return squares
