"""Levers: what a page needs to decide again, by any thresholds, exactly as `redecide` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.rules import Thresholds, can_lose, cap, going_first
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._core.votes import TOLERANCE, size_order

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: Thresholds that a page offers: thousandths, and those of the run.
STEPS = 1000
#: Bars of a histogram of confidence.
BARS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The rows of a class that some thresholds remove, the one that goes first in front.

    A page gets no votes to decide by, only where they lie among the thresholds that it offers. So
    no rounding of a browser's can tell them apart from what `_core.rules` makes of them, and a
    million rows need few bytes.
    """

    rows: Ints
    #: Strict: the first alpha of the grid that makes the row ambiguous. Protected: how many betas
    #: of the grid it exceeds.
    at: Ints
    #: Strict: whether its neighbours predict a smaller class, so that it goes whatever alpha is.
    smaller: Bools
    #: Ties that hold only by way of rows between, so that they depend on who is a candidate: where
    #: they begin and end, and the confidence of each row.
    loose: list[tuple[int, int, list[float]]]


def grid(own: float) -> Floats:
    """Give the values that a lever can take.

    Parameters
    ----------
    own : float
        The value of the run, which is among them.

    Returns
    -------
    ndarray
        Ascending.
    """
    return np.unique(np.append(np.arange(STEPS + 1) / STEPS, own))


def questions(record: Rectification) -> list[Question]:
    """Find the rows that any thresholds would remove, class by class.

    Parameters
    ----------
    record : Rectification
        The record of a run.

    Returns
    -------
    list of Question
        One for every class; empty for those that lose nothing whatever the thresholds are.
    """
    votes, target, thresholds = record._votes, record._target, record._thresholds
    rank = np.argsort(size_order(target.sizes))
    toward = rank[votes.predicted] - rank[target.codes]
    alphas, betas = grid(thresholds.alpha), grid(thresholds.beta)
    found = []
    for code in range(len(target.sizes)):
        can_change = can_lose(code, target.sizes, thresholds.min_minority)
        role = record._setting.role(code) if can_change else "untouched"
        mine = target.codes == code
        if role == "strict":
            # No alpha is above 1, so that a unanimous vote is safe.
            rows = np.flatnonzero(mine & ((toward > 0) | (votes.confidence < 1 - TOLERANCE)))
            suspicion = votes.confidence[rows]
        elif role == "protected":
            rows = np.flatnonzero(mine & (toward < 0) & (votes.larger > TOLERANCE))
            suspicion = -votes.larger[rows]
        else:
            rows, suspicion = np.empty(0, dtype=np.intp), np.empty(0)
        order = going_first(suspicion, votes.depth[rows])
        rows, suspicion = rows[order], suspicion[order]
        if role == "strict":
            at = np.searchsorted(alphas - TOLERANCE, suspicion, side="right")
            loose = _loose(suspicion) if record._setting.keep_floor else []
        else:
            # Candidates are the first rows of this order whatever beta is: ties stay as they are.
            at, loose = np.searchsorted(betas + TOLERANCE, -suspicion, side="left"), []
        found.append(Question(rows, at, toward[rows] > 0, loose))
    return found


def alpha_is_idle(sizes: Ints, strict: frozenset[int]) -> bool:
    """Tell whether alpha changes nothing up to 0.5: of two classes the larger alone is strict.

    There, a row whose own vote is below a half is predicted to be of the smaller class, and goes
    for that. One of a strict smaller class is predicted to be of a larger one, and does not.
    """
    order = size_order(sizes)
    return len(order) == 2 and strict == {int(order[0])}


def levers(record: Rectification, found: list[Question]) -> dict[str, Any]:
    """Describe the levers for a page.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    found : list of Question
        From `questions`.

    Returns
    -------
    dict
        The grids, the values of the run, and for every class the rows in question, in the order of
        `Question`: "at", "smaller", "bar" (of the histogram of confidence), "loose", "own_cap".
    """
    thresholds, sizes = record._thresholds, record._target.sizes
    return {
        "steps": STEPS,
        **{
            name: {
                "own": getattr(thresholds, name),
                "default": getattr(Thresholds(), name),
                "values": grid(getattr(thresholds, name)),
            }
            for name in ("alpha", "beta", "gamma")
        },
        "min_minority": thresholds.min_minority,
        "keep_floor": record._setting.keep_floor,
        "tolerance": TOLERANCE,
        "alpha_is_idle": alpha_is_idle(record._target.sizes, record._setting.strict),
        "classes": [
            {
                "role": record._setting.role(code),
                "can_change": can_lose(code, sizes, thresholds.min_minority),
                "size": int(sizes[code]),
                "own_cap": cap(thresholds.gamma, int(sizes[code])),
                "at": one.at.astype(np.uint16),
                "smaller": one.smaller.astype(np.uint8),
                "bar": bars_of(record.confidence[one.rows]).astype(np.uint8),
                "loose": [list(group) for group in one.loose],
            }
            for code, one in enumerate(found)
        ],
    }


def bars_of(confidence: Floats) -> Ints:
    """Tell which bar of a histogram each confidence falls into; 1 is in the last."""
    return np.minimum((confidence * BARS).astype(np.intp), BARS - 1)


def _loose(confidence: Floats) -> list[tuple[int, int, list[float]]]:
    """Find ties wider than the tolerance, in rows that are in the order of `going_first`."""
    if not len(confidence):
        return []
    ordered = np.sort(confidence)
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > TOLERANCE)
    ends = np.append(starts[1:], len(ordered))
    wide = ordered[ends - 1] - ordered[starts] > TOLERANCE
    # Groups follow each other in both orders, so that they begin and end at the same places.
    return [
        (int(start), int(end), confidence[start:end].tolist())
        for start, end in zip(starts[wide], ends[wide], strict=True)
    ]
