"""Gains: the scores of candidates, each with its best vote, minus that of the classifier alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from rectifold._core.target import Target
from rectifold._core.utils import Bools, Floats, Ints
from rectifold.model_selection._candidates import Candidate
from rectifold.model_selection._folds import Fold, have_all_classes
from rectifold.model_selection._fusion import as_probabilities, decision_scale, fuse
from rectifold.model_selection._predictions import (
    Predictions,
    Replay,
    pool,
    predicted_labels,
    score_checked,
)
from rectifold.model_selection._scorers import SOFT, scores_predictions
from rectifold.model_selection._trials import Task, Trial
from rectifold.neighbors._classifier import mean_vote

#: Differences beyond these decimals are errors of rounding.
DECIMALS = 12


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
    #: For every fold the votes for its test samples, of the nearest samples and of leaves; None
    #: without fusion.
    votes: list[Floats | None]
    #: Scores of whole repeats that are known, since candidates are compared after each repeat.
    known: dict[tuple[float, ...], float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Gains:
    """The scores of all candidates; NaN if one was not tried."""

    #: Of shape (n_candidates, n_folds).
    split_scores: Floats
    #: Score minus that of the first candidate, averaged over the repeats in which the candidate
    #: took part.
    gain: Floats
    #: Standard error of `gain`, from paired differences over folds.
    gain_se: Floats


@dataclass(frozen=True, eq=False)
class FusedGains(Gains):
    """The scores of all candidates, each with the weight of the vote that is best for it.

    Gains are those over no cleaning with the least weight, which is 0 if weights are chosen.
    """

    weights: Floats
    #: Gains with the least weight.
    gain_without_vote: Floats
    #: Of no cleaning with the least weight, for every fold.
    base_scores: Floats
    #: The least weight.
    base_weight: float
    #: The share of the leaves in the vote.
    leaf_share: float
    #: Folds that score samples of all classes: others would lower the error.
    informative: Bools

    def standard_error(self, differences: Floats) -> float:
        """Return the standard error of a mean difference; NaN stands for folds not tried."""
        values = differences[self.informative & ~np.isnan(differences)]
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


@dataclass(frozen=True, eq=False)
class Outcome:
    """The predictions of a candidate for the test samples of the folds."""

    search: Search
    #: For every fold; None if it was not tried.
    predictions: Sequence[Predictions | None]
    #: The scores of these predictions without votes, for every fold.
    scores: Floats
    #: The position of the candidate.
    candidate: int
    #: The share of the leaves in the vote.
    leaf_share: float

    @classmethod
    def of(cls, search: Search, candidate: int, leaf_share: float) -> "Outcome":
        """Return the outcome of a candidate."""
        trials = [row[candidate] for row in search.trials]
        scores = [np.nan if trial is None else trial.score for trial in trials]
        predictions = [None if trial is None else trial.predictions for trial in trials]
        return cls(search, predictions, np.array(scores), candidate, leaf_share)

    @cached_property
    def scale(self) -> float:
        """See `decision_scale`."""
        parts = [one for one in self.predictions if one is not None]
        tests = [
            fold.test
            for fold, one in zip(self.search.folds, self.predictions, strict=True)
            if one is not None
        ]
        if not parts or not any(name in parts[0] for name in SOFT):
            return 1.0
        joined = {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}
        return decision_scale(joined, self.search.target.codes[np.concatenate(tests)])

    def fold_scores(self, weight: float) -> Floats:
        """Return the score on every fold with a weight of the vote; NaN if it was not tried."""
        if weight == 0:
            return self.scores
        scores = np.full(len(self.search.folds), np.nan)
        for number, predictions in enumerate(self.predictions):
            if predictions is not None:
                fused = self._fused(number, predictions, weight)
                scores[number] = score(self.search.task, self.search.folds[number].test, fused)
        return scores

    def repeat_scores(self, weight: float) -> Floats:
        """Return the score on every repeat, NaN if it was not tried on all of its folds."""
        repeats = np.array([fold.repeat for fold in self.search.folds])
        scores = np.full(repeats.max() + 1, np.nan)
        for repeat in np.unique(repeats).tolist():
            now = np.flatnonzero(repeats == repeat).tolist()
            if any(self.predictions[number] is None for number in now):
                continue
            key = self.candidate, repeat, weight, self.leaf_share, self.scale
            if key not in self.search.known:
                self.search.known[key] = self._score_together(now, weight)
            scores[repeat] = self.search.known[key]
        return scores

    def _score_together(self, now: Sequence[int], weight: float) -> float:
        """Return the score of the folds of a repeat."""
        task = self.search.task
        if not scores_predictions(task.scorer):
            return float(self.scores[now].mean())
        parts = [
            self._fused(number, predictions, weight)
            for number in now
            if (predictions := self.predictions[number]) is not None
        ]
        ((samples, pooled),) = pool([self.search.folds[number] for number in now], parts)
        return score(task, samples, pooled)

    def _fused(self, number: int, predictions: Predictions, weight: float) -> Predictions:
        parts = self.search.votes[number]
        if weight == 0 or parts is None:
            return predictions
        votes = mean_vote(parts, self.leaf_share)
        return {"predict_proba": fuse(as_probabilities(predictions, self.scale), votes, weight)}


def compare_candidates(search: Search, *, with_errors: bool = True) -> FusedGains:
    """Compare every candidate with the classifier alone, on the same folds.

    The share of the leaves in the vote is the best one without cleaning, the same for all. Scores
    of single folds and standard errors are NaN unless `with_errors`.

    The predictions of a repeat are scored together if the scorer allows it; with few samples of the
    minority class in a fold, averages of fold scores are noisy.
    """
    n_candidates, all_weights = len(search.trials[0]), search.task.weights
    repeats = np.array([fold.repeat for fold in search.folds])
    leaf_share = _best_leaf_share(search)
    outcomes = [Outcome.of(search, candidate, leaf_share) for candidate in range(n_candidates)]
    base = outcomes[0].repeat_scores(all_weights[0])
    base_scores = outcomes[0].fold_scores(all_weights[0])
    gains = FusedGains(
        split_scores=np.full((n_candidates, len(repeats)), np.nan),
        gain=np.full(n_candidates, np.nan),
        gain_se=np.full(n_candidates, np.nan),
        weights=np.full(n_candidates, all_weights[0]),
        gain_without_vote=np.full(n_candidates, np.nan),
        base_scores=base_scores,
        base_weight=all_weights[0],
        leaf_share=leaf_share,
        informative=have_all_classes(search.folds, search.target.codes),
    )
    for candidate, outcome in enumerate(outcomes):
        differences = np.array([outcome.repeat_scores(weight) - base for weight in all_weights])
        took_part = ~np.isnan(differences[0])
        if took_part.any():
            means = differences[:, took_part].mean(axis=1)
            gains.gain_without_vote[candidate] = means[0]
            best = int(means.round(DECIMALS).argmax())
            gains.gain[candidate], gains.weights[candidate] = means[best], all_weights[best]
        if not with_errors:
            continue
        scores = outcome.fold_scores(gains.weights[candidate])
        gains.split_scores[candidate] = scores
        # Folds of a repeat in which the candidate lacks a fold do not count.
        counted = np.where(took_part[repeats], scores, np.nan)
        gains.gain_se[candidate] = gains.standard_error(counted - base_scores)
    return gains


def _best_leaf_share(search: Search) -> float:
    """Return the share of the leaves with which the vote has the highest score without cleaning."""
    shares, parts = search.task.leaf_shares, search.votes[0]
    if len(shares) == 1 or parts is None or len(parts) == 1:
        return shares[0]
    outcomes = [Outcome.of(search, 0, share) for share in shares]
    scores = [
        max(outcome.repeat_scores(weight).mean() for weight in search.task.weights)
        for outcome in outcomes
    ]
    return shares[int(np.round(scores, DECIMALS).argmax())]


def score(task: Task, samples: Ints, predictions: Predictions) -> float:
    """Return the score of predictions for some samples."""
    if "predict" not in predictions and any(name in predictions for name in SOFT):
        predictions = {**predictions, "predict": predicted_labels(predictions, task.classes)}
    params = _check_method_params(task.X, task.score_params, samples)
    model = Replay(task.classes, predictions)
    # The model returns its predictions for any input, so the samples need not be copied.
    return score_checked(task.scorer, model, samples, _safe_indexing(task.y, samples), **params)
