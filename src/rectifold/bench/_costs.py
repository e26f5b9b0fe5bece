"""What fits cost: a rough model for the order of things, corrected by what a run measures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import log2, sqrt
from typing import TYPE_CHECKING

from rectifold.bench._data import Shape
from rectifold.model_selection._registry import WRAPPER, Entry

if TYPE_CHECKING:
    from rectifold.bench._grid import Key, Task


#: How many fits a method that wraps a classifier makes of one, roughly.
_FITS = 50


def task_cost(entry: Entry, classifiers: Iterable[Entry], shape: Shape) -> float:
    """Estimate the seconds of a resampling and all its fits.

    Parameters
    ----------
    entry : Entry
        The sampler.
    classifiers : iterable of Entry
        Those that share the resampling.
    shape : Shape
        Of the data set.

    Returns
    -------
    float
        Rough: it is for the order of things, and a run corrects it by what it measures.
    """
    search = 0.0 if entry.kind == "none" else 0.01 + 1e-10 * shape.rows**2 * shape.columns
    return search + sum(fit_cost(one, entry, shape) for one in classifiers)


def fit_cost(classifier: Entry, entry: Entry, shape: Shape) -> float:
    """Estimate the seconds of a fit.

    Parameters
    ----------
    classifier : Entry
        What is fitted.
    entry : Entry
        The sampler before it.
    shape : Shape
        Of the data set.

    Returns
    -------
    float
        Rough, as `task_cost`.
    """
    majority = shape.rows - shape.positives
    sizes = {"oversampling": 2 * majority, "undersampling": 2 * shape.positives}
    n = 0.8 * max(2, sizes.get(entry.kind, shape.rows))
    d = shape.columns
    # Measured on a dozen of the paper's sets, with one thread.
    seconds = {
        "LR": 1e-7 * n * d,
        "KNN": 4e-11 * n * shape.rows * d,
        "DT": 1e-7 * n * d * log2(n),
        "SVM": 1.5e-10 * n**2 * d,
        "XGB": 0.02 + 1.2e-6 * n * d,
        "RF": 0.1 + 4e-6 * n * sqrt(d) * log2(n),
        "GBM": 0.05 + 1.3e-6 * n * d * log2(n),
    }
    fits = _FITS if entry.kind == WRAPPER else 1
    return fits * (0.005 + seconds.get(classifier.name, seconds["RF"]))


class Forecast:
    """What is left to do, in seconds of one process: the rough model, corrected by measurement.

    Parameters
    ----------
    shapes : dict of str to Shape
        Of the data sets.
    tasks : list of Task
        What is to be done.
    """

    def __init__(self, shapes: dict[str, Shape], tasks: list[Task]) -> None:
        self._left: dict[Key, float] = {}
        self._by_classifier: dict[str, float] = defaultdict(float)
        for task in tasks:
            for one in task.classifiers:
                cost = fit_cost(one, task.method, shapes[task.source.name])
                self._left[task.key(one)] = cost
                self._by_classifier[one.name] += cost
        self._measured: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def note(self, task: Task, classifier: Entry, seconds: float) -> None:
        """Take a fit off, and learn from it.

        Parameters
        ----------
        task : Task
            What the fit belonged to.
        classifier : Entry
            What was fitted.
        seconds : float
            What it took, with its share of the resampling.
        """
        cost = self._left.pop(task.key(classifier), 0.0)
        self._by_classifier[classifier.name] -= cost
        # Recent fits count more: costs drift as sets grow.
        sums = self._measured[classifier.name]
        sums[0] = 0.995 * sums[0] + seconds
        sums[1] = 0.995 * sums[1] + cost

    def seconds(self) -> float | None:
        """Estimate what is left.

        Returns
        -------
        float or None
            Seconds of one process; None before the first fit.
        """
        known = [sums for sums in self._measured.values() if sums[1] > 0]
        if not known:
            return None
        overall = sum(taken for taken, _ in known) / sum(cost for _, cost in known)
        total = 0.0
        for name, cost in self._by_classifier.items():
            taken, guessed = self._measured[name]
            total += max(0.0, cost) * (taken / guessed if guessed > 0 else overall)
        return total
