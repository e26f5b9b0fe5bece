"""Cells: points gathered around centres, so that neighbours are mostly in the same few.

The centres are those of k-means, found on a sample. scikit-learn's and faiss's k-means add up
in an order that depends on the number of threads; here nothing does.
"""

from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Floats, Ints
from rectifold._engines.threads import Workers

#: Points of the sample for each centre, and rounds of k-means: more make cells hardly better.
_SAMPLE, _ROUNDS = 40, 2
#: Points whose centre is looked for at once.
_POINTS = 1024
#: A cell of more than so many times the points of an average one is split, as often as this.
_LARGE, _SPLITS = 4, 6


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Which point is in which cell."""

    #: Centres, and half their squared lengths.
    centres: Floats
    halves: Floats
    #: All points, those of one cell together, ascending within it; the cell of each of them.
    order: Ints
    cell: Ints
    #: Where the points of each cell begin in `order`, and how many there are.
    starts: Ints
    counts: Ints

    @property
    def n(self) -> int:
        """How many cells there are."""
        return len(self.counts)

    def nearness(self, points: Floats, which: Ints | slice = slice(None)) -> Floats:
        """Tell how near some cells are to points: the nearer, the larger."""
        near: Floats = points @ self.centres[which].T
        near -= self.halves[which]
        return near


def gather(points: Floats, count: int, rng: np.random.Generator, workers: Workers) -> Cells:
    """Gather points into cells.

    Parameters
    ----------
    points : ndarray of float32 of shape (n_points, n_columns)
        Points.
    count : int
        About how many cells to make.
    rng : Generator
        Chooses the sample.
    workers : Workers
        Share the work; they change nothing.

    Returns
    -------
    Cells
        None of them is empty.
    """
    n = len(points)
    centres = _means(points, count, rng, workers)
    cell = _nearest(points, centres, workers)
    most = max(_LARGE * n // count, 64)
    for _ in range(_SPLITS):
        counts = np.bincount(cell, minlength=len(centres))
        large = np.flatnonzero(counts > most)
        if not len(large):
            break
        by_cell = np.argsort(cell, kind="stable")
        ends = np.cumsum(counts)
        for one in large:
            mine = by_cell[ends[one] - counts[one] : ends[one]]
            parts = _means(points[mine], -(-2 * len(mine) // most), rng, workers)
            part = _nearest(points[mine], parts, workers)
            cell[mine] = np.where(part == 0, one, len(centres) - 1 + part)
            centres = np.concatenate((centres, parts[1:]))
            centres[one] = parts[0]
    counts = np.bincount(cell, minlength=len(centres))
    kept = np.flatnonzero(counts)
    cell = (np.cumsum(counts > 0) - 1)[cell]
    centres, counts = centres[kept], counts[kept]
    order = np.argsort(cell, kind="stable")
    return Cells(centres, _halves(centres), order, cell[order], np.cumsum(counts) - counts, counts)


def _means(points: Floats, count: int, rng: np.random.Generator, workers: Workers) -> Floats:
    """Find centres by a few rounds of k-means, on a sample."""
    n = len(points)
    count = min(count, n)
    some = points[rng.permutation(n)[: min(n, _SAMPLE * count)]]
    centres = some[:count].copy()
    for _ in range(_ROUNDS):
        cell = _nearest(some, centres, workers)
        order = np.argsort(cell, kind="stable")
        kept, starts = np.unique(cell[order], return_index=True)
        sums = np.add.reduceat(some[order], starts, axis=0, dtype=np.float64)
        centres[kept] = sums / np.diff(np.append(starts, len(some)))[:, None]
    return centres


def _nearest(points: Floats, centres: Floats, workers: Workers) -> Ints:
    """Tell the nearest centre of each point."""
    halves = _halves(centres)
    nearest = np.empty(len(points), dtype=np.intp)

    def look(at: int) -> None:
        near = points[at : at + _POINTS] @ centres.T
        near -= halves
        nearest[at : at + _POINTS] = near.argmax(axis=1)

    for _ in workers.map(look, range(0, len(points), _POINTS)):
        pass
    return nearest


def _halves(centres: Floats) -> Floats:
    halves: Floats = np.einsum("ij,ij->i", centres, centres) / 2
    return halves
