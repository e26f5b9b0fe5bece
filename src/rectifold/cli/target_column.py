"""What the cells of the target column mean: classes, missing labels, and what looks like them."""

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

#: Texts that programs write for a label that is not known.
_MISSING = frozenset(
    ("nan", "NaN", "-nan", "-NaN", "NA", "<NA>", "#N/A", "#NA", "null", "NULL"),
)
#: Labels that people often use for one that is not known, and as often mean.
_MARKERS = frozenset(("?", "-", "N/A", "n/a", "None", "none", "unknown"))
#: Numbers with fractions are classes up to here, such as grades from 1.0 to 5.0 by halves.
_MOST_FRACTIONS = 20


def read_labels(
    column: pd.Series[Any], *, is_text: bool, missing_labels: Sequence[str] = ()
) -> tuple[pd.Series[Any], NDArray[np.bool_], list[str]]:
    """Tell labels from missing ones.

    Parameters
    ----------
    column : pandas.Series
        The target, as its file gives it.
    is_text : bool
        Whether that file is text; then a blank cell is a missing label, as is what programs
        write for one (NaN, NA, null), and labels are the texts that stand there.
    missing_labels : sequence of str
        Labels that stand for missing ones.

    Returns
    -------
    labels : pandas.Series
        Of the rows that have one.
    missing : ndarray of bool, one for every row
        Which rows have none.
    notes : list of str
        On labels that look like missing ones, and on missing ones that there are not.
    """
    if is_text:
        gaps = column.isin([cell for cell in column.unique() if is_blank(cell)])
    else:
        gaps = column.isna()
    missing = gaps.to_numpy(dtype=bool, copy=True)
    labels = column[~missing] if is_text else _whole(column[~missing])
    try:
        found = labels.unique().tolist()
    except TypeError:
        name = repr(column.name)
        raise UsageError(f"target {name} holds lists or the like, which are no labels") from None
    named = [label for label in found if str(label) in missing_labels]
    also_missing = labels.isin(named).to_numpy()
    missing[~missing] = also_missing
    labels = labels[~also_missing]
    known = {str(label) for label in column.unique().tolist()}
    notes = [
        f"--missing-label: no row has the label {name!r}"
        for name in dict.fromkeys(missing_labels)
        if name not in known
    ]
    left = [label for label in found if label not in named]
    markers = _MARKERS | _MISSING
    likely = [label for label in left if isinstance(label, str) and label.strip() in markers]
    for label in sorted(likely):
        count = int((labels == label).sum())
        notes.append(
            f"{count:,} {'row has' if count == 1 else 'rows have'} the label {label!r}, which "
            "counts as a class; if it means that the label is missing, say so with "
            f"--missing-label {shlex.quote(label)}"
        )
    if is_text and _looks_like_regression([label for label in left if label not in likely]):
        raise UsageError(
            f"target {column.name!r} holds {len(left)} distinct numbers with fractions, as a "
            "regression target does, and cleaning needs a class label"
        )
    return labels, missing, notes


def is_blank(cell: str) -> bool:
    """Tell whether a cell of a text file holds no label.

    Parameters
    ----------
    cell : str
        What stands there.

    Returns
    -------
    bool
        Whether that is nothing, or what programs write for nothing.
    """
    text = cell.strip()
    return not text or text in _MISSING


def check_missing(column: pd.Series[Any], missing: NDArray[np.bool_], action: str) -> None:
    """Refuse missing labels where nobody said what becomes of them.

    Parameters
    ----------
    column : pandas.Series
        The target, as its file gives it.
    missing : ndarray of bool, one for every row
        Which rows have no label.
    action : {"error", "drop", "keep"}
        What is to become of these rows.
    """
    target = column.name
    if missing.all():
        raise UsageError(f"target {target!r}: no row has a label")
    if action == "error" and missing.any():
        count = int(missing.sum())
        written = {cell.strip() for cell in column[missing] if isinstance(cell, str)} - {""}
        how = f" ({', '.join(map(repr, sorted(written)))})" if written else ""
        raise UsageError(
            f"target {target!r}: {count:,} of {len(missing):,} rows have no label{how}, the "
            f"first is row {int(missing.argmax())} (counted from 0); "
            "--missing-target drop or keep says what becomes of them"
        )


def classes_named(option: str, names: Sequence[str], labels: pd.Series[Any]) -> list[Any]:
    """Find the classes that an option names.

    Parameters
    ----------
    option : str
        Which.
    names : sequence of str
        Classes as text.
    labels : pandas.Series
        All labels.

    Returns
    -------
    list
        The same classes as they are among the labels.
    """
    known = {str(label): label for label in labels.unique().tolist()}
    for name in names:
        if name not in known:
            raise UsageError(f"{option}: there is no class {name!r}{did_you_mean(name, [*known])}")
    return [known[name] for name in names]


def _whole(column: pd.Series[Any]) -> pd.Series[Any]:
    # A column of whole numbers with gaps is read as floats; its labels are whole all the same.
    column = column.infer_objects()
    if column.dtype.kind == "f" and bool(((column % 1 == 0) & (column.abs() < 2**53)).all()):
        return column.astype("int64")
    return column


def _looks_like_regression(labels: list[str]) -> bool:
    if len(labels) <= _MOST_FRACTIONS:
        return False
    with suppress(ValueError):
        numbers = [float(label) for label in labels]
        return any(number % 1 > 0 for number in numbers)
    return False
