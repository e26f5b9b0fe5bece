"""What is fitted and reported once the candidates are chosen."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.utils import resample as sklearn_resample

from rectifold._core.utils import Ints
from rectifold.model_selection._candidates import NO_CLEANING, Candidate
from rectifold.model_selection._gains import FusedGains, Search
from rectifold.model_selection._trials import (
    LARGEST_SEED,
    Fit,
    Task,
    class_sizes,
    fit_prepared,
    resample,
)
from rectifold.neighbors import NeighborVoteClassifier
from rectifold.progress import muted
from rectifold.sampler import GMR


@dataclass(frozen=True, eq=False)
class Refit:
    """The chosen candidate, fitted."""

    candidate: Candidate
    #: Its position.
    position: int
    #: The candidate fitted on all training samples; None for no cleaning.
    sampler: GMR | None
    #: One classifier, or the members of an ensemble.
    fits: list[Fit]
    #: Number of classifiers fitted by the search and here.
    n_fits: int


def refit(search: Search, position: int, ensemble: int | None, n_jobs: int | None) -> Refit:
    """Fit the chosen candidate on all training samples, or an ensemble on bootstrap samples."""
    task = search.task
    n_fits = sum(trial.is_new_fit for row in search.trials for trial in row if trial is not None)
    candidate = search.candidates[position]
    sampler, kept = _clean(search, candidate)
    if not class_sizes(task.y[kept], task.classes).all():
        warnings.warn(
            f"{candidate.name} keeps no sample of a class when all training samples are cleaned: "
            "nothing is cleaned.",
            UserWarning,
            stacklevel=5,
        )
        position, candidate = 0, NO_CLEANING
        sampler, kept = _clean(search, candidate)
    if ensemble is None:
        # The estimator keeps its own seed.
        fits = [_fit(task, candidate, kept, task.seed, None)]
    else:
        seeds = [None if task.seed is None else task.seed + i for i in range(ensemble)]
        fits = Parallel(n_jobs=n_jobs)(
            delayed(_fit_member)(task, candidate, kept, seed) for seed in seeds
        )
    return Refit(candidate, position, sampler, fits, n_fits + len(fits))


def _fit_member(task: Task, candidate: Candidate, kept: Ints, seed: int | None) -> Fit:
    """Fit a member of an ensemble on a bootstrap sample, drawn from every class by itself."""
    seed = None if seed is None else seed % LARGEST_SEED
    drawn = np.sort(sklearn_resample(kept, stratify=task.y[kept], random_state=seed))
    with muted():
        return _fit(task, candidate, drawn, seed, seed)


def _fit(
    task: Task, candidate: Candidate, samples: Ints, sampler_seed: int | None, seed: int | None
) -> Fit:
    prepared = resample(candidate, task.X, task.y, task.fit_params, samples, sampler_seed)
    return fit_prepared(task, prepared, task.y, seed)


def _clean(search: Search, candidate: Candidate) -> tuple[GMR | None, Ints]:
    """Return the fitted sampler and the indices of the samples that it keeps."""
    task = search.task
    if candidate.params is None:
        return None, np.arange(len(search.target.codes))
    sampler = clone(task.sampler).set_params(**candidate.params)
    with muted():
        sampler.fit_resample(task.X, task.y)
    return sampler, sampler.sample_indices_


def fit_voter(search: Search, weight: float, leaf_share: float) -> NeighborVoteClassifier | None:
    """Return the fitted classifier whose vote is fused; None if its weight is 0."""
    if weight == 0 or search.task.voter is None:
        return None
    # Not cleaned: votes of cleaned samples were no better in experiments.
    voter: NeighborVoteClassifier = clone(search.task.voter)
    voter.set_params(leaf_share=leaf_share).fit(search.task.X, search.task.y)
    return voter


def results_table(
    candidates: list[Candidate], gains: FusedGains | None, chosen: int, weight: float
) -> dict[str, Any]:
    """Return `cv_results_` of RectifiedClassifier; `gains` is None if no fold was tried.

    `chosen` is the position of the chosen candidate, `weight` the chosen weight of the vote.
    """
    n_candidates = len(candidates)
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
            leaf_share=np.nan,
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
        "chosen": np.arange(n_candidates) == chosen,
    }
