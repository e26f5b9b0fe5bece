"""The exact engine on the CPU: certificates for most rows, a true search for the rest."""

from collections.abc import Callable, Generator, Iterator

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.contract import Answer, Certified, PairCount, Proposal
from rectifold._engines.exact import leaf_search, pairwise, tree
from rectifold._engines.exact.certificates import SearchState, certify, count_nearer
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.exact.estimates import estimate_time, price, price_among
from rectifold._engines.exact.index import TARGET, LeafIndex, build_index, build_target_index
from rectifold._engines.exact.leaf_search import Candidates
from rectifold._engines.settle import squared
from rectifold._engines.threads import Workers
from rectifold._engines.zero_vectors import search_nonzero


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Answer, None, None]:
    """Give a certificate to most rows, and propose neighbours of the others.

    Parameters
    ----------
    points : Points
        Points with one of the metrics of the exact engines.
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
    yield from _on_ground(points, labels, k, n_jobs, answer_all)


def _on_ground(
    points: Points,
    labels: Ints,
    k: int,
    n_jobs: int | None,
    use: Callable[[LeafIndex, int, Workers], Generator[Answer, None, None]],
) -> Generator[Answer, None, None]:
    """Lay the index of rows that have a direction, and answer for all rows by some use of it."""
    with Workers(n_jobs) as workers:

        def among(values: Matrix, labels: Ints, ceiling: float) -> Generator[Answer, None, None]:
            cosine = points.metric == "cosine"
            index = build_index(values, labels, k, workers, unit_length=cosine, ceiling=ceiling)
            return use(index, k, workers)

        yield from search_nonzero(points, labels, k, among)


def certify_only(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Certified, None, None]:
    """Give certificates, and nothing to the other rows.

    Parameters
    ----------
    points, labels, k, n_jobs
        As for `propose`. Rows of class `MIXED` get none, and stand against all others.

    Yields
    ------
    Certified
    """

    def use(index: LeafIndex, k: int, workers: Workers) -> Generator[Answer, None, None]:
        if index.single_leaf:
            return _whole(index, k, workers)
        return certify_all(index, k, index.initial_state(), workers)

    for answer in _on_ground(points, labels, k, n_jobs, use):
        if isinstance(answer, Certified):
            yield answer


def propose_among(
    points: Points,
    targets: int,
    rows: Ints,
    k: int,
    *,
    within: Floats | None = None,
    n_jobs: int | None = None,
) -> Generator[Proposal, None, None]:
    """Propose the neighbours of some rows among the first ones of a table.

    Parameters
    ----------
    points : Points
        Points with one of the metrics of the exact engines.
    targets : int
        Neighbours are looked for among so many rows; those after them are asked for only.
    rows : ndarray of int
        Whose neighbours are wanted, ascending.
    k : int
        Neighbours per row, at most.
    within : ndarray of shape (n_rows,), default=None
        Farther rows than this, for each of `rows`, are of no use.
    n_jobs : int or None
        Cores, as in scikit-learn.

    Yields
    ------
    Proposal
        For each of the rows once; candidates hold its k nearest rows among the targets, as far as
        those are within reach.
    """
    reach = np.full(points.n, -1.0)
    reach[rows] = np.inf if within is None else squared(within, str(points.metric))
    with Workers(n_jobs) as workers:

        def among(values: Matrix, numbers: Ints, _: float) -> Generator[Answer, None, None]:
            asked = np.flatnonzero(reach[numbers] >= 0)
            if not (numbers < targets).any():
                nothing = np.empty(0, dtype=np.intp)
                yield Proposal(asked, np.zeros(len(asked) + 1, dtype=np.intp), nothing)
                return
            cosine = points.metric == "cosine"
            index = build_target_index(values, numbers < targets, k, workers, unit_length=cosine)
            yield from _found_among(index, asked, reach[numbers[asked]], k, workers)

        for answer in search_nonzero(points, np.arange(points.n), k, among):
            if isinstance(answer, Proposal):
                yield answer.only(reach[answer.rows] >= 0).below(targets)


def count_among(
    points: Points,
    targets: int,
    rows: Ints,
    distances: Floats,
    k: int,
    *,
    n_jobs: int | None = None,
) -> Ints:
    """Count, among the first rows of a table, those that are nearer to some rows than a distance.

    Parameters
    ----------
    points, targets, rows, n_jobs
        As for `propose_among`.
    distances : ndarray of shape (n_rows,)
        One for each of `rows`.
    k : int
        Whoever has k has enough.

    Returns
    -------
    ndarray of shape (n_rows,)
        There are so many at least, the row itself not counted; beyond k anything goes.
    """
    counts = np.zeros(len(rows), dtype=np.intp)
    # Rows without a direction are no nearer than 1 to any other, and are left out.
    directed = np.arange(points.n) if points.zero is None else np.flatnonzero(~points.zero)
    place = np.full(points.n, -1)
    place[directed] = np.arange(len(directed))
    mine = np.flatnonzero((place[rows] >= 0) & (distances > 0))
    if not len(mine) or not len(directed) or directed[0] >= targets:
        return counts
    values = points.values if points.zero is None else points.values[directed]
    with Workers(n_jobs) as workers:
        cosine = points.metric == "cosine"
        index = build_target_index(values, directed < targets, k, workers, unit_length=cosine)
        places = index.places()[index.groups.points()[place[rows[mine]]]]
        # A little less, so that rounding can't make a row that is as far look nearer.
        squares = squared(distances[mine], str(points.metric)) * (1 - 4e-9)
        squares = index.frame.coordinates.scaled(squares)
        which = index.frame.leaves.of(TARGET)
        counts[mine] = count_nearer(index.frame, index.weights, k, places, squares, which, workers)
    return np.maximum(counts - (rows < targets), 0)


def _found_among(
    index: LeafIndex, rows: Ints, squares: Floats, k: int, workers: Workers
) -> Generator[Answer, None, None]:
    """Search for some rows of a index that is laid apart, each within a squared distance."""
    if not len(rows):
        return
    # Rows on one point share the widest bound.
    by_point = np.full(len(index.groups.counts), -1.0)
    np.maximum.at(by_point, index.groups.points()[rows], squares)
    points = np.flatnonzero(by_point >= 0)
    places = index.places()[points]
    places, points = np.sort(places), points[np.argsort(places)]
    bounds = index.frame.coordinates.scaled(by_point[points])
    which = index.frame.leaves.of(TARGET)
    targets = np.flatnonzero(index.classes == TARGET)
    # Leaves are there already, and bounds are tight: the estimate is in favour of a tree.
    best = price_among(index, k, places, bounds, targets, which, times=3)
    if best.tree is not None:
        queries, counts = index.groups.values[points], index.counts()[targets]
        within = by_point[points]
        for some, offsets, near in tree.search(
            best.tree, counts, k, queries, workers.jobs, within=within
        ):
            yield from index.groups.expand(points[some], offsets, targets[near], k)
        return
    # A bound below what single precision tells apart would only cost time.
    bounds = np.where(index.frame.resolves(bounds, places), bounds, np.inf)
    for found in leaf_search.search(
        index.frame, index.weights, k, places, bounds, workers, which=which, tight=True
    ):
        yield from _expanded(index, found, k)


def propose_some(
    points: Points, rows: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Proposal, None, None]:
    """Propose the neighbours of some rows only, among all.

    Parameters
    ----------
    points : Points
        Points with one of the metrics of the exact engines.
    rows : ndarray of int
        Whose neighbours are wanted, each once.
    k : int
        Neighbours per row.
    n_jobs : int or None
        Cores, as in scikit-learn.

    Yields
    ------
    Proposal
        For each of the rows once.
    """
    wanted = np.zeros(points.n, dtype=np.intp)
    wanted[rows] = 1
    with Workers(n_jobs) as workers:

        def among(values: Matrix, asked: Ints, ceiling: float) -> Generator[Answer, None, None]:
            # A class for all: certificates are of no use here.
            nobody = np.full(len(asked), MIXED)
            cosine = points.metric == "cosine"
            index = build_index(values, nobody, k, workers, unit_length=cosine, ceiling=ceiling)
            return neighbours_of(index, np.flatnonzero(asked), k, workers)

        for answer in search_nonzero(points, wanted, k, among):
            if isinstance(answer, Proposal):
                yield answer.only(wanted[answer.rows] == 1)


def answer_all(index: LeafIndex, k: int, workers: Workers) -> Generator[Answer, None, None]:
    """Answer for all rows of a index."""
    if index.single_leaf:
        yield from _whole(index, k, workers)
        return
    state = index.initial_state()
    yield from certify_all(index, k, state, workers)
    yield from search_uncertified(index, k, state, workers)


def neighbours_of(
    index: LeafIndex, rows: Ints, k: int, workers: Workers
) -> Generator[Answer, None, None]:
    """Propose the neighbours of some rows, ascending, with as little as is needed for them."""
    points = index.groups.points()[rows]
    wanted = np.zeros(len(index.groups.members), dtype=bool)
    wanted[rows] = True
    places = np.sort(index.places()[np.unique(points)])
    if index.single_leaf:
        nobody = np.full(len(index.weights), MIXED)
        found: Iterator[Candidates] = (
            seen.found
            for seen in pairwise.search(
                index.frame, nobody, index.weights, k, places, workers, ceiling=index.ceiling
            )
        )
    else:
        bounds = np.full(len(places), np.inf)
        found = leaf_search.search(index.frame, index.weights, k, places, bounds, workers)
    for one in found:
        yield PairCount(one.pairs)
        for proposal in _expanded(index, one, k):
            yield proposal.only(wanted[proposal.rows])


def _whole(index: LeafIndex, k: int, workers: Workers) -> Generator[Answer, None, None]:
    order, frame = index.frame.leaves.order, index.frame
    places = np.arange(len(order))
    for seen in pairwise.search(
        frame, index.classes[order], index.weights, k, places, workers, ceiling=index.ceiling
    ):
        yield PairCount(seen.found.pairs)
        yield Certified(index.groups.rows(order[seen.certified]))
        yield from _expanded(index, seen.found, k)


def certify_all(
    index: LeafIndex, k: int, state: SearchState, workers: Workers
) -> Generator[Answer, None, None]:
    """Give all certificates there are to be had."""
    order = index.frame.leaves.order
    for places in certify(index.frame, index.weights, k, state, workers, ceiling=index.ceiling):
        yield Certified(index.groups.rows(order[places]))
    yield PairCount(state.pairs)


def search_uncertified(
    index: LeafIndex, k: int, state: SearchState, workers: Workers
) -> Generator[Answer, None, None]:
    """Propose the neighbours of all rows without a certificate."""
    left = np.flatnonzero(~state.certified)
    if not len(left):
        return
    frame, groups, weights = index.frame, index.groups, index.weights
    best = price(index, k, state)
    yield from estimate_time(index, k, state, best, workers)
    if best.tree is None:
        bounds = state.bounds[left]
        for found in leaf_search.search(frame, weights, k, left, bounds, workers):
            yield PairCount(found.pairs)
            yield from _expanded(index, found, k)
        return
    yield PairCount(int(best.visited * len(left)))
    points = np.sort(frame.leaves.order[left])
    queries = groups.values[points]
    for some, offsets, near in tree.search(best.tree, groups.counts, k, queries, workers.jobs):
        yield from groups.expand(points[some], offsets, near, k)


def _expanded(index: LeafIndex, found: Candidates, k: int) -> Generator[Proposal, None, None]:
    """Places become points, and points the rows on them."""
    order = index.frame.leaves.order
    if len(found.places):
        yield from index.groups.expand(
            order[found.places], found.offsets, order[found.neighbours], k
        )
