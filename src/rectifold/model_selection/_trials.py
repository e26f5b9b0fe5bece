"""Trials of candidates on folds: clean, fit, and score on the samples that a fold holds out."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from rectifold._core.utils import Floats, Ints
from rectifold.model_selection._candidates import Candidate
from rectifold.model_selection._folds import Fold
from rectifold.model_selection._predictions import Predictions, Recorder, score_checked
from rectifold.model_selection._scorers import SOFT, check_responses
from rectifold.model_selection._shared_search import rectify_all
from rectifold.neighbors import NeighborVoteClassifier
from rectifold.neighbors._classifier import LEAF_SHARE
from rectifold.progress import muted, report
from rectifold.sampler import GMR

#: Seeds are below this.
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that a fit needs besides its candidate and its fold."""

    estimator: Any
    sampler: GMR
    X: Any
    y: Any
    classes: Any
    #: Parameters of `fit`, such as weights of all samples.
    fit_params: Mapping[str, Any]
    scorer: Callable[..., float]
    score_params: Mapping[str, Any]
    #: Seed of estimators and over-samplers; None keeps theirs.
    seed: int | None
    #: Whether probabilities are corrected for the samples removed.
    correct_posterior: bool = False
    #: The classifier whose vote is fused; None for no fusion.
    voter: NeighborVoteClassifier | None = None
    #: The weights of the vote to choose from, ascending.
    weights: tuple[float, ...] = (0.0,)
    #: The shares of the leaves in the vote to choose from.
    leaf_shares: tuple[float, ...] = (LEAF_SHARE,)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted classifier."""

    model: Any
    #: Samples of every class that it was fitted on, divided by those before cleaning.
    class_shares: Floats


@dataclass(frozen=True, eq=False)
class Trial:
    """The result of a candidate on a fold."""

    score: float
    #: What the scorer asked the classifier for.
    predictions: Predictions
    #: False if the fit is shared with a candidate that keeps the same samples.
    is_new_fit: bool


@dataclass(frozen=True, eq=False)
class FoldResult:
    """The results of a fold."""

    #: One trial per candidate; None if it could not be fitted.
    trials: list[Trial | None]
    #: The votes for the test samples, of the nearest samples and of leaves; None without fusion.
    votes: Floats | None


def run_trials(
    task: Task,
    candidates: Sequence[Candidate],
    folds: Sequence[Fold],
    *,
    n_jobs: int | None,
    n_done: int,
    n_total: int,
) -> list[FoldResult]:
    """Return the results of every fold.

    `n_done` and `n_total` count folds, for `rectifold.progress`.
    """
    jobs = (delayed(_run_fold)(task, candidates, fold) for fold in folds)
    done = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        done.append(result)
        report(n_done + len(done), n_total)
    return done


def resample(
    candidate: Candidate,
    X: Any,
    y: Any,
    fit_params: Mapping[str, Any],
    kept: Ints,
    seed: int | None,
) -> tuple[Any, Any, Mapping[str, Any]]:
    """Return `X`, `y` and `fit_params` of the kept samples, over-sampled if the candidate does."""
    if len(kept) != len(y) or (kept[1:] == kept[:-1]).any():
        fit_params = _check_method_params(X, fit_params, kept)
        X, y = _safe_indexing(X, kept), _safe_indexing(y, kept)
    if candidate.resampler is not None:
        resampler = clone(candidate.resampler)
        if seed is not None:
            _set_random_states(resampler, seed)
        X, y = resampler.fit_resample(X, y)
    return X, y, fit_params


def fit_prepared(
    task: Task, prepared: tuple[Any, Any, Mapping[str, Any]], y_before: Any, seed: int | None
) -> Fit:
    """Fit the estimator on what `resample` returned; `y_before` are the labels before that."""
    X, y, fit_params = prepared
    model = clone(task.estimator)
    if seed is not None:
        _set_random_states(model, seed)
    model.fit(X, y, **fit_params)
    return Fit(model, class_sizes(y, task.classes) / class_sizes(y_before, task.classes))


def class_sizes(y: Any, classes: Any) -> Floats:
    """Return the number of samples of every class."""
    values = np.asarray(y)
    return np.array([(values == label).sum() for label in classes], dtype=np.float64)


def _run_fold(task: Task, candidates: Sequence[Candidate], fold: Fold) -> FoldResult:
    X, y = _safe_indexing(task.X, fold.train), _safe_indexing(task.y, fold.train)
    fit_params = _check_method_params(task.X, task.fit_params, fold.train)
    held_out = _safe_indexing(task.X, fold.test), _safe_indexing(task.y, fold.test)
    score_params = _check_method_params(task.X, task.score_params, fold.test)
    # The same for all candidates, so that they differ in their samples alone.
    seed = None if task.seed is None else (task.seed + fold.number) % LARGEST_SEED
    with muted():
        kept = _kept_samples(task.sampler, candidates, X, y)
    known: dict[tuple[bytes, int], Trial] = {}
    trials: list[Trial | None] = []
    for candidate, samples in zip(candidates, kept, strict=True):
        if not class_sizes(_safe_indexing(y, samples), task.classes).all():
            # The paper's rule may remove all samples of a class.
            trials.append(None)
            continue
        key = samples.tobytes(), id(candidate.resampler)
        if key in known:
            trials.append(replace(known[key], is_new_fit=False))
            continue
        try:
            prepared = resample(candidate, X, y, fit_params, samples, seed)
        except Exception as error:
            if candidate.resampler is None:
                raise
            warnings.warn(
                f"{candidate.name} could not be tried: {error}", FitFailedWarning, stacklevel=2
            )
            trials.append(None)
            continue
        with muted():
            fit = fit_prepared(task, prepared, y, seed)
        known[key] = _score(task, fit, held_out, score_params)
        trials.append(known[key])
    votes = None
    if task.voter is not None:
        votes = clone(task.voter).fit(X, y)._votes_of_parts(held_out[0])
    return FoldResult(trials, votes)


def _kept_samples(sampler: GMR, candidates: Sequence[Candidate], X: Any, y: Any) -> list[Ints]:
    """Return the indices of the samples that each candidate keeps."""
    settings = [candidate.params for candidate in candidates if candidate.params is not None]
    records = iter(rectify_all(sampler, settings, X, y))
    everything = np.arange(len(y))
    return [
        everything if candidate.params is None else np.flatnonzero(~next(records).removed)
        for candidate in candidates
    ]


def _score(
    task: Task,
    fit: Fit,
    held_out: tuple[Any, Any],
    score_params: Mapping[str, Any],
) -> Trial:
    check_responses(task.scorer, fit.model)
    # What the fitted RectifiedClassifier would predict is scored: corrected probabilities.
    recorder = Recorder(fit.model, 1 / fit.class_shares if task.correct_posterior else None)
    score = score_checked(task.scorer, recorder, *held_out, **score_params)
    if task.voter is not None:
        method = next((name for name in SOFT if hasattr(fit.model, name)), None)
        if method is not None and method not in recorder.predictions:
            getattr(recorder, method)(held_out[0])
    return Trial(score, recorder.predictions, True)
