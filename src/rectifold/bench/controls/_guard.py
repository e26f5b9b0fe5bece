"""The guard of the controls: a change of a classifier is made only if it gains out of fold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.metrics import average_precision_score
from sklearn.utils import check_random_state

from rectifold._core.target import Target
from rectifold._core.utils import Bools, Floats
from rectifold.model_selection._folds import Fold, make_folds
from rectifold.model_selection._gains import Gains

_LARGEST_SEED = 2**31 - 1


def folds_and_seed(cv: int, X: Any, target: Target, random_state: Any) -> tuple[list[Fold], int]:
    """Return the folds and the seed of what is fitted that RectifiedClassifier would use."""
    # In this order, which matters if it is an instance of RandomState.
    seed = int(check_random_state(random_state).randint(_LARGEST_SEED))
    return make_folds(cv, X, target, None, random_state=random_state), seed


def seed_of(fold: Fold, seed: int) -> int:
    """Return the seed of what is fitted on a fold, the same for all candidates."""
    return (seed + fold.number) % _LARGEST_SEED


def seeded_clone(model: Any, seed: int) -> Any:
    """Return a clone whose random states are set."""
    model = clone(model)
    _set_random_states(model, seed)
    return model


def compare_rankings(
    folds: Sequence[Fold], positive: Bools, rankings: Sequence[Sequence[Floats]]
) -> Gains:
    """Compare candidates with the first one by average precision, as RectifiedClassifier does.

    `rankings` has for every candidate the values of the test samples of every fold. A candidate may
    lack the folds of the last repeats; its gain is over the first candidate on the same folds.
    """
    split_scores = np.full((len(rankings), len(folds)), np.nan)
    gain, gain_se = np.zeros(len(rankings)), np.zeros(len(rankings))
    for candidate, values in enumerate(rankings):
        for i, one in enumerate(values):
            split_scores[candidate, i] = average_precision_score(positive[folds[i].test], one)
        n_tried = len(values)
        of_candidate = _pooled_scores(folds[:n_tried], positive, values)
        of_first = _pooled_scores(folds[:n_tried], positive, rankings[0])
        gain[candidate] = np.mean(np.subtract(of_candidate, of_first))
        differences = (split_scores[candidate] - split_scores[0])[:n_tried]
        gain_se[candidate] = differences.std(ddof=1) / np.sqrt(n_tried)
    return Gains(split_scores, gain, gain_se)


def exceeds_error(gains: Gains, position: int, min_gain_se: float) -> bool:
    """Return whether a candidate gains more than `min_gain_se` standard errors."""
    gain = gains.gain[position]
    return bool(gain > 0 and gain > min_gain_se * gains.gain_se[position])


def _pooled_scores(
    folds: Sequence[Fold], positive: Bools, rankings: Sequence[Floats]
) -> list[float]:
    """Return the average precision of every repeat, whose folds are pooled."""
    scores = []
    for repeat in sorted({fold.repeat for fold in folds}):
        now = [i for i, fold in enumerate(folds) if fold.repeat == repeat]
        tests = np.concatenate([folds[i].test for i in now])
        values = np.concatenate([rankings[i] for i in now])
        scores.append(float(average_precision_score(positive[tests], values)))
    return scores
