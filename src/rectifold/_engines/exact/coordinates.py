"""How points become coordinates: moved, scaled by a power of two, and in a sketch."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rectifold._core.utils import Floats, Ints, Matrix

#: Rows brought into coordinates at once.
ROWS = 8192
#: Rows whose medians are the centre, and rows from which directions are found.
SAMPLE, MORE = 256, 2048
#: The largest coordinate after scaling is below 2 to this: its square, times any number of
#: columns, is far within float32, and coordinates 10^26 times smaller still have a square there.
LARGEST = 40
#: Wider points, and sparse ones, have a sketch of so many projections.
WIDE, PROJECTIONS = 128, 64
#: Sparse points of more columns stay sparse in products if so few of their entries are stored;
#: blocks of others are made dense, which multiplies faster.
_SPARSE, _DENSITY = 512, 0.1
_U = float(np.finfo(np.float32).eps) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Points, moved and scaled when asked for."""

    values: Matrix
    #: Subtracted from every point; None where there is nothing to subtract.
    centre: Floats | None
    #: The exponent of the power of two.
    exponent: int

    @property
    def factor(self) -> float:
        """The power of two."""
        return float(2.0**self.exponent)

    def of(self, points: Ints, dtype: np.dtype[np.floating]) -> Matrix:
        """Coordinates of some points."""
        some = self.values[points]
        if sparse.issparse(some):
            some = (some * self.factor).astype(dtype)
            return some if self.sparse else some.toarray()
        if self.centre is not None:
            some -= self.centre
        some *= self.factor
        return some.astype(dtype, copy=False)

    def scaled(self, squares: Floats) -> Floats:
        """Squared distances of points become those of their coordinates."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(squares, 2 * self.exponent)
        # What is too small to be told apart from nothing is left a little above it.
        return np.maximum(scaled, 1e-290)

    @property
    def sparse(self) -> bool:
        """Whether coordinates are sparse matrices."""
        return stays_sparse(self.values)

    @property
    def terms(self) -> int:
        """Bound the entries of a product or a difference of two points: the d of the bounds."""
        d = int(self.values.shape[1])
        if sparse.issparse(self.values):
            return min(d, 2 * int(np.diff(self.values.indptr).max(initial=0)))
        return d


def stays_sparse(values: Matrix) -> bool:
    """Tell whether points are multiplied as sparse ones."""
    if not sparse.issparse(values) or values.shape[1] <= _SPARSE:
        return False
    return bool(values.nnz < _DENSITY * values.shape[0] * values.shape[1])


def fit_coordinates(values: Matrix, *, unit_length: bool) -> Coordinates:
    """Choose where points are moved to, and how they are scaled.

    Parameters
    ----------
    values : {ndarray, csr_array} of shape (n_points, n_columns)
        Float64 points.
    unit_length : bool
        Whether all points have length one, and so need no centre.

    Returns
    -------
    Coordinates
    """
    n = values.shape[0]
    centre = None
    if not unit_length and not sparse.issparse(values):
        # Medians, so that a few outliers don't move the rest away from the origin.
        sample = np.random.default_rng(0).choice(n, min(n, SAMPLE), replace=False)
        centre = np.median(values[np.sort(sample)], axis=0)
    if centre is None:
        largest = max(values.max(), -values.min())
    else:
        largest = max((values.max(axis=0) - centre).max(), (centre - values.min(axis=0)).max())
    exponent = int(np.clip(LARGEST - np.frexp(largest)[1], -1000, 1000))
    return Coordinates(values, centre, exponent)


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Points in float32, in coordinates in which no distance is larger than the true one."""

    points: Floats
    #: Whether those are the coordinates themselves.
    plain: bool
    #: Squared lengths of the true points.
    squares: Floats
    #: How far a point can be from where it should be, as a part of its length.
    blur: float


def sketch(coordinates: Coordinates, *, projected: bool = True) -> Sketch:
    """Go once through all points and make a sketch of them.

    Points of few columns are their own sketch. Others are projected on an orthonormal
    basis, which makes no distance larger; or, where nobody needs it, on nothing.
    """
    n, d = coordinates.values.shape
    plain = d <= WIDE and not sparse.issparse(coordinates.values)
    count = d if plain else min(PROJECTIONS, d)
    count = count if plain or projected else 0
    basis = None if plain else _basis(coordinates, count)
    points, squares = np.empty((n, count), dtype=np.float32), np.empty(n)
    for at in range(0, n, ROWS):
        some = coordinates.of(np.arange(at, min(at + ROWS, n)), np.dtype(np.float32))
        squares[at : at + ROWS] = squared_lengths(some)
        points[at : at + ROWS] = some if basis is None else some @ basis
    return Sketch(points, plain, squares, blur_of(d, None if plain else count))


def blur_of(columns: int, projections: int | None) -> float:
    """How far a point of a sketch can be from where it should be, as a part of its length."""
    if projections is None:
        return 2 * _U
    # A projection is a product of d terms with a column of length one, itself rounded.
    return (columns + 4) * _U * float(np.sqrt(projections)) + 2 * _U


def _basis(coordinates: Coordinates, count: int) -> Floats:
    """Find the first principal directions, by a few steps of subspace iteration."""
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
    """Squared lengths of some points."""
    some = some.astype(np.float64)
    if sparse.issparse(some):
        return np.asarray(some.power(2).sum(axis=1)).ravel()
    squares: Floats = np.einsum("ij,ij->i", some, some)
    return squares
