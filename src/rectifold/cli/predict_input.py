"""Read the table to score, so that its cells mean what they meant in the training table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._core.errors import ParameterError
from rectifold._core.utils import did_you_mean
from rectifold._io import Table, format_of
from rectifold.cli.errors import UsageError, sentence_of
from rectifold.cli.table_input import Columns

if TYPE_CHECKING:
    import pandas as pd

#: Added columns: the predicted label, and the prefix of the probability of a class.
PREDICTION, PROBABILITY = "prediction", "probability_"
#: Maximum number of column names in a note.
_MAX_NAMES = 5
#: Cells of text files that pandas reads as missing.
_MISSING = frozenset(
    (
        *("", " ", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    )
)


def check_columns(
    table: Columns, path: Path, features: Sequence[str], target: str, drop: Sequence[str]
) -> list[str]:
    """Raise an error if the table lacks features; return notes on columns that are not used."""
    missing = [name for name in features if name not in table.columns]
    if missing:
        more = "" if len(missing) == 1 else f" and {len(missing) - 1} more of the training table"
        raise UsageError(
            f"{str(path)!r} lacks the column {missing[0]!r}{more}"
            f"{did_you_mean(missing[0], table.columns)}; to fit without a column, pass --drop"
        )
    notes = []
    if target in table.columns:
        notes.append(f"{path.name} has the target column {target!r} too; it is not used")
    used = {*features, target, *drop, *table.index_columns}
    others = [repr(name) for name in table.columns if name not in used]
    return [*notes, *_not_used(others, path)]


def _not_used(others: list[str], path: Path) -> list[str]:
    if not others:
        return []
    listed = ", ".join(others[:_MAX_NAMES])
    more = f" and {len(others) - _MAX_NAMES} more" if len(others) > _MAX_NAMES else ""
    noun = "column" if len(others) == 1 else "columns"
    return [f"{noun} of {path.name} that the classifier does not use: {listed}{more}"]


def check_added(table: Columns, path: Path, labels: Sequence[Any]) -> None:
    """Raise an error if a column of a name that is added exists."""
    for name in [PREDICTION, *(f"{PROBABILITY}{label}" for label in labels)]:
        if name in table.columns:
            raise UsageError(
                f"the output would have two columns named {name!r}: rename that of {str(path)!r}"
            )


def read_new(table: Table, path: Path, train: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the features of the table to score, typed as in training, and notes."""
    features = list(train.columns)
    # Of a text file, 017 is a number in one table and a text in another, depending on other cells.
    is_text = format_of(path).kind == "text"
    words = [name for name in features if is_text and train[name].dtype.kind not in "biufM"]
    frame = table.frame(features, verbatim=words)
    notes = []
    for name in features:
        column, before = frame[name], train[name]
        if name in words:
            frame[name] = column.where(~column.isin(_MISSING), None)
        elif before.dtype.kind in "biuf":
            frame[name], found = _as_numbers(column, before, path)
            notes += found
    notes += _check_space(train, frame, path)
    return frame, notes


def _as_numbers(
    column: pd.Series[Any], before: pd.Series[Any], path: Path
) -> tuple[pd.Series[Any], list[str]]:
    """Return a column as numbers, and a note if some cells are not."""
    import numpy as np
    import pandas as pd

    notes = []
    if column.dtype.kind not in "biuf":
        texts = column.astype(object)
        column = pd.to_numeric(texts, errors="coerce").astype("float64")
        other = texts.notna() & column.isna()
        if other.any():
            such = f"such as {texts[other].iloc[0]!r}"
            if int(other.sum()) == int(texts.notna().sum()):
                raise UsageError(
                    f"column {column.name!r} has numbers in the training table, and text in "
                    f"{str(path)!r}, {such}"
                )
            count = int(other.sum())
            what = "is not a number" if count == 1 else "are not numbers"
            notes.append(
                f"column {column.name!r} of {path.name}: {_cells(count)} that {what}, {such}, "
                "read as missing"
            )
    # Training on finite numbers has no place for infinity.
    if column.dtype.kind == "f" and np.isfinite(before.to_numpy(dtype=np.float64)).all():
        infinite = np.isinf(column.to_numpy())
        if infinite.any():
            column = column.mask(infinite)
            notes.append(
                f"column {column.name!r} of {path.name}: {_cells(int(infinite.sum()))} with an "
                "infinite number, read as missing"
            )
    return column, notes


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


def _check_space(train: pd.DataFrame, frame: pd.DataFrame, path: Path) -> list[str]:
    """Raise an error if cells can't be encoded as in training; return notes about some columns."""
    from rectifold import TableSpace

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            space = TableSpace().fit(train)
        except (ValueError, TypeError) as problem:
            raise UsageError(sentence_of(problem)) from problem
        try:
            space.transform(frame)
        except (ParameterError, ValueError, TypeError) as problem:
            raise UsageError(f"{str(path)!r}: {sentence_of(problem)}") from problem
    notes = [sentence_of(warning.message) for warning in caught]
    for name, kind in space.columns_.items():
        if kind == "category":
            # As the encoding does, 3 and 3.0 are one category.
            known = {_text(value) for value in train[name].dropna().unique().tolist()}
            values = frame[name].dropna().astype(object).map(_text)
            unseen = values[~values.isin(known)]
            if len(unseen):
                notes.append(
                    f"column {name!r} of {path.name}: {_cells(len(unseen))} with a category that "
                    f"the training table does not have, such as {unseen.iloc[0]!r}"
                )
    return notes


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
