"""The report of a cleaned table: which columns it shows, and the command that makes it again."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rectifold._core.rectification import Rectification
    from rectifold._io import Table
    from rectifold.cli.clean import Request


def report_bytes(
    record: Rectification,
    table: Table,
    missing: NDArray[np.bool_],
    notes: list[str],
    request: Request,
) -> bytes:
    """Make the report of a cleaned table.

    Parameters
    ----------
    record : Rectification
        The record of the rows that have a label.
    table : Table
        The table that they are from.
    missing : ndarray of bool
        Which of its rows have no label.
    notes : list of str
        What whoever reads the result should know.
    request : Request
        What was asked for; it names the file of the report.

    Returns
    -------
    bytes
        What that file shall hold.
    """
    import numpy as np
    import pandas as pd

    from rectifold.report import Report

    assert record._trace is not None
    assert request.report is not None
    rows = record._trace.rows
    if request.ignore:
        # Identifiers tell nothing about distances, and everything about which row is meant.
        ignored = table.frame(request.ignore, verbatim=request.ignore).loc[~missing]
        rows = pd.concat([ignored, rows], axis=1)
    report = Report(
        record,
        rows,
        title=f"What GMR did to {request.source.name}",
        notes=notes,
        command=as_command(request),
        # As in the file of removed rows.
        positions=np.flatnonzero(~missing),
    )
    return report.content(request.report)


def as_command(request: Request) -> list[str]:
    """Write a request as the arguments of the command line, without thresholds.

    Parameters
    ----------
    request : Request
        What was asked for.

    Returns
    -------
    list of str
        What stands after the name of the program.
    """
    from rectifold import GMR

    output = _another(request.source) if request.output is None else request.output
    words = ["clean", _path(request.source), "--target", request.target, "-o", _path(output)]
    # Not the report, which the reader has open.
    words += [] if request.removed is None else ["--removed", _path(request.removed)]
    repeated = {
        "--drop": request.drop,
        "--ignore": request.ignore,
        "--missing-label": request.missing_labels,
        "--only": request.only,
    }
    words += [
        word for option, names in repeated.items() for name in names for word in (option, name)
    ]
    defaults: dict[str, Any] = {
        **{name: one.default for name, one in inspect.signature(GMR).parameters.items()},
        # What the command line has of its own.
        "space": "auto",
        "n_jobs": -1,
        "missing_target": "error",
        "encoding": "utf-8",
        "delimiter": None,
    }
    given = {
        **request.settings,
        "missing_target": request.missing_target,
        "encoding": request.encoding,
        "delimiter": request.delimiter,
    }
    for name, value in given.items():
        if name in ("alpha", "beta", "gamma") or value == defaults[name]:
            continue
        shown = "none" if value is None else "tab" if value == "\t" else str(value)
        words += [f"--{name.replace('_', '-')}", shown]
    return words


def _another(source: Path) -> Path:
    """Name a file of the same kind that is not the source."""
    ending = "".join(source.suffixes[-2:]) if source.suffix == ".gz" else source.suffix
    name = f"cleaned{ending}"
    return Path(name if source.name != name else f"more-{name}")


def _path(path: Path) -> str:
    # What begins with a dash would be taken for an option.
    return f"./{path}" if str(path).startswith("-") else str(path)
