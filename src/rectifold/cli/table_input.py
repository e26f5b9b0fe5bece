"""Read the features and the labels of a table in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rectifold._core.utils import did_you_mean
from rectifold._io import Table, format_of
from rectifold.cli.errors import UsageError
from rectifold.cli.target_column import check_missing, read_labels

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelledSamples:
    """The rows of a table that have a label."""

    features: pd.DataFrame
    labels: pd.Series[Any]
    #: For every row of the table, whether its label is missing.
    missing: NDArray[np.bool_]
    #: Messages to the user.
    notes: list[str]


class Columns(Protocol):
    """A table with named columns."""

    @property
    def columns(self) -> list[str]:
        """All columns."""
        ...

    @property
    def index_columns(self) -> list[str]:
        """Columns that hold the index of a pandas frame, and no features."""
        ...


def feature_columns(
    table: Columns, target: str, left_out: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the columns of features; `left_out` has columns to exclude, by their option."""
    columns = table.columns
    for option, names in {"--target": [target], **left_out}.items():
        for name in names:
            if name not in columns:
                raise UsageError(
                    f"{option}: there is no column {name!r}{did_you_mean(name, columns)}"
                )
            if name == target and option != "--target":
                raise UsageError(f"{option} names the target column {name!r} itself")
    excluded = {target, *table.index_columns}.union(*left_out.values())
    features = [name for name in columns if name not in excluded]
    if not features:
        raise UsageError("no feature is left: every column is dropped or ignored")
    return features


def read_samples(
    table: Table,
    source: Path,
    target: str,
    features: list[str],
    *,
    missing_target: str,
    missing_labels: Sequence[str],
    exclude_with: str,
) -> LabelledSamples:
    """Read the rows that have a label; `exclude_with` is the option that excludes identifiers."""
    frame = table.frame([*features, target], verbatim=[target])
    labels, missing, notes = read_labels(
        frame[target],
        is_text=format_of(source).kind == "text",
        missing_labels=missing_labels,
    )
    check_missing(frame[target], missing, missing_target)
    labelled = frame.loc[~missing, features]
    notes += [
        f"column {name!r} increases from row to row; if it is an identifier, exclude it from "
        f"distances with {exclude_with}"
        for name in labelled.columns
        if labelled[name].dtype.kind in "iu"
        and labelled[name].is_unique
        and labelled[name].is_monotonic_increasing
    ]
    return LabelledSamples(labelled, labels, missing, notes)
