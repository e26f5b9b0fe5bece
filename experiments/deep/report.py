"""What the deep experiments show, as a document or as sections of one."""

from __future__ import annotations

import pandas as pd

from experiments.deep import report_diffusion, report_images
from experiments.deep.records import LONGTAIL, TABDDPM
from rectifold.bench._store import OK
from rectifold.report._document import Document, Section
from rectifold.report._wording import count


def document(frame: pd.DataFrame) -> Document:
    """Make a report of deep experiments alone.

    Parameters
    ----------
    frame : pandas.DataFrame
        All rows of their store.

    Returns
    -------
    Document
    """
    found = sections(frame)
    # The first sentence of each is what it comes to.
    firsts = [part for section in found for part in section.parts[:1]]
    return Document(
        "The paper's deep experiments", [one for one in firsts if isinstance(one, str)], found
    )


def sections(frame: pd.DataFrame) -> list[Section]:
    """Say what deep experiments show.

    Parameters
    ----------
    frame : pandas.DataFrame
        All rows of their store.

    Returns
    -------
    list of Section
        One for each experiment that was run.
    """
    failures = frame[frame["status"] != OK]
    frame = frame[frame["status"] == OK]
    found = []
    for experiment, section in (
        (TABDDPM, report_diffusion.section),
        (LONGTAIL, report_images.section),
    ):
        rows = frame[frame["experiment"] == experiment]
        if len(rows):
            found.append(section(rows))
    if len(failures):
        told = failures[["dataset", "method", "error"]].value_counts()
        found.append(
            Section(
                "What failed",
                [
                    f"{', '.join(map(str, where[:2]))}, {count(fits, 'fit')}: {where[2]}"
                    for where, fits in zip(told.index.tolist(), told.tolist(), strict=True)
                ],
            )
        )
    return found
