"""Candidates tried inside the training data: the folds, the fits on them, what those said."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble._base import _set_random_states
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from rectifold._core.utils import Floats, Ints
from rectifold.model_selection._candidates import Candidate
from rectifold.model_selection._folds import Fold
from rectifold.model_selection._scorers import check_answers
from rectifold.model_selection._shared_search import rectify_all
from rectifold.posterior import reweighted
from rectifold.progress import muted, report
from rectifold.sampler import GMR

_LARGEST_SEED = 2**31 - 1
_RESPONSES = ("predict_proba", "decision_function", "predict_log_proba", "predict")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A classifier fitted on prepared rows.

    Attributes
    ----------
    model : classifier
        Fitted.
    shares : ndarray of shape (n_classes,)
        Rows of every class after preparing, over rows before.
    """

    model: Any
    shares: Floats


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate on a fold.

    Attributes
    ----------
    score : float
        On the rows that the fold holds out.
    said : dict of str to ndarray
        What the scorer asked the classifier for, by the name of the method.
    distinct : bool
        Whether this candidate was the first to leave these rows; if not, nothing was fitted.
    fitted : Fitted or None
        Kept where it may become a member of an ensemble.
    """

    score: float
    said: Mapping[str, Any]
    distinct: bool
    fitted: Fitted | None


class Recorder(ClassifierMixin, BaseEstimator):
    """A fitted classifier that takes down what a scorer asks it and what it says."""

    def __init__(self, model: Any, factors: Any = None) -> None:
        self.model = model
        self.factors = factors
        self.said: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Pass everything on to the classifier."""
        if name.startswith("__") or name in ("model", "factors", "said"):
            raise AttributeError(name)
        if name == "decision_function" and self.factors is not None:
            raise AttributeError(name)
        found = getattr(self.model, name)
        return self._noting(name, found) if name in _RESPONSES else found

    def _answer(self, name: str, method: Callable[[Any], Any], X: Any) -> Any:
        if self.factors is None:
            return method(X)
        # What would be delivered is what is scored: probabilities put back, labels by them.
        probabilities = reweighted(self.model.predict_proba(X), self.factors)
        if name == "predict":
            return self.model.classes_[probabilities.argmax(axis=1)]
        return probabilities if name == "predict_proba" else np.log(probabilities)

    def _noting(self, name: str, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def answer(X: Any) -> Any:
            self.said[name] = self._answer(name, method, X)
            return self.said[name]

        # Scorers of scikit-learn tell methods apart by their names.
        answer.__name__ = name
        return answer


class Recorded(ClassifierMixin, BaseEstimator):
    """A classifier that repeats what others have said about some rows, whatever it is asked."""

    def __init__(self, classes_: Any, said: Mapping[str, Any]) -> None:
        self.classes_ = classes_
        self.said = said

    def __getattr__(self, name: str) -> Any:
        """Answer what was answered before."""
        if name in _RESPONSES and name in self.said:

            def answer(X: Any) -> Any:
                return self.said[name]

            answer.__name__ = name
            return answer
        raise AttributeError(f"what was asked before does not answer {name}")


@dataclass(frozen=True, eq=False)
class Task:
    """All that a fit needs besides its rows; the same for every fold."""

    estimator: Any
    sampler: GMR
    X: Any
    y: Any
    classes: Any
    #: Parameters for fit, entries of rows whole.
    fit_params: Mapping[str, Any]
    scorer: Callable[..., float]
    score_params: Mapping[str, Any]
    #: Seeds for estimators that take one; None leaves them as they are.
    seed: int | None
    #: Whether probabilities are put back by the shares of rows that were kept.
    correct: bool = False


def try_folds(
    task: Task,
    candidates: Sequence[Candidate],
    folds: Sequence[Fold],
    *,
    keep: bool,
    n_jobs: int | None,
    done: int,
    total: int,
) -> list[list[Trial | None]]:
    """Try candidates on folds.

    Parameters
    ----------
    task : Task
        What to fit, on what.
    candidates : sequence of Candidate
        No cleaning among them.
    folds : sequence of Fold
        Each is a job of its own.
    keep : bool
        Whether to keep the fitted classifiers.
    n_jobs : int or None
        Processes, as in scikit-learn.
    done, total : int
        Folds before these and in all, for `rectifold.progress`.

    Returns
    -------
    list of list of Trial or None
        For every fold a trial for every candidate; None for one that could not be prepared.
    """
    jobs = (delayed(_try)(task, candidates, fold, keep) for fold in folds)
    found = []
    for trials in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        found.append(trials)
        report(done + len(found), total)
    return found


def _try(task: Task, candidates: Sequence[Candidate], fold: Fold, keep: bool) -> list[Trial | None]:
    X, y = _safe_indexing(task.X, fold.train), _safe_indexing(task.y, fold.train)
    params = _check_method_params(task.X, task.fit_params, fold.train)
    with muted():
        kept = _kept(task.sampler, candidates, X, y)
    held_out = _safe_indexing(task.X, fold.test), _safe_indexing(task.y, fold.test)
    told = _check_method_params(task.X, task.score_params, fold.test)
    # The same for all candidates, so that they differ in their rows alone.
    seed = None if task.seed is None else (task.seed + fold.number) % _LARGEST_SEED
    known: dict[tuple[bytes, int], Trial] = {}
    trials: list[Trial | None] = []
    for candidate, rows in zip(candidates, kept, strict=True):
        if not counts(_safe_indexing(y, rows), task.classes).all():
            # The paper's rule may empty a class; there is nothing to learn then.
            trials.append(None)
            continue
        key = rows.tobytes(), id(candidate.then)
        if key not in known:
            try:
                prepared = _prepared(candidate, X, y, params, rows, seed)
            except Exception as problem:
                if candidate.then is None:
                    raise
                warnings.warn(
                    f"{candidate.name} could not be tried: {problem}",
                    FitFailedWarning,
                    stacklevel=2,
                )
                trials.append(None)
                continue
            with muted():
                fitted = _fit(task, prepared, y, seed)
            known[key] = _scored(task, fitted, held_out, told, keep=keep)
            trials.append(known[key])
        else:
            first = known[key]
            trials.append(replace(first, distinct=False))
    return trials


def _kept(sampler: GMR, candidates: Sequence[Candidate], X: Any, y: Any) -> list[Ints]:
    """Tell for every candidate the rows that stay."""
    cleaning = [candidate for candidate in candidates if candidate.params is not None]
    records = iter(rectify_all(sampler, [c.params or {} for c in cleaning], X, y))
    everything = np.arange(len(y))
    return [
        everything if candidate.params is None else np.flatnonzero(~next(records).removed)
        for candidate in candidates
    ]


def _prepared(
    candidate: Candidate,
    X: Any,
    y: Any,
    params: Mapping[str, Any],
    rows: Ints,
    seed: int | None,
) -> tuple[Any, Any, Mapping[str, Any]]:
    if len(rows) < len(y):
        params = _check_method_params(X, params, rows)
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
    if candidate.then is not None:
        then = clone(candidate.then)
        if seed is not None:
            _set_random_states(then, seed)
        X, y = then.fit_resample(X, y)
    return X, y, params


def _fit(
    task: Task, prepared: tuple[Any, Any, Mapping[str, Any]], before: Any, seed: int | None
) -> Fitted:
    X, y, params = prepared
    model = clone(task.estimator)
    if seed is not None:
        _set_random_states(model, seed)
    model.fit(X, y, **params)
    return Fitted(model, counts(y, task.classes) / counts(before, task.classes))


def fit_whole(task: Task, candidate: Candidate, kept: Ints) -> Fitted:
    """Fit on all training rows, prepared as a candidate does.

    Parameters
    ----------
    task : Task
        What to fit, on what. Estimators keep their own seeds.
    candidate : Candidate
        How to prepare the rows.
    kept : ndarray of int
        The rows that cleaning leaves.

    Returns
    -------
    Fitted
    """
    prepared = _prepared(candidate, task.X, task.y, task.fit_params, kept, task.seed)
    return _fit(task, prepared, task.y, None)


def _scored(
    task: Task,
    fitted: Fitted,
    held_out: tuple[Any, Any],
    told: Mapping[str, Any],
    *,
    keep: bool,
) -> Trial:
    check_answers(task.scorer, fitted.model)
    recorder = Recorder(fitted.model, 1 / fitted.shares if task.correct else None)
    score = checked_score(task.scorer, recorder, *held_out, **told)
    if keep and set(recorder.said) <= {"predict"}:
        # Members of an ensemble are averaged, and labels can't be.
        soft = next((name for name in _RESPONSES[:-1] if hasattr(fitted.model, name)), None)
        if soft is not None:
            getattr(recorder, soft)(held_out[0])
    return Trial(score, recorder.said, True, fitted if keep else None)


def checked_score(scorer: Callable[..., float], model: Any, X: Any, y: Any, **told: Any) -> float:
    """Score, and say so if that is where things go wrong.

    Parameters
    ----------
    scorer : callable
        As scikit-learn makes them.
    model : classifier
        Fitted.
    X, y : array-like
        Rows that it was not fitted on, and their labels.
    **told
        Metadata for the scorer.

    Returns
    -------
    float
        A finite number.
    """
    try:
        score = float(scorer(model, X, y, **told))
    except Exception as problem:
        problem.add_note("This happened while scoring rows that a fold held out.")
        raise
    if not np.isfinite(score):
        raise ValueError(f"scoring gave {score}: a scorer must give a finite number.")
    return score


def counts(y: Any, classes: Any) -> Floats:
    """Count the rows of every class."""
    values = np.asarray(y)
    return np.array([(values == label).sum() for label in classes], dtype=np.float64)


def pooled(folds: Sequence[Fold], said: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Ints, Any]]:
    """Put together what was said about the rows of each round.

    Parameters
    ----------
    folds : sequence of Fold
        Of one or more rounds.
    said : sequence of mapping
        What a candidate said about the held-out rows of each fold.

    Yields
    ------
    rows : ndarray of int
        The positions that a round held out.
    said : dict
        What was said about them.
    """
    for turn in sorted({fold.round for fold in folds}):
        parts = [
            (fold.test, words)
            for fold, words in zip(folds, said, strict=True)
            if fold.round == turn
        ]
        rows = np.concatenate([test for test, _ in parts])
        yield (
            rows,
            {name: np.concatenate([words[name] for _, words in parts]) for name in parts[0][1]},
        )
