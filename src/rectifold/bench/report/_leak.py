"""What cleaning before the split would have shown: a leak, kept apart from all results."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from rectifold.bench._comparison import Comparison, compared
from rectifold.bench.paper import paper_ranks_of
from rectifold.report._document import Section, Table, file_name
from rectifold.report._wording import count, number


def sections(comparison: Comparison, leaked: pd.DataFrame) -> list[Section]:
    """Put a method's leaked figures in the place of its honest ones, and rank again.

    Parameters
    ----------
    comparison : Comparison
        By AUPRC, under the honest protocol.
    leaked : pandas.DataFrame
        Rows of the protocol that resamples before the split.

    Returns
    -------
    list of Section
        Empty without such rows.
    """
    leaked = compared(leaked, comparison)
    found = [one for name in leaked["method"].unique() if (one := _of(comparison, leaked, name))]
    if not found:
        return []
    section = Section(
        "A leak, shown as one: resampling before the split",
        [
            "No result above comes from this. Here a sampler saw the whole data set, test rows "
            "included, before it was split. A sampler that cleans then removes the test rows that "
            "are hard to get right, and one that makes rows up from test rows trains on them: "
            "scores rise without a better classifier. Each method below is ranked with its leaked "
            "figures among the honest ones of all others, on the data sets where both are there."
        ],
        warning=True,
    )
    for words, table in found:
        section.parts += [words, table]
    return [section]


def _of(comparison: Comparison, leaked: pd.DataFrame, name: str) -> tuple[str, Table] | None:
    if name not in comparison.values.columns:
        return None
    rows = leaked[leaked["method"] == name]
    grouped = rows.groupby(["dataset", "classifier"])[comparison.score]
    means = grouped.mean()
    # The same seeds on both sides, or one of them is the steadier.
    honest = comparison.values[grouped.size().reindex(comparison.values.index) == comparison.seeds]
    if honest.empty:
        return None
    swapped = honest.assign(**{name: means.reindex(honest.index)})
    before = replace(comparison, values=honest).rank_table()
    after = replace(comparison, values=swapped).rank_table()
    printed = paper_ranks_of(before.index)
    gain = (swapped[name] - honest[name]).groupby(level="classifier").mean()
    n_sets = honest.index.get_level_values("dataset").nunique()
    lines = [
        ("rank, resampled on the training split alone", before),
        ("rank, resampled before the split (leak)", after),
        *([] if printed is None else [("rank that the paper prints", printed)]),
    ]
    cells = [
        [words, *(number(table.loc[name, column]) for column in before.columns)]
        for words, table in lines
    ]
    cells.append(
        [
            "what the leak adds to AUPRC",
            *(number(gain[column], 4, sign=True) for column in before.columns[:-1]),
            number(gain.mean(), 4, sign=True),
        ]
    )
    paper = "" if printed is None else f"; the paper prints {number(printed.loc[name, 'Avg'])}"
    words = (
        f"{name} would have the average rank {number(after.loc[name, 'Avg'])} instead of "
        f"{number(before.loc[name, 'Avg'])}{paper}."
    )
    return words, Table(
        f"leak-{file_name(name)}",
        f"{name}: average ranks over {count(n_sets, 'data set')}, honest and leaked.",
        ["", *before.columns],
        cells,
    )
