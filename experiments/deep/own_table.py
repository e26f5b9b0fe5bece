"""Read a table of your own for the experiment with TabDDPM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.deep.sets import SETS, Table
from rectifold._core.utils import did_you_mean
from rectifold.bench._data import Source, read_table
from rectifold.model_selection._registry import BenchError

#: Most categories of a column that the classifier distinguishes.
MAX_CATEGORIES = 255
#: Minimum size of a class: GMR may remove some of the samples that the split leaves.
MIN_CLASS_SIZE = 10


def load_own(source: Source, categorical: Sequence[str] = ()) -> Table:
    """Read a table of your own; the rarer of its two classes is the positive one.

    Columns of text, of bool and of two values are categorical, and so are those that
    `categorical` names; a missing text is a category of its own.
    """
    if source.name in SETS:
        raise BenchError(
            f"{source.name!r} is the name of one of the paper's data sets: rename {source.path!r}"
        )
    columns, y, positive = read_table(source, MIN_CLASS_SIZE)
    where, names = repr(source.path), [str(name) for name in columns]
    for name in categorical:
        if name not in names:
            raise BenchError(f"{where} has no column {name!r}{did_you_mean(name, names)}")
    coded: dict[str, Any] = {}
    categories = []
    for name in names:
        values, what = columns[name], f"column {name!r} of {where}"
        if name in categorical or _is_categorical(values):
            coded[name] = _codes(values, what)
            categories.append(name)
        else:
            coded[name] = _numbers(values, what)
    return Table(
        source.name, f"{positive} against the rest", pd.DataFrame(coded), y, tuple(categories)
    )


def _is_categorical(values: Any) -> bool:
    return values.dtype.kind not in "iufmM" or values.nunique() <= 2


def _codes(values: Any, what: str) -> Any:
    codes, categories = pd.factorize(values.astype("string"), sort=True, use_na_sentinel=False)
    if len(categories) > MAX_CATEGORIES:
        raise BenchError(
            f"{what} has {len(categories):,} categories, and at most {MAX_CATEGORIES} are "
            "supported: leave it out, group its categories, or convert it to numbers"
        )
    return codes.astype(np.int64)


def _numbers(values: Any, what: str) -> Any:
    invalid = values.isna()
    if not invalid.any():
        # Times become numbers, in any unit.
        times = values.dtype.kind in "mM"
        numbers = (values.astype("int64") if times else values).to_numpy(np.float64)
        invalid = ~np.isfinite(numbers)
        if not invalid.any():
            return numbers
    raise BenchError(
        f"{what} has {int(invalid.sum()):,} missing or infinite values: fill them, or drop these "
        "rows"
    )
