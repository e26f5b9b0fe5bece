"""Training and test splits: how samples are split, scaled and resampled."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from rectifold._core.utils import Floats, Ints
from rectifold._io import write_whole
from rectifold.bench._data import Data
from rectifold.model_selection._folds import scaler_for, standardize


@dataclass(frozen=True)
class Protocol:
    """How samples are split, scaled and resampled."""

    #: All samples are resampled before the split: data leakage, since difficult test samples are
    #: removed too. Only to show its effect.
    leaks: bool = False
    #: Samplers see the raw features, which are standardised after resampling, not before.
    raw: bool = False
    #: Classifiers that have the parameter `class_weight` get "balanced".
    class_weight: bool = False
    #: The share of the minority samples of the training split that get the label of the majority.
    mislabelled: float = 0.0
    #: How methods with equal scores are ranked, as in :meth:`pandas.DataFrame.rank`.
    ties: str = "average"


#: Split first; scaling and samplers are fitted on the training split alone.
TRAIN_ONLY = "train-only"
BEFORE_SPLIT = "before-split"
#: What the paper's table was made with: see docs/reproduction.md.
PAPER = "paper"
PROTOCOLS = {
    TRAIN_ONLY: Protocol(),
    BEFORE_SPLIT: Protocol(leaks=True),
    PAPER: Protocol(raw=True, class_weight=True, ties="min"),
    "paper-before-split": Protocol(leaks=True, raw=True, class_weight=True, ties="min"),
    "raw": Protocol(raw=True),
    "raw-before-split": Protocol(leaks=True, raw=True),
    "class-weight": Protocol(class_weight=True),
    "class-weight-before-split": Protocol(leaks=True, class_weight=True),
    "mislabelled": Protocol(mislabelled=0.1),
}

TEST_SHARE = 0.2


def leaking(protocol: str) -> str:
    """Return the name of a protocol that differs only in resampling before the split."""
    return BEFORE_SPLIT if protocol == TRAIN_ONLY else f"{protocol}-{BEFORE_SPLIT}"


@dataclass(frozen=True)
class Split:
    """A training split after resampling, and the test split."""

    X_train: Floats
    y_train: Ints
    X_test: Floats
    y_test: Ints
    #: Majority and minority samples before resampling, and after it.
    before: tuple[int, int]
    after: tuple[int, int]
    #: Duration of the resampling.
    seconds: float
    #: Categories of the warnings that resampling has issued.
    warnings: tuple[str, ...] = ()

    def save(self, path: Path) -> None:
        """Write the split to an ``.npz`` file, which appears whole or not at all."""
        content = io.BytesIO()
        np.savez(content, **vars(self))
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> Split:
        """Read a file that `save` has written; all values are equal bit for bit."""
        with np.load(path, allow_pickle=False) as file:
            values: dict[str, Any] = {name: file[name] for name in file.files}
        for name in ("before", "after", "warnings"):
            values[name] = tuple(values[name].tolist())
        values["seconds"] = float(values["seconds"])
        return cls(**values)


def prepare(data: Data, sampler: Any, seed: int, protocol: str) -> Split:
    """Split, standardise and resample; None as sampler leaves the samples as they are.

    Unless the protocol leaks, the test split does not depend on the sampler.
    """
    rules, X, y = PROTOCOLS[protocol], data.X, data.y
    # Columns that are not numbers have no raw features that a sampler could see.
    raw = rules.raw and isinstance(X, np.ndarray)
    if rules.leaks:
        before = _counts(y)
        X = X.copy() if raw else scaler_for(X).fit_transform(X)
        X, y, seconds = _resample(sampler, X, y.copy())
        after = _counts(y)
        train, test = _split(y, seed)
        for name, indices in (("training", train), ("test", test)):
            if len(np.unique(y[indices])) < 2:
                raise ValueError(f"after resampling, the {name} split has one class only")
        X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    else:
        train, test = _split(y, seed)
        X_train, X_test = (X[train], X[test]) if raw else standardize(X, train, test)
        y_train, y_test = _mislabel(y[train], rules.mislabelled, seed), y[test]
        before = _counts(y_train)
        X_train, y_train, seconds = _resample(sampler, X_train, y_train)
        after = _counts(y_train)
    if raw or rules.leaks:
        scaler = StandardScaler()
        X_train, X_test = scaler.fit_transform(X_train), scaler.transform(X_test)
    return Split(X_train, y_train, X_test, y_test, before, after, seconds)


def _split(y: Ints, seed: int) -> tuple[Ints, Ints]:
    indices = np.arange(len(y))
    train, test = train_test_split(indices, test_size=TEST_SHARE, stratify=y, random_state=seed)
    return train, test


def _mislabel(y: Ints, share: float, seed: int) -> Ints:
    """Return labels with a share of the minority given the label of the majority at random."""
    positives = np.flatnonzero(y == 1)
    drawn = np.random.default_rng(seed).permutation(positives)[: round(share * len(positives))]
    y = y.copy()
    y[drawn] = 0
    return y


def _resample(sampler: Any, X: Floats, y: Ints) -> tuple[Floats, Ints, float]:
    start = perf_counter()
    if sampler is not None:
        X, y = (np.asarray(part) for part in sampler.fit_resample(X, y))
    seconds = perf_counter() - start
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"the sampler returned samples of shape {X.shape} and labels of shape {y.shape}, which "
            "do not match"
        )
    if len(np.unique(y)) < 2:
        raise ValueError("resampling left one class only")
    return X, y, seconds


def _counts(y: Ints) -> tuple[int, int]:
    positives = int((y == 1).sum())
    return len(y) - positives, positives
