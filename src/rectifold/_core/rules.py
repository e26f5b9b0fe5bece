"""Votes become removals, each with its reason: the paper's Algorithm 1, and more classes."""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from rectifold._core.utils import Codes, Floats, Ints
from rectifold._core.votes import TOLERANCE, Votes, size_order

DECISIONS = ("kept", "removed", "spared")
KEPT, REMOVED, SPARED = range(3)
REASONS = ("", "intrusion", "ambiguity", "deep noise")
NONE, INTRUSION, AMBIGUITY, DEEP_NOISE = range(4)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The numbers that the rules compare votes with."""

    alpha: float = 0.3
    beta: float = 0.7
    gamma: float = 0.1
    min_minority: int = 10


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What happens to every row, and why. Codes index `DECISIONS` and `REASONS`."""

    decision: Codes
    reason: Codes


def cap(gamma: float, size: int) -> int:
    """Floor of gamma times size, in exact arithmetic: 0.29 of 100 rows are 29.

    Parameters
    ----------
    gamma : float
        The fraction of a protected class that may go, as it is written in decimals.
    size : int
        Rows of the class.

    Examples
    --------
    >>> from rectifold._core.rules import cap
    >>> cap(0.29, 100), int(0.29 * 100)
    (29, 28)
    """
    return floor(Fraction(repr(float(gamma))) * size)


def guarded(sizes: Ints, min_minority: int) -> bool:
    """Tell whether the minority of two classes is too small for any cleaning."""
    return len(sizes) == 2 and int(sizes.min()) < min_minority


def can_lose(code: int, sizes: Ints, min_minority: int) -> bool:
    """Tell whether a class is large enough to lose rows: of two classes, whether both are."""
    if len(sizes) == 2:
        return not guarded(sizes, min_minority)
    return bool(sizes[code] >= min_minority)


def decide(
    votes: Votes,
    labels: Ints,
    sizes: Ints,
    strict: frozenset[int],
    protected: frozenset[int],
    thresholds: Thresholds,
    *,
    keep_floor: bool,
) -> Decisions:
    """Apply the rules of asymmetric cleaning.

    Strict classes lose the rows that their neighbours predict to be of a smaller class
    (intrusion), or whose own vote is under alpha (ambiguity). Of protected classes, rows
    are candidates (deep noise) if predicted to be of a larger class with a joint vote of
    the larger classes over beta; the most contradicted go, at most a fraction gamma.

    Parameters
    ----------
    votes : Votes
        One entry per row.
    labels : ndarray of shape (n_rows,)
        Class codes.
    sizes : ndarray of shape (n_classes,)
        Rows per class; for a part of the rows, that part of them.
    strict : frozenset of int
        Codes of the strict classes.
    protected : frozenset of int
        Codes of the protected classes. A class that is neither loses nothing.
    thresholds : Thresholds
        Alpha, beta, gamma and the size under which a class loses nothing.
    keep_floor : bool
        Whether a strict class may not fall below the largest that isn't. The paper's
        rule for two classes has no such floor.

    Returns
    -------
    Decisions
    """
    decision = np.zeros(len(labels), dtype=np.int8)
    reason = np.zeros(len(labels), dtype=np.int8)
    found = suspects(votes, labels, sizes, strict, protected, thresholds)
    reason[found.rows], decision[found.rows] = found.reason, SPARED
    counts = np.bincount(found.code, minlength=len(sizes))
    allowed = allowances(counts, sizes, strict, protected, thresholds, keep_floor=keep_floor)
    for code in np.flatnonzero(counts).tolist():
        mine = np.flatnonzero(found.code == code)
        going = first_to_go(found.suspicion[mine], found.depth[mine], allowed[code])
        decision[found.rows[mine[going]]] = REMOVED
    return Decisions(decision, reason)


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """Rows that the rules speak against; whether they go depends on how many may."""

    #: Which rows, ascending; the arrays below are parallel to them.
    rows: Ints
    #: Their class.
    code: Ints
    #: What speaks against them, as an index of `REASONS`.
    reason: Codes
    #: The lower, the sooner a row goes; among equals the one with the lower depth.
    suspicion: Floats
    depth: Floats


