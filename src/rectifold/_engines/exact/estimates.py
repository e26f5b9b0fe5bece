"""Estimates of the cost of a search, before it starts, and the choice of a k-d tree for it."""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from rectifold._core.utils import Floats, Ints
from rectifold._engines.contract import N_CHECKED, N_TUNED, TimeEstimate
from rectifold._engines.exact import costs, leaf_search, tree
from rectifold._engines.exact.index import LeafIndex, SearchState
from rectifold._engines.threads import Workers

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


def price(index: LeafIndex, k: int, state: SearchState, *, most: float = np.inf) -> Price:
    """Estimate the cost of the search for all points without a certificate; see `price_among`."""
    places = np.flatnonzero(~state.certified)
    every = np.arange(len(index.groups.counts))
    return price_among(index, k, places, state.bounds[places], every, most=most)


def price_among(
    index: LeafIndex,
    k: int,
    places: Ints,
    bounds: Floats,
    targets: Ints,
    which: Ints | None = None,
    *,
    most: float = np.inf,
    times: float = 1.0,
) -> Price:
    """Estimate the cost of the search for `places` among the points `targets`, ascending.

    `bounds` are squared distances, in coordinates, that include the neighbours; `which` are the
    leaves of the targets, all by default. The price has a tree if that is `times` cheaper than
    leaves; it is tried only if it can be built in a small part of `most` nanoseconds.
    """
    frame, values = index.frame, index.groups.values
    leaves = frame.leaves
    n, d = len(targets), values.shape[1]
    n_leaves = leaves.n if which is None else len(which)
    bound = costs.by_products(len(places), n_leaves, n, d)
    tree_pays = not sparse.issparse(values) and costs.worth_a_trial(n, d, min(bound, most))
    if not tree_pays and most == np.inf and bound < _WORTH_TIMING:
        # There is one way, and it is short: a rough estimate is enough.
        return Price(bound)
    tried = np.linspace(0, len(places) - 1, min(len(places), _TRIAL)).astype(np.intp)
    some = places[tried]
    squares, pairs = leaf_search.estimate(index, k, some, bounds[tried], which)
    products = costs.by_products(len(places), n_leaves, pairs, d)
    if not tree_pays or not costs.worth_a_trial(n, d, min(products, most)):
        return Price(products)
    built = cKDTree(values if n == len(values) else values[targets])
    affordable = costs.affordable_visits(n, len(places), d, products / times)
    # One factor at a time: its square may be out of range.
    squares = squares / frame.coordinates.factor / frame.coordinates.factor
    visited = costs.visited(built, values[leaves.order[some]], squares, affordable)
    if visited > affordable:
        return Price(products)
    return Price(costs.by_tree(n, len(places), d, visited), built, visited)


def estimate_time(
    index: LeafIndex, k: int, state: SearchState, best: Price, workers: Workers
) -> Generator[TimeEstimate, None, None]:
    """Yield the time of a search if that is minutes, measured on a few of its queries."""
    if best.cost < _WORTH_TIMING * workers.jobs:
        return
    left = np.flatnonzero(~state.certified)
    some = left[
        np.linspace(0, len(left) - 1, min(len(left), _TIMED * workers.jobs)).astype(np.intp)
    ]
    start = perf_counter()
    candidates: Any
    if best.tree is None:
        bounds = state.bounds[some]
        candidates = leaf_search.search(index, k, some, bounds, workers)
    else:
        points = np.sort(index.frame.leaves.order[some])
        queries = index.groups.values[points]
        candidates = tree.search(best.tree, index.groups.counts, k, queries, workers.jobs)
    deque(candidates, maxlen=0)
    seconds = (perf_counter() - start) * len(left) / len(some)
    if seconds > LONG:
        n, d = index.groups.values.shape
        approximate = costs.by_cells(len(left), n, d)
        faster = seconds * (approximate / best.cost + (N_CHECKED + N_TUNED) / len(left))
        if faster < seconds / 2:
            yield TimeEstimate(seconds, faster)
