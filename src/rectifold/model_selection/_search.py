"""The search of RectifiedClassifier: check the input, make candidates and folds, run trials."""

import numbers
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.validation import (
    _is_arraylike,
    _num_samples,
    check_consistent_length,
)

from rectifold._core.errors import Param, ParameterError, ParameterWarning
from rectifold._core.space import is_numeric
from rectifold._core.target import Target, encode_for, named
from rectifold.model_selection._candidates import Candidate, read_candidates
from rectifold.model_selection._folds import Fold, have_all_classes, make_folds
from rectifold.model_selection._fusion import LEAF_SHARES, WEIGHTS
from rectifold.model_selection._gains import Search
from rectifold.model_selection._scorers import (
    SOFT,
    can_be_fused,
    check_classifier,
    check_ensemble,
    scorer_for,
)
from rectifold.model_selection._selection import eliminate
from rectifold.model_selection._trials import Task, run_trials
from rectifold.neighbors import NeighborVoteClassifier
from rectifold.neighbors._classifier import LEAF_SHARE
from rectifold.progress import report
from rectifold.sampler import GMR

#: No fusion with votes: no classifier, and 0 as the only weight.
_NO_VOTE: dict[str, Any] = {"voter": None, "weights": (0.0,)}


def explore(model: Any, X: Any, y: Any, params: Mapping[str, Any]) -> Search:
    """Check the input of `RectifiedClassifier.fit`, and try all candidates.

    `model` is the RectifiedClassifier, `params` its parameters of `fit`.
    """
    check_classifier(model.estimator, model.correct_posterior)
    target = encode_for(model, X, y)
    check_consistent_length(X, target.values)
    (X,) = indexable(X)
    task, groups = _make_task(model, X, target, params)
    folds = make_folds(model.cv, X, target, groups, random_state=model.random_state)
    candidates = _find_candidates(task, target, folds, model.param_grid, model.min_gain_se)
    search = Search(task, target, candidates, [], [], [])
    _run(search, folds, model.n_jobs)
    return search


def sampler_of(model: Any, X: Any = None) -> GMR:
    """Return the sampler of a RectifiedClassifier, not fitted; the default one can clean `X`."""
    if model.sampler is None:
        return GMR() if X is None or is_numeric(X) else GMR(space="auto")
    if not isinstance(model.sampler, GMR):
        raise TypeError(
            f"sampler is a {type(model.sampler).__name__}: it must be a GMR, whose settings are "
            "chosen; to fit after another sampler, use a pipeline of imbalanced-learn."
        )
    return model.sampler


def voter_of(model: Any) -> NeighborVoteClassifier:
    """Return the classifier whose vote is fused, not fitted."""
    if model.voter is None:
        return NeighborVoteClassifier(n_jobs=model.n_jobs)
    if not isinstance(model.voter, NeighborVoteClassifier):
        raise TypeError(
            f"voter is a {type(model.voter).__name__}: it must be a NeighborVoteClassifier, or "
            "None for one with default parameters."
        )
    return model.voter


def _make_task(model: Any, X: Any, target: Target, params: Mapping[str, Any]) -> tuple[Task, Any]:
    """Return what all fits have in common, and the groups of the samples."""
    sampler = sampler_of(model, X)
    scorer = scorer_for(model.estimator, model.scoring, target)
    if model.ensemble is not None:
        check_ensemble(model.estimator, model.ensemble, len(target.classes))
    if _routing_enabled():
        routed = process_routing(model, "fit", **params)
        groups = routed.splitter.split.get("groups")
        fit_params, score_params = routed.estimator.fit, routed.scorer.score
    else:
        fit_params = {name: value for name, value in params.items() if value is not None}
        groups, score_params = fit_params.pop("groups", None), {}
    fusion = _fusion_of(model, scorer, len(target.classes))
    seed = None
    if model.random_state is not None:
        seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
    task = Task(
        estimator=model.estimator,
        sampler=sampler,
        X=X,
        y=target.values,
        classes=target.classes,
        fit_params=fit_params,
        scorer=scorer,
        score_params=score_params,
        seed=seed,
        correct_posterior=model.correct_posterior,
        **fusion,
    )
    return task, groups


def _fusion_of(model: Any, scorer: Any, n_classes: int) -> dict[str, Any]:
    """Return the classifier whose vote is fused, and what to choose from, by fields of Task."""
    voter, weight = voter_of(model), model.vote_weight
    share = voter.leaf_share
    if isinstance(weight, str):
        if not can_be_fused(model.estimator, scorer, n_classes):
            return _NO_VOTE
        shares = LEAF_SHARES if isinstance(share, str) else (float(share),)
        return {"voter": voter, "weights": WEIGHTS, "leaf_shares": shares}
    if weight == 0:
        return _NO_VOTE
    if not can_be_fused(model.estimator, scorer, n_classes):
        raise ParameterError(
            "{} needs a classifier with {} for every class, and a scorer of predictions, as made "
            "by sklearn.metrics.make_scorer: set {}.",
            Param("vote_weight", weight),
            " or ".join(SOFT),
            Param("vote_weight", 0),
        )
    shares = (LEAF_SHARE if isinstance(share, str) else float(share),)
    return {"voter": voter, "weights": (float(weight),), "leaf_shares": shares}


