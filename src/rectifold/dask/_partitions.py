"""Check collections of Dask, split them into partitions, and make collections of kept samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import HINT_SPACE, as_numbers, refuse_large, refuse_repeated
from rectifold._core.target import Labels, refuse_none, tally
from rectifold._core.utils import Ints
from rectifold.dask._cluster import task
from rectifold.dask._exact_sums import Moments, moments
from rectifold.dask._plan import offsets
from rectifold.dask._sources import Checked, as_sources, checksum, load


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Samples and labels, partition by partition."""

    X: Any
    y: Any
    #: One delayed container for each partition.
    samples: list[Any]
    labels: list[Any]
    #: The same for tasks that can compute a partition themselves; see `as_sources`.
    sample_sources: list[Any]
    label_sources: list[Any]

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def empty(self) -> Any:
        """A table without samples, with the columns of X."""
        if isinstance(self.X, da.Array):
            return np.empty((0, self.X.shape[1]), dtype=self.X.dtype)
        return self.X._meta

    def checked(self, summaries: Sequence["PartitionSummary"]) -> "Partitions":
        """Return the partitions, which raise an error if they are no longer those summarised."""

        def check(parts: list[Any], name: str, at: int) -> list[Any]:
            return [
                Checked(part, summary.checksums[at], name, number)
                for number, (part, summary) in enumerate(zip(parts, summaries, strict=True))
            ]

        return replace(
            self,
            samples=check(self.samples, "X", 0),
            labels=check(self.labels, "y", 1),
            sample_sources=check(self.sample_sources, "X", 0),
            label_sources=check(self.label_sources, "y", 1),
        )

    def select(self, positions: Sequence[Any], counts: Sequence[int]) -> tuple[Any, Any]:
        """Return some samples and labels of every partition as lazy collections.

        `positions` are delayed, one array for each partition, and `counts` their lengths.
        """
        X, y = (
            as_collection(
                [task(select, part, where) for part, where in zip(parts, positions, strict=True)],
                like,
                counts,
            )
            for like, parts in ((self.X, self.samples), (self.y, self.labels))
        )
        return X, y


def split(X: Any, y: Any) -> Partitions:
    """Return the partitions of collections, or raise an error for those that can't be cleaned."""
    if not isinstance(X, dd.DataFrame | da.Array):
        raise TypeError(
            f"rectifold.dask.GMR cleans collections of Dask, and X is a {type(X).__name__}: pass a "
            "dask.dataframe.DataFrame or a dask.array.Array, or use rectifold.GMR."
        )
    refuse_none(y)
    if not isinstance(y, dd.DataFrame | dd.Series | da.Array):
        raise TypeError(
            f"y must be a collection of Dask like X, and is a {type(y).__name__}: pass a "
            "dask.dataframe.Series or a dask.array.Array with the partitions of X."
        )
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ParameterError(
                "{} must have two dimensions, samples and features, and has {}.",
                Param("X"),
                str(X.ndim),
            )
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        if np.isnan(X.shape[1]):
            raise ParameterError(
                "{} has an unknown number of features: call X.compute_chunk_sizes().", Param("X")
            )
    else:
        refuse_repeated([*X.columns])
    _check_one_column(y)
    y = _align(X, y)
    # The blocks of an array come as a table of as many dimensions.
    samples, labels = (
        np.ravel(np.asarray(collection.to_delayed(), dtype=object)).tolist()
        for collection in (X, y)
    )
    return Partitions(X, y, samples, labels, as_sources(samples), as_sources(labels))


def _check_one_column(y: Any) -> None:
    is_frame = isinstance(y, dd.DataFrame) and len(y.columns) != 1
    is_matrix = isinstance(y, da.Array) and y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1)
    if is_frame or is_matrix:
        raise ParameterError(
            "{} must have one label per sample, and has {}.",
            Param("y"),
            f"{len(y.columns)} columns" if is_frame else f"the shape {y.shape}",
        )


def _align(X: Any, y: Any) -> Any:
    """Return y in the partitions of X."""
    if isinstance(X, da.Array) and isinstance(y, da.Array):
        known = not np.isnan(X.shape[0]) and not np.isnan(y.shape[0])
        if known and X.shape[0] != y.shape[0]:
            raise ParameterError(
                "{} has {} samples and {} has {} labels.",
                Param("X"),
                str(X.shape[0]),
                Param("y"),
                str(y.shape[0]),
            )
        if known and X.chunks[0] != y.chunks[0]:
            return y.rechunk({0: X.chunks[0]})
    both = (X, y)
    numbers = [
        part.numblocks[0] if isinstance(part, da.Array) else part.npartitions for part in both
    ]
    if numbers[0] == numbers[1]:
        return y
    known = all(isinstance(part, da.Array) or part.known_divisions for part in both)
    raise ParameterError(
        "{} has {} partitions and {} has {}{}: samples and labels can't be matched, so take both "
        "from one dataframe, or repartition y like X.",
        Param("X"),
        str(numbers[0]),
        Param("y"),
        str(numbers[1]),
        "" if known else ", and their divisions are unknown",
    )


