"""The folds inside the training data, and what is fitted on the training part of a fold first."""

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, check_random_state

from rectifold._core.errors import Param, ParameterError, ParameterWarning
from rectifold._core.target import Target, named
from rectifold._core.utils import Bools, Floats, Ints
from rectifold.preprocessing._table_space import TableSpace

#: With fewer samples in the smallest class, fold scores are noisy, and the folds are repeated.
SMALL = 500
#: The number of repeats, then.
REPEATS = 2


@dataclass(frozen=True, eq=False)
class Fold:
    """Indices of samples to train on and of samples to score on."""

    train: Ints
    test: Ints
    #: The repeat of cross-validation that the fold belongs to.
    repeat: int
    #: The position among all folds.
    number: int


def make_folds(
    cv: Any, X: Any, target: Target, groups: Any, *, random_state: Any, repeats: int = REPEATS
) -> list[Fold]:
    """Return the folds of all repeats, or raise an error if one can't be trained on.

    An int `cv` is repeated if the smallest class has fewer than `SMALL` samples.
    """
    if isinstance(cv, numbers.Integral):
        n_splits = _n_splits(int(cv), target)
        n_repeats = repeats if target.sizes.min() < SMALL else 1
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        seeds = check_random_state(random_state).randint(2**31 - 1, size=n_repeats)
        splitters = [kind(n_splits, shuffle=True, random_state=int(seed)) for seed in seeds]
    else:
        splitters = [check_cv(cv, target.codes, classifier=True)]
    splits = [
        (_as_indices(train), _as_indices(test), repeat)
        for repeat, splitter in enumerate(splitters)
        for train, test in splitter.split(X, target.codes, groups)
    ]
    if not splits:
        raise ParameterError("{} yields no folds: it must yield at least one.", Param("cv"))
    folds = [Fold(*split, number) for number, split in enumerate(splits)]
    for fold in folds:
        missing = np.setdiff1d(target.codes, target.codes[fold.train])
        if len(missing):
            raise ParameterError(
                "fold {} of {} trains on no sample of class {}: use fewer folds, or stratified "
                "ones.",
                str(fold.number),
                Param("cv"),
                named(target.classes[missing[0]]),
            )
    return folds


def have_all_classes(folds: list[Fold], codes: Ints) -> Bools:
    """Return for every fold whether its test samples are of all classes."""
    n_classes = len(np.unique(codes))
    return np.array([len(np.unique(codes[fold.test])) == n_classes for fold in folds])


def standardize(X: Any, train: Ints, test: Ints) -> tuple[Floats, Floats]:
    """Return the training and the test samples as numbers on one scale, learnt from `train`.

    `X` is an array of numbers or a DataFrame, whose other columns are encoded.
    """
    scaler = scaler_for(X)
    return scaler.fit_transform(_safe_indexing(X, train)), scaler.transform(_safe_indexing(X, test))


def scaler_for(X: Any) -> Any:
    """Return a transformer, not fitted, that puts samples on one scale."""
    return StandardScaler() if isinstance(X, np.ndarray) else TableSpace()


def _as_indices(rows: Any) -> Ints:
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def _n_splits(cv: int, target: Target) -> int:
    """Return `cv`, or the size of the smallest class if that is less."""
    smallest = int(target.sizes.min())
    if smallest < cv:
        warning = ParameterWarning(
            "class {} has {} samples, fewer than {} folds: {} folds are used.",
            named(target.classes[target.sizes.argmin()]),
            str(smallest),
            Param("cv", cv),
            str(smallest),
        )
        warnings.warn(warning, stacklevel=6)
    return min(cv, smallest)
