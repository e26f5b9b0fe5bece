"""Which candidate and which weight of the vote are chosen, and the members of an ensemble."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rectifold._core.utils import Bools, Floats
from rectifold.model_selection._folds import have_all_classes
from rectifold.model_selection._gains import (
    FusedGains,
    Gains,
    Outcome,
    Search,
    compare_candidates,
    score,
)
from rectifold.model_selection._predictions import Predictions, average, pool
from rectifold.model_selection._trials import Trial

#: The share of an ensemble that is trained without cleaning, before candidates compete.
PRIOR = 0.25
#: Steps of the greedy selection.
STEPS = 20


def eliminate(search: Search, slack: float) -> tuple[Search, Bools, FusedGains]:
    """Drop candidates that are behind no cleaning after a repeat from the following repeats.

    `slack` is the number of standard errors that a candidate may be behind. Return the trials that
    are left, which candidates are worth another repeat, and the gains that the trials show. So the
    trials of a search with more slack can be used for one with less.
    """
    running = np.ones(len(search.candidates), dtype=bool)
    left = replace(search, folds=[], trials=[], votes=[])
    for repeat in sorted({fold.repeat for fold in search.folds}):
        for fold, row, votes in zip(search.folds, search.trials, search.votes, strict=True):
            if fold.repeat == repeat:
                left.folds.append(fold)
                left.votes.append(votes)
                each = zip(row, running, strict=True)
                left.trials.append([trial if runs else None for trial, runs in each])
        gains = compare_candidates(left)
        # Without cleaning, the vote with its best weight gains as well.
        running &= gains.gain - gains.gain[0] > -slack * np.nan_to_num(gains.gain_se)
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

    def score_of(weights: Floats) -> float:
        return float(
            np.mean(
                [
                    score(task, samples, average([one[repeat][1] for one in pooled], weights))
                    for repeat, (samples, _) in enumerate(pooled[0])
                ]
            )
        )

    for _ in range(STEPS - round(PRIOR * STEPS)):
        scores = [score_of(weights + step) for step in np.eye(len(positions))]
        weights[int(np.argmax(scores))] += 1
    return [positions[i] for i in _interleave(weights / weights.sum(), n_estimators)]


def averaging_hurts(search: Search, min_gain_se: float) -> bool:
    """Return whether averaging costs the estimator more than `min_gain_se` standard errors.

    With several repeats, every sample has one out-of-fold prediction per repeat; here they are
    averaged without cleaning. One repeat shows nothing.
    """
    alone = Outcome.of(search, 0)
    averaged = _over_repeats(search, [_tried(row[0]).predictions for row in search.trials])
    if averaged is None:
        return False
    gains = averaged.scores - alone.scores
    return bool(np.mean(gains) < -min_gain_se * np.std(gains, ddof=1) / np.sqrt(len(gains)))


def ensemble_outcome(search: Search, chosen: Sequence[int]) -> Outcome:
    """Return the out-of-fold predictions of an ensemble, given the candidates of its members.

    Every fold has one model of each candidate, so that of a repeat each sample gets one average.
    If all repeats have the same samples, the averages are averaged too, as by the ensemble.
    """
    positions, counts = np.unique(chosen, return_counts=True)
    shares = counts.astype(np.float64)
    predictions = [
        average([_tried(row[position]).predictions for position in positions], shares)
        for row in search.trials
    ]
    return _over_repeats(search, predictions) or _outcome(search, predictions)


def best_weight(search: Search, outcome: Outcome, min_gain_se: float) -> float:
    """Return the weight of the vote for given predictions."""
    weights = search.task.weights
    scores = np.array([np.mean(outcome.repeat_scores(weight)) for weight in weights])
    best = int(scores.argmax())
    differences = outcome.fold_scores(weights[best]) - outcome.fold_scores(weights[0])
    differences = differences[have_all_classes(search.folds, search.target.codes)]
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if min_gain_se > 0 else 0.0
    return weights[best if scores[best] - scores[0] > min_gain_se * error else 0]


def _over_repeats(search: Search, predictions: Sequence[Predictions]) -> Outcome | None:
    """Return the average over the repeats, if there are several that have the same samples."""
    repeats = list(pool(search.folds, predictions))
    first = repeats[0][0]
    if len(repeats) < 2 or any(len(samples) != len(first) for samples, _ in repeats):
        return None
    # In the order of samples, so that the repeats correspond.
    ordered = [
        {name: values[np.argsort(samples)] for name, values in parts.items()}
        for samples, parts in repeats
    ]
    averaged = average(ordered, np.ones(len(ordered)))
    position = {int(sample): at for at, sample in enumerate(np.sort(first))}
    places = [[position[int(sample)] for sample in fold.test] for fold in search.folds]
    return _outcome(
        search, [{name: values[at] for name, values in averaged.items()} for at in places]
    )


def _outcome(search: Search, predictions: Sequence[Predictions]) -> Outcome:
    each = zip(search.folds, predictions, strict=True)
    scores = [score(search.task, fold.test, one) for fold, one in each]
    return Outcome(search, predictions, np.array(scores))


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
