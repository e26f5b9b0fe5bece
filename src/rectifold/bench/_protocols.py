"""How a data set becomes a training and a test part: the honest way, and the leak."""

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

#: Split first, then standardise and resample by the training part alone.
TRAIN_ONLY = "train-only"
#: Resample all rows, then split: hard test rows vanish too. Only to show what a leak does.
BEFORE_SPLIT = "before-split"
PROTOCOLS = (TRAIN_ONLY, BEFORE_SPLIT)

TEST_SHARE = 0.2


@dataclass(frozen=True)
class Prepared:
    """What classifiers are trained and tested on, after one resampling.

    Attributes
    ----------
    X_train, y_train, X_test, y_test : ndarray
        The two parts.
    before, after : tuple of int
        Majority and minority rows that the sampler was given, and those it gave back.
    seconds : float
        What resampling took.
    warnings : tuple of str
        The categories of warnings that resampling gave.
    """

    X_train: Floats
    y_train: Ints
    X_test: Floats
    y_test: Ints
    before: tuple[int, int]
    after: tuple[int, int]
    seconds: float
    warnings: tuple[str, ...] = ()

    def save(self, path: Path) -> None:
        """Write it, whole or not at all.

        Parameters
        ----------
        path : pathlib.Path
            An ``.npz`` file.
        """
        content = io.BytesIO()
        np.savez(
            content,
            X_train=self.X_train,
            y_train=self.y_train,
            X_test=self.X_test,
            y_test=self.y_test,
            counts=np.array([self.before, self.after]),
            seconds=np.array(self.seconds),
            warnings=np.array(self.warnings, dtype=str),
        )
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> Prepared:
        """Read what `save` wrote.

        Parameters
        ----------
        path : pathlib.Path
            The file.

        Returns
        -------
        Prepared
            The same, bit for bit.
        """
        with np.load(path, allow_pickle=False) as file:
            (a, b), (c, d) = file["counts"].tolist()
            return cls(
                X_train=file["X_train"],
                y_train=file["y_train"],
                X_test=file["X_test"],
                y_test=file["y_test"],
                before=(a, b),
                after=(c, d),
                seconds=float(file["seconds"]),
                warnings=tuple(file["warnings"].tolist()),
            )


def prepare(data: Data, sampler: Any, seed: int, protocol: str) -> Prepared:
    """Split, standardise and resample.

    Parameters
    ----------
    data : Data
        The whole set.
    sampler : sampler or None
        It has `fit_resample`; None leaves the rows as they are.
    seed : int
        Of the split.
    protocol : {"train-only", "before-split"}
        The order of things.

    Returns
    -------
    Prepared
        With ``train-only``, test rows are those of the plain split, whatever the sampler does.
    """
    if protocol == TRAIN_ONLY:
        train, test = _split(data.y, seed)
        X_train, X_test = standardize(data.X, train, test)
        y_test = data.y[test]
        before = _counts(data.y[train])
        X, y, seconds = _resample(sampler, X_train, data.y[train])
        return Prepared(X, y, X_test, y_test, before, _counts(y), seconds)
    X, y, seconds = _resample(sampler, scaler_for(data.X).fit_transform(data.X), data.y.copy())
    train, test = _split(y, seed)
    for part, rows in (("training", train), ("test", test)):
        if len(np.unique(y[rows])) < 2:
            raise ValueError(f"after resampling, the {part} part has one class only")
    scaler = StandardScaler()
    X_train, X_test = scaler.fit_transform(X[train]), scaler.transform(X[test])
    return Prepared(X_train, y[train], X_test, y[test], _counts(data.y), _counts(y), seconds)


def _split(y: Ints, seed: int) -> tuple[Ints, Ints]:
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=TEST_SHARE, stratify=y, random_state=seed)
    return train, test


def _resample(sampler: Any, X: Floats, y: Ints) -> tuple[Floats, Ints, float]:
    start = perf_counter()
    if sampler is not None:
        X, y = (np.asarray(part) for part in sampler.fit_resample(X, y))
    seconds = perf_counter() - start
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"rows of shape {X.shape} and labels of shape {y.shape} do not fit")
    if len(np.unique(y)) < 2:
        raise ValueError("resampling left one class only")
    return X, y, seconds


def _counts(y: Ints) -> tuple[int, int]:
    positives = int((y == 1).sum())
    return len(y) - positives, positives