def suspects(
    votes: Votes,
    labels: Ints,
    sizes: Ints,
    strict: frozenset[int],
    protected: frozenset[int],
    thresholds: Thresholds,
) -> Suspects:
    """Find the rows that the rules speak against: each by its own votes, so in any part of a table.

    Parameters
    ----------
    votes, labels, sizes, strict, protected, thresholds
        As for `decide`; sizes are those of the whole table.

    Returns
    -------
    Suspects
    """
    # Nearly all rows of most data are predicted to be what they are, and stay.
    ambiguous = votes.confidence < thresholds.alpha - TOLERANCE
    doubtful = np.flatnonzero((votes.predicted != labels) | ambiguous)
    mine = labels[doubtful]
    rank = np.argsort(size_order(sizes))
    toward = rank[votes.predicted[doubtful]] - rank[mine]  # > 0: predicted smaller, < 0: larger
    able = np.array([can_lose(code, sizes, thresholds.min_minority) for code in range(len(sizes))])
    is_strict, is_protected = (
        (np.isin(np.arange(len(sizes)), [*some]) & able)[mine] for some in (strict, protected)
    )
    deep = is_protected & (toward < 0)
    deep &= votes.larger[doubtful] > thresholds.beta + TOLERANCE
    intruding = is_strict & (toward > 0)
    found = deep | intruding | (is_strict & ambiguous[doubtful])
    rows, deep = doubtful[found], deep[found]
    return Suspects(
        rows,
        mine[found],
        np.where(deep, DEEP_NOISE, np.where(intruding[found], INTRUSION, AMBIGUITY)).astype(
            np.int8
        ),
        np.where(deep, -votes.larger[rows], votes.confidence[rows]),
        votes.depth[rows],
    )


def allowances(
    counts: Ints,
    sizes: Ints,
    strict: frozenset[int],
    protected: frozenset[int],
    thresholds: Thresholds,
    *,
    keep_floor: bool,
) -> list[int]:
    """Tell how many rows of each class may go.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Suspects of each class.
    sizes, strict, protected, thresholds, keep_floor
        As for `decide`.

    Returns
    -------
    list of int
    """
    caps = [cap(thresholds.gamma, int(n)) if c in protected else 0 for c, n in enumerate(sizes)]
    after = sizes - np.minimum(counts, caps)
    largest_other = max((int(n) for c, n in enumerate(after) if c not in strict), default=0)
    allowed = []
    for code, size in enumerate(map(int, sizes)):
        # A class that was smaller to begin with still keeps enough to learn from.
        least = largest_other if size >= largest_other else thresholds.min_minority
        floor = size - min(size, least) if keep_floor else size
        allowed.append(floor if code in strict else caps[code])
    return allowed


def first_to_go(suspicion: Floats, depth: Floats, allowed: int) -> Ints:
    """Tell which candidates of one class go, if so many may."""
    if len(suspicion) <= allowed:
        return np.arange(len(suspicion))
    return going_first(suspicion, depth)[:allowed]


def going_first(suspicion: Floats, depth: Floats) -> Ints:
    """Order rows from the one that goes first to the one that goes last.

    Lower `suspicion` goes first; among equals (each within the tolerance of the one
    before it) the more deeply embedded, then the lower row index.
    """
    by_vote = np.argsort(suspicion, kind="stable")
    steps = np.diff(suspicion[by_vote], prepend=-np.inf) > TOLERANCE
    group = np.empty(len(suspicion), dtype=np.intp)
    group[by_vote] = np.cumsum(steps)
    return np.lexsort((np.arange(len(suspicion)), depth, group))