@dataclass(frozen=True, slots=True, eq=False)
class PartitionSummary:
    """What the first pass computes of a partition."""

    n_samples: int
    #: Checksums of the samples and of the labels.
    checksums: tuple[int, int]
    #: Names and types of the columns.
    columns: tuple[tuple[Any, str], ...]
    #: Sorted labels, and the number of samples of each.
    labels: Labels
    counts: Ints
    #: None if they are not needed, or the partition is empty.
    moments: Moments | None


def summarise(X: Any, y: Any, number: int, *, with_moments: bool) -> PartitionSummary:
    """Check and summarise a partition; `number` is for errors."""
    n_samples = n_samples_of(X)
    if n_samples != n_samples_of(y):
        raise ParameterError(
            "partition {} of {} has {} samples, and that of {} has {} labels: they can't be "
            "matched, so take both from one dataframe.",
            str(number),
            Param("X"),
            str(n_samples),
            Param("y"),
            str(n_samples_of(y)),
        )
    labels, counts = tally(y, number)
    found = None
    if with_moments and n_samples:
        values = as_numbers(X, hint=HINT_SPACE)
        refuse_large(values)
        found = moments(values)
    if hasattr(X, "dtypes"):
        columns = tuple((name, str(kind)) for name, kind in zip(X.columns, X.dtypes, strict=True))
    else:
        columns = tuple((column, str(X.dtype)) for column in range(X.shape[1]))
    checksums = checksum(X), checksum(y)
    return PartitionSummary(n_samples, checksums, columns, labels, counts, found)


def check_same_columns(summaries: Sequence[PartitionSummary]) -> None:
    """Raise an error if partitions differ in the names, order or types of their columns."""
    filled = [(number, part) for number, part in enumerate(summaries) if part.n_samples]
    for number, part in filled[1:]:
        first, like = filled[0]
        if part.columns == like.columns:
            continue
        names, expected = ([name for name, _ in other.columns] for other in (part, like))
        if names != expected:
            lacking = next((name for name in expected if name not in names), None)
            raise ParameterError(
                "partition {} of {} {} partition {}: all need the same columns in the same order.",
                str(number),
                Param("X"),
                "has other columns than" if lacking is None else f"lacks the column {lacking!r} of",
                str(first),
            )
        name, kind = next(
            pair for pair, other in zip(part.columns, like.columns, strict=True) if pair != other
        )
        raise ParameterError(
            "column {} of {} is {} in partition {} and {} in partition {}: give it one type, for "
            "example with X.astype.",
            repr(name),
            Param("X"),
            kind,
            str(number),
            dict(like.columns)[name],
            str(first),
        )


def select(part: Any, positions: Ints) -> Any:
    """Return some samples of a partition, in its container."""
    part = load(part)
    return part.iloc[positions] if hasattr(part, "iloc") else part[positions]


def as_collection(parts: Sequence[Any], like: Any, counts: Sequence[int]) -> Any:
    """Return a collection of delayed parts, with the type and divisions of another collection."""
    if isinstance(like, da.Array):
        arrays = [
            da.from_delayed(part, (count, *like.shape[1:]), meta=like._meta)
            for part, count in zip(parts, counts, strict=True)
        ]
        return da.concatenate(arrays)
    divisions = like.divisions if like.known_divisions else None
    return dd.from_delayed(list(parts), meta=like._meta, divisions=divisions, verify_meta=False)


def to_indices(positions: Sequence[Any], counts: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return positions in partitions as an array of indices in the whole table.

    `counts` are the numbers of positions, and `sizes` those of samples.
    """
    arrays = [
        da.from_delayed(task(np.add, where, first), (count,), dtype=np.intp)
        for where, count, first in zip(positions, counts, offsets(sizes), strict=True)
    ]
    return da.concatenate(arrays)


def n_samples_of(part: Any) -> int:
    """Return the number of samples in a container; sparse matrices have no length."""
    return int(part.shape[0]) if sparse.issparse(part) else len(part)
