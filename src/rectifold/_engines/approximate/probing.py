"""The search through the cells nearest to each query, all queries of a cell at once.

A library that answers one query at a time reads the points of a cell anew for each. Here most
rows ask at once, so a cell is multiplied with all the queries that want to see it: the same
products, many times sooner.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import sparse

from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.approximate.residuals import Residuals, multiply
from rectifold._engines.approximate.tuning import Load
from rectifold._engines.exact.top_k import kth_at_least
from rectifold._engines.threads import Workers

Result = TypeVar("Result")

#: Queries handled at once; fewer where they want to see so many cells or find so many points.
_QUERIES, _WANTED, _HELD = 1 << 18, 1 << 23, 1 << 24
#: Queries are put together with the points that they found, so many at once.
#: They may have found twice as many as one another, or so many times what they need.
_TOGETHER, _FEW = 4096, 2
#: Products computed at once.
_PRODUCTS = 1 << 20
#: A query gets its first bound from so many times the points that it needs.
_HOME = 3
#: Of so many times the cells that it wants to see, the nearest to its own, a query chooses.
_CHOICE, _LEAST_CHOICE = 20, 64
#: How many times more cells are seen by queries that found too few points.
_MORE = 4
#: Rounding of products in float32, beside which a bound is no bound.
_SLACK = 1e-5
#: The same for what is found in other cells, from whose middle a query is farther.
_FAR = 4e-5


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Points near each of some queries; all are positions in the order of cells."""

    queries: Ints
    #: Where each one's neighbours begin.
    offsets: Ints
    neighbours: Ints


