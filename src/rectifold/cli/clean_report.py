"""The report of a cleaned table: the columns it shows, and the command that repeats the run."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
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
    """Return the content of the file of the report; `missing` marks the rows without a label."""
    import numpy as np
    import pandas as pd

    from rectifold.report import Report, content_of

    assert record._trace is not None
    assert request.report is not None
    rows = record._trace.rows
    if request.ignore:
        # Identifiers are no features, but show which row is meant.
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
    return content_of(report, request.report)


def as_command(request: Request) -> list[str]:
    """Return the request as arguments of the command line, without alpha, beta and gamma.

    The report appends those three, which its reader can change.
    """
    from rectifold import GMR

    output = _another(request.source) if request.output is None else request.output
    words = ["clean", _path(request.source), "--target", request.target, "-o", _path(output)]
    # Without --report: its reader has it.
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
        # Those that differ from GMR's, or that GMR does not have.
        "space": "auto",
        "n_jobs": -1,
        "missing_target": "error",
        "encoding": "utf-8",
        "delimiter": None,
    }
    values = {
        **request.settings,
        "missing_target": request.missing_target,
        "encoding": request.encoding,
        "delimiter": request.delimiter,
    }
    for name, value in values.items():
        if name not in ("alpha", "beta", "gamma") and value != defaults[name]:
            words += _option(name, value)
    return words


def _option(name: str, value: Any) -> list[str]:
    """Return an option and its value; an engine with options of its own has several."""
    if is_dataclass(value):
        from rectifold._engines.options import engine_name

        words = ["--engine", engine_name(value)]  # type: ignore[arg-type]
        for field in fields(value):
            if getattr(value, field.name) != field.default:
                words += _option(field.name, getattr(value, field.name))
        return words
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    return [option, "none" if value is None else "tab" if value == "\t" else str(value)]


def _another(source: Path) -> Path:
    """Return the name of a file in the same format that is not the source."""
    ending = "".join(source.suffixes[-2:]) if source.suffix == ".gz" else source.suffix
    name = f"cleaned{ending}"
    return Path(name if source.name != name else f"more-{name}")


def _path(path: Path) -> str:
    # A leading dash would make it an option.
    return f"./{path}" if str(path).startswith("-") else str(path)
