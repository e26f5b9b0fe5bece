"""Collections of Dask as lists of parts, checked; and kept rows as collections again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask import delayed
from scipy import sparse

from rectifold._core.space import HINT_SPACE, as_numbers, refuse_large, refuse_repeated
from rectifold._core.target import Labels, refuse_none, tally
from rectifold._core.utils import Ints
from rectifold.dask._exact_sums import Moments, moments
from rectifold.dask._plan import starts
from rectifold.dask._sources import sources


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Rows and labels, partition by partition."""

    X: Any
    y: Any
    #: One delayed container a partition.
    rows: list[Any]
    labels: list[Any]
    #: The same as tasks are given them that read, if they can, for themselves; see `sources`.
    row_sources: list[Any]
    label_sources: list[Any]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def empty(self) -> Any:
        """A table without rows, with the columns of X."""
        if isinstance(self.X, da.Array):
            return np.empty((0, self.X.shape[1]), dtype=self.X.dtype)
        return self.X._meta

    def selected(self, kept: Sequence[Any], counts: Sequence[int]) -> tuple[Any, Any]:
        """Give some rows of every partition, lazily.

        Parameters
        ----------
        kept : sequence of Delayed
            Positions in each partition.
        counts : sequence of int
            How many these are.

        Returns
        -------
        X, y : collections of the caller's kinds
            With his partitions, and his index.
        """
        both = []
        for like, parts in ((self.X, self.rows), (self.y, self.labels)):
            some = [
                delayed(select, pure=False)(part, which)
                for part, which in zip(parts, kept, strict=True)
            ]
            both.append(as_collection(some, like, counts))
        return both[0], both[1]


def split(X: Any, y: Any) -> Parts:
    """Take collections apart, or say what can't be cleaned.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array of shape (n_rows, n_features)
        The rows.
    y : dask.dataframe.Series or dask.array.Array of shape (n_rows,)
        Their labels, in as many partitions.

    Returns
    -------
    Parts
    """
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
            raise ValueError(f"X must have two dimensions, rows and columns, and has {X.ndim}.")
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        if np.isnan(X.shape[1]):
            raise ValueError("X has an unknown number of columns: call X.compute_chunk_sizes().")
    else:
        refuse_repeated([*X.columns])
    if isinstance(y, dd.DataFrame) and len(y.columns) != 1:
        raise ValueError(f"y must have one column of labels, and has {len(y.columns)}.")
    if isinstance(y, da.Array) and y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):
        raise ValueError(f"y must have one label for every row, and has the shape {y.shape}.")
    y = _aligned(X, y)
    # Blocks of arrays come as a table of as many dimensions.
    rows, labels = (np.ravel(np.asarray(one.to_delayed(), dtype=object)).tolist() for one in (X, y))
    return Parts(X, y, rows, labels, sources(rows), sources(labels))


def _aligned(X: Any, y: Any) -> Any:
    """Give y in the partitions of X, where lengths are known; or refuse."""
    if isinstance(X, da.Array) and isinstance(y, da.Array):
        known = not np.isnan(X.shape[0]) and not np.isnan(y.shape[0])
        if known and X.shape[0] != y.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and y has {y.shape[0]} labels.")
        if known and X.chunks[0] != y.chunks[0]:
            return y.rechunk({0: X.chunks[0]})
    many = [one.numblocks[0] if isinstance(one, da.Array) else one.npartitions for one in (X, y)]
    if many[0] == many[1]:
        return y
    known = all(isinstance(one, da.Array) or one.known_divisions for one in (X, y))
    why = "" if known else ", and their divisions are unknown"
    raise ValueError(
        f"X has {many[0]} partitions and y has {many[1]}{why}: their rows can't be matched, so "
        "take both from one dataframe, or repartition y like X."
    )


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the first look at a partition tells."""

    rows: int
    #: Names and types of its columns.
    columns: tuple[tuple[Any, str], ...]
    labels: Labels
    counts: Ints
    moments: Moments | None


def look(X: Any, y: Any, number: int, *, scale: bool) -> Seen:
    """Look at a partition for the first time.

    Parameters
    ----------
    X, y
        Its rows and their labels.
    number : int
        Which one it is.
    scale : bool
        Whether means and variances will be asked for.

    Returns
    -------
    Seen
    """
    if len_of(X) != len_of(y):
        raise ValueError(
            f"partition {number} of X has {len_of(X)} rows, and that of y {len_of(y)} labels: "
            "their rows can't be matched, so take both from one dataframe."
        )
    labels, counts = tally(y, number)
    found = None
    if scale and len_of(X):
        values = as_numbers(X, name="X", hint=HINT_SPACE)
        refuse_large(values)
        found = moments(values)
    if hasattr(X, "dtypes"):
        columns = tuple((name, str(kind)) for name, kind in zip(X.columns, X.dtypes, strict=True))
    else:
        columns = tuple((column, str(X.dtype)) for column in range(X.shape[1]))
    return Seen(len_of(X), columns, labels, counts, found)


def refuse_odd_ones(seen: Sequence[Seen]) -> None:
    """Refuse partitions whose columns are not those of the others."""
    filled = [(number, one) for number, one in enumerate(seen) if one.rows]
    if not filled:
        return
    first, like = filled[0]
    for number, one in filled[1:]:
        if one.columns == like.columns:
            continue
        mine, theirs = ([name for name, _ in some.columns] for some in (one, like))
        if mine != theirs:
            odd = next((name for name in theirs if name not in mine), None)
            what = f"lacks the column {odd!r} of" if odd is not None else "has other columns than"
            raise ValueError(
                f"partition {number} of X {what} partition {first}: all need the same columns, in "
                "the same order."
            )
        name, kind = next(
            pair for pair, other in zip(one.columns, like.columns, strict=True) if pair != other
        )
        raise ValueError(
            f"column {name!r} of X is {kind} in partition {number} and {dict(like.columns)[name]} "
            f"in partition {first}: give it one type, as X.astype does."
        )


def select(part: Any, which: Ints) -> Any:
    """Give some rows of a partition, in its container."""
    return part.iloc[which] if hasattr(part, "iloc") else part[which]


def as_collection(parts: Sequence[Any], like: Any, counts: Sequence[int]) -> Any:
    """Make a collection of delayed parts, of the kind and with the divisions of another."""
    if isinstance(like, da.Array):
        arrays = [
            da.from_delayed(part, (count, *like.shape[1:]), meta=like._meta)
            for part, count in zip(parts, counts, strict=True)
        ]
        return da.concatenate(arrays)
    divisions = like.divisions if like.known_divisions else None
    return dd.from_delayed(list(parts), meta=like._meta, divisions=divisions, verify_meta=False)


def positions(kept: Sequence[Any], counts: Sequence[int], rows: Sequence[int]) -> Any:
    """Make an array of row numbers of positions in partitions of so many rows."""
    arrays = [
        da.from_delayed(delayed(np.add, pure=False)(which, first), (count,), dtype=np.intp)
        for which, count, first in zip(kept, counts, starts(rows), strict=True)
    ]
    return da.concatenate(arrays)


def len_of(some: Any) -> int:
    """How many rows a container has; a sparse matrix does not tell by its length."""
    return int(some.shape[0]) if sparse.issparse(some) else len(some)
