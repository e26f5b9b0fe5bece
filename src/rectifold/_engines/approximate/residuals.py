"""Points as their differences from the middle of their cell, which single precision can hold."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.approximate.clusters import Cells
from rectifold._engines.exact.coordinates import ROWS, Coordinates, squared_lengths
from rectifold._engines.threads import scratch

_SINGLE = np.dtype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Points in the order of their cells. Sparse ones have no middle."""

    cells: Cells
    points: Matrix
    middles: Floats | None
    #: Half the squared length of each.
    halves: Floats

    def around(self, positions: Ints, cell: int) -> Matrix:
        """Some points as differences from the middle of one cell; good until the next call."""
        if self.middles is None:
            return self.points[positions]
        some: Floats = scratch("residuals", (len(positions), self.points.shape[1]), _SINGLE)
        # What is out of range is clipped only because that needs no copy.
        self.points.take(positions, axis=0, out=some, mode="clip")
        own = self.cells.cell.take(positions)
        if (own != cell).any():
            begins = np.flatnonzero(np.diff(own, prepend=-1))
            moved = (self.middles[own[begins]] - self.middles[cell]).astype(_SINGLE)
            some += np.repeat(moved, np.diff(np.append(begins, len(own))), axis=0)
        return some

    def products(self, queries: Matrix, cell: int) -> Floats:
        """Products of queries around a cell with its points: (|q|^2 - distance^2) / 2."""
        begin = self.cells.starts[cell]
        members = slice(begin, begin + self.cells.counts[cell])
        found = multiply(queries, self.points[members])
        found -= self.halves[members]
        return found


def multiply(left: Matrix, right: Matrix) -> Floats:
    """Inner products of all pairs; good until the next call in this thread."""
    if sparse.issparse(left):
        return np.asarray((left @ right.T).toarray())
    found: Floats = scratch("products", (len(left), len(right)), _SINGLE)
    return np.matmul(left, right.T, out=found)


def subtract_middles(coordinates: Coordinates, cells: Cells) -> Residuals:
    """Bring all points into the order of cells, as differences from their middles.

    Parameters
    ----------
    coordinates : Coordinates
        Points.
    cells : Cells
        Which are together.

    Returns
    -------
    Residuals
    """
    n, d = coordinates.values.shape
    if coordinates.sparse:
        points = coordinates.of(cells.order, _SINGLE)
        halves: Matrix = (squared_lengths(points) / 2).astype(_SINGLE)
        return Residuals(cells, points, None, halves)
    points = np.empty((n, d), dtype=_SINGLE)
    middles = np.empty((cells.n, d))
    # Cells that make about a block at a time.
    block = np.cumsum(cells.counts) // ROWS
    for some in np.split(np.arange(cells.n), np.flatnonzero(np.diff(block)) + 1):
        begin, end = cells.starts[some[0]], cells.starts[some[-1]] + cells.counts[some[-1]]
        exact = coordinates.of(cells.order[begin:end], np.dtype(np.float64))
        middles[some] = np.add.reduceat(exact, cells.starts[some] - begin, axis=0)
        middles[some] /= cells.counts[some][:, None]
        exact -= np.repeat(middles[some], cells.counts[some], axis=0)
        points[begin:end] = exact
    return Residuals(cells, points, middles, np.einsum("ij,ij->i", points, points) / 2)
