"""Which candidate is chosen, or how many members of an ensemble each one gets."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from rectifold._core.target import Target
from rectifold._core.utils import Bools, Floats, Ints
from rectifold.model_selection._candidates import Candidate
from rectifold.model_selection._folds import Fold, have_all_classes
from rectifold.model_selection._predictions import (
    Predictions,
    Replay,
    average,
    pool,
    predicted_labels,
    score_checked,
)
from rectifold.model_selection._scorers import SOFT, scores_predictions
from rectifold.model_selection._trials import Task, Trial

#: The share of an ensemble that is trained without cleaning, before candidates compete.
PRIOR = 0.25
#: Steps of the greedy selection.
STEPS = 20


@dataclass(frozen=True, eq=False)
class Search:
    """The trials of a search."""

    task: Task
    #: Labels of all training samples.
    target: Target
    #: No cleaning is the first.
    candidates: list[Candidate]
    #: The folds tried so far, whole repeats.
    folds: list[Fold]
    #: For every fold one trial per candidate; None if it was not tried.
    trials: list[list[Trial | None]]


@dataclass(frozen=True, eq=False)
class Gains:
    """The scores of all candidates; NaN if one was not tried."""

    #: Of shape (n_candidates, n_folds).
    split_scores: Floats
    #: Score minus that of no cleaning, averaged over the repeats in which the candidate took part.
    gain: Floats
    #: Standard error of `gain`, from paired differences over folds.
    gain_se: Floats


def compare_candidates(search: Search) -> Gains:
    """Compare every candidate with no cleaning, on the same folds.

    The predictions of a repeat are scored together if the scorer allows it; with few samples of the
    minority class in a fold, averages of fold scores are noisy.
    """
    task, folds, trials = search.task, search.folds, search.trials
    n_candidates = len(trials[0])
    split_scores = np.array(
        [[np.nan if trial is None else trial.score for trial in row] for row in trials]
    ).T
    repeats = np.array([fold.repeat for fold in folds])
    # A fold that lacks a class scores the same for all candidates: it would lower the error.
    informative = have_all_classes(folds, search.target.codes)
    scores = np.full((n_candidates, repeats.max() + 1), np.nan)
    gain, gain_se = np.full(n_candidates, np.nan), np.full(n_candidates, np.nan)
    for candidate in range(n_candidates):
        for repeat in np.unique(repeats):
            now = np.flatnonzero(repeats == repeat).tolist()
            tried = [trial for i in now if (trial := trials[i][candidate]) is not None]
            if len(tried) < len(now):
                continue
            if scores_predictions(task.scorer):
                parts = pool([folds[i] for i in now], [trial.predictions for trial in tried])
                ((samples, predictions),) = parts
                scores[candidate, repeat] = _score(task, samples, predictions)
            else:
                scores[candidate, repeat] = split_scores[candidate, now].mean()
        took_part = ~np.isnan(scores[candidate])
        if took_part.any():
            gain[candidate] = (scores[candidate] - scores[0])[took_part].mean()
            differences = split_scores[candidate] - split_scores[0]
            differences = differences[took_part[repeats] & informative]
            if len(differences) > 1:
                gain_se[candidate] = differences.std(ddof=1) / np.sqrt(len(differences))
    return Gains(split_scores, gain, gain_se)


def eliminate(search: Search, slack: float) -> tuple[Search, Bools, Gains]:
    """Drop candidates that are behind no cleaning after a repeat from the following repeats.

    `slack` is the number of standard errors that a candidate may be behind. Return the trials that
    are left, which candidates are worth another repeat, and the gains that the trials show. So the
    trials of a search with more slack can be used for one with less.
    """
    running = np.ones(len(search.candidates), dtype=bool)
    left = replace(search, folds=[], trials=[])
    for repeat in sorted({fold.repeat for fold in search.folds}):
        for fold, row in zip(search.folds, search.trials, strict=True):
            if fold.repeat == repeat:
                left.folds.append(fold)
                each = zip(row, running, strict=True)
                left.trials.append([trial if runs else None for trial, runs in each])
        gains = compare_candidates(left)
        running &= gains.gain > -slack * np.nan_to_num(gains.gain_se)
        running[0] = True
    return left, running, gains


def best_candidate(gains: Gains, min_gain_se: float) -> int:
    """Return the position of the best candidate, 0 if no gain exceeds its standard errors."""
    # With 0 the error does not matter, and may not be known.
    needed = min_gain_se * gains.gain_se if min_gain_se > 0 else 0.0
    eligible = (gains.gain > needed) & (gains.gain > 0)
    eligible[0] = False
    if not eligible.any():
        return 0
    return int(np.where(eligible, gains.gain, -np.inf).argmax())


def allocate(search: Search, n_estimators: int) -> list[int]:
    """Return, for every member of an ensemble, the position of its candidate.

    Greedy forward selection with replacement (Caruana et al., 2004) on out-of-fold predictions:
    each step goes to the candidate that improves the average most. It starts from a share of
    members without cleaning. Candidates that were not tried on all folds are left out.
    """
    task, folds, trials = search.task, search.folds, search.trials
    positions = [
        position
        for position in range(len(trials[0]))
        if all(row[position] is not None for row in trials)
    ]
    pooled = [
        list(pool(folds, [_tried(row[position]).predictions for row in trials]))
        for position in positions
    ]
    weights = np.zeros(len(positions))
    weights[0] = round(PRIOR * STEPS)

    def score(weights: Floats) -> float:
        return float(
            np.mean(
                [
                    _score(task, samples, average([one[repeat][1] for one in pooled], weights))
                    for repeat, (samples, _) in enumerate(pooled[0])
                ]
            )
        )

    for _ in range(STEPS - round(PRIOR * STEPS)):
        scores = [score(weights + step) for step in np.eye(len(positions))]
        weights[int(np.argmax(scores))] += 1
    return [positions[i] for i in _interleave(weights / weights.sum(), n_estimators)]


def averaging_hurts(search: Search, min_gain_se: float) -> bool:
    """Return whether averaging costs the estimator more than `min_gain_se` standard errors.

    With several repeats, every sample has one out-of-fold prediction per repeat; here they are
    averaged without cleaning. One repeat shows nothing.
    """
    task, folds, trials = search.task, search.folds, search.trials
    repeats = list(pool(folds, [_tried(row[0]).predictions for row in trials]))
    first = repeats[0][0]
    if len(repeats) < 2 or any(len(samples) != len(first) for samples, _ in repeats):
        return False
    # In the order of samples, so that the repeats correspond.
    ordered = [
        {name: values[np.argsort(samples)] for name, values in predictions.items()}
        for samples, predictions in repeats
    ]
    averaged = average(ordered, np.ones(len(ordered)))
    position = {int(sample): at for at, sample in enumerate(np.sort(first))}
    gains = []
    for fold, row in zip(folds, trials, strict=True):
        at = [position[int(sample)] for sample in fold.test]
        score = _score(task, fold.test, {name: values[at] for name, values in averaged.items()})
        gains.append(score - _tried(row[0]).score)
    return bool(np.mean(gains) < -min_gain_se * np.std(gains, ddof=1) / np.sqrt(len(gains)))


def _score(task: Task, samples: Ints, predictions: Predictions) -> float:
    if "predict" not in predictions and any(name in predictions for name in SOFT):
        predictions = {**predictions, "predict": predicted_labels(predictions, task.classes)}
    params = _check_method_params(task.X, task.score_params, samples)
    model = Replay(task.classes, predictions)
    X, y = _safe_indexing(task.X, samples), _safe_indexing(task.y, samples)
    return score_checked(task.scorer, model, X, y, **params)


def _interleave(shares: Floats, n: int) -> list[int]:
    """Return n positions in proportion to their shares, those of each spread over the whole."""
    counts = np.zeros(len(shares))
    positions = []
    for i in range(n):
        position = int(np.argmax(shares * (i + 1) - counts))
        counts[position] += 1
        positions.append(position)
    return positions


def _tried(trial: Trial | None) -> Trial:
    assert trial is not None  # Only candidates that were tried on all folds get here.
    return trial
