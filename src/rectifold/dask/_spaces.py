"""A space is fitted on a table that is in parts: by exact sums, part by part, or on a sample."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from dask import delayed
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from rectifold._core.target import flat
from rectifold._core.utils import Ints
from rectifold.dask._merge import stacked
from rectifold.dask._partitions import Parts, Seen, len_of, select
from rectifold.dask._plan import starts
from rectifold.dask._sources import at_hand
from rectifold.preprocessing._table_space import TableSpace


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A space, and what is known of it."""

    #: None where rows are taken as they are.
    space: Any
    #: Numbers of a row, in it.
    columns: int
    #: How many rows it was fitted on.
    rows: int


def check(space: Any) -> None:
    """Refuse a space that can't be computed part by part."""
    if isinstance(space, str) and space == "heom":
        raise ValueError(
            "space='heom' compares all pairs of rows, which a cluster is not for: pass "
            "space='auto', or a transformer."
        )
    if space is not None and not isinstance(space, str) and not hasattr(space, "transform"):
        raise ValueError(
            f"space={type(space).__name__} has no transform, so that it can't be fitted once and "
            "then applied to every partition: pass a transformer that has one."
        )


def scales(space: Any) -> bool:
    """Tell whether a space needs nothing but means and variances."""
    return type(space) is StandardScaler


def scaled(space: StandardScaler, seen: Sequence[Seen], empty: Any) -> Fitted:
    """Fit a scaler by exact sums of all rows, whatever the partitions.

    Parameters
    ----------
    space : StandardScaler
        What the caller passed; a clone is fitted.
    seen : sequence of Seen
        Every partition, with its moments.
    empty : {dataframe, ndarray}
        A table without rows, for the names of its columns.

    Returns
    -------
    Fitted
    """
    total = reduce(add, (one.moments for one in seen if one.moments is not None))
    fitted = clone(space)
    fitted.n_features_in_ = len(total.sums)
    names = [*empty.columns] if hasattr(empty, "columns") else []
    if names and all(isinstance(name, str) for name in names):
        fitted.feature_names_in_ = np.asarray(names, dtype=object)
    fitted.n_samples_seen_ = np.int64(total.count)
    mean, variance = total.means(), total.variances()
    moved, stretched = fitted.with_mean, fitted.with_std
    fitted.mean_ = mean if moved or stretched else None
    fitted.var_ = variance if stretched else None
    fitted.scale_ = None
    if stretched:
        # The same columns count as constant as on one machine, where sums are rounded.
        coarse = total.count * np.finfo(np.float64).eps
        constant = variance <= coarse * variance + (coarse * mean) ** 2
        fitted.scale_ = np.where(constant, 1.0, np.sqrt(variance))
    return Fitted(fitted, len(total.sums), total.count)


def fitting(space: Any, parts: Parts, counts: Sequence[int], sample: Ints) -> Any:
    """Say how any other space is fitted.

    Parameters
    ----------
    space : "auto" or transformer
        What the caller passed; a clone is fitted.
    parts : Parts
        The table.
    counts : sequence of int
        Rows of every partition.
    sample : ndarray of int
        Row numbers, ascending: where the space can't be fitted part by part, it sees these alone.

    Returns
    -------
    Delayed
        A task that gives a `Fitted`.
    """
    unfitted = TableSpace() if isinstance(space, str) else clone(space)
    filled = [number for number, rows in enumerate(counts) if rows]
    if hasattr(unfitted, "partial_fit"):
        so_far: Any = unfitted
        for number in filled:
            so_far = delayed(_further, pure=False)(
                so_far, parts.row_sources[number], parts.label_sources[number]
            )
        return delayed(_known, pure=False)(so_far, parts.rows[filled[0]], sum(counts))
    first = starts(counts)
    some = []
    for number in filled:
        begin, end = np.searchsorted(sample, [first[number], first[number] + counts[number]])
        if begin < end:
            which = sample[begin:end] - first[number]
            some.append(
                [
                    delayed(select, pure=False)(container[number], which)
                    for container in (parts.rows, parts.labels)
                ]
            )
    return delayed(_on_sample, pure=False)(unfitted, some)


def _further(space: Any, X: Any, y: Any) -> Any:
    # What a task is given may be given to another too, and must not change.
    space = deepcopy(space)
    space.partial_fit(at_hand(X).copy(), flat(at_hand(y)))
    return space


def _on_sample(space: Any, some: Sequence[Sequence[Any]]) -> Fitted:
    X = stacked([rows for rows, _ in some])
    y = np.concatenate([flat(labels) for _, labels in some])
    return _known(space.fit(X, y), X, len_of(X))


def _known(space: Any, X: Any, rows: int) -> Fitted:
    few = select(X, np.arange(min(2, len_of(X))))
    return Fitted(space, int(space.transform(few.copy()).shape[1]), rows)
