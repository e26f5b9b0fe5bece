"""What the page needs to apply other thresholds exactly as `Rectification.redecide` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.rules import Thresholds, can_lose, cap, going_first
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._core.votes import TOLERANCE, size_order

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: A slider moves in steps of 1 / STEPS.
STEPS = 1000
#: Number of bins of a histogram of confidence.
N_BINS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Removable:
    """The samples of a class that some thresholds remove, in the order in which they are removed.

    The page gets no votes, only their positions on the grids of the sliders. So rounding in the
    browser can't change a decision, and a million samples need few bytes.
    """

    rows: Ints
    #: Strict class: index of the lowest alpha that makes the sample ambiguous. Protected class:
    #: number of betas that its vote exceeds.
    limit: Ints
    #: Whether the sample's neighbours predict a smaller class: a strict class loses it for any
    #: alpha.
    intrusion: Bools
    #: Groups of equal votes that are wider than the tolerance, so that their order depends on which
    #: of them are candidates: first position, last position + 1, and the confidence of each sample.
    chains: list[tuple[int, int, list[float]]]


def grid(value: float) -> Floats:
    """Return the values of a slider, ascending; `value`, that of the run, is among them."""
    return np.unique(np.append(np.arange(STEPS + 1) / STEPS, value))


def find_removable(record: Rectification) -> list[Removable]:
    """Return the samples that some thresholds remove, for each class."""
    votes, target, thresholds = record._votes, record._target, record._thresholds
    rank = np.argsort(size_order(target.sizes))
    toward = rank[votes.predicted] - rank[target.codes]  # > 0: predicted smaller, < 0: larger
    alphas, betas = grid(thresholds.alpha), grid(thresholds.beta)
    removable = []
    for code in range(len(target.sizes)):
        large = can_lose(code, target.sizes, thresholds.min_minority)
        role = record._setting.role(code) if large else "untouched"
        mine = target.codes == code
        if role == "strict":
            # No alpha is above 1, so a unanimous vote is never ambiguous.
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
            limit = np.searchsorted(alphas - TOLERANCE, suspicion, side="right")
            chains = _chains(suspicion) if record._setting.keep_floor else []
        else:
            # For any beta the candidates are the first samples of this order, so ties never change.
            limit, chains = np.searchsorted(betas + TOLERANCE, -suspicion, side="left"), []
        removable.append(Removable(rows, limit, toward[rows] > 0, chains))
    return removable


def dead_zone_of_alpha(sizes: Ints, strict: frozenset[int]) -> float:
    """Return the largest alpha that removes nothing, or 0.

    If only the largest class is strict, one of its samples whose own vote is below one over the
    number of classes is predicted to be of another class: it is an intrusion for any alpha. A
    smaller strict class also loses samples that larger classes are predicted for, by alpha alone.
    """
    return 1 / len(sizes) if strict == {int(size_order(sizes)[0])} else 0.0


def describe_thresholds(record: Rectification, removable: list[Removable]) -> dict[str, Any]:
    """Return the grids of the sliders, the values of the run, and the samples of each class."""
    thresholds, sizes = record._thresholds, record._target.sizes
    return {
        "steps": STEPS,
        **{
            name: {
                "run": getattr(thresholds, name),
                "default": getattr(Thresholds(), name),
                "values": grid(getattr(thresholds, name)),
            }
            for name in ("alpha", "beta", "gamma")
        },
        "min_minority": thresholds.min_minority,
        "keep_floor": record._setting.keep_floor,
        "tolerance": TOLERANCE,
        "dead_zone_of_alpha": dead_zone_of_alpha(sizes, record._setting.strict),
        "classes": [
            {
                "role": record._setting.role(code),
                "can_lose": can_lose(code, sizes, thresholds.min_minority),
                "size": int(sizes[code]),
                "run_cap": cap(thresholds.gamma, int(sizes[code])),
                "limit": some.limit.astype(np.uint16),
                "intrusion": some.intrusion.astype(np.uint8),
                "bin": bin_of(record.confidence[some.rows]).astype(np.uint8),
                "chains": [list(chain) for chain in some.chains],
            }
            for code, some in enumerate(removable)
        ],
    }


def count_confidence(record: Rectification) -> dict[str, Any]:
    """Return a histogram of confidence for each class."""
    cell = record._target.codes * N_BINS + bin_of(record.confidence)
    counts = np.bincount(cell, minlength=len(record.classes) * N_BINS)
    return {"bins": N_BINS, "counts": counts.reshape(-1, N_BINS).tolist()}


def bin_of(confidence: Floats) -> Ints:
    """Return the bin of each confidence; 1 is in the last one."""
    return np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)


def _chains(confidence: Floats) -> list[tuple[int, int, list[float]]]:
    """Return the ties that are wider than the tolerance; the input is ordered by `going_first`."""
    if not len(confidence):
        return []
    ordered = np.sort(confidence)
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > TOLERANCE)
    ends = np.append(starts[1:], len(ordered))
    wide = ordered[ends - 1] - ordered[starts] > TOLERANCE
    # Ties are at the same positions in both orders.
    return [
        (int(start), int(end), confidence[start:end].tolist())
        for start, end in zip(starts[wide], ends[wide], strict=True)
    ]
