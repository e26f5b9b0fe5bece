"""A table in a file is cleaned into other files: what `rectifold clean` does."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._core.utils import timed
from rectifold._io import Table, check_outputs, format_of, open_table, whole_files
from rectifold.cli.clean_report import report_bytes
from rectifold.cli.errors import UsageError, in_words_of_the_command_line
from rectifold.cli.table_input import features_of, read_rows
from rectifold.cli.target_column import classes_named

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from rectifold._core.rectification import Rectification

#: The columns that the file of removed rows has besides those of the input.
ADDED = (
    "rectifold_row",
    "rectifold_reason",
    "rectifold_predicted",
    "rectifold_confidence",
    "rectifold_majority_confidence",
)
#: What of a record they tell, after the number of the row.
FACTS = ("reason", "predicted", "confidence", "majority_confidence")


@dataclass(frozen=True)
class Request:
    """What to clean, and how.

    Attributes
    ----------
    source : pathlib.Path
        The table.
    target : str
        The column of labels.
    output, removed, report : pathlib.Path or None
        Where the rows that stay, those that go, and a report are written, if anywhere.
    drop, ignore : sequence of str
        Columns that the geometry does without; the former are left out of the output too.
    missing_target : {"error", "drop", "keep"}
        What becomes of rows without a label.
    missing_labels : sequence of str
        Labels, as text, that stand for a missing one.
    only : sequence of str
        The classes to clean, as text; by default all, as `rectifold.GMR` does.
    settings : dict
        Arguments of `rectifold.GMR`.
    encoding : str
        Of text files.
    delimiter : str or None
        What stands between two cells of the table, if that is text; by default as its name says.
    """

    source: Path
    target: str
    output: Path | None = None
    removed: Path | None = None
    report: Path | None = None
    drop: Sequence[str] = ()
    ignore: Sequence[str] = ()
    missing_target: str = "error"
    missing_labels: Sequence[str] = ()
    only: Sequence[str] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    delimiter: str | None = None


def clean_file(request: Request) -> dict[str, Any]:
    """Clean a table, and write what was asked for.

    Parameters
    ----------
    request : Request
        What to clean, and how.

    Returns
    -------
    dict
        `Rectification.summary` with what concerns the files besides, ready for JSON.
    """
    from rectifold.report._messages import warnings_of

    named = {"--output": request.output, "--removed": request.removed}
    outputs = {name: path for name, path in named.items() if path is not None}
    check_outputs(outputs, request.source)
    if request.report is not None:
        from rectifold.report import check_path

        check_path(request.report, "--report")
        check_outputs({**outputs, "--report": request.report}, request.source, tables=False)
    seconds: dict[str, float] = {}
    with timed(seconds, "read"):
        table = open_table(request.source, encoding=request.encoding, delimiter=request.delimiter)
        features = _features(table, request)
        for path in outputs.values():
            table.check(format_of(path), drop=request.drop)
        rows = read_rows(
            table,
            request.source,
            request.target,
            features,
            missing_target=request.missing_target,
            missing_labels=request.missing_labels,
            identifiers="--ignore",
        )
    missing, notes = rows.missing, rows.notes
    record, said, recorded = _rectify(rows.features, rows.labels, request)
    del rows
    page = None
    if request.report is not None:
        with timed(seconds, "report"):
            # What the record tells has its own words in a report.
            besides = [sentence for sentence in said if sentence not in recorded]
            page = report_bytes(record, table, missing, [*notes, *besides], request)
    with timed(seconds, "write"):
        _write(table, record, missing, request, outputs, page)
    summary = record.summary()
    dropped = int(missing.sum()) if request.missing_target == "drop" else 0
    return {
        **summary,
        "seconds": {"read": seconds.pop("read"), **summary["seconds"], **seconds},
        "warnings": warnings_of(record),
        "input": str(request.source),
        "output": None if request.output is None else str(request.output),
        "removed_file": None if request.removed is None else str(request.removed),
        "report": None if request.report is None else str(request.report),
        "target": request.target,
        "features": len(features),
        "dropped_columns": list(request.drop),
        "ignored_columns": list(request.ignore),
        "missing_target": {"rows": int(missing.sum()), "action": request.missing_target},
        "missing_labels": list(request.missing_labels),
        "rows_in": len(missing),
        "rows_out": len(missing) - summary["removed"] - dropped,
        "notes": [*notes, *said],
    }


def _features(table: Table, request: Request) -> list[str]:
    features = features_of(
        table, request.target, {"--drop": request.drop, "--ignore": request.ignore}
    )
    check_added(table.columns, request)
    return features


def check_added(columns: Sequence[str], request: Request) -> None:
    """Refuse columns of a table that bear the name of one that --removed adds."""
    taken = [name for name in ADDED if name in columns and name not in request.drop]
    if request.removed is not None and taken:
        raise UsageError(
            f"--removed would add a column {taken[0]!r}, which the table has already; "
            "leave that out with --drop"
        )


def _rectify(
    features: pd.DataFrame, labels: pd.Series[Any], request: Request
) -> tuple[Rectification, list[str], set[str]]:
    """Give the record, what was said meanwhile, and what of it the record tells too."""
    from rectifold import GMR
    from rectifold._core.rectification import RecordedWarning

    settings = dict(request.settings)
    if request.only:
        settings["sampling_strategy"] = classes_named("--only", request.only, labels)
    gmr = GMR(**settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            gmr.fit_resample(features, labels)
        except (ValueError, TypeError) as problem:
            raise UsageError(in_words_of_the_command_line(str(problem))) from problem
    said = {
        in_words_of_the_command_line(str(warning.message)): warning.category
        for warning in caught
        if issubclass(warning.category, UserWarning)
    }
    recorded = {text for text, kind in said.items() if issubclass(kind, RecordedWarning)}
    return gmr.rectification_, list(said), recorded


def _write(
    table: Table,
    record: Rectification,
    missing: NDArray[np.bool_],
    request: Request,
    outputs: dict[str, Path],
    page: bytes | None,
) -> None:
    import numpy as np

    labelled = np.flatnonzero(~missing)
    gone = np.zeros(len(missing), dtype=bool)
    gone[labelled[record.removed]] = True
    if request.missing_target == "drop":
        gone |= missing
    verbatim = [request.target]
    named = outputs if request.report is None else {**outputs, "--report": request.report}
    with whole_files(list(named.values())) as files:
        for (name, path), file in zip(named.items(), files, strict=True):
            if name == "--report":
                file.write(page or b"")
            elif name == "--output":
                table.write(file, format_of(path), ~gone, drop=request.drop, verbatim=verbatim)
            else:
                facts = [getattr(record, name) for name in FACTS]
                added = explain(facts, labelled, gone)
                table.write(
                    file, format_of(path), gone, drop=request.drop, added=added, verbatim=verbatim
                )


def explain(
    facts: Sequence[NDArray[Any]],
    labelled: NDArray[np.intp],
    gone: NDArray[np.bool_],
    first: int = 0,
) -> dict[str, list[Any]]:
    """Say of every row that went where it was and why it went.

    Parameters
    ----------
    facts : sequence of ndarray
        Reason, predicted class, confidence and majority confidence of the rows that have a label.
    labelled : ndarray of int
        Their positions in the table.
    gone : ndarray of bool, one for every row of the table
        Which rows went. One that has no label went for that.
    first : int
        The number of the first row, where the table is a piece of another.

    Returns
    -------
    dict of str to list
        The columns `ADDED`, with one value for each row that went.
    """
    import numpy as np

    rows = np.flatnonzero(gone)
    position = np.full(len(gone), -1)
    position[labelled] = np.arange(len(labelled))
    at = position[rows]
    columns: dict[str, list[Any]] = {ADDED[0]: (first + rows).tolist()}
    for name, values in zip(ADDED[1:], facts, strict=True):
        known = iter(values[at[at >= 0]].tolist())
        columns[name] = [next(known) if is_known else None for is_known in (at >= 0).tolist()]
    columns[ADDED[1]] = [reason or "missing target" for reason in columns[ADDED[1]]]
    return columns
