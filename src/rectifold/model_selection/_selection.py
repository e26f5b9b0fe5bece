"""Which candidate and which weight of the vote are chosen."""

from dataclasses import replace

import numpy as np

from rectifold._core.utils import Bools
from rectifold.model_selection._gains import (
    DECIMALS,
    FusedGains,
    Gains,
    Search,
    compare_candidates,
)


def eliminate(search: Search) -> tuple[Search, Bools, FusedGains]:
    """Drop candidates that are behind no cleaning after a repeat from the following repeats.

    Return the trials that are left, which candidates are worth another repeat, and the gains that
    the trials show.
    """
    running = np.ones(len(search.candidates), dtype=bool)
    left = replace(search, folds=[], trials=[], votes=[])
    last = max(fold.repeat for fold in search.folds)
    for repeat in range(last + 1):
        for fold, row, votes in zip(search.folds, search.trials, search.votes, strict=True):
            if fold.repeat == repeat:
                left.folds.append(fold)
                left.votes.append(votes)
                each = zip(row, running, strict=True)
                left.trials.append([trial if runs else None for trial, runs in each])
        gains = compare_candidates(left, with_errors=repeat == last)
        # Without cleaning, the vote with its best weight gains as well.
        running &= gains.gain > gains.gain[0]
        running[0] = True
    return left, running, gains


def best_candidate(gains: Gains, min_gain_se: float) -> int:
    """Return the position of the best candidate, 0 if no gain exceeds its standard errors."""
    # With 0 the error does not matter, and may not be known.
    needed = min_gain_se * gains.gain_se if min_gain_se > 0 else 0.0
    eligible = (gains.gain > needed) & (gains.gain.round(DECIMALS) > 0)
    eligible[0] = False
    if not eligible.any():
        return 0
    return int(np.where(eligible, gains.gain.round(DECIMALS), -np.inf).argmax())


def best_fusion(gains: FusedGains, min_gain_se: float) -> tuple[int, float]:
    """Return the position of the best candidate and its weight of the vote.

    The vote must exceed the standard errors of its gain over the classifier alone; cleaning, those
    of its gain over what is best without cleaning.
    """
    vote = Gains(
        np.stack([gains.base_scores, gains.split_scores[0]]),
        np.array([0, gains.gain[0]]),
        np.array([0, gains.gain_se[0]]),
    )
    weight, reference, scores = gains.base_weight, 0.0, gains.base_scores
    if best_candidate(vote, min_gain_se):
        weight, reference, scores = float(gains.weights[0]), gains.gain[0], gains.split_scores[0]
    errors = [gains.standard_error(one - scores) for one in gains.split_scores]
    over = Gains(gains.split_scores, gains.gain - reference, np.array(errors))
    best = best_candidate(over, min_gain_se)
    return (best, float(gains.weights[best])) if best else (0, weight)
