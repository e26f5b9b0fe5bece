"""A table of one's own becomes a set for a diffusion model: numbers, codes, nothing missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.deep.sets import SETS, Table
from rectifold._core.utils import did_you_mean
from rectifold.bench._data import Source, read_table
from rectifold.model_selection._registry import BenchError

#: The classifier tells no more values of a column that names something from each other.
MOST_NAMES = 255
#: Fewer rows of a class leave too few to train on, of which GMR may remove some.
LEAST_ROWS = 10


def own(source: Source, categorical: Sequence[str] = ()) -> Table:
    """Read a table of one's own.

    Parameters
    ----------
    source : Source
        Where it is, and its column of labels; the rarer of two classes is to be found.
    categorical : sequence of str
        Columns whose numbers name something. Columns of text, of bool, and of two values do
        anyhow.

    Returns
    -------
    Table
        What names something is coded; a missing text is a text like others.
    """
    if source.name in SETS:
        raise BenchError(
            f"{source.name!r} is one of the paper's sets, whose figures would stand beside those "
            f"of {source.path!r}: give yours another name"
        )
    columns, y, rarer = read_table(source, LEAST_ROWS)
    where, names = repr(source.path), [str(name) for name in columns]
    for name in categorical:
        if name not in names:
            raise BenchError(f"{where} has no column {name!r}{did_you_mean(name, names)}")
    coded: dict[str, Any] = {}
    named = []
    for name in names:
        values, what = columns[name], f"column {name!r} of {where}"
        if name in categorical or _names_something(values):
            coded[name] = _codes(values, what)
            named.append(name)
        else:
            coded[name] = _numbers(values, what)
    return Table(source.name, f"{rarer} against the rest", pd.DataFrame(coded), y, tuple(named))


def _names_something(values: Any) -> bool:
    return values.dtype.kind not in "iufmM" or values.nunique() <= 2


def _codes(values: Any, what: str) -> Any:
    codes, names = pd.factorize(values.astype("string"), sort=True, use_na_sentinel=False)
    if len(names) > MOST_NAMES:
        raise BenchError(
            f"{what} names {len(names):,} different things, and {MOST_NAMES} are the most here: "
            "leave it out, or make numbers or groups of it"
        )
    return codes.astype(np.int64)


def _numbers(values: Any, what: str) -> Any:
    lost = values.isna()
    if not lost.any():
        # Times are numbers, in whatever unit.
        times = values.dtype.kind in "mM"
        numbers = (values.astype("int64") if times else values).to_numpy(np.float64)
        lost = ~np.isfinite(numbers)
        if not lost.any():
            return numbers
    raise BenchError(
        f"{what} has {int(lost.sum()):,} missing or infinite values, and a diffusion model takes "
        "none: fill them, or leave such rows out"
    )
