"""What is fitted and reported once the candidates are chosen."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from rectifold.model_selection._candidates import NO_CLEANING, Candidate
from rectifold.model_selection._gains import FusedGains, Search
from rectifold.model_selection._trials import Fit, class_sizes, fit_prepared, resample
from rectifold.neighbors import NeighborVoteClassifier
from rectifold.progress import muted
from rectifold.sampler import GMR


@dataclass(frozen=True, eq=False)
class Refit:
    """The chosen candidates, fitted."""

    #: With an ensemble, the one that cleaned most members.
    candidate: Candidate
    #: The candidate fitted on all training samples; None for no cleaning.
    sampler: GMR | None
    fits: list[Fit]
    #: The position of the candidate of each fit.
    chosen: list[int]
    #: Number of classifiers fitted by the search and here.
    n_fits: int


def refit(search: Search, chosen: list[int]) -> Refit:
    """Fit the chosen candidate on all training samples, or collect the members of an ensemble.

    `chosen` has the position of the candidate of every classifier.
    """
    task, candidates = search.task, search.candidates
    n_fits = sum(trial.is_new_fit for row in search.trials for trial in row if trial is not None)
    cleaning = [position for position in chosen if candidates[position].params is not None]
    candidate = candidates[max(cleaning, key=cleaning.count) if cleaning else 0]
    sampler, kept = _clean(search, candidate)
    if len(chosen) > 1:
        trials = [row[position] for row, position in zip(search.trials, chosen, strict=False)]
        members = [trial.fit for trial in trials if trial is not None and trial.fit is not None]
        return Refit(candidate, sampler, members, chosen, n_fits)
    if not class_sizes(task.y[kept], task.classes).all():
        warnings.warn(
            f"{candidate.name} keeps no sample of a class when all training samples are cleaned: "
            "nothing is cleaned.",
            UserWarning,
            stacklevel=5,
        )
        chosen, candidate = [0], NO_CLEANING
        sampler, kept = _clean(search, candidate)
    prepared = resample(candidate, task.X, task.y, task.fit_params, kept, task.seed)
    # The estimator keeps its own seed.
    fit = fit_prepared(task, prepared, task.y, None)
    return Refit(candidate, sampler, [fit], chosen, n_fits + 1)


def _clean(search: Search, candidate: Candidate) -> tuple[GMR | None, Any]:
    """Return the fitted sampler and the indices of the samples that it keeps."""
    task = search.task
    if candidate.params is None:
        return None, np.arange(len(search.target.codes))
    sampler = clone(task.sampler).set_params(**candidate.params)
    with muted():
        sampler.fit_resample(task.X, task.y)
    return sampler, sampler.sample_indices_


def fit_voter(search: Search, weight: float) -> NeighborVoteClassifier | None:
    """Return the fitted classifier whose vote is fused; None if its weight is 0."""
    if weight == 0 or search.task.voter is None:
        return None
    # Not cleaned: votes of cleaned samples were no better in experiments.
    voter: NeighborVoteClassifier = clone(search.task.voter)
    voter.fit(search.task.X, search.task.y)
    return voter


def results_table(
    candidates: list[Candidate], gains: FusedGains | None, chosen: list[int], weight: float
) -> dict[str, Any]:
    """Return `cv_results_` of RectifiedClassifier; `gains` is None if no fold was tried.

    `weight` is the chosen weight of the vote.
    """
    n_candidates = len(candidates)
    counts = np.bincount(chosen, minlength=n_candidates)
    if gains is None:
        nothing = np.zeros(n_candidates)
        gains = FusedGains(
            split_scores=np.full((n_candidates, 0), np.nan),
            gain=nothing,
            gain_se=nothing,
            weights=np.full(n_candidates, weight),
            gain_without_vote=nothing,
            base_scores=nothing[:0],
            base_weight=weight,
            informative=np.empty(0, dtype=bool),
        )
    losses = np.nan_to_num(-gains.gain, nan=np.inf)
    scores = np.ma.masked_invalid(gains.split_scores)
    settings = np.empty(n_candidates, dtype=object)
    settings[:] = [candidate.name for candidate in candidates]
    return {
        "params": [candidate.setting for candidate in candidates],
        "setting": settings,
        "vote_weight": gains.weights,
        **{f"split{fold}_test_score": column for fold, column in enumerate(gains.split_scores.T)},
        "mean_test_score": scores.mean(axis=1).filled(np.nan),
        "std_test_score": scores.std(axis=1).filled(np.nan),
        "gain": gains.gain,
        "gain_se": gains.gain_se,
        "gain_without_vote": gains.gain_without_vote,
        "rank_test_score": rankdata(losses, method="min").astype(np.int32),
        "chosen": counts > 0,
        "n_estimators": counts,
    }
