"""The exact search: certificates, then a tree, leaves or all pairs for the remaining samples."""

from collections.abc import Callable, Generator, Iterator

import numpy as np

from rectifold._core.space import Points
from rectifold._core.threads import Workers
from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.contract import (
    Answer,
    Certified,
    PairCount,
    Proposal,
    sorted_proposal,
)
from rectifold._engines.exact import leaf_search, pairwise, tree
from rectifold._engines.exact.certificates import certify, count_nearer
from rectifold._engines.exact.clouds import search_apart
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.exact.estimates import estimate_time, price
from rectifold._engines.exact.index import (
    TARGET,
    LeafIndex,
    SearchState,
    build_index,
    build_target_index,
)
from rectifold._engines.exact.leaf_search import Candidates
from rectifold._engines.settle import settle_few, squared
from rectifold._engines.zero_vectors import search_nonzero, search_targets

#: With fewer pairs of values, threads take longer to start than they save.
_ALONE = 1 << 30


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Answer, None, None]:
    """Yield certificates for most samples, and neighbours of the others."""
    yield from _with_index(points, labels, k, n_jobs, answer_all, in_clouds=True)


def certify_only(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Iterator[Certified]:
    """Yield certificates; samples labelled `MIXED` get none, and prevent those of all classes."""

    def use(index: LeafIndex, k: int, workers: Workers) -> Iterator[Answer]:
        if index.single_leaf:
            return _compare_all_pairs(index, k, workers)
        return certify_all(index, k, index.initial_state(), workers)

    for answer in _with_index(points, labels, k, n_jobs, use, in_clouds=True):
        if isinstance(answer, Certified):
            yield answer


def _with_index(
    points: Points,
    labels: Ints,
    k: int,
    n_jobs: int | None,
    use: Callable[[LeafIndex, int, Workers], Iterator[Answer]],
    *,
    in_clouds: bool = False,
) -> Iterator[Answer]:
    """Yield what `use` yields for an index of the non-zero samples, and answers for the others.

    With `in_clouds`, groups of samples that are far apart have an index each.
    """
    cosine = points.metric == "cosine"
    few = points.n**2 * points.values.shape[1] < _ALONE
    with Workers(1 if few else n_jobs) as workers:

        def among(values: Matrix, labels: Ints, ceiling: float) -> Iterator[Answer]:
            samples = Points(values, points.metric)
            index = build_index(samples, labels, k, workers, ceiling=ceiling)
            return use(index, k, workers)

        def apart(values: Matrix, labels: Ints, ceiling: float) -> Iterator[Answer]:
            return search_apart(values, labels, k, ceiling, among, workers)

        yield from search_nonzero(points, labels, k, apart if in_clouds and not cosine else among)


def propose_among(
    points: Points,
    targets: int,
    rows: Ints,
    k: int,
    *,
    within: Floats | None = None,
    n_jobs: int | None = None,
) -> Iterator[Proposal]:
    """Yield neighbours of `rows`, ascending, among the first `targets` points.

    There may be fewer than k candidates. Those farther than `within`, one distance for each of
    `rows`, may be missing.
    """
    with Workers(n_jobs) as workers:

        def among(
            values: Matrix, is_target: Bools, queries: Ints, reach: Floats
        ) -> Iterator[Answer]:
            index = build_target_index(Points(values, points.metric), is_target, k, workers)
            return _search_targets(index, queries, reach[queries], k, workers)

        yield from search_targets(points, targets, rows, k, within, among)


def count_among(
    points: Points,
    targets: int,
    rows: Ints,
    distances: Floats,
    k: int,
    *,
    n_jobs: int | None = None,
) -> Ints:
    """Count the first `targets` points that are nearer to each of `rows` than its distance.

    The counts are lower bounds, without the sample itself. Counting may stop at k.
    """
    counts = np.zeros(len(rows), dtype=np.intp)
    # Zero vectors are at distance 1 from all, so they are left out.
    nonzero = np.arange(points.n) if points.zero is None else np.flatnonzero(~points.zero)
    position = np.full(points.n, -1)
    position[nonzero] = np.arange(len(nonzero))
    queries = np.flatnonzero((position[rows] >= 0) & (distances > 0))
    if not len(queries) or not len(nonzero) or nonzero[0] >= targets:
        return counts
    values = points.values if points.zero is None else points.values[nonzero]
    with Workers(n_jobs) as workers:
        samples = Points(values, points.metric)
        index = build_target_index(samples, nonzero < targets, k, workers)
        places = index.places()[index.groups.points()[position[rows[queries]]]]
        # Slightly reduced, so that rounding can't make a point at that distance look nearer.
        squares = squared(distances[queries], str(points.metric)) * (1 - 4e-9)
        squares = index.frame.coordinates.scaled(squares)
        which = index.frame.leaves.of(TARGET)
        counts[queries] = count_nearer(index, k, places, squares, which, workers)
    return np.maximum(counts - (rows < targets), 0)


def _search_targets(
    index: LeafIndex, rows: Ints, squares: Floats, k: int, workers: Workers
) -> Iterator[Answer]:
    """Search the target leaves for neighbours of some samples, each within a squared distance."""
    if not len(rows):
        return
    # Samples on one point share the widest bound.
    by_point = np.full(len(index.groups.counts), -1.0)
    np.maximum.at(by_point, index.groups.points()[rows], squares)
    points = np.flatnonzero(by_point >= 0)
    places = index.places()[points]
    places, points = np.sort(places), points[np.argsort(places)]
    bounds = index.frame.coordinates.scaled(by_point[points])
    which = index.frame.leaves.of(TARGET)
    targets = np.flatnonzero(index.classes == TARGET)
    # The leaves are built already and bounds are tight, so that a tree must be much cheaper.
    best = price(index, k, places, bounds, targets=targets, which=which, times=3)
    if best.tree is not None:
        queries, counts = index.groups.values[points], index.weights[index.places()[targets]]
        within = by_point[points]
        for some, offsets, near in tree.search(
            best.tree, counts, k, queries, workers.jobs, within=within
        ):
            yield from index.groups.expand(points[some], offsets, targets[near], k, index.samples)
        return
    # A bound below the resolution of single precision would only cost time.
    bounds = np.where(index.frame.resolves(bounds, places), bounds, np.inf)
    for candidates in leaf_search.search(
        index, k, places, bounds, workers, which=which, tight=True
    ):
        yield from _expanded(index, candidates, k)


def propose_some(
    points: Points, rows: Ints, k: int, *, n_jobs: int | None = None
) -> Iterator[Proposal]:
    """Yield the neighbours of `rows` among all samples."""
    queried = np.zeros(points.n, dtype=bool)
    queried[rows] = True
    nonzero = queried if points.zero is None else queried[~points.zero]
    # One class for all: no certificates are needed.
    mixed = np.full(points.n, MIXED)

    def use(index: LeafIndex, k: int, workers: Workers) -> Iterator[Answer]:
        return neighbours_of(index, np.flatnonzero(nonzero), k, workers)

    for answer in _with_index(points, mixed, k, n_jobs, use):
        if isinstance(answer, Proposal):
            yield answer.only(queried[answer.rows])


def answer_all(index: LeafIndex, k: int, workers: Workers) -> Iterator[Answer]:
    """Yield a certificate or the neighbours of every sample."""
    if index.single_leaf:
        yield from _compare_all_pairs(index, k, workers)
        return
    state = index.initial_state()
    yield from certify_all(index, k, state, workers)
    yield from search_uncertified(index, k, state, workers)


def neighbours_of(index: LeafIndex, rows: Ints, k: int, workers: Workers) -> Iterator[Answer]:
    """Yield the neighbours of some samples, ascending."""
    points = index.groups.points()[rows]
    wanted = np.zeros(len(index.groups.members), dtype=bool)
    wanted[rows] = True
    places = np.sort(index.places()[np.unique(points)])
    if index.single_leaf:
        # Mixed classes get no certificates.
        mixed = np.full(len(index.weights), MIXED)
        found: Iterator[Candidates] = (
            result.candidates for result in pairwise.search(index, mixed, k, places, workers)
        )
    else:
        bounds = np.full(len(places), np.inf)
        found = leaf_search.search(index, k, places, bounds, workers)
    for candidates in found:
        yield PairCount(candidates.pairs)
        for proposal in _expanded(index, candidates, k):
            yield proposal.only(wanted[proposal.rows])


def _compare_all_pairs(index: LeafIndex, k: int, workers: Workers) -> Iterator[Answer]:
    order = index.frame.leaves.order
    places = np.arange(len(order))
    for result in pairwise.search(index, index.classes[order], k, places, workers):
        yield PairCount(result.candidates.pairs)
        yield Certified(index.groups.rows(order[result.certified]))
        yield from _expanded(index, result.candidates, k)


def certify_all(index: LeafIndex, k: int, state: SearchState, workers: Workers) -> Iterator[Answer]:
    """Yield all certificates that cost less than a search; updates `state`."""
    for rows in certify(index, k, state, workers):
        yield Certified(rows)
    yield PairCount(state.pairs)


def search_uncertified(
    index: LeafIndex, k: int, state: SearchState, workers: Workers
) -> Iterator[Answer]:
    """Yield the neighbours of all samples without a certificate."""
    left = np.flatnonzero(~state.certified)
    if not len(left):
        return
    groups = index.groups
    bounds = state.bounds[left]
    best = price(index, k, left, bounds)
    yield from estimate_time(index, k, left, bounds, best, workers)
    if best.tree is None:
        found = leaf_search.search(index, k, left, bounds, workers)
        # Each thread settles what it has found.
        for candidates, proposals in workers.map(lambda one: (one, _settled(index, one, k)), found):
            yield PairCount(candidates.pairs)
            yield from proposals
        return
    yield PairCount(int(best.visited * len(left)))
    points = np.sort(index.frame.leaves.order[left])
    queries = groups.values[points]
    for some, offsets, near in tree.search(best.tree, groups.counts, k, queries, workers.jobs):
        yield from groups.expand(points[some], offsets, near, k, index.samples)


def _settled(index: LeafIndex, candidates: Candidates, k: int) -> list[Proposal]:
    """Return proposals with sorted neighbours and their distances."""
    proposals = []
    for proposal in _expanded(index, candidates, k):
        indices, distances, counts = settle_few(index.samples, proposal, k)
        # Zero vectors are missing here, and added later.
        enough = bool((counts >= k).all())
        proposals.append(sorted_proposal(proposal.rows, indices, distances) if enough else proposal)
    return proposals


def _expanded(index: LeafIndex, candidates: Candidates, k: int) -> Iterator[Proposal]:
    """Translate places to points, and points to the samples on them."""
    order = index.frame.leaves.order
    if len(candidates.places):
        yield from index.groups.expand(
            order[candidates.places],
            candidates.offsets,
            order[candidates.neighbours],
            k,
            index.samples,
        )
