"""The cost model of searches by leaves, k-d trees and cells, in nanoseconds of one core.

The constants are measured: ``python benchmarks/costs.py`` fits those of leaves and trees again, and
results/speed/costs.json holds the figures behind these; those of cells are from the stages of runs
of ``benchmarks/approximate.py``. Mostly only ratios matter.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from rectifold._core.utils import Floats
from rectifold._engines.compiled import WIDTH

#: Up to this number of points, comparing all pairs costs less than building leaves; the second is
#: for points multiplied as sparse matrices.
SMALL, SPARSE_SMALL = 2400, 4096
#: Slots of a leaf, by the maximum number of points.
LEAF = ((4608, 64), (8192, 96), (np.inf, 144))
#: Minimum for points multiplied as sparse matrices, one leaf at a time.
SPARSE_LEAF = 1024

#: Leaves: per query and leaf, to decide whether to visit it; per query and point of a visited leaf,
#: and in addition per column.
_LEAF, _PAIR, _PAIR_COLUMN = 20.0, 0.4, 0.03
#: Trees: per point, to build it, and in addition per column; per query; per query and point of a
#: visited box; and in addition for that, and per column, if points don't fit a cache of this size
#: in bytes.
_BUILD, _BUILD_COLUMN = 200.0, 10.0
_QUERY, _VISIT = 1500.0, 20.0
CACHE, _MISS, _MISS_COLUMN = 12e6, 20.0, 1.5
#: Certificates: per leaf of another class.
_CERTIFICATE_LEAF = 5.0
#: Cells that a query visits, and candidates in them, typical of data with clusters.
TYPICAL, HITS = 8, 25
#: Cells: per point, per query, and per candidate.
_CELL_POINT, _CELL_QUERY, _HIT = 500.0, 2000.0, 250.0
#: A tree is built, to estimate its cost, if that takes at most this share of the cost of leaves.
_TRIAL = 0.2


def leaf_size(n_points: int, k: int, *, sparse: bool = False) -> int | None:
    """Return the number of slots of a leaf; None if comparing all pairs costs less."""
    if n_points <= (SPARSE_SMALL if sparse else SMALL):
        return None
    return slots(n_points, k, sparse=sparse)


def slots(n_points: int, k: int, *, sparse: bool) -> int:
    """Return the number of slots of a leaf."""
    size = next(size for most, size in LEAF if n_points <= most)
    size = max(size, SPARSE_LEAF) if sparse else size
    # More than twice the neighbours needed, and a multiple of the width of vector instructions.
    return -(-max(size, 2 * k + 6) // WIDTH) * WIDTH


def by_products(n_queries: int, n_leaves: int, pairs: float, n_columns: int) -> float:
    """Return the cost of a search through leaves; a query compares `pairs` pairs."""
    return n_queries * (n_leaves * _LEAF + pairs * (_PAIR + _PAIR_COLUMN * n_columns))


def of_certificate(leaves: float, pairs: float, n_columns: int) -> float:
    """Return the cost of trying a certificate for one point."""
    return leaves * _CERTIFICATE_LEAF + pairs * (_PAIR + _PAIR_COLUMN * n_columns)


def cells_for(n_queries: int) -> int:
    """Return the number of cells of an approximate search.

    Putting n points into c cells takes n c products, and a search q p n / c for q queries that
    visit p cells each: the sum is least for c^2 = q p.
    """
    return max(1, int(np.sqrt(n_queries * TYPICAL)))


def by_cells(
    n_queries: int, n_points: int, n_columns: int, pairs: float | None = None, hits: float = HITS
) -> float:
    """Return the cost of an approximate search, including that of making cells.

    A query compares `pairs` pairs, and sorts `hits` of them; typical numbers by default.
    """
    n_cells = cells_for(n_queries)
    pairs = TYPICAL * n_points / n_cells if pairs is None else pairs
    product = _PAIR + _PAIR_COLUMN * n_columns
    making = n_points * (_CELL_POINT + n_cells * product)
    return making + n_queries * (_CELL_QUERY + pairs * product + hits * _HIT)


def of_tree(n_points: int, n_columns: int) -> float:
    """Return the cost of building a tree."""
    return n_points * (_BUILD + _BUILD_COLUMN * n_columns)


def affordable_visits(n_points: int, n_queries: int, n_columns: int, products: float) -> float:
    """Return how many points a query can visit if a tree shall cost less than `products`."""
    visit = _of_visit(n_points, n_columns)
    return ((products - of_tree(n_points, n_columns)) / n_queries - _QUERY) / visit


def by_tree(n_points: int, n_queries: int, n_columns: int, visited: float) -> float:
    """Return the cost of a search through a tree; a query visits `visited` points."""
    query = _QUERY + visited * _of_visit(n_points, n_columns)
    return of_tree(n_points, n_columns) + n_queries * query


def _of_visit(n_points: int, n_columns: int) -> float:
    if 8 * n_points * n_columns > CACHE:
        return _VISIT + _MISS + _MISS_COLUMN * n_columns
    return _VISIT


def worth_a_trial(n_points: int, n_columns: int, products: float) -> bool:
    """Return whether building a tree is cheap beside a search of cost `products`."""
    return of_tree(n_points, n_columns) < _TRIAL * products


def visited(tree: cKDTree, queries: Floats, squares: Floats, most: float) -> float:
    """Return the average number of points in the boxes that a query visits in a tree.

    `squares` are squared distances to the farthest neighbours. If the average exceeds `most`, the
    result is infinite.
    """
    total = 0
    for query, square in zip(queries, squares, strict=True):
        for points in _boxes(tree, query.tolist(), float(square)):
            total += points
            if total > most * len(queries):
                return np.inf
    return total / len(queries)


def _boxes(tree: cKDTree, query: list[float], square: float) -> Iterator[int]:
    """Yield the number of points of every box within a squared distance."""
    pending = [(tree.tree, 0.0, [0.0] * len(query))]
    while pending:
        node, distance, sides = pending.pop()
        column = node.split_dim
        if column == -1:
            yield node.end_idx - node.start_idx
            continue
        gap = query[column] - node.split
        near, far = (node.lesser, node.greater) if gap < 0 else (node.greater, node.lesser)
        pending.append((near, distance, sides))
        beyond = distance - sides[column] + gap * gap
        if beyond <= square:
            pending.append((far, beyond, [*sides[:column], gap * gap, *sides[column + 1 :]]))
