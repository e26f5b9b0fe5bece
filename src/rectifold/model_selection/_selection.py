"""Which candidate wins, or how many members of an ensemble each one gets, by what trials showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from rectifold._core.target import Target
from rectifold._core.utils import Bools, Floats, Ints
from rectifold.model_selection._candidates import Candidate
from rectifold.model_selection._folds import Fold, whole_tests
from rectifold.model_selection._scorers import SOFT, is_pooled
from rectifold.model_selection._trials import Recorded, Task, Trial, checked_score, pooled

#: The share of an ensemble that is not cleaned to begin with, before candidates compete.
PRIOR = 0.25
#: Steps of the greedy selection: the grain of the shares it can give.
STEPS = 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """What all trials so far have shown, candidate by candidate; no cleaning is the first.

    Attributes
    ----------
    fold_scores : ndarray of shape (n_candidates, n_folds)
        NaN where a candidate was no longer tried.
    gain : ndarray of shape (n_candidates,)
        The score over no cleaning: out-of-fold answers of a round scored together, averaged over
        the rounds in which the candidate took part.
    error : ndarray of shape (n_candidates,)
        The standard error of the gain, from paired differences over folds.
    """

    fold_scores: Floats
    gain: Floats
    error: Floats


@dataclass(frozen=True, eq=False)
class Searched:
    """All trials of a search.

    Attributes
    ----------
    task : Task
        What was fitted, and the scorer.
    labels : Target
        Of all training rows.
    options : list of Candidate
        No cleaning first.
    folds : list of Fold
        Whole rounds.
    trials : list of list of Trial or None
        For every fold a trial for every candidate, or None where it was not tried.
    """

    task: Task
    labels: Target
    options: list[Candidate]
    folds: list[Fold]
    trials: list[list[Trial | None]]


def weigh(found: Searched) -> Evidence:
    """Compare every candidate with no cleaning, on the same folds.

    Parameters
    ----------
    found : Searched
        The trials.

    Returns
    -------
    Evidence
    """
    task, folds, trials = found.task, found.folds, found.trials
    n = len(trials[0])
    scores = np.array(
        [[np.nan if trial is None else trial.score for trial in row] for row in trials]
    ).T
    rounds = np.array([fold.round for fold in folds])
    together = is_pooled(task.scorer)
    # A fold that lacks a class scores the same whatever was fitted, and tells nothing of chance.
    telling = np.array(whole_tests(folds, found.labels.codes))
    gain, error = np.full(n, np.nan), np.full(n, np.nan)
    whole = np.full((n, rounds.max() + 1), np.nan)
    for place in range(n):
        for turn in np.unique(rounds):
            now = np.flatnonzero(rounds == turn).tolist()
            said = [trial.said for i in now if (trial := trials[i][place]) is not None]
            if len(said) < len(now):
                continue
            if together:
                ((rows, words),) = pooled([folds[i] for i in now], said)
                whole[place, turn] = _score(task, rows, words)
            else:
                whole[place, turn] = scores[place, now].mean()
        took_part = ~np.isnan(whole[place])
        if took_part.any():
            gain[place] = (whole[place] - whole[0])[took_part].mean()
            differences = (scores[place] - scores[0])[took_part[rounds] & telling]
            if len(differences) > 1:
                error[place] = differences.std(ddof=1) / np.sqrt(len(differences))
    return Evidence(scores, gain, error)


def race(found: Searched, slack: float) -> tuple[Searched, Bools, Evidence]:
    """Leave out what would not have been tried: candidates that were behind after a round.

    Parameters
    ----------
    found : Searched
        The trials so far, of this race or of a more lenient one.
    slack : float
        By how many standard errors a candidate may be behind no cleaning.

    Returns
    -------
    found : Searched
        The trials that count.
    running : ndarray of bool
        Which candidates are worth another round; no cleaning always is.
    evidence : Evidence
        What the trials that count have shown.
    """
    running = np.ones(len(found.options), dtype=bool)
    raced = replace(found, folds=[], trials=[])
    for turn in sorted({fold.round for fold in found.folds}):
        for fold, row in zip(found.folds, found.trials, strict=True):
            if fold.round == turn:
                raced.folds.append(fold)
                each = zip(row, running, strict=True)
                raced.trials.append([trial if runs else None for trial, runs in each])
        evidence = weigh(raced)
        running &= evidence.gain > -slack * np.nan_to_num(evidence.error)
        running[0] = True
    return raced, running, evidence


def choose(evidence: Evidence, guard: float) -> int:
    """Choose the best candidate, or no cleaning where no gain exceeds `guard` standard errors.

    Parameters
    ----------
    evidence : Evidence
        What trials showed.
    guard : float
        How many standard errors a gain must exceed.

    Returns
    -------
    int
        The place of the candidate; 0 is no cleaning.
    """
    # With no guard the error does not matter, and may not even be known.
    needed = guard * evidence.error if guard > 0 else 0.0
    convincing = (evidence.gain > needed) & (evidence.gain > 0)
    convincing[0] = False
    if not convincing.any():
        return 0
    return int(np.where(convincing, evidence.gain, -np.inf).argmax())


def share_out(found: Searched, m: int) -> Ints:
    """Share the members of an ensemble out among candidates.

    Greedy forward selection with replacement (Caruana et al., 2004) on out-of-fold answers:
    one step after the other goes to the candidate that improves the average most. It starts from
    a share of members that are not cleaned. Candidates that were not tried on all folds take no
    part.

    Parameters
    ----------
    found : Searched
        The trials.
    m : int
        Members.

    Returns
    -------
    ndarray of int of shape (m,)
        The place of the candidate for every member; 0 is no cleaning.
    """
    task, folds, trials = found.task, found.folds, found.trials
    places = [
        place for place in range(len(trials[0])) if all(row[place] is not None for row in trials)
    ]
    # For every candidate and round: rows, and what was said about them.
    answers: list[list[tuple[Ints, Mapping[str, Any]]]] = [
        list(pooled(folds, [_trial(row[place]).said for row in trials])) for place in places
    ]
    weights = np.zeros(len(places))
    weights[0] = round(PRIOR * STEPS)

    def score(weights: Floats) -> float:
        return float(
            np.mean(
                [
                    _score(task, rows, mixed([one[turn][1] for one in answers], weights))
                    for turn, (rows, _) in enumerate(answers[0])
                ]
            )
        )

    for _ in range(STEPS - round(PRIOR * STEPS)):
        tried = [score(weights + step) for step in np.eye(len(places))]
        weights[int(np.argmax(tried))] += 1
    return np.array(places)[_dealt(weights / weights.sum(), m)]


def averaging_hurts(found: Searched, guard: float) -> bool:
    """Tell whether averaging fits of the folds costs the estimator something, without cleaning.

    Every row has one answer a round, by fits that did not see it. If their average scores worse
    than they do, by more than `guard` standard errors over folds, so would an ensemble.

    Parameters
    ----------
    found : Searched
        The trials; of a single round nothing can be told.
    guard : float
        How many standard errors.

    Returns
    -------
    bool
    """
    task, folds, trials = found.task, found.folds, found.trials
    rounds = list(pooled(folds, [_trial(row[0]).said for row in trials]))
    if len(rounds) < 2 or any(len(rows) != len(rounds[0][0]) for rows, _ in rounds):
        return False
    # By row, so that answers of different rounds stand side by side.
    ordered = [
        {name: values[np.argsort(rows)] for name, values in said.items()} for rows, said in rounds
    ]
    together = mixed(ordered, np.ones(len(ordered)))
    place = {int(row): at for at, row in enumerate(np.sort(rounds[0][0]))}
    gains = []
    for fold, row in zip(folds, trials, strict=True):
        at = [place[int(one)] for one in fold.test]
        score = _score(task, fold.test, {name: values[at] for name, values in together.items()})
        gains.append(score - _trial(row[0]).score)
    return bool(np.mean(gains) < -guard * np.std(gains, ddof=1) / np.sqrt(len(gains)))


def mixed(said: Sequence[Mapping[str, Any]], weights: Floats) -> dict[str, Any]:
    """Average what several classifiers said about the same rows.

    Parameters
    ----------
    said : sequence of mapping
        Probabilities or values of decision functions, under the names of the methods.
    weights : ndarray
        How much each counts.

    Returns
    -------
    dict
        Averages. What is no number, as labels are, can't be averaged and is left out.
    """
    share = weights / weights.sum()
    return {
        name: sum(part * words[name] for part, words in zip(share, said, strict=True) if part)
        for name in said[0]
        if name != "predict"
    }


def _score(task: Task, rows: Ints, words: Mapping[str, Any]) -> float:
    if "predict" not in words and any(name in words for name in SOFT):
        words = {**words, "predict": decided(words, task.classes)}
    told = _check_method_params(task.X, task.score_params, rows)
    model = Recorded(task.classes, words)
    X, y = _safe_indexing(task.X, rows), _safe_indexing(task.y, rows)
    return checked_score(task.scorer, model, X, y, **told)


def decided(words: Mapping[str, Any], classes: Any) -> Any:
    """Take the class that probabilities, or else decision functions, favour.

    Parameters
    ----------
    words : mapping
        With "predict_proba" or "decision_function".
    classes : ndarray
        The labels, in the order of columns.

    Returns
    -------
    ndarray
        A label for every row.
    """
    if "predict_proba" in words:
        return classes[np.argmax(words["predict_proba"], axis=1)]
    values = words["decision_function"]
    return classes[(values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)]


def _dealt(shares: Floats, m: int) -> Ints:
    """Deal m members out by shares, each candidate's spread over the whole."""
    given = np.zeros(len(shares))
    turns = []
    for turn in range(m):
        place = int(np.argmax(shares * (turn + 1) - given))
        given[place] += 1
        turns.append(place)
    return np.array(turns)


def _trial(trial: Trial | None) -> Trial:
    assert trial is not None  # Candidates that could not be tried have no part in ensembles.
    return trial
