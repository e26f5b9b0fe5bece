"""The search in the cells nearest to each query.

Most samples are queries, so each cell is multiplied with all queries that search it at once. This
is many times faster than one query at a time, which reads the points of a cell for each of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.approximate.residuals import Residuals, multiply
from rectifold._engines.approximate.tuning import Load
from rectifold._engines.exact.duplicates import ranges
from rectifold._engines.exact.top_k import kth_at_least

Result = TypeVar("Result")

#: Maximum number of queries at once, and of the cells that they search and the points they find.
_QUERIES, _WANTED, _HELD = 1 << 18, 1 << 23, 1 << 24
#: Maximum number of queries whose points are sorted in one table. They have found up to twice as
#: many points as each other, or up to `_FEW` times as many as needed.
_SORTED, _FEW = 4096, 2
#: Products computed at once.
_PRODUCTS = 1 << 20
#: The first bound of a query comes from this multiple of the points that it needs.
_HOME = 3
#: A query chooses its cells from this multiple of them, those nearest to its own cell.
_CHOICE, _LEAST_CHOICE = 20, 64
#: Factor of the number of cells for queries that found too few points.
_MORE = 4
#: Relative rounding error of products in float32, by which bounds are widened.
_SLACK = 1e-5
#: The same for points in other cells, whose mean is farther from the query.
_FAR = 4e-5


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Points near each of some queries, as positions."""

    queries: Ints
    #: Where the neighbours of each query begin.
    offsets: Ints
    neighbours: Ints


def search(
    residuals: Residuals,
    k: int,
    queries: Ints,
    probes: int,
    workers: Workers,
    finish: Callable[[Near], Result],
    *,
    bounded: bool = True,
) -> Iterator[Result | int]:
    """Yield the results of `finish` for every query once, and the numbers of pairs compared.

    `queries` are ascending positions. Each query searches `probes` cells. `finish` is called in the
    workers with more than k points near each of some queries, themselves included; without
    `bounded`, with all points in their cells.
    """
    probing = _Probing(residuals, k, min(probes, residuals.cells.n), bounded)
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
        # The error of products grows with the distance from the mean of a cell.
        slack = np.float32(_FAR) * residuals.halves[some]
        work = partial(_finish_nearest, finish, hits, some, slack, k)
        yield from workers.map(work, _of_like_width(np.diff(hits.indptr), k))
    again = np.concatenate(short) if short else queries[:0]
    if len(again):
        if not bounded and probing.probes == residuals.cells.n:
            raise ParameterError(
                "There are no more than {} distinct points: lower {}.", str(k), Param("n_neighbors")
            )
        more = _MORE * probes
        yield from search(residuals, k, again, more, workers, finish, bounded=False)


def trial(residuals: Residuals, k: int, queries: Ints, probes: int, workers: Workers) -> Load:
    """Return the load that `search` would have for a few queries."""
    probing = _Probing(residuals, k, min(probes, residuals.cells.n), bounded=True)
    found = probing.hits(queries, workers)
    if found is None:
        return Load(probes, np.inf, np.inf)
    hits, pairs = found
    return Load(probes, pairs / len(queries), hits.nnz / len(queries))


def _of_like_width(counts: Ints, k: int) -> Iterator[Ints]:
    """Group queries with more than k points by their number, for tables with little padding."""
    rows = np.flatnonzero(counts > k)
    rows = rows[np.argsort(counts[rows], kind="stable")]
    at = 0
    while at < len(rows):
        widest = counts[rows[min(at + _SORTED, len(rows)) - 1]]
        narrow = max(2 * counts[rows[at]], _FEW * (k + 1))
        end = at + _SORTED
        if widest > narrow:
            end = int(np.searchsorted(counts[rows], narrow, side="right"))
        yield np.sort(rows[at:end])
        at = end


def _finish_nearest(
    finish: Callable[[Near], Result],
    hits: sparse.csr_array,
    queries: Ints,
    slack: Floats,
    k: int,
    rows: Ints,
) -> Result:
    """Call `finish` with the points that can be among the k nearest, and the query itself."""
    begins, counts = hits.indptr[rows], np.diff(hits.indptr)[rows]
    column = np.arange(counts.max())
    held = column < counts[:, None]
    at = np.where(held, begins[:, None] + column, 0)
    squares = np.where(held, hits.data[at], np.float32(np.inf))
    last = np.partition(squares, k, axis=1)[:, k] * np.float32(1 + _SLACK) + slack[rows]
    keep = squares <= last[:, None]
    offsets = np.concatenate(([0], np.cumsum(keep.sum(axis=1))))
    return finish(Near(queries[rows], offsets, hits.indices[at[keep]].astype(np.intp)))