def _find_candidates(
    task: Task, target: Target, folds: list[Fold], param_grid: Any, min_gain_se: float
) -> list[Candidate]:
    """Return the candidates that can be tried on the folds, no cleaning first.

    A candidate that the user named and that can't be tried is an error.
    """
    explicit = not isinstance(param_grid, str)
    fused = task.voter is not None
    candidates = read_candidates(param_grid, task.sampler, task.X, task.y, fused=fused)
    candidates = _without_resamplers(candidates, task, explicit)
    n_train = min(len(fold.train) for fold in folds)
    n_minority = min(int(np.bincount(target.codes[fold.train]).min()) for fold in folds)
    applicable = [
        candidate
        for candidate in candidates
        if candidate.params is None
        or _is_applicable(candidate, task, n_train, n_minority, len(target.classes), explicit)
    ]
    min_minority = task.sampler.min_minority
    if len(applicable) == 1 < len(candidates) and n_minority < min_minority:
        warning = ParameterWarning(
            "class {} has {} samples to train on in a fold, fewer than {}: nothing is cleaned.",
            named(target.classes[target.sizes.argmin()]),
            str(n_minority),
            Param("min_minority", min_minority),
        )
        warnings.warn(warning, stacklevel=5)
    n_choices = len(applicable) * len(task.weights)
    if n_choices > 1 and min_gain_se > 0 and have_all_classes(folds, target.codes).sum() < 2:
        raise ParameterError(
            "fewer than two folds of {} score samples of every class, so gains have no standard "
            "error: use stratified folds, or {}.",
            Param("cv"),
            Param("min_gain_se", 0),
        )
    return applicable


def _run(search: Search, folds: list[Fold], n_jobs: int | None) -> None:
    """Add the trials repeat by repeat, without the candidates that `eliminate` drops."""
    task = search.task
    # Decision values are mapped to probabilities by out-of-fold ones.
    maps_values = task.voter is not None and not hasattr(task.estimator, "predict_proba")
    chooses_weight = len(task.weights) > 1
    if len(search.candidates) == 1 and not (maps_values or chooses_weight):
        return
    running = np.ones(len(search.candidates), dtype=bool)
    for repeat in sorted({fold.repeat for fold in folds}):
        now = [fold for fold in folds if fold.repeat == repeat]
        results = run_trials(
            task,
            [c for c, runs in zip(search.candidates, running, strict=True) if runs],
            now,
            n_jobs=n_jobs,
            n_done=len(search.folds),
            n_total=len(folds),
        )
        for result in results:
            trials = iter(result.trials)
            search.trials.append([next(trials) if runs else None for runs in running])
            search.votes.append(result.votes)
        search.folds.extend(now)
        if len(search.folds) == len(folds):
            return
        _, running, _ = eliminate(search)
        if not chooses_weight and running.sum() == 1:
            break
    report(len(folds), len(folds))


def _without_resamplers(candidates: list[Candidate], task: Task, explicit: bool) -> list[Candidate]:
    """Drop candidates with an over-sampler if samples have weights, which new ones would lack."""
    per_sample = sorted(
        name
        for name, value in task.fit_params.items()
        if _is_arraylike(value) and _num_samples(value) == len(task.y)
    )
    resampled = [candidate for candidate in candidates if candidate.resampler is not None]
    if per_sample and resampled and explicit:
        raise ParameterError(
            "{} has {}, and synthetic samples have no entry in {}: leave one of them out.",
            Param("param_grid"),
            resampled[0].name,
            ", ".join(per_sample),
        )
    return [c for c in candidates if c.resampler is None] if per_sample else candidates


def _is_applicable(
    candidate: Candidate,
    task: Task,
    n_train: int,
    n_minority: int,
    n_classes: int,
    explicit: bool,
) -> bool:
    sampler = clone(task.sampler).set_params(**(candidate.params or {}))
    if sampler.metric == "precomputed":
        raise ParameterError(
            "{} needs distances between all samples, and a fold has only some of the samples: "
            "pass the samples, and a metric by its name.",
            Param("metric", sampler.metric),
        )
    k = sampler.n_neighbors
    if isinstance(k, numbers.Integral) and int(k) >= n_train:
        if explicit:
            raise ParameterError(
                "{} has {}, and a fold trains on {} samples: {} must be smaller.",
                Param("param_grid"),
                candidate.name,
                str(n_train),
                Param("n_neighbors"),
            )
        return False
    return n_classes > 2 or n_minority >= sampler.min_minority
