"""The exact engine on the CPU: certificates for most rows, a true search for the rest."""

from collections.abc import Generator

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from rectifold._typing import Floats, Ints, Matrix
from rectifold.engines.contract import Answer, Certified, Looked, Proposal
from rectifold.engines.directions import apart_from_zero
from rectifold.engines.exact import costs, remaining, tree, whole
from rectifold.engines.exact.certificates import Standing, certify
from rectifold.engines.exact.coordinates import stays_sparse
from rectifold.engines.exact.groups import Groups, group
from rectifold.engines.exact.leaves import EMPTY
from rectifold.engines.exact.products import Frame, build
from rectifold.engines.exact.remaining import Found
from rectifold.engines.exact.workers import Workers
from rectifold.space import Points

#: The metrics searched for here: one order of neighbours, or that of normalised rows.
METRICS = ("euclidean", "sqeuclidean", "cosine")
#: Queries on which costs are estimated.
_TRIAL = 32


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Answer, None, None]:
    """Give a certificate to most rows, and propose neighbours of the others.

    Parameters
    ----------
    points : Points
        Points with one of `METRICS`.
    labels : ndarray of shape (n_rows,)
        Class codes.
    k : int
        Neighbours per row.
    n_jobs : int or None
        Cores, as in scikit-learn. The answers don't depend on it.

    Yields
    ------
    Answer
    """
    with Workers(n_jobs) as workers:

        def among(values: Matrix, labels: Ints, ceiling: float) -> Generator[Answer, None, None]:
            cosine = points.metric == "cosine"
            return _propose(values, labels, k, workers, unit_length=cosine, ceiling=ceiling)

        yield from apart_from_zero(points, labels, k, among)


def _propose(
    values: Matrix,
    labels: Ints,
    k: int,
    workers: Workers,
    *,
    unit_length: bool,
    ceiling: float,
) -> Generator[Answer, None, None]:
    """The same for rows that all have a direction; others are as far as the ceiling."""
    groups = group(values)
    size = costs.leaf_size(len(groups.counts), k, sparse=stays_sparse(groups.values))
    # A class that would leave most slots of its leaf empty is not worth one.
    classes = groups.classes(labels, least=1 if size is None else size // 8)
    frame = build(groups.values, classes, size, workers, unit_length=unit_length)
    # Where single precision proves nothing, as with very many columns, all is in double.
    frame = frame if frame.usable else frame.finer()
    if unit_length:
        ceiling *= frame.coordinates.factor**2
    if size is None:
        yield from _whole(frame, groups, classes, k, workers, ceiling)
    else:
        yield from _in_leaves(frame, groups, k, workers, ceiling)


def _whole(
    frame: Frame, groups: Groups, classes: Ints, k: int, workers: Workers, ceiling: float
) -> Generator[Answer, None, None]:
    order = frame.leaves.order
    places = np.arange(len(order))
    for seen in whole.search(
        frame, classes[order], groups.counts[order], k, places, workers, ceiling=ceiling
    ):
        yield Looked(seen.found.pairs)
        yield Certified(groups.rows(order[seen.certified]))
        yield from _expanded(groups, order, seen.found, k)


def _in_leaves(
    frame: Frame, groups: Groups, k: int, workers: Workers, ceiling: float
) -> Generator[Answer, None, None]:
    order = frame.leaves.order
    weights = np.where(order == EMPTY, 0, groups.counts[order])
    standing = Standing(np.full(len(order), np.inf), order == EMPTY)
    for places in certify(frame, weights, k, standing, workers, ceiling=ceiling):
        yield Certified(groups.rows(order[places]))
    yield Looked(standing.pairs)
    left = np.flatnonzero(~standing.certified)
    if not len(left):
        return
    bounds = standing.bounds[left]
    built, visited = _tree_if_cheaper(frame, weights, k, left, bounds, groups.values)
    if built is None:
        for found in remaining.search(frame, weights, k, left, bounds, workers):
            yield Looked(found.pairs)
            yield from _expanded(groups, order, found, k)
        return
    yield Looked(int(visited * len(left)))
    points = np.sort(order[left])
    for some, offsets, near in tree.search(built, groups.counts, k, points, workers.jobs):
        yield from groups.expand(some, offsets, near, k)


def _expanded(groups: Groups, order: Ints, found: Found, k: int) -> Generator[Proposal, None, None]:
    """Places become points, and points the rows on them."""
    if len(found.places):
        yield from groups.expand(order[found.places], found.offsets, order[found.neighbours], k)


def _tree_if_cheaper(
    frame: Frame, weights: Ints, k: int, places: Ints, bounds: Floats, values: Matrix
) -> tuple[cKDTree | None, float]:
    """Build a k-d tree where it will find the neighbours of some queries sooner than leaves.

    Gives the tree, and the points that a query looks at in it, on average.
    """
    n, d = values.shape
    leaves = frame.leaves
    most = costs.by_products(len(places), leaves.n, n, d)
    if sparse.issparse(values) or not costs.worth_a_trial(n, d, most):
        return None, 0.0
    some = np.linspace(0, len(places) - 1, min(len(places), _TRIAL)).astype(np.intp)
    squares, pairs = remaining.estimate(frame, weights, k, places[some], bounds[some])
    products = costs.by_products(len(places), leaves.n, pairs, d)
    if not costs.worth_a_trial(n, d, products):
        return None, 0.0
    built = cKDTree(values)
    queries = values[leaves.order[places[some]]]
    affordable = costs.affordable_visits(n, len(places), d, products)
    # One factor at a time: its square may be out of range.
    squares = squares / frame.coordinates.factor / frame.coordinates.factor
    visited = costs.visited(built, queries, squares, affordable)
    return (built, visited) if visited <= affordable else (None, 0.0)
