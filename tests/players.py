"""Samplers and classifiers for tests of the harness: slow ones, failing ones, and ones that log.

Worker processes import them by name. They log to the file that PLAYERS_LOG names.
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
    """Drop the last tenth of the samples, and log every call."""

    _sampling_type = "clean-sampling"
    _parameter_constraints: ClassVar = {}

    def _fit_resample(self, X, y):
        _log("resampled")
        n = len(y) - len(y) // 10
        return X[:n], y[:n]


class Broken(Keeper):
    """Raise an error."""

    def _fit_resample(self, X, y):
        raise ValueError("this sampler <fails> & says so")


class Patient(ClassifierMixin, BaseEstimator):
    """Wait, then rank by the first feature."""

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
    """Rank by the first feature without waiting."""

    seconds = 0.0


class Endless(Patient):
    """Fit for an hour."""

    seconds = 3600.0


class Dying(Patient):
    """End the process."""

    def fit(self, X, y):
        os._exit(3)


class Failing(Patient):
    """Raise an error."""

    def fit(self, X, y):
        raise RuntimeError("no fit today")


class Mute(Patient):
    """Have no decision function."""

    decision_function = property()


class Refusing(Patient):
    """Fail in the constructor."""

    def __init__(self):
        raise ValueError("not today")


class PlainSampler:
    """A sampler with no other method than `fit_resample`."""

    def fit_resample(self, X, y):
        return X.tolist(), y.tolist()


class PlainClassifier:
    """A classifier with no other methods than `fit`, `predict` and `predict_proba`."""

    def fit(self, X, y):
        self.mean = X[:, 0].mean()
        return self

    def predict(self, X):
        return (X[:, 0] > self.mean).astype(int)

    def predict_proba(self, X):
        share = 1 / (1 + np.exp(self.mean - X[:, 0]))
        return np.column_stack((1 - share, share))


def not_an_estimator():
    """Return an object without any method of an estimator."""
    return object()
