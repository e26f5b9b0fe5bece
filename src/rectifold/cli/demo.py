"""The demonstration: a real table is cleaned, and what went is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._io import FileError, check_outputs, format_of, whole_files
from rectifold.cli.clean import FACTS, explain

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are shown as the most confidently contradicted.
N_SHOWN = 5


@dataclass(frozen=True)
class Wines:
    """The embedded table and what became of it.

    Attributes
    ----------
    features : pandas.DataFrame
        The measurements.
    labels : pandas.Series
        The classes.
    description : str
        What the data set is, whose it is, and under which licence.
    summary : dict
        `Rectification.summary` of the cleaning.
    contradicted : pandas.DataFrame
        The removed rows whose neighbours vouch for them least, with their reasons.
    cleaned, removed, report : pathlib.Path
        The files that were written.
    """

    features: pd.DataFrame
    labels: pd.Series[Any]
    description: str
    summary: dict[str, Any]
    contradicted: pd.DataFrame
    cleaned: Path
    removed: Path
    report: Path


def clean_wines(folder: Path) -> Wines:
    """Clean the embedded table, and write what stayed, what went and why.

    Parameters
    ----------
    folder : pathlib.Path
        Where ``cleaned.csv``, ``removed.csv`` and ``report.html`` go; it is made if it is not
        there.

    Returns
    -------
    Wines
        The table and what became of it.
    """
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    from rectifold import GMR
    from rectifold._io.arrow import ArrowTable
    from rectifold.datasets import load_wine_quality
    from rectifold.report import Report

    cleaned, removed = folder / "cleaned.csv", folder / "removed.csv"
    page = folder / "report.html"
    with _folder(folder):
        outputs = {"cleaned": cleaned, "removed": removed, "report": page}
        check_outputs(outputs, tables=False)
        bunch = load_wine_quality(as_frame=True)
        gmr = GMR(space=StandardScaler(), n_jobs=-1)
        gmr.fit_resample(bunch.data, bunch.target)
        record = gmr.rectification_
        gone = record.removed
        facts = [getattr(record, name) for name in FACTS]
        added = explain(facts, np.arange(len(gone)), gone)
        table = ArrowTable.from_frame(bunch.frame)
        report = Report(record, title="White wines: what GMR did")
        with whole_files([cleaned, removed, page]) as (stayed, went, why):
            table.write(stayed, format_of(cleaned), ~gone)
            table.write(went, format_of(removed), gone, added=added)
            why.write(report.html().encode())
    explained = bunch.frame.loc[gone].assign(**added)
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


def _first_paragraph(text: str) -> str:
    # Of Markdown: the attribution, without the headings above it and the details below.
    paragraphs = ("\n".join(_without_headings(part)) for part in text.split("\n\n"))
    return " ".join(next(filter(None, paragraphs), "").replace("*", "").split())


def _without_headings(paragraph: str) -> list[str]:
    return [line for line in paragraph.splitlines() if not line.startswith("#")]


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"--output-dir {str(folder)!r}: {problem.strerror}") from None
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise
