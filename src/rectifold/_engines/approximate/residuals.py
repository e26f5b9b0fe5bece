"""Points as differences from the mean of their cell, which single precision can represent."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rectifold._core.space import ROWS
from rectifold._core.threads import scratch
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.approximate.clusters import Cells
from rectifold._engines.exact.coordinates import Coordinates, squared_lengths

_SINGLE = np.dtype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Points in the order of their cells, minus the mean of the cell if they are dense."""

    cells: Cells
    points: Matrix
    means: Floats | None
    #: Half of the squared length of each.
    halves: Floats

    def around(self, positions: Ints, cell: int) -> Matrix:
        """Return points minus the mean of one cell; valid until the next call in this thread."""
        if self.means is None:
            return self.points[positions]
        some: Floats = scratch("residuals", (len(positions), self.points.shape[1]), _SINGLE)
        # mode="clip" avoids a copy of the output; no index is out of range.
        self.points.take(positions, axis=0, out=some, mode="clip")
        own = self.cells.cell.take(positions)
        if (own != cell).any():
            begins = np.flatnonzero(np.diff(own, prepend=-1))
            moved = (self.means[own[begins]] - self.means[cell]).astype(_SINGLE)
            some += np.repeat(moved, np.diff(np.append(begins, len(own))), axis=0)
        return some

    def products(self, queries: Matrix, cell: int) -> Floats:
        """Return products of queries around a cell with its points: (|q|^2 - distance^2) / 2."""
        begin = self.cells.starts[cell]
        members = slice(begin, begin + self.cells.counts[cell])
        found = multiply(queries, self.points[members])
        found -= self.halves[members]
        return found


def multiply(left: Matrix, right: Matrix) -> Floats:
    """Return the inner products of all pairs; valid until the next call in this thread."""
    if sparse.issparse(left):
        return np.asarray((left @ right.T).toarray())
    found: Floats = scratch("products", (len(left), len(right)), _SINGLE)
    return np.matmul(left, right.T, out=found)


def subtract_means(coordinates: Coordinates, cells: Cells) -> Residuals:
    """Return all points in the order of cells, minus the means of the cells."""
    n, d = coordinates.values.shape
    if coordinates.sparse:
        points = coordinates.of(cells.order, _SINGLE)
        halves: Matrix = (squared_lengths(points) / 2).astype(_SINGLE)
        return Residuals(cells, points, None, halves)
    points = np.empty((n, d), dtype=_SINGLE)
    means = np.empty((cells.n, d))
    # Consecutive cells with about `ROWS` points.
    block = np.cumsum(cells.counts) // ROWS
    for some in np.split(np.arange(cells.n), np.flatnonzero(np.diff(block)) + 1):
        begin, end = cells.starts[some[0]], cells.starts[some[-1]] + cells.counts[some[-1]]
        exact = coordinates.of(cells.order[begin:end], np.dtype(np.float64))
        means[some] = np.add.reduceat(exact, cells.starts[some] - begin, axis=0)
        means[some] /= cells.counts[some][:, None]
        exact -= np.repeat(means[some], cells.counts[some], axis=0)
        points[begin:end] = exact
    return Residuals(cells, points, means, np.einsum("ij,ij->i", points, points) / 2)
