"""Fit a space on a table in partitions: by exact sums, by partial_fit, or on a random sample."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from rectifold._core.errors import Param, ParameterError
from rectifold._core.target import flat
from rectifold._core.utils import Ints
from rectifold.dask._cluster import task
from rectifold.dask._partitions import Partitions, PartitionSummary, n_samples_of, select
from rectifold.dask._plan import offsets
from rectifold.dask._samples import stack
from rectifold.dask._sources import load
from rectifold.preprocessing._table_space import TableSpace


@dataclass(frozen=True, slots=True, eq=False)
class FittedSpace:
    """A fitted space."""

    #: None if samples are used as they are.
    space: Any
    #: Number of features of a sample in the space.
    n_features: int
    #: Number of samples that the space was fitted on.
    n_samples: int


def check_space(space: Any) -> None:
    """Raise an error for a space that can't be computed partition by partition."""
    if isinstance(space, str) and space == "heom":
        raise ParameterError(
            "{} compares all pairs of samples, which is not offered on a cluster: pass {} or a "
            "transformer.",
            Param("space", "heom"),
            Param("space", "auto"),
        )
    if space is not None and not isinstance(space, str) and not hasattr(space, "transform"):
        raise ParameterError(
            "{} has no method transform, so it can't be fitted once and applied to every "
            "partition: pass a transformer that has one.",
            Param("space", space),
        )


def needs_moments(space: Any) -> bool:
    """Return whether means and variances are enough to fit a space."""
    return type(space) is StandardScaler


def fit_scaler(
    space: StandardScaler, summaries: Sequence[PartitionSummary], empty: Any
) -> FittedSpace:
    """Fit a clone of a scaler by exact sums; `empty` is a table without samples."""
    total = reduce(add, (part.moments for part in summaries if part.moments is not None))
    fitted = clone(space)
    fitted.n_features_in_ = len(total.sums)
    names = [*empty.columns] if hasattr(empty, "columns") else []
    if names and all(isinstance(name, str) for name in names):
        fitted.feature_names_in_ = np.asarray(names, dtype=object)
    fitted.n_samples_seen_ = np.int64(total.count)
    mean, variance = total.means(), total.variances()
    fitted.mean_ = mean if fitted.with_mean or fitted.with_std else None
    fitted.var_ = variance if fitted.with_std else None
    fitted.scale_ = None
    if fitted.with_std:
        # The same columns count as constant as in scikit-learn, which rounds sums.
        rounding = total.count * np.finfo(np.float64).eps
        constant = variance <= rounding * variance + (rounding * mean) ** 2
        fitted.scale_ = np.where(constant, 1.0, np.sqrt(variance))
    return FittedSpace(fitted, len(total.sums), total.count)


def fit_task(space: Any, partitions: Partitions, counts: Sequence[int], sample: Ints) -> Any:
    """Return a task that fits a clone of any other space and returns a `FittedSpace`.

    `counts` are the sizes of the partitions. A space without partial_fit is fitted on the samples
    whose indices are in `sample`, ascending.
    """
    unfitted = TableSpace() if isinstance(space, str) else clone(space)
    filled = [number for number, count in enumerate(counts) if count]
    if hasattr(unfitted, "partial_fit"):
        fitted: Any = unfitted
        for number in filled:
            fitted = task(
                _partial_fit,
                fitted,
                partitions.sample_sources[number],
                partitions.label_sources[number],
            )
        return task(_describe, fitted, partitions.samples[filled[0]], sum(counts))
    first = offsets(counts)
    parts = []
    for number in filled:
        begin, end = np.searchsorted(sample, [first[number], first[number] + counts[number]])
        if begin < end:
            positions = sample[begin:end] - first[number]
            parts.append(
                [
                    task(select, container[number], positions)
                    for container in (partitions.samples, partitions.labels)
                ]
            )
    return task(_fit, unfitted, parts)


def _partial_fit(space: Any, X: Any, y: Any) -> Any:
    # The argument of a task may be that of another task too, and must not change.
    space = deepcopy(space)
    space.partial_fit(load(X).copy(), flat(load(y)))
    return space


def _fit(space: Any, parts: Sequence[Sequence[Any]]) -> FittedSpace:
    X = stack([samples for samples, _ in parts])
    y = np.concatenate([flat(labels) for _, labels in parts])
    return _describe(space.fit(X, y), X, n_samples_of(X))


def _describe(space: Any, X: Any, n_samples: int) -> FittedSpace:
    X = load(X)
    few = select(X, np.arange(min(2, n_samples_of(X))))
    return FittedSpace(space, int(space.transform(few.copy()).shape[1]), n_samples)
