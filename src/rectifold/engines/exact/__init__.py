"""The exact engine on the CPU: certificates for most rows, a true search for the rest."""

from collections.abc import Generator, Iterator

import numpy as np

from rectifold._typing import Ints, Matrix
from rectifold.engines.contract import Answer, Certified, Looked, Proposal
from rectifold.engines.directions import apart_from_zero
from rectifold.engines.exact import remaining, tree, whole
from rectifold.engines.exact.certificates import Standing, certify
from rectifold.engines.exact.ground import Ground, lay
from rectifold.engines.exact.groups import MIXED
from rectifold.engines.exact.pricing import outlook, price
from rectifold.engines.exact.remaining import Found
from rectifold.engines.exact.workers import Workers
from rectifold.space import Points

#: The metrics searched for here: one order of neighbours, or that of normalised rows.
METRICS = ("euclidean", "sqeuclidean", "cosine")


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
            ground = lay(values, labels, k, workers, unit_length=cosine, ceiling=ceiling)
            return answers(ground, k, workers)

        yield from apart_from_zero(points, labels, k, among)


def propose_some(
    points: Points, rows: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Proposal, None, None]:
    """Propose the neighbours of some rows only, among all.

    Parameters
    ----------
    points : Points
        Points with one of `METRICS`.
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
            ground = lay(values, nobody, k, workers, unit_length=cosine, ceiling=ceiling)
            return neighbours_of(ground, np.flatnonzero(asked), k, workers)

        for answer in apart_from_zero(points, wanted, k, among):
            if isinstance(answer, Proposal):
                yield answer.only(wanted[answer.rows] == 1)


def answers(ground: Ground, k: int, workers: Workers) -> Generator[Answer, None, None]:
    """Answer for all rows of a ground."""
    if ground.whole:
        yield from _whole(ground, k, workers)
        return
    standing = ground.standing()
    yield from certificates(ground, k, standing, workers)
    yield from searched(ground, k, standing, workers)


def neighbours_of(
    ground: Ground, rows: Ints, k: int, workers: Workers
) -> Generator[Answer, None, None]:
    """Propose the neighbours of some rows, ascending, with as little as is needed for them."""
    points = ground.groups.points()[rows]
    wanted = np.zeros(len(ground.groups.members), dtype=bool)
    wanted[rows] = True
    places = np.sort(ground.places()[np.unique(points)])
    if ground.whole:
        nobody = np.full(len(ground.weights), MIXED)
        found: Iterator[Found] = (
            seen.found
            for seen in whole.search(
                ground.frame, nobody, ground.weights, k, places, workers, ceiling=ground.ceiling
            )
        )
    else:
        bounds = np.full(len(places), np.inf)
        found = remaining.search(ground.frame, ground.weights, k, places, bounds, workers)
    for one in found:
        yield Looked(one.pairs)
        for proposal in _expanded(ground, one, k):
            yield proposal.only(wanted[proposal.rows])


def _whole(ground: Ground, k: int, workers: Workers) -> Generator[Answer, None, None]:
    order, frame = ground.frame.leaves.order, ground.frame
    places = np.arange(len(order))
    for seen in whole.search(
        frame, ground.classes[order], ground.weights, k, places, workers, ceiling=ground.ceiling
    ):
        yield Looked(seen.found.pairs)
        yield Certified(ground.groups.rows(order[seen.certified]))
        yield from _expanded(ground, seen.found, k)


def certificates(
    ground: Ground, k: int, standing: Standing, workers: Workers
) -> Generator[Answer, None, None]:
    """Give all certificates there are to be had."""
    order = ground.frame.leaves.order
    for places in certify(
        ground.frame, ground.weights, k, standing, workers, ceiling=ground.ceiling
    ):
        yield Certified(ground.groups.rows(order[places]))
    yield Looked(standing.pairs)


def searched(
    ground: Ground, k: int, standing: Standing, workers: Workers
) -> Generator[Answer, None, None]:
    """Propose the neighbours of all rows without a certificate."""
    left = np.flatnonzero(~standing.certified)
    if not len(left):
        return
    frame, groups, weights = ground.frame, ground.groups, ground.weights
    best = price(ground, k, standing)
    yield from outlook(ground, k, standing, best, workers)
    if best.tree is None:
        bounds = standing.bounds[left]
        for found in remaining.search(frame, weights, k, left, bounds, workers):
            yield Looked(found.pairs)
            yield from _expanded(ground, found, k)
        return
    yield Looked(int(best.visited * len(left)))
    points = np.sort(frame.leaves.order[left])
    for some, offsets, near in tree.search(best.tree, groups.counts, k, points, workers.jobs):
        yield from groups.expand(some, offsets, near, k)


def _expanded(ground: Ground, found: Found, k: int) -> Generator[Proposal, None, None]:
    """Places become points, and points the rows on them."""
    order = ground.frame.leaves.order
    if len(found.places):
        yield from ground.groups.expand(
            order[found.places], found.offsets, order[found.neighbours], k
        )
