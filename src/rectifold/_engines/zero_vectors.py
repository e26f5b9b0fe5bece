"""Rows without a direction, under the cosine metric: at distance 1 from all, and so apart."""

from collections.abc import Callable, Generator

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Ints, Matrix
from rectifold._engines.contract import Answer, Certified, CheckSample, Proposal
from rectifold._engines.exact.duplicates import ranges

#: Candidates given at once.
_PAIRS = 1 << 20
#: Normalised rows are at this squared distance from a row without direction; a little less, so
#: that rounding can't make a row that is as far look nearer.
_ACROSS = 2 * (1 - 1e-6)

#: A search among rows that all have a direction: their values, their labels, and a squared distance
#: at which rows of other classes lie that are not among them.
Among = Callable[[Matrix, Ints, float], Generator[Answer, None, None]]


def search_nonzero(
    points: Points, labels: Ints, k: int, among: Among
) -> Generator[Answer, None, None]:
    """Search among the rows that have a direction, and answer for the others.

    Parameters
    ----------
    points : Points
        All rows.
    labels : ndarray of shape (n_rows,)
        Class codes, or what else goes with every row.
    k : int
        Neighbours per row.
    among : callable
        The search.

    Yields
    ------
    Answer
    """
    if points.zero is None:
        yield from among(points.values, labels, np.inf)
        return
    # A row without direction is at distance 1 from all, so its neighbours are the first
    # rows of the table; and every other row may need the first rows without direction.
    zeros, rows = np.flatnonzero(points.zero), np.flatnonzero(~points.zero)
    first = np.arange(min(k + 1, points.n))
    step = max(1, _PAIRS // len(first))
    for at in range(0, len(zeros), step):
        some = zeros[at : at + step]
        yield Proposal(some, np.arange(len(some) + 1) * len(first), np.tile(first, len(some)))
    if not len(rows):
        return
    for answer in among(points.values[rows], labels[rows], _ACROSS):
        if isinstance(answer, Certified):
            yield Certified(rows[answer.rows])
        elif isinstance(answer, Proposal):
            yield _with_everyone(answer, rows, zeros[: k + 1])
        elif isinstance(answer, CheckSample):
            truth = _with_everyone(answer.proposal, rows, zeros[: k + 1])
            yield CheckSample(truth, answer.drawn_from)
        else:
            yield answer


def _with_everyone(answer: Proposal, rows: Ints, extra: Ints) -> Proposal:
    """Translate a proposal among `rows` to row numbers of the table; add `extra` to each."""
    lengths = np.diff(answer.offsets)
    offsets = answer.offsets + len(extra) * np.arange(len(answer.offsets))
    candidates = np.empty(offsets[-1], dtype=np.intp)
    candidates[ranges(offsets[:-1], lengths)] = rows[answer.candidates]
    candidates[(offsets[1:, None] - len(extra) + np.arange(len(extra))).ravel()] = np.tile(
        extra, len(lengths)
    )
    return Proposal(rows[answer.rows], offsets, candidates)
