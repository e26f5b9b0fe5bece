"""What samplers did and took, and what a comparison lacks."""

from __future__ import annotations

import pandas as pd

from rectifold.bench._comparison import Comparison, in_order, left_out
from rectifold.bench._data import NOTES
from rectifold.bench._store import FAILED, OK, TIMED_OUT
from rectifold.datasets import PAPER_DATASETS
from rectifold.model_selection._registry import CLASSIFIERS, METHODS
from rectifold.report._document import Section, Table, rows_of
from rectifold.report._wording import count, listing, number, span

#: Failures that are shown; the store has the others.
_MOST = 50


def notes(frame: pd.DataFrame) -> dict[str, str]:
    """Tell what a reader of figures on some data sets should know.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of a store.

    Returns
    -------
    dict of str to str
        A sentence by the name of the data set.
    """
    sets = frame[["dataset", "data_fingerprint"]].drop_duplicates().itertuples(index=False)
    return {str(name): NOTES[found] for name, found in sets if found in NOTES}


def samplers(frame: pd.DataFrame) -> Section:
    """Tell how many rows samplers leave, and how long they take.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the honest protocol.

    Returns
    -------
    Section
        With one table.
    """
    once = frame[frame["majority_after"].notna()].drop_duplicates(["dataset", "method", "seed"])
    rows = []
    for name in in_order(once["method"].unique(), METHODS):
        part = once[once["method"] == name]
        majority = 100 * (part["majority_after"] / part["majority_before"])
        minority = 100 * (part["minority_after"] / part["minority_before"])
        fits = frame[(frame["method"] == name) & (frame["status"] == OK)]
        rows.append(
            [
                str(name),
                f"{number(majority.median(), 1)} %",
                f"{number(minority.median(), 1)} %",
                number(part["resample_seconds"].median(), 3),
                number(part["resample_seconds"].max(), 1),
                number(fits["fit_seconds"].mean(), 2),
            ]
        )
    table = Table(
        "samplers",
        "Rows of each class after resampling, in per cent of those before (medians over data sets "
        "and seeds); seconds of a resampling (median and longest) and of a fit after it (mean), on "
        "one thread of a busy machine, over the cells that ended: read them as ratios.",
        ["Method", "majority", "minority", "seconds", "longest", "fit"],
        rows,
        marked=rows_of([row[0] for row in rows]),
    )
    return Section("What samplers do, and take", [table])


def missing(frame: pd.DataFrame, comparison: Comparison, older: dict[str, list[str]]) -> Section:
    """Say exactly what is not there.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the honest protocol.
    comparison : Comparison
        Made of them.
    older : dict of str to list of str
        Versions of methods that are in the store and were left out.

    Returns
    -------
    Section
        Also where nothing is missing: it says so.
    """
    section = Section("What is missing")
    lacking = left_out(frame, comparison)
    if lacking:
        rows = []
        for one in lacking:
            part = frame[frame["dataset"] == one.dataset]
            ended = part["status"].value_counts()
            rows.append(
                [
                    one.dataset,
                    f"{one.compared} of {one.classifiers}",
                    span(one.least, one.most),
                    *(f"{int(ended.get(status, 0)):,}" for status in (OK, FAILED, TIMED_OUT)),
                    f"{one.undone:,}",
                ]
            )
        section.parts.append(
            Table(
                "missing",
                "Data sets that are not wholly compared: the classifiers and seeds that are, how "
                "fits ended, and how many were not done.",
                ["Data set", "classifiers", "seeds", "ok", "failed", "timed out", "not done"],
                rows,
            )
        )
    else:
        section.parts.append(
            "Nothing: every method has ended on every data set, with every classifier and seed."
        )
    begun = set(frame["dataset"])
    absent = [name for name in PAPER_DATASETS if name not in begun]
    if absent and len(absent) < len(PAPER_DATASETS):
        section.parts.append(
            f"Of the paper's {len(PAPER_DATASETS)} data sets, {count(len(absent), 'is', 'are')} "
            f"not in the store: {listing(absent)}."
        )
    ends = frame[frame["status"] != OK]
    kinds = ends.groupby(["dataset", "method", "status", "error"])["classifier"].agg(list)
    if len(kinds):
        first = kinds.head(_MOST).reset_index().itertuples(index=False)
        section.parts.append(
            Table(
                "failures",
                f"Every kind of failure{f', the first {_MOST}' if len(kinds) > _MOST else ''}.",
                ["Data set", "method", "how", "why", "classifiers", "fits"],
                [
                    [*map(str, facts), listing(in_order(names, CLASSIFIERS)), str(len(names))]
                    for *facts, names in first
                ],
                words=5,
            )
        )
    section.parts += notes(frame).values()
    if older:
        section.parts.append(
            "Left out, as results of a newer version are there: "
            + "; ".join(f"{name} {listing(versions)}" for name, versions in older.items())
            + "."
        )
    return section
