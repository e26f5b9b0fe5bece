"""The report of the deep experiments, as a document or as sections of another one."""

from __future__ import annotations

from functools import partial

import pandas as pd

from experiments.deep import report_diffusion, report_images
from experiments.deep.records import LONGTAIL, TABDDPM
from rectifold.bench._store import FAILED, OK
from rectifold.report._document import Document, Section
from rectifold.report._wording import count


def document(frame: pd.DataFrame, ceilings: pd.DataFrame | None = None) -> Document:
    """Return a report of the deep experiments alone, from all rows of their store.

    `ceilings` are the rows of `ceiling.read`.
    """
    parts = sections(frame, ceilings)
    # The first paragraph of each section is its conclusion.
    firsts = [part for section in parts for part in section.parts[:1]]
    statement = [part for part in firsts if isinstance(part, str)]
    return Document("The paper's deep experiments", statement, parts)


def sections(frame: pd.DataFrame, ceilings: pd.DataFrame | None = None) -> list[Section]:
    """Return a section for each experiment that was run, and one for failed fits."""
    succeeded = frame[frame["status"] == OK]
    found = []
    for experiment, section in (
        (TABDDPM, partial(report_diffusion.section, ceilings=ceilings)),
        (LONGTAIL, report_images.section),
    ):
        rows = succeeded[succeeded["experiment"] == experiment]
        if len(rows):
            found.append(section(rows))
    if errors := _errors(frame):
        found.append(Section("What failed", [*errors]))
    return found


def status(frame: pd.DataFrame) -> list[str]:
    """Return paragraphs with the fits that a store has, by data set, and its errors."""
    found = []
    for experiment, rows in frame.groupby("experiment", sort=True):
        fits = rows[["method", "trained_on", "sample"]].drop_duplicates()
        seeds = rows["seed"].nunique()
        ended = rows.groupby("dataset")["status"].value_counts().unstack(fill_value=0)
        table = ended.reindex(columns=[OK, FAILED], fill_value=0)
        table["missing"] = len(fits) * seeds - table.sum(axis=1)
        table.columns = ["done", "failed", "missing"]
        head = ", ".join(
            (
                count(rows["dataset"].nunique(), "data set"),
                count(rows["method"].nunique(), "method"),
                count(seeds, "seed"),
            )
        )
        found.append(f"{experiment}: {head}\n{table.rename_axis(None).to_string()}")
    return [*found, *_errors(frame)]


def _errors(frame: pd.DataFrame) -> list[str]:
    failures = frame.loc[frame["status"] != OK, ["dataset", "method", "error"]].value_counts()
    return [
        f"{', '.join(map(str, where[:2]))}, {count(fits, 'fit')}: {where[2]}"
        for where, fits in zip(failures.index.tolist(), failures.tolist(), strict=True)
    ]
