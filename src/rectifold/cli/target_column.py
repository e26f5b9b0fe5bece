"""Read the target column: class labels, missing labels, and what looks like them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rectifold._core.utils import did_you_mean
from rectifold.cli.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: What programs write to text files for a missing value.
_MISSING = frozenset(
    ("nan", "NaN", "-nan", "-NaN", "NA", "<NA>", "#N/A", "#NA", "null", "NULL"),
)
#: Texts that mean a missing label in some tables, and a class in others.
_MARKERS = frozenset(("?", "-", "N/A", "n/a", "None", "none", "unknown"))
#: A text column with up to this many distinct fractions holds classes, such as grades 1.0, 1.5, ...
_MAX_FRACTIONS = 20


def read_labels(
    column: pd.Series[Any], *, is_text: bool, missing_labels: Sequence[str] = ()
) -> tuple[pd.Series[Any], NDArray[np.bool_], list[str]]:
    """Return the labels, for every row whether its label is missing, and notes on doubtful labels.

    In a text file blank cells, `_MISSING` and `missing_labels` are missing, and every other text is
    a label as it is written; elsewhere, nulls and `missing_labels` are missing.
    """
    if is_text:
        gaps = column.isin([cell for cell in column.unique() if is_blank(cell)])
    else:
        gaps = column.isna()
    missing = gaps.to_numpy(dtype=bool, copy=True)
    labels = column[~missing] if is_text else _whole_numbers(column[~missing])
    try:
        distinct = labels.unique().tolist()
    except TypeError:
        name = repr(column.name)
        raise UsageError(f"target {name} holds lists or similar, not class labels") from None
    named = [label for label in distinct if str(label) in missing_labels]
    also_missing = labels.isin(named).to_numpy()
    missing[~missing] = also_missing
    labels = labels[~also_missing]
    known = {str(label) for label in column.unique().tolist()}
    notes = [
        f"--missing-label: no row has the label {name!r}"
        for name in dict.fromkeys(missing_labels)
        if name not in known
    ]
    classes = [label for label in distinct if label not in named]
    markers = _MARKERS | _MISSING
    doubtful = [label for label in classes if isinstance(label, str) and label.strip() in markers]
    for label in sorted(doubtful):
        count = int((labels == label).sum())
        notes.append(
            f"{count:,} {'row has' if count == 1 else 'rows have'} the label {label!r}, which "
            "is treated as a class; if it stands for a missing label, pass "
            f"--missing-label {shlex.quote(label)}"
        )
    if is_text and _looks_like_regression([label for label in classes if label not in doubtful]):
        raise UsageError(
            f"target {column.name!r} holds {len(classes)} distinct numbers with fractions, like a "
            "regression target, and cleaning needs class labels"
        )
    return labels, missing, notes


def is_blank(cell: str) -> bool:
    """Return whether a cell of a text file holds no label."""
    text = cell.strip()
    return not text or text in _MISSING


def check_missing(column: pd.Series[Any], missing: NDArray[np.bool_], action: str) -> None:
    """Raise an error if no label is left, or if labels are missing and `action` is "error"."""
    target = column.name
    if missing.all():
        raise UsageError(f"target {target!r}: no row has a label")
    if action == "error" and missing.any():
        count = int(missing.sum())
        written = {cell.strip() for cell in column[missing] if isinstance(cell, str)} - {""}
        how = f" ({', '.join(map(repr, sorted(written)))})" if written else ""
        raise UsageError(
            f"target {target!r}: {count:,} of {len(missing):,} rows have no label{how}, the "
            f"first is row {int(missing.argmax())} (counted from 0); --missing-target drop leaves "
            "them out"
        )


def classes_named(option: str, names: Sequence[str], labels: pd.Series[Any]) -> list[Any]:
    """Return the labels that an option names as text."""
    known = {str(label): label for label in labels.unique().tolist()}
    for name in names:
        if name not in known:
            raise UsageError(f"{option}: there is no class {name!r}{did_you_mean(name, [*known])}")
    return [known[name] for name in names]


def _whole_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    # A column of whole numbers with gaps is read as floats.
    column = column.infer_objects()
    if column.dtype.kind == "f" and bool(((column % 1 == 0) & (column.abs() < 2**53)).all()):
        return column.astype("int64")
    return column


def _looks_like_regression(labels: list[str]) -> bool:
    if len(labels) <= _MAX_FRACTIONS:
        return False
    with suppress(ValueError):
        numbers = [float(label) for label in labels]
        return any(number % 1 > 0 for number in numbers)
    return False
