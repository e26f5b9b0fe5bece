"""Samplers and classifiers for experiments: slow ones, failing ones, and ones that keep a log.

Worker processes import them by name; what they log goes to the file that PLAYERS_LOG names.
"""

import os
import time
from typing import ClassVar

import numpy as np
from imblearn.base import BaseSampler
from sklearn.base import BaseEstimator, ClassifierMixin


def _log(word):
    if "PLAYERS_LOG" in os.environ:
        with open(os.environ["PLAYERS_LOG"], "a") as file:
            file.write(f"{word} {os.getpid()}\n")


class Keeper(BaseSampler):
    """Drops the last tenth of the rows, and logs each time it is asked."""

    _sampling_type = "clean-sampling"
    _parameter_constraints: ClassVar = {}

    def _fit_resample(self, X, y):
        _log("resampled")
        n = len(y) - len(y) // 10
        return X[:n], y[:n]


class Broken(Keeper):
    """Fails."""

    def _fit_resample(self, X, y):
        raise ValueError("this sampler <fails> & says so")


class Patient(ClassifierMixin, BaseEstimator):
    """Takes its time, then ranks by the first column."""

    seconds = 0.15

    def fit(self, X, y):
        time.sleep(self.seconds)
        self.classes_ = np.unique(y)
        self.mean_ = X[:, 0].mean()
        _log("fitted")
        return self

    def decision_function(self, X):
        return X[:, 0] - self.mean_

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


class Quick(Patient):
    """The same, at once."""

    seconds = 0.0


class Endless(Patient):
    """Never comes to an end."""

    seconds = 3600.0


class Dying(Patient):
    """Takes its process with it."""

    def fit(self, X, y):
        os._exit(3)


class Failing(Patient):
    """Fails."""

    def fit(self, X, y):
        raise RuntimeError("no fit today")


class Mute(Patient):
    """Ranks nothing."""

    decision_function = property()


class Refusing(Patient):
    """Can't be made."""

    def __init__(self):
        raise ValueError("not today")


class PlainSampler:
    """Has `fit_resample`, and nothing else."""

    def fit_resample(self, X, y):
        return X.tolist(), y.tolist()


class PlainClassifier:
    """Has `fit`, `predict` and `predict_proba`, and nothing else."""

    def fit(self, X, y):
        self.mean = X[:, 0].mean()
        return self

    def predict(self, X):
        return (X[:, 0] > self.mean).astype(int)

    def predict_proba(self, X):
        share = 1 / (1 + np.exp(self.mean - X[:, 0]))
        return np.column_stack((1 - share, share))


def not_an_estimator():
    """Make something else."""
    return object()
