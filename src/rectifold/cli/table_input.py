"""A table in a file becomes features and labels, for every command that reads one."""

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
class Rows:
    """The rows of a table that have a label.

    Attributes
    ----------
    features : pandas.DataFrame
        What they are compared by.
    labels : pandas.Series
        Their classes.
    missing : ndarray of bool
        For every row of the table, whether it has no label.
    notes : list of str
        What whoever reads the result should know.
    """

    features: pd.DataFrame
    labels: pd.Series[Any]
    missing: NDArray[np.bool_]
    notes: list[str]


class Columns(Protocol):
    """What has columns, some of which only name the rows."""

    @property
    def columns(self) -> list[str]:
        """Their names."""
        ...

    @property
    def index_columns(self) -> list[str]:
        """Those that only name the rows."""
        ...


def features_of(table: Columns, target: str, left_out: Mapping[str, Sequence[str]]) -> list[str]:
    """Tell the columns that rows are compared by.

    Parameters
    ----------
    table : object
        Whatever has columns.
    target : str
        The column of labels.
    left_out : mapping of str to sequence of str
        Columns to do without, by the option that names them.

    Returns
    -------
    list of str
        All others, but for those that only name the rows.
    """
    columns = table.columns
    for option, names in {"--target": [target], **left_out}.items():
        for name in names:
            if name not in columns:
                raise UsageError(
                    f"{option}: there is no column {name!r}{did_you_mean(name, columns)}"
                )
            if name == target and option != "--target":
                raise UsageError(f"{option} names the target column {name!r} itself")
    without = {target, *table.index_columns, *(one for names in left_out.values() for one in names)}
    features = [name for name in columns if name not in without]
    if not features:
        raise UsageError("no column is left to compare rows by: all are dropped or ignored")
    return features


def read_rows(
    table: Table,
    source: Path,
    target: str,
    features: list[str],
    *,
    missing_target: str,
    missing_labels: Sequence[str],
    identifiers: str,
) -> Rows:
    """Read the rows that have a label.

    Parameters
    ----------
    table : Table
        The table.
    source : pathlib.Path
        Its file.
    target : str
        The column of labels.
    features : list of str
        From `features_of`.
    missing_target : {"error", "drop", "keep"}
        What becomes of rows without a label.
    missing_labels : sequence of str
        Labels, as text, that stand for a missing one.
    identifiers : str
        The option that leaves identifiers out, for a note on columns that look like one.

    Returns
    -------
    Rows
    """
    frame = table.frame([*features, target], verbatim=[target])
    labels, missing, notes = read_labels(
        frame[target],
        is_text=format_of(source).kind == "text",
        missing_labels=missing_labels,
    )
    check_missing(frame[target], missing, missing_target)
    labelled = frame.loc[~missing, features]
    notes += [
        f"column {name!r} only counts upwards from row to row; if it is an identifier, leave it "
        f"out of the geometry with {identifiers}"
        for name in labelled.columns
        if labelled[name].dtype.kind in "iu"
        and labelled[name].is_unique
        and labelled[name].is_monotonic_increasing
    ]
    return Rows(labelled, labels, missing, notes)
