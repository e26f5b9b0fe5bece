"""The command `rectifold clean`: read a table from a file, clean it and write the results."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._core.utils import timed
from rectifold._io import Table, check_outputs, format_of, open_table, whole_files
from rectifold.cli.clean_report import report_bytes
from rectifold.cli.clean_result import result_of
from rectifold.cli.errors import UsageError, sentence_of
from rectifold.cli.table_input import feature_columns, read_samples
from rectifold.cli.target_column import classes_named

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from rectifold._core.rectification import Rectification

#: Columns of the file of removed rows, besides those of the input.
ADDED_COLUMNS = (
    "rectifold_row",
    "rectifold_reason",
    "rectifold_predicted",
    "rectifold_confidence",
    "rectifold_majority_confidence",
)
#: Their values after the number of the row: attributes of a record.
RECORD_FIELDS = ("reason", "predicted", "confidence", "majority_confidence")


@dataclass(frozen=True)
class Request:
    """Input, outputs and settings of a run; where the outputs are None, nothing is written."""

    source: Path
    target: str
    output: Path | None = None
    removed: Path | None = None
    report: Path | None = None
    #: Columns to leave out of distances; those of `drop` also of the outputs.
    drop: Sequence[str] = ()
    ignore: Sequence[str] = ()
    #: What to do with rows without a label: "error", "drop" or "keep".
    missing_target: str = "error"
    #: Labels, as text, that stand for a missing one.
    missing_labels: Sequence[str] = ()
    #: The strict classes, as text; by default those of `rectifold.GMR`.
    only: Sequence[str] = ()
    #: Arguments of `rectifold.GMR`.
    settings: dict[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    delimiter: str | None = None


def clean_file(request: Request) -> dict[str, Any]:
    """Clean a table, write the outputs, and return the summary of the run, ready for JSON."""
    named = {"output": request.output, "removed": request.removed}
    outputs = {name: path for name, path in named.items() if path is not None}
    check_outputs(outputs.items(), request.source)
    if request.report is not None:
        from rectifold.report import check_path

        check_path(request.report, "report")
        every = {**outputs, "report": request.report}
        check_outputs(every.items(), request.source, tables=False)
    seconds: dict[str, float] = {}
    with timed(seconds, "read"):
        table = open_table(request.source, encoding=request.encoding, delimiter=request.delimiter)
        features = feature_columns(
            table, request.target, {"--drop": request.drop, "--ignore": request.ignore}
        )
        check_added(table.columns, request)
        for path in outputs.values():
            table.check(format_of(path), drop=request.drop)
        samples = read_samples(
            table,
            request.source,
            request.target,
            features,
            missing_target=request.missing_target,
            missing_labels=request.missing_labels,
            exclude_with="--ignore",
        )
    missing, notes = samples.missing, samples.notes
    record, messages = _rectify(samples.features, samples.labels, request)
    del samples
    page = None
    if request.report is not None:
        with timed(seconds, "report"):
            # The report has its own text for warnings that are stored in the record.
            others = [text for text, recorded in messages.items() if not recorded]
            page = report_bytes(record, table, missing, [*notes, *others], request)
    with timed(seconds, "write"):
        _write(table, record, missing, request, outputs, page)
    return result_of(
        request,
        record,
        n_features=len(features),
        n_rows=len(missing),
        n_missing=int(missing.sum()),
        seconds=seconds,
        notes=[*notes, *messages],
    )


def check_added(columns: Sequence[str], request: Request) -> None:
    """Raise an error if the table has a column of a name that --removed adds."""
    taken = [name for name in ADDED_COLUMNS if name in columns and name not in request.drop]
    if request.removed is not None and taken:
        raise UsageError(
            f"--removed would add a column {taken[0]!r}, which the table already has; "
            "leave that out with --drop"
        )


def _rectify(
    features: pd.DataFrame, labels: pd.Series[Any], request: Request
) -> tuple[Rectification, dict[str, bool]]:
    """Return the record, and for the text of every warning whether it is stored in the record."""
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
            raise UsageError(sentence_of(problem)) from problem
    return gmr.rectification_, {
        sentence_of(warning.message): issubclass(warning.category, RecordedWarning)
        for warning in caught
        if issubclass(warning.category, UserWarning)
    }


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
    removed = np.zeros(len(missing), dtype=bool)
    removed[labelled[record.removed]] = True
    if request.missing_target == "drop":
        removed |= missing
    verbatim = [request.target]
    named = outputs if request.report is None else {**outputs, "report": request.report}
    with whole_files(list(named.values())) as files:
        for (name, path), file in zip(named.items(), files, strict=True):
            if name == "report":
                file.write(page or b"")
            elif name == "output":
                table.write(file, format_of(path), ~removed, drop=request.drop, verbatim=verbatim)
            else:
                added = removal_columns(record, labelled, removed)
                table.write(
                    file,
                    format_of(path),
                    removed,
                    drop=request.drop,
                    added=added,
                    verbatim=verbatim,
                )


def removal_columns(
    record: Rectification,
    labelled: NDArray[np.intp],
    removed: NDArray[np.bool_],
    first: int = 0,
) -> dict[str, list[Any]]:
    """Return the columns `ADDED_COLUMNS` of the removed rows of a table.

    `labelled` are the positions of the rows with a label, those of the record; `removed` marks
    rows of the whole table; `first` is the number of its first row.
    """
    import numpy as np

    rows = np.flatnonzero(removed)
    position = np.full(len(removed), -1)
    position[labelled] = np.arange(len(labelled))
    at = position[rows]
    columns: dict[str, list[Any]] = {ADDED_COLUMNS[0]: (first + rows).tolist()}
    for name, attribute in zip(ADDED_COLUMNS[1:], RECORD_FIELDS, strict=True):
        known = iter(getattr(record, attribute)[at[at >= 0]].tolist())
        columns[name] = [next(known) if is_known else None for is_known in (at >= 0).tolist()]
    columns[ADDED_COLUMNS[1]] = [reason or "missing target" for reason in columns[ADDED_COLUMNS[1]]]
    return columns