@dataclass(frozen=True, slots=True, eq=False)
class _Probing:
    residuals: Residuals
    k: int
    probes: int
    bounded: bool

    def hits(self, queries: Ints, workers: Workers) -> tuple[sparse.csr_array, int] | None:
        """Return squared distances of the queries to points near them, and the pairs compared.

        Return None if the distances would take too much memory.
        """
        cells = self.residuals.cells
        bounds: Matrix = np.empty(len(queries), dtype=np.float32)
        wanted: Matrix = np.empty((len(queries), self.probes), dtype=np.int32)
        own = cells.cell[queries]
        begins = np.flatnonzero(np.diff(own, prepend=-1))
        runs = zip(own[begins], np.split(np.arange(len(queries)), begins[1:]), strict=True)

        def home(run: tuple[int, Ints]) -> int:
            cell, some = run
            bounds[some], wanted[some], pairs = self._home(cell, queries[some])
            return pairs

        pairs = sum(workers.map(home, runs))
        by_cell = np.argsort(wanted, axis=None, kind="stable")
        visitors: Matrix = (by_cell // self.probes).astype(np.int32)
        ends = np.cumsum(np.bincount(wanted.ravel(), minlength=cells.n))

        def search_cell(cell: int) -> tuple[list[tuple[Ints, Ints, Floats]], int]:
            own = visitors[ends[cell - 1] if cell else 0 : ends[cell]]
            size = int(cells.counts[cell])
            step = max(1, _PRODUCTS // size)
            found = [
                self._search_cell(cell, own[at : at + step], queries, bounds)
                for at in range(0, len(own), step)
            ]
            return found, len(own) * size

        parts, held = [], 0
        for found, compared in workers.map(search_cell, range(cells.n)):
            parts += found
            pairs += compared
            held += sum(len(part[0]) for part in found)
            if held > _HELD and len(queries) > 1:
                return None
        owner, points, squares = (np.concatenate(some) for some in zip(*parts, strict=True))
        shape = (len(queries), len(cells.order))
        return sparse.csr_array((squares, (owner, points)), shape=shape), pairs

    def _home(self, cell: int, queries: Ints) -> tuple[Floats, Ints, int]:
        """Return bounds of the k-th distance of the queries of one cell, their cells, and pairs."""
        cells = self.residuals.cells
        count = min(cells.n, max(_LEAST_CHOICE, _CHOICE * self.probes))
        near = cells.nearness(cells.centres[cell : cell + 1])[0]
        choice = np.argpartition(near, cells.n - count)[cells.n - count :]
        choice = choice[np.argsort(-near[choice], kind="stable")]
        # Its own cell first, even if another cell has the same centre.
        choice = np.concatenate(([cell], choice[choice != cell]))[:count]
        nearness = cells.nearness(cells.sketch[queries], choice)
        first = count - self.probes
        wanted = choice[np.argpartition(nearness, first - 1 if first else 0, axis=1)[:, first:]]
        sizes = np.cumsum(cells.counts[choice])
        block = choice[: int(np.searchsorted(sizes, _HOME * (self.k + 1))) + 1]
        if not self.bounded or sizes[-1] <= self.k:
            return np.full(len(queries), np.inf), wanted, 0
        members = ranges(cells.starts[block], cells.counts[block])
        bounds: Matrix = np.empty(len(queries), dtype=np.float32)
        # A copy, because the next call in this thread reuses the memory.
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

    def _search_cell(
        self, cell: int, visitors: Ints, queries: Ints, bounds: Floats
    ) -> tuple[Ints, Ints, Floats]:
        """Return the visitor, point and squared distance of the points within the bounds."""
        some = self.residuals.around(queries.take(visitors), cell)
        squares = _squares(some)
        found = self.residuals.products(some, cell)
        within = bounds.take(visitors)
        within += np.float32(_SLACK) * (squares + np.abs(within))
        hits = np.flatnonzero(found >= ((squares - within) / 2)[:, None])
        row, point = np.divmod(hits, found.shape[1])
        # `take` releases the GIL, unlike indexing.
        square = np.maximum(squares.take(row) - 2 * found.ravel().take(hits), 0)
        point += self.residuals.cells.starts[cell]
        return visitors.take(row), point.astype(np.int32), square


def _squares(points: Matrix) -> Floats:
    if sparse.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1)).ravel()
    squares: Floats = np.einsum("ij,ij->i", points, points)
    return squares
