"""Zero vectors under the cosine metric: they are at distance 1 from all samples."""

from collections.abc import Callable, Generator, Iterator

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.contract import Answer, Certified, CheckSample, Proposal
from rectifold._engines.exact.duplicates import ranges
from rectifold._engines.settle import squared

#: Maximum number of candidates of a proposal.
_PAIRS = 1 << 20
#: The squared distance of normalised samples from zero vectors, slightly reduced, so that rounding
#: can't make a sample at that distance look nearer.
SQUARED_DISTANCE = 2 * (1 - 1e-6)

#: A search among non-zero samples: their values, their labels, and a squared distance at which
#: samples of other classes lie that are not among them.
NonzeroSearch = Callable[[Matrix, Ints, float], Iterator[Answer]]


def search_nonzero(
    points: Points, labels: Ints, k: int, among: NonzeroSearch
) -> Generator[Answer, None, None]:
    """Yield the answers of a search among the non-zero samples, and answers for the others."""
    if points.zero is None:
        yield from among(points.values, labels, np.inf)
        return
    # A zero vector is at distance 1 from all, so its neighbours are the first samples of the
    # table; and every other sample may need the first zero vectors.
    zeros, rows = np.flatnonzero(points.zero), np.flatnonzero(~points.zero)
    first = np.arange(min(k + 1, points.n))
    step = max(1, _PAIRS // len(first))
    for at in range(0, len(zeros), step):
        some = zeros[at : at + step]
        yield Proposal(some, np.arange(len(some) + 1) * len(first), np.tile(first, len(some)))
    if not len(rows):
        return
    for answer in among(points.values[rows], labels[rows], SQUARED_DISTANCE):
        if isinstance(answer, Certified):
            yield Certified(rows[answer.rows])
        elif isinstance(answer, Proposal):
            yield _translated(answer, rows, zeros[: k + 1])
        elif isinstance(answer, CheckSample):
            truth = _translated(answer.proposal, rows, zeros[: k + 1])
            yield CheckSample(truth, answer.drawn_from)
        else:
            yield answer


def search_targets(
    points: Points,
    targets: int,
    rows: Ints,
    k: int,
    within: Floats | None,
    among: Callable[[Matrix, Bools, Ints, Floats], Iterator[Answer]],
) -> Generator[Proposal, None, None]:
    """Yield neighbours of `rows`, ascending, among the first `targets` points.

    `among` is a search among the non-zero samples: called with their values, which of them are
    targets, the positions of the queries, and for every sample the squared distance within which
    neighbours are needed.
    """
    reach = np.full(points.n, -1.0)
    reach[rows] = np.inf if within is None else squared(within, str(points.metric))

    def search(values: Matrix, numbers: Ints, _: float) -> Iterator[Answer]:
        queries = np.flatnonzero(reach[numbers] >= 0)
        if not (numbers < targets).any():
            nothing = np.empty(0, dtype=np.intp)
            yield Proposal(queries, np.zeros(len(queries) + 1, dtype=np.intp), nothing)
        elif len(queries):
            yield from among(values, numbers < targets, queries, reach[numbers])

    for answer in search_nonzero(points, np.arange(points.n), k, search):
        if isinstance(answer, Proposal):
            yield answer.only(reach[answer.rows] >= 0).below(targets)


def _translated(answer: Proposal, rows: Ints, extra: Ints) -> Proposal:
    """Translate a proposal among `rows` to indices of the table, and add `extra` to each sample."""
    return with_candidates(
        Proposal(rows[answer.rows], answer.offsets, rows[answer.candidates]), extra
    )


def with_candidates(answer: Proposal, extra: Ints) -> Proposal:
    """Add the candidates `extra` to each sample of a proposal."""
    lengths = np.diff(answer.offsets)
    offsets = answer.offsets + len(extra) * np.arange(len(answer.offsets))
    candidates = np.empty(offsets[-1], dtype=np.intp)
    candidates[ranges(offsets[:-1], lengths)] = answer.candidates
    candidates[(offsets[1:, None] - len(extra) + np.arange(len(extra))).ravel()] = np.tile(
        extra, len(lengths)
    )
    return Proposal(answer.rows, offsets, candidates)
