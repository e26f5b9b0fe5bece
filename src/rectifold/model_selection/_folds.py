"""The folds inside the training data: how rows are dealt, and what folds must hold."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, check_random_state

from rectifold._core.target import Target, named
from rectifold._core.utils import Floats, Ints
from rectifold.preprocessing._table_space import TableSpace

#: With fewer rows in the smallest class, fold scores are noisy, and folds are dealt several times.
SMALL = 500
#: How often, then.
ROUNDS = 2


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to train on and rows to score on, by position."""

    train: Ints
    test: Ints
    #: Which dealing of the rows the fold belongs to.
    round: int
    #: Which of all folds it is.
    number: int


def deal(
    cv: Any, X: Any, labels: Target, groups: Any, *, ensemble: int | None, random_state: Any
) -> list[Fold]:
    """Deal the rows to folds, and check that something can be learnt from each.

    Parameters
    ----------
    cv : int, splitter or iterable
        As for `RectifiedClassifier`.
    X : array-like
        The rows.
    labels : Target
        Their labels.
    groups : array-like or None
        Rows of a group stay on one side.
    ensemble : int or None
        How many folds are needed at least.
    random_state : int, RandomState instance or None
        For an int as cv.

    Returns
    -------
    list of Fold
        Whole rounds.
    """
    if isinstance(cv, numbers.Integral):
        n_splits = _affordable(int(cv), labels)
        rounds = ROUNDS if labels.sizes.min() < SMALL else 1
        if ensemble is not None:
            rounds = -(-ensemble // n_splits)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        seeds = check_random_state(random_state).randint(2**31 - 1, size=rounds)
        splitters = [kind(n_splits, shuffle=True, random_state=int(seed)) for seed in seeds]
    else:
        splitters = [check_cv(cv, labels.codes, classifier=True)]
    splits = [
        (_positions(train), _positions(test), turn)
        for turn, splitter in enumerate(splitters)
        for train, test in splitter.split(X, labels.codes, groups)
    ]
    if not splits:
        raise ValueError("cv gives no folds: it must give at least one.")
    if ensemble is not None and len(splits) < ensemble:
        raise ValueError(
            f"ensemble={ensemble} needs as many folds, and cv gives {len(splits)}: raise cv, or "
            "lower ensemble."
        )
    folds = [Fold(*split, number) for number, split in enumerate(splits)]
    for fold in folds:
        missing = np.setdiff1d(labels.codes, labels.codes[fold.train])
        if len(missing):
            raise ValueError(
                f"fold {fold.number} of cv trains on no row of class "
                f"{named(labels.classes[missing[0]])}: take fewer folds, or stratified ones."
            )
    return folds


def whole_tests(folds: list[Fold], codes: Ints) -> list[bool]:
    """Tell for every fold whether the rows it scores on hold every class."""
    n = len(np.unique(codes))
    return [len(np.unique(codes[fold.test])) == n for fold in folds]


def standardize(X: Any, train: Ints, test: Ints) -> tuple[Floats, Floats]:
    """Return the training and the test samples as numbers on one scale, learnt from `train`.

    `X` is an array of numbers or a DataFrame, whose other columns are encoded.
    """
    scaler = scaler_for(X)
    return scaler.fit_transform(_safe_indexing(X, train)), scaler.transform(_safe_indexing(X, test))


def scaler_for(X: Any) -> Any:
    """Return a transformer, not fitted, that puts samples on one scale."""
    return StandardScaler() if isinstance(X, np.ndarray) else TableSpace()


def _positions(rows: Any) -> Ints:
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def _affordable(cv: int, labels: Target) -> int:
    least = int(labels.sizes.min())
    if least < cv:
        warnings.warn(
            f"class {named(labels.classes[labels.sizes.argmin()])} has {least} rows, fewer than "
            f"cv={cv} folds: {least} folds are used.",
            UserWarning,
            stacklevel=6,
        )
    return min(cv, least)
