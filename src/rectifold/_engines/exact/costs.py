"""What a search will cost, in nanoseconds of one core: by leaves or by a k-d tree.

The constants are measured: ``python benchmarks/costs.py`` fits those of leaves and trees again, and
results/speed/costs.json holds the figures behind these; those of cells are from the stages of runs
of ``benchmarks/approximate.py``. Mostly only their ratios matter.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from rectifold._core.utils import Floats

#: Up to so many points, looking at every pair costs less than setting up leaves; and where points
#: are multiplied as sparse ones.
SMALL, SPARSE_SMALL = 2400, 4096
#: Slots of a leaf, in tables of up to so many points.
LEAF = ((4608, 64), (8192, 96), (np.inf, 144))
#: At least so many where points are multiplied as sparse ones, one leaf at a time.
SPARSE_LEAF = 1024

#: Products: for each query and leaf, to tell whether it has to be looked at; for each query and
#: point of such a leaf, and more for each column.
_LEAF, _PAIR, _PAIR_COLUMN = 20.0, 0.4, 0.03
#: The tree: to build it, for each point, and more for each column; for each query; for each
#: query and point of a box that it has to look at; and more for that, and for each column, where
#: points are too many for a cache of so many bytes.
_BUILD, _BUILD_COLUMN = 200.0, 10.0
_QUERY, _VISIT = 1500.0, 20.0
CACHE, _MISS, _MISS_COLUMN = 12e6, 20.0, 1.5
#: Certificates: for each leaf of another class.
_CERTIFICATE_LEAF = 5.0
#: Cells that a query sees, and points in them that come into question, where data have clusters.
TYPICAL, HITS = 8, 25
#: Cells: for each point, for each query, and for each point that comes into question.
_CELL_POINT, _CELL_QUERY, _HIT = 500.0, 2000.0, 250.0
#: A tree is built, to see what it would cost, if that takes no more than this share.
_TRIAL = 0.2


def in_use() -> dict[str, float]:
    """Name the constants, for a record."""
    return {
        "leaf": _LEAF,
        "pair": _PAIR,
        "pair and column": _PAIR_COLUMN,
        "build": _BUILD,
        "build and column": _BUILD_COLUMN,
        "query": _QUERY,
        "visit": _VISIT,
        "miss": _MISS,
        "miss and column": _MISS_COLUMN,
        "certificate and leaf": _CERTIFICATE_LEAF,
        "cells, point": _CELL_POINT,
        "cells, query": _CELL_QUERY,
        "cells, hit": _HIT,
    }


def leaf_size(n_points: int, k: int, *, sparse: bool = False) -> int | None:
    """Choose how many points a leaf holds; None if all pairs are to be looked at."""
    if n_points <= (SPARSE_SMALL if sparse else SMALL):
        return None
    return slots(n_points, k, sparse=sparse)


def slots(n_points: int, k: int, *, sparse: bool) -> int:
    """Choose how many points a leaf holds, where there are leaves."""
    size = next(size for most, size in LEAF if n_points <= most)
    size = max(size, SPARSE_LEAF) if sparse else size
    # More than twice as many as needed, and a multiple of what vector instructions take.
    return -(-max(size, 2 * k + 6) // 8) * 8


def by_products(n_queries: int, n_leaves: int, pairs: float, n_columns: int) -> float:
    """Cost of a search through leaves, with so many pairs looked at by a query."""
    return n_queries * (n_leaves * _LEAF + pairs * (_PAIR + _PAIR_COLUMN * n_columns))


def of_certificate(leaves: float, pairs: float, n_columns: int) -> float:
    """Cost of looking for the certificate of a row, among so many leaves of other classes."""
    return leaves * _CERTIFICATE_LEAF + pairs * (_PAIR + _PAIR_COLUMN * n_columns)


def cells_for(n_queries: int) -> int:
    """Choose how many cells an approximate search makes.

    Putting n points into c cells takes n c products, and a search q p n / c for q queries that
    see p cells each: both together are least for c^2 = q p.
    """
    return max(1, int(np.sqrt(n_queries * TYPICAL)))


def by_cells(
    n_queries: int, n_points: int, n_columns: int, pairs: float | None = None, hits: float = HITS
) -> float:
    """Cost of an approximate search through cells, those included.

    A query looks at so many pairs, of which so many have to be sorted; by default what is typical.
    """
    n_cells = cells_for(n_queries)
    pairs = TYPICAL * n_points / n_cells if pairs is None else pairs
    product = _PAIR + _PAIR_COLUMN * n_columns
    gathered = n_points * (_CELL_POINT + n_cells * product)
    return gathered + n_queries * (_CELL_QUERY + pairs * product + hits * _HIT)


def of_tree(n_points: int, n_columns: int) -> float:
    """Cost of building a tree."""
    return n_points * (_BUILD + _BUILD_COLUMN * n_columns)


def affordable_visits(n_points: int, n_queries: int, n_columns: int, products: float) -> float:
    """Give how many points a query may visit in a tree that is to cost less than products."""
    visit = _of_visit(n_points, n_columns)
    return ((products - of_tree(n_points, n_columns)) / n_queries - _QUERY) / visit


def by_tree(n_points: int, n_queries: int, n_columns: int, visited: float) -> float:
    """Cost of a search through a tree, in which a query visits so many points."""
    query = _QUERY + visited * _of_visit(n_points, n_columns)
    return of_tree(n_points, n_columns) + n_queries * query


def _of_visit(n_points: int, n_columns: int) -> float:
    """Cost of a point that a query looks at in a tree."""
    if 8 * n_points * n_columns > CACHE:
        return _VISIT + _MISS + _MISS_COLUMN * n_columns
    return _VISIT


def worth_a_trial(n_points: int, n_columns: int, products: float) -> bool:
    """Tell whether a tree is cheap beside a search through leaves."""
    return of_tree(n_points, n_columns) < _TRIAL * products


def visited(tree: cKDTree, queries: Floats, squares: Floats, most: float) -> float:
    """Count the points in the boxes that a tree has to look into, a query on average.

    Parameters
    ----------
    tree : cKDTree
        The tree.
    queries : ndarray of shape (n_queries, n_columns)
        Points of the tree.
    squares : ndarray of shape (n_queries,)
        Squared distances to the farthest neighbours.
    most : float
        Counting ends when the average is known to be higher.

    Returns
    -------
    float
    """
    total = 0
    for query, square in zip(queries, squares, strict=True):
        for points in _boxes(tree, query.tolist(), float(square)):
            total += points
            if total > most * len(queries):
                return np.inf
    return total / len(queries)


def _boxes(tree: cKDTree, query: list[float], square: float) -> Iterator[int]:
    """Give the number of points of every box within a distance."""
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
