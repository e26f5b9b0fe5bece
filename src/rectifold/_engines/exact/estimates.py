"""Estimates of the cost of a search, before it starts, and the choice of a k-d tree for it."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints
from rectifold._engines.compiled import CompiledFrame
from rectifold._engines.contract import N_CHECKED, N_TUNED, TimeEstimate
from rectifold._engines.exact import costs, leaf_search, tree
from rectifold._engines.exact.index import LeafIndex

#: Number of queries on which costs are estimated.
_TRIAL = 32
#: Estimates are reported for searches of more seconds than this.
LONG = 180.0
#: A search that costs more than this, in nanoseconds of a core, is timed on this number of queries
#: per core.
_WORTH_TIMING, _TIMED = 30e9, 256


@dataclass(frozen=True, slots=True, eq=False)
class Price:
    """The estimated cost of a search."""

    #: Nanoseconds of a core.
    cost: float
    #: A k-d tree, if it is faster than leaves, and the average number of points that a query visits
    #: in it.
    tree: cKDTree | None = None
    visited: float = 0.0


def price(
    index: LeafIndex,
    k: int,
    places: Ints,
    bounds: Floats,
    *,
    targets: Ints | None = None,
    which: Ints | None = None,
    most: float = np.inf,
    times: float = 1.0,
) -> Price:
    """Estimate the cost of the search for `places` among the points `targets`, ascending.

    `bounds` are squared distances, in coordinates, that include the neighbours; `which` are the
    leaves of the targets. Both default to all. The price has a tree if that is `times` cheaper than
    leaves; it is tried only if it can be built in a small part of `most` nanoseconds.
    """
    frame, values = index.frame, index.groups.values
    n, d = values.shape if targets is None else (len(targets), values.shape[1])
    n_leaves = frame.leaves.n if which is None else len(which)
    bound = costs.by_products(len(places), n_leaves, n, d)
    # Compiled searches of leaves are faster than trees.
    compiled = CompiledFrame.of(frame, index.weights) is not None
    tree_pays = (
        not sparse.issparse(values) and not compiled and costs.worth_a_trial(n, d, min(bound, most))
    )
    if not tree_pays and most == np.inf and bound < _WORTH_TIMING:
        # There is one way, and it is short: a rough estimate is enough.
        return Price(bound)
    tried = _evenly(len(places), _TRIAL)
    some = places[tried]
    squares, pairs = leaf_search.estimate(index, k, some, bounds[tried], which)
    products = costs.by_products(len(places), n_leaves, pairs, d)
    if not tree_pays or not costs.worth_a_trial(n, d, min(products, most)):
        return Price(products)
    built = cKDTree(values if n == len(values) else values[targets])
    affordable = costs.affordable_visits(n, len(places), d, products / times)
    # One factor at a time: its square may be out of range.
    squares = squares / frame.coordinates.factor / frame.coordinates.factor
    visited = costs.visited(built, values[frame.leaves.order[some]], squares, affordable)
    if visited > affordable:
        return Price(products)
    return Price(costs.by_tree(n, len(places), d, visited), built, visited)


def estimate_time(
    index: LeafIndex, k: int, places: Ints, bounds: Floats, best: Price, workers: Workers
) -> Iterator[TimeEstimate]:
    """Yield the time of a search if that is minutes, measured on a few of its queries."""
    if best.cost < _WORTH_TIMING * workers.jobs:
        return
    timed = _evenly(len(places), _TIMED * workers.jobs)
    start = perf_counter()
    candidates: Any
    if best.tree is None:
        candidates = leaf_search.search(index, k, places[timed], bounds[timed], workers)
    else:
        points = np.sort(index.frame.leaves.order[places[timed]])
        queries = index.groups.values[points]
        candidates = tree.search(best.tree, index.groups.counts, k, queries, workers.jobs)
    deque(candidates, maxlen=0)
    seconds = (perf_counter() - start) * len(places) / len(timed)
    if seconds > LONG:
        n, d = index.groups.values.shape
        approximate = costs.by_cells(len(places), n, d)
        faster = seconds * (approximate / best.cost + (N_CHECKED + N_TUNED) / len(places))
        if faster < seconds / 2:
            yield TimeEstimate(seconds, faster)


def _evenly(n: int, most: int) -> Ints:
    """Return up to `most` of n positions, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)
