"""The rules of asymmetric cleaning: Algorithm 1 of the paper, extended to more classes."""

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
    """The thresholds of the rules."""

    alpha: float = 0.3
    beta: float = 0.7
    gamma: float = 0.1
    min_minority: int = 10


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The decision on every sample and its reason, as indices of `DECISIONS` and `REASONS`."""

    decision: Codes
    reason: Codes


def cap(gamma: float, size: int) -> int:
    """Return the floor of gamma times size, in exact decimal arithmetic.

    Examples
    --------
    >>> from rectifold._core.rules import cap
    >>> cap(0.29, 100), int(0.29 * 100)
    (29, 28)
    """
    return floor(Fraction(repr(float(gamma))) * size)


def guarded(sizes: Ints, min_minority: int) -> bool:
    """Return whether the minority of two classes is too small for any cleaning."""
    return len(sizes) == 2 and int(sizes.min()) < min_minority


def can_lose(code: int, sizes: Ints, min_minority: int) -> bool:
    """Return whether a class is large enough to lose samples; of two classes, whether both are."""
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

    Strict classes lose the samples that their neighbours predict to be of a smaller class
    (intrusion), or whose own vote is below alpha (ambiguity). Samples of protected classes are
    candidates (deep noise) if predicted to be of a larger class with a joint vote of the larger
    classes above beta; those with the highest such vote are removed, at most a fraction gamma. A
    class that is neither strict nor protected loses nothing.

    `sizes` are the class sizes, or that fraction of them if the samples are a random part. With
    `keep_floor`, a strict class does not fall below the largest class that is not strict; the
    paper's rule for two classes has no such floor.
    """
    decision = np.zeros(len(labels), dtype=np.int8)
    reason = np.zeros(len(labels), dtype=np.int8)
    found = suspects(votes, labels, sizes, strict, protected, thresholds)
    reason[found.rows], decision[found.rows] = found.reason, SPARED
    counts = np.bincount(found.code, minlength=len(sizes))
    allowed = allowances(counts, sizes, strict, protected, thresholds, keep_floor=keep_floor)
    for code in np.flatnonzero(counts).tolist():
        mine = np.flatnonzero(found.code == code)
        removed = first_to_go(found.suspicion[mine], found.depth[mine], allowed[code])
        decision[found.rows[mine[removed]]] = REMOVED
    return Decisions(decision, reason)


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """Candidates for removal; whether they are removed depends on the cap of their class."""

    #: Indices of the samples, ascending; the arrays below are parallel to them.
    rows: Ints
    #: Class codes.
    code: Ints
    #: Reasons, as indices of `REASONS`.
    reason: Codes
    #: Candidates with lower values are removed first; among equals those with the lower depth.
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
    """Return the candidates for removal; each by its own votes, so for any part of a table.

    Arguments are as for `decide`; `sizes` are those of the whole table.
    """
    # In most data nearly all samples are predicted correctly and kept.
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
    """Return the maximum number of samples that may be removed from each class.

    `counts` are the numbers of candidates; the other arguments are as for `decide`.
    """
    caps = [cap(thresholds.gamma, int(n)) if c in protected else 0 for c, n in enumerate(sizes)]
    after = sizes - np.minimum(counts, caps)
    largest_other = max((int(n) for c, n in enumerate(after) if c not in strict), default=0)
    allowed = []
    for code, size in enumerate(map(int, sizes)):
        # A class that was smaller before cleaning keeps enough samples to learn from.
        least = largest_other if size >= largest_other else thresholds.min_minority
        floor = size - min(size, least) if keep_floor else size
        allowed.append(floor if code in strict else caps[code])
    return allowed


def first_to_go(suspicion: Floats, depth: Floats, allowed: int) -> Ints:
    """Select up to `allowed` candidates of one class to remove."""
    if len(suspicion) <= allowed:
        return np.arange(len(suspicion))
    return going_first(suspicion, depth)[:allowed]


def going_first(suspicion: Floats, depth: Floats) -> Ints:
    """Return the candidates of one class in the order in which they are removed.

    Lower `suspicion` comes first; among equals (each within the tolerance of the one before it)
    the smaller mean distance to its neighbours, then the lower index.
    """
    by_vote = np.argsort(suspicion, kind="stable")
    steps = np.diff(suspicion[by_vote], prepend=-np.inf) > TOLERANCE
    group = np.empty(len(suspicion), dtype=np.intp)
    group[by_vote] = np.cumsum(steps)
    return np.lexsort((np.arange(len(suspicion)), depth, group))
