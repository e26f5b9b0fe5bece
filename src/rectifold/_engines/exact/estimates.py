"""What a search for rows without a certificate will cost, before it is begun."""

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
from rectifold._engines.exact.certificates import SearchState
from rectifold._engines.exact.index import LeafIndex
from rectifold._engines.threads import Workers

#: Queries on which costs are estimated.
_TRIAL = 32
#: A search that takes more seconds than this is announced.
LONG = 180.0
#: One that costs less, in nanoseconds of a core, surely does not; of one that costs more, so many
#: queries are timed, for every core.
_WORTH_TIMING, _LOOK = 30e9, 256


@dataclass(frozen=True, slots=True, eq=False)
class Price:
    """What the search for rows without a certificate will cost, and how it is best done."""

    #: Nanoseconds of a core.
    cost: float
    #: A k-d tree, where it will find the neighbours sooner than leaves; and the points that a
    #: query looks at in it, on average.
    tree: cKDTree | None = None
    visited: float = 0.0


def price(index: LeafIndex, k: int, state: SearchState, *, most: float = np.inf) -> Price:
    """Estimate what the search for all rows without a certificate will cost.

    A tree is tried only if building it takes a small part of `most` nanoseconds.
    """
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
    """Estimate what the search for some places will cost, each within its bound.

    Parameters
    ----------
    index : LeafIndex
        Points in leaves.
    k : int
        Neighbours per row.
    places : ndarray of int
        Who is searched for.
    bounds : ndarray
        Squared distances, in coordinates of the index, within which their neighbours are.
    targets : ndarray of int
        The points that may be found, ascending.
    which : ndarray of int or None
        The leaves that hold them; None for all.
    most : float
        A tree is tried only if building it takes a small part of so many nanoseconds.
    times : float
        How many times cheaper a tree must be.

    Returns
    -------
    Price
        With a tree of the targets, if that is cheaper.
    """
    frame, values = index.frame, index.groups.values
    leaves = frame.leaves
    n, d = len(targets), values.shape[1]
    n_leaves = leaves.n if which is None else len(which)
    bound = costs.by_products(len(places), n_leaves, n, d)
    tree_pays = not sparse.issparse(values) and costs.worth_a_trial(n, d, min(bound, most))
    if not tree_pays and most == np.inf and bound < _WORTH_TIMING:
        # There is one way, and it is short: what it costs exactly is nobody's business.
        return Price(bound)
    tried = np.linspace(0, len(places) - 1, min(len(places), _TRIAL)).astype(np.intp)
    some = places[tried]
    squares, pairs = leaf_search.estimate(frame, index.weights, k, some, bounds[tried], which)
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
    """Say how long a search will take, if that is minutes; measured on a few of its rows."""
    if best.cost < _WORTH_TIMING * workers.jobs:
        return
    left = np.flatnonzero(~state.certified)
    some = left[np.linspace(0, len(left) - 1, min(len(left), _LOOK * workers.jobs)).astype(np.intp)]
    start = perf_counter()
    found: Any
    if best.tree is None:
        bounds = state.bounds[some]
        found = leaf_search.search(index.frame, index.weights, k, some, bounds, workers)
    else:
        points = np.sort(index.frame.leaves.order[some])
        queries = index.groups.values[points]
        found = tree.search(best.tree, index.groups.counts, k, queries, workers.jobs)
    deque(found, maxlen=0)
    seconds = (perf_counter() - start) * len(left) / len(some)
    if seconds > LONG:
        n, d = index.groups.values.shape
        approximate = costs.by_cells(len(left), n, d)
        soon = seconds * (approximate / best.cost + (N_CHECKED + N_TUNED) / len(left))
        # If it is not much sooner, it is not worth a word.
        if soon < seconds / 2:
            yield TimeEstimate(seconds, soon)