def search(
    residuals: Residuals,
    sketch: Floats,
    k: int,
    queries: Ints,
    probes: int,
    workers: Workers,
    finish: Callable[[Near], Result],
    *,
    bounded: bool = True,
) -> Iterator[Result | int]:
    """Find points near queries.

    Parameters
    ----------
    residuals : Residuals
        All points.
    sketch : ndarray of float32 of shape (n_points, n_columns)
        Points in the coordinates of the centres of cells, in the order of cells.
    k : int
        Neighbours per query, besides itself.
    queries : ndarray of int
        Positions, ascending.
    probes : int
        Cells that each wants to see.
    workers : Workers
        Share the work; they change nothing.
    finish : callable
        What workers do with more than k points near each of some queries.
    bounded : bool
        Whether points beyond a query's first bound are left out; False finds all in its cells.

    Yields
    ------
    object or int
        What `finish` gives, for every query once; and how many pairs were looked at.
    """
    probing = _Probing(residuals, sketch, k, min(probes, residuals.cells.n), bounded)
    size = max(1, min(_QUERIES, _WANTED // probing.probes))
    short, left = [], queries
    while len(left):
        some = left[:size]
        found = probing.hits(some, workers)
        if found is None:
            size = len(some) // 2
            continue
        left = left[size:]
        hits, pairs = found
        yield pairs
        short.append(some[np.diff(hits.indptr) <= k])
        # Products of points far from the middle of a cell are off by a part of that distance.
        slack = np.float32(_FAR) * residuals.halves[some]
        work = _finisher(hits, some, slack, k, finish)
        yield from workers.map(work, _of_like_width(np.diff(hits.indptr), k))
    again = np.concatenate(short) if short else queries[:0]
    if len(again):
        if not bounded and probing.probes == residuals.cells.n:
            raise ValueError(f"there are no more than {k} distinct points: lower n_neighbors.")
        more = _MORE * probes
        yield from search(residuals, sketch, k, again, more, workers, finish, bounded=False)


def trial(
    residuals: Residuals, sketch: Floats, k: int, queries: Ints, probes: int, workers: Workers
) -> Load:
    """See what a few queries look at, as `search` would."""
    found = _Probing(residuals, sketch, k, min(probes, residuals.cells.n), True).hits(
        queries, workers
    )
    if found is None:
        return Load(probes, np.inf, np.inf)
    hits, pairs = found
    return Load(probes, pairs / len(queries), hits.nnz / len(queries))


def _of_like_width(counts: Ints, k: int) -> Iterator[Ints]:
    """Group rows that have found enough by how much they have found, for tables of little air."""
    rows = np.flatnonzero(counts > k)
    rows = rows[np.argsort(counts[rows], kind="stable")]
    at = 0
    while at < len(rows):
        widest = counts[rows[min(at + _TOGETHER, len(rows)) - 1]]
        narrow = max(2 * counts[rows[at]], _FEW * (k + 1))
        end = at + _TOGETHER
        if widest > narrow:
            end = int(np.searchsorted(counts[rows], narrow, side="right"))
        yield np.sort(rows[at:end])
        at = end


def _finisher(
    hits: sparse.csr_array, queries: Ints, slack: Floats, k: int, finish: Callable[[Near], Result]
) -> Callable[[Ints], Result]:
    return lambda rows: finish(_nearest(hits, queries, slack, rows, k))


def _nearest(hits: sparse.csr_array, queries: Ints, slack: Floats, rows: Ints, k: int) -> Near:
    """Keep the points that can be among the k nearest besides the query itself."""
    begins, counts = hits.indptr[rows], np.diff(hits.indptr)[rows]
    column = np.arange(counts.max())
    held = column < counts[:, None]
    at = np.where(held, begins[:, None] + column, 0)
    squares = np.where(held, hits.data[at], np.float32(np.inf))
    last = np.partition(squares, k, axis=1)[:, k] * np.float32(1 + _SLACK) + slack[rows]
    keep = squares <= last[:, None]
    offsets = np.concatenate(([0], np.cumsum(keep.sum(axis=1))))
    return Near(queries[rows], offsets, hits.indices[at[keep]].astype(np.intp))


@dataclass(frozen=True, slots=True, eq=False)
class _Probing:
    residuals: Residuals
    sketch: Floats
    k: int
    probes: int
    bounded: bool

    def hits(self, queries: Ints, workers: Workers) -> tuple[sparse.csr_array, int] | None:
        """Squared distances of queries to points, of which the k nearest are among them.

        Gives None if there are too many of them to be held at once.
        """
        cells = self.residuals.cells
        bounds: Matrix = np.empty(len(queries), dtype=np.float32)
        wanted: Matrix = np.empty((len(queries), self.probes), dtype=np.int32)
        own = cells.cell[queries]
        begins = np.flatnonzero(np.diff(own, prepend=-1))
        runs = zip(own[begins], np.split(np.arange(len(queries)), begins[1:]), strict=True)

        def home(run: tuple[int, Ints]) -> int:
            cell, mine = run
            bounds[mine], wanted[mine], pairs = self._home(cell, queries[mine])
            return pairs

        pairs = sum(workers.map(home, runs))
        by_cell = np.argsort(wanted, axis=None, kind="stable")
        visitors: Matrix = (by_cell // self.probes).astype(np.int32)
        ends = np.cumsum(np.bincount(wanted.ravel(), minlength=cells.n))

        def look(cell: int) -> tuple[list[tuple[Ints, Ints, Floats]], int]:
            mine = visitors[ends[cell - 1] if cell else 0 : ends[cell]]
            size = int(cells.counts[cell])
            step = max(1, _PRODUCTS // size)
            found = [
                self._look(cell, mine[at : at + step], queries, bounds)
                for at in range(0, len(mine), step)
            ]
            return found, len(mine) * size

        parts, held = [], 0
        for found, seen in workers.map(look, range(cells.n)):
            parts += found
            pairs += seen
            held += sum(len(part[0]) for part in found)
            if held > _HELD and len(queries) > 1:
                return None
        owner, points, squares = (np.concatenate(some) for some in zip(*parts, strict=True))
        shape = (len(queries), len(cells.order))
        return sparse.csr_array((squares, (owner, points)), shape=shape), pairs

    def _home(self, cell: int, queries: Ints) -> tuple[Floats, Ints, int]:
        """Bound the k-th nearest distance of queries of one cell, and choose what they see."""
        cells = self.residuals.cells
        count = min(cells.n, max(_LEAST_CHOICE, _CHOICE * self.probes))
        near = cells.nearness(cells.centres[cell : cell + 1])[0]
        choice = np.argpartition(near, cells.n - count)[cells.n - count :]
        choice = choice[np.argsort(-near[choice], kind="stable")]
        # Its own cell comes first, unless another has the same centre.
        choice = np.concatenate(([cell], choice[choice != cell]))[:count]
        nearness = cells.nearness(self.sketch[queries], choice)
        first = count - self.probes
        wanted = choice[np.argpartition(nearness, first - 1 if first else 0, axis=1)[:, first:]]
        sizes = np.cumsum(cells.counts[choice])
        block = choice[: int(np.searchsorted(sizes, _HOME * (self.k + 1))) + 1]
        if not self.bounded or sizes[-1] <= self.k:
            return np.full(len(queries), np.inf), wanted, 0
        members = np.concatenate(
            [np.arange(cells.starts[one], cells.starts[one] + cells.counts[one]) for one in block]
        )
        bounds: Matrix = np.empty(len(queries), dtype=np.float32)
        # What comes next in this thread is put into the same memory.
        points = self.residuals.around(members, cell).copy()
        halves = _squares(points) / 2
        step = max(1, _PRODUCTS // len(members))
        for at in range(0, len(queries), step):
            some = self.residuals.around(queries[at : at + step], cell)
            squares = _squares(some)
            found = multiply(some, points)
            found -= halves
            bounds[at : at + step] = squares - 2 * kth_at_least(found, self.k + 1)
        return bounds, wanted, len(queries) * len(members)

    def _look(
        self, cell: int, mine: Ints, queries: Ints, bounds: Floats
    ) -> tuple[Ints, Ints, Floats]:
        """Find the points of one cell within the bounds of its visitors."""
        some = self.residuals.around(queries.take(mine), cell)
        squares = _squares(some)
        found = self.residuals.products(some, cell)
        within = bounds.take(mine)
        within += np.float32(_SLACK) * (squares + np.abs(within))
        hits = np.flatnonzero(found >= ((squares - within) / 2)[:, None])
        row, point = np.divmod(hits, found.shape[1])
        # `take` lets other threads work meanwhile, where an index in brackets does not.
        square = np.maximum(squares.take(row) - 2 * found.ravel().take(hits), 0)
        point += self.residuals.cells.starts[cell]
        return mine.take(row), point.astype(np.int32), square


def _squares(points: Matrix) -> Floats:
    if sparse.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1)).ravel()
    squares: Floats = np.einsum("ij,ij->i", points, points)
    return squares
