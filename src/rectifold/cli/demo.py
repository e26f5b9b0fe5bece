"""The command `rectifold demo`: clean the embedded table and write what was removed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._core.errors import Param
from rectifold._io import FileError, check_outputs, format_of, whole_files
from rectifold.cli.clean import removal_columns

if TYPE_CHECKING:
    import pandas as pd

#: Number of removed rows that are shown.
N_SHOWN = 5


@dataclass(frozen=True)
class Wines:
    """The embedded table and the result of cleaning it."""

    features: pd.DataFrame
    labels: pd.Series[Any]
    #: Source and licence of the data set.
    description: str
    #: From `Rectification.summary`.
    summary: dict[str, Any]
    #: The removed rows with the smallest votes for their own class.
    contradicted: pd.DataFrame
    #: The files that were written.
    cleaned: Path
    removed: Path
    report: Path


def clean_wines(folder: Path) -> Wines:
    """Clean the embedded table, and write the kept rows, the removed rows and a report."""
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    from rectifold import GMR
    from rectifold._io.arrow import ArrowTable
    from rectifold.cli import terminal
    from rectifold.datasets import load_wine_quality
    from rectifold.report import Report

    paths = [folder / name for name in ("cleaned.csv", "removed.csv", "report.html")]
    cleaned, removed, page = paths
    with _folder(folder):
        check_outputs((("output_dir", path) for path in paths), tables=False)
        bunch = load_wine_quality(as_frame=True)
        gmr = GMR(space=StandardScaler(), n_jobs=-1)
        gmr.fit_resample(bunch.data, bunch.target)
        record = gmr.rectification_
        added = removal_columns(record, np.arange(len(record.removed)), record.removed)
        table = ArrowTable.from_frame(bunch.frame)
        report = Report(record, title="White wines: what GMR did")
        with (
            terminal.progress("writing", False),
            whole_files(paths) as (cleaned_file, removed_file, page_file),
        ):
            table.write(cleaned_file, format_of(cleaned), ~record.removed)
            table.write(removed_file, format_of(removed), record.removed, added=added)
            page_file.write(report.html().encode())
    explained = bunch.frame.loc[record.removed].assign(**added)
    contradicted = explained.sort_values("rectifold_confidence", kind="stable").head(N_SHOWN)
    return Wines(
        features=bunch.data,
        labels=bunch.target,
        description=_first_paragraph(bunch.DESCR),
        summary=record.summary(),
        contradicted=contradicted,
        cleaned=cleaned,
        removed=removed,
        report=page,
    )


def _first_paragraph(markdown: str) -> str:
    """Return the first paragraph below the headings, in one line and without emphasis."""
    for paragraph in markdown.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        if any(lines):
            return " ".join(" ".join(lines).replace("*", "").split())
    return ""


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Make the folder, and remove it if the ``with`` block fails."""
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError("{}: {}", Param("output_dir", str(folder)), str(problem.strerror)) from None
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise
