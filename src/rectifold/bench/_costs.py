"""Estimated costs of fits: a rough model that orders them, corrected by the durations of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import log2, sqrt
from typing import TYPE_CHECKING

from rectifold.bench._data import Shape
from rectifold.model_selection._registry import WRAPPER, Entry

if TYPE_CHECKING:
    from rectifold.bench._grid import Key, Task


#: Approximate number of fits of the classifier inside a method that wraps it.
_FITS_OF_WRAPPER = 50


def task_cost(method: Entry, classifiers: Iterable[Entry], shape: Shape) -> float:
    """Estimate the seconds of a resampling and of the fits that share it."""
    resampling = 1e-10 * shape.n_samples**2 * shape.n_features + 0.01
    fits = sum(fit_cost(classifier, method, shape) for classifier in classifiers)
    return fits if method.kind == "none" else resampling + fits


def fit_cost(classifier: Entry, method: Entry, shape: Shape) -> float:
    """Estimate the seconds of a fit after a method has resampled a data set of this shape."""
    majority = shape.n_samples - shape.n_positives
    sizes = {"oversampling": 2 * majority, "undersampling": 2 * shape.n_positives}
    n = 0.8 * max(2, sizes.get(method.kind, shape.n_samples))
    d = shape.n_features
    # Measured on a dozen of the paper's data sets, with one thread.
    seconds = {
        "LR": 1e-7 * n * d,
        "KNN": 4e-11 * n * shape.n_samples * d,
        "DT": 1e-7 * n * d * log2(n),
        "SVM": 1.5e-10 * n**2 * d,
        "XGB": 0.02 + 1.2e-6 * n * d,
        "RF": 0.1 + 4e-6 * n * sqrt(d) * log2(n),
        "GBM": 0.05 + 1.3e-6 * n * d * log2(n),
    }
    fits = _FITS_OF_WRAPPER if method.kind == WRAPPER else 1
    return fits * (0.005 + seconds.get(classifier.name, seconds["RF"]))


class Forecast:
    """The remaining time of a run in seconds of one process, learned from the fits that ended.

    For each classifier, the estimated costs are scaled by the ratio of measured to estimated
    seconds so far.
    """

    def __init__(self, shapes: dict[str, Shape], tasks: list[Task]) -> None:
        self._remaining: dict[Key, float] = {}
        self._by_classifier: dict[str, float] = defaultdict(float)
        for task in tasks:
            for classifier in task.classifiers:
                cost = fit_cost(classifier, task.method, shapes[task.source.name])
                self._remaining[task.key(classifier)] = cost
                self._by_classifier[classifier.name] += cost
        #: Measured and estimated seconds, by classifier.
        self._sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def note(self, task: Task, classifier: Entry, seconds: float) -> None:
        """Record the duration of a fit, with its share of the resampling."""
        cost = self._remaining.pop(task.key(classifier), 0.0)
        self._by_classifier[classifier.name] -= cost
        # Recent fits count more, since data sets grow during a run.
        sums = self._sums[classifier.name]
        sums[0] = 0.995 * sums[0] + seconds
        sums[1] = 0.995 * sums[1] + cost

    def seconds(self) -> float | None:
        """Estimate the remaining seconds; None before the first fit has ended."""
        known = [sums for sums in self._sums.values() if sums[1] > 0]
        if not known:
            return None
        overall = sum(measured for measured, _ in known) / sum(cost for _, cost in known)
        total = 0.0
        for name, cost in self._by_classifier.items():
            measured, estimated = self._sums[name]
            total += max(0.0, cost) * (measured / estimated if estimated > 0 else overall)
        return total
