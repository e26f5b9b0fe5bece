"""Cells: clusters of points around centres, so that most neighbours are in the same few cells.

The centres are computed by k-means on a sample. The result does not depend on the number of
threads, unlike that of scikit-learn's and faiss's k-means.
"""

from dataclasses import dataclass

import numpy as np

from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints

#: Sample size per centre, and iterations of k-means: more hardly improve the cells.
_SAMPLE, _ROUNDS = 40, 2
#: Points that are assigned to centres at once.
_POINTS = 1024
#: Cells with more than `_LARGE` times the mean number of points are split, at most `_SPLITS` times.
_LARGE, _SPLITS = 4, 6


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cell of each point."""

    #: Centres, and half of their squared lengths.
    centres: Floats
    halves: Floats
    #: All points, grouped by cell and ascending within a cell. Their indices in this array are
    #: called positions.
    order: Ints
    #: The cell and the coordinates of the point at each position.
    cell: Ints
    sketch: Floats
    #: Where the points of each cell begin in `order`, and how many there are.
    starts: Ints
    counts: Ints

    @property
    def n(self) -> int:
        """Number of cells."""
        return len(self.counts)

    def nearness(self, points: Floats, which: Ints | slice = slice(None)) -> Floats:
        """Return scores of cells for points, which are larger for nearer cells."""
        near: Floats = points @ self.centres[which].T
        near -= self.halves[which]
        return near


def gather(points: Floats, count: int, rng: np.random.Generator, workers: Workers) -> Cells:
    """Cluster float32 points into about `count` cells, none of them empty."""
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
        for number in large:
            members = by_cell[ends[number] - counts[number] : ends[number]]
            parts = _means(points[members], -(-2 * len(members) // most), rng, workers)
            part = _nearest(points[members], parts, workers)
            cell[members] = np.where(part == 0, number, len(centres) - 1 + part)
            centres = np.concatenate((centres, parts[1:]))
            centres[number] = parts[0]
    counts = np.bincount(cell, minlength=len(centres))
    kept = np.flatnonzero(counts)
    cell = (np.cumsum(counts > 0) - 1)[cell]
    centres, counts = centres[kept], counts[kept]
    order = np.argsort(cell, kind="stable")
    starts = np.cumsum(counts) - counts
    return Cells(centres, _halves(centres), order, cell[order], points[order], starts, counts)


def _means(points: Floats, count: int, rng: np.random.Generator, workers: Workers) -> Floats:
    """Return centres, by a few iterations of k-means on a sample."""
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
    """Return the nearest centre of each point."""
    halves = _halves(centres)
    nearest = np.empty(len(points), dtype=np.intp)

    def assign(at: int) -> None:
        near = points[at : at + _POINTS] @ centres.T
        near -= halves
        nearest[at : at + _POINTS] = near.argmax(axis=1)

    for _ in workers.map(assign, range(0, len(points), _POINTS)):
        pass
    return nearest


def _halves(centres: Floats) -> Floats:
    halves: Floats = np.einsum("ij,ij->i", centres, centres) / 2
    return halves
