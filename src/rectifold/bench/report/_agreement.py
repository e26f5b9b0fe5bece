"""Our figures beside the paper's: where they should agree, and whether they do."""

from __future__ import annotations

import pandas as pd
from scipy.stats import spearmanr

from rectifold.bench._comparison import Comparison, spread
from rectifold.bench.paper import paper_auprc, paper_ranks, paper_ranks_of
from rectifold.bench.report import _coverage
from rectifold.report._document import NONE, Section, Table, file_name, rows_of
from rectifold.report._wording import count, number, span


def sections(frame: pd.DataFrame, comparison: Comparison, ranks: pd.DataFrame) -> list[Section]:
    """Compare what should agree: the AUPRC of no sampling and of every baseline.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the honest protocol.
    comparison : Comparison
        By AUPRC.
    ranks : pandas.DataFrame
        Its table of ranks.

    Returns
    -------
    list of Section
        Empty where the paper has nothing on these data sets and classifiers.
    """
    printed = paper_auprc()
    here = comparison.by_dataset()
    classifiers = set(comparison.values.index.get_level_values("classifier"))
    sets = [name for name in printed.index if name in here.index]
    methods = [name for name in here.columns if name in printed.columns]
    # The paper's figures are means over its seven classifiers.
    if not sets or not methods or classifiers != set(paper_ranks().columns) - {"Avg"}:
        return []
    gaps = here.loc[sets, methods] - printed.loc[sets, methods]
    section = Section("Agreement with the paper")
    if NONE in methods:
        section.parts += [
            f"Without sampling there is nothing to disagree on but the protocol: over "
            f"{count(len(sets), 'data set')}, AUPRC differs from the paper's by "
            f"{number(gaps[NONE].abs().mean(), 4)} on average (mean absolute difference; with its "
            f"sign, {number(gaps[NONE].mean(), 4, sign=True)}).",
            _of_none(here, printed, gaps, _coverage.notes(frame)),
        ]
    printed_ranks = paper_ranks_of(ranks.index)
    if printed_ranks is not None:
        ours, theirs = ranks.loc[methods, "Avg"], printed_ranks.loc[methods, "Avg"]
        section.parts.append(
            f"The average ranks of {count(len(methods), 'method')}, all but GMR, differ from the "
            f"paper's by {number((ours - theirs).abs().mean())} on average; the rank correlation "
            f"of the two is {number(spearmanr(ours, theirs).statistic)} (Spearman)."
        )
    section.parts.append(_of_baselines(gaps, ranks))
    return [section]


def _of_none(
    here: pd.DataFrame, printed: pd.DataFrame, gaps: pd.DataFrame, notes: dict[str, str]
) -> Table:
    rows = [
        [
            name + ("*" if name in notes else ""),
            number(printed.loc[name, NONE], 4),
            number(here.loc[name, NONE], 4),
            number(gaps.loc[name, NONE], 4, sign=True),
        ]
        for name in gaps.index
    ]
    said = "".join(f" * {notes[name]}" for name in gaps.index if name in notes)
    return Table(
        "none-beside-the-paper",
        f"AUPRC without sampling, the mean over seven classifiers.{said}",
        ["Data set", "paper", "here", "difference"],
        rows,
    )


def _of_baselines(gaps: pd.DataFrame, ranks: pd.DataFrame) -> Table:
    printed = paper_ranks()["Avg"]
    rows = [
        [
            name,
            number(gaps[name].abs().mean(), 4),
            number(gaps[name].mean(), 4, sign=True),
            number(gaps[name].abs().max(), 4),
            str(gaps[name].abs().idxmax()),
            number(printed[name]),
            number(ranks.loc[name, "Avg"]),
        ]
        for name in sorted(gaps.columns, key=lambda name: gaps[name].abs().mean())
    ]
    return Table(
        "baselines-beside-the-paper",
        "Every baseline's AUPRC here less the paper's: mean absolute, mean and largest difference "
        "over the data sets above, and where that is; and its average rank, among the methods of "
        "this store.",
        ["Method", "mean absolute", "mean", "largest", "on", "rank, paper", "rank, here"],
        rows,
        marked=rows_of([row[0] for row in rows]),
    )


def every_dataset(frame: pd.DataFrame, comparison: Comparison) -> Section:
    """Give a table for each data set, in the paper's form.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the honest protocol.
    comparison : Comparison
        Made of them.

    Returns
    -------
    Section
        With a folded section for each data set.
    """
    printed = paper_auprc()
    figures, notes = spread(frame, comparison), _coverage.notes(frame)
    section = Section(
        "Every data set",
        [
            "AUPRC, the mean over seeds and then over the classifiers that are compared, ± the "
            "standard deviation over seeds of the mean over classifiers; the paper's figure (over "
            "its seven classifiers), and the difference. The paper prints none for GMR."
        ],
    )
    for name in sorted(figures.index.unique("dataset")):
        part = figures.loc[figures.index.get_level_values("dataset") == name]
        part = part.droplevel("dataset").sort_values("mean", ascending=False, kind="stable")
        paper = printed.reindex(index=[name], columns=part.index).iloc[0]
        seeds = comparison.seeds_on(name)
        rows = [
            [
                str(method),
                f"{number(mean, 4)} ± {number(deviation, 4)}",
                number(theirs, 4),
                number(mean - theirs, 4, sign=True),
            ]
            for method, mean, deviation, theirs in zip(
                part.index, part["mean"], part["std"], paper, strict=True
            )
        ]
        note = f" {notes[name]}" if name in notes else ""
        table = Table(
            f"dataset-{file_name(name)}",
            f"{name}: mean AUPRC over {count(len(seeds), 'classifier')} and "
            f"{span(seeds.min(), seeds.max())} seeds.{note}",
            ["Method", "AUPRC", "paper", "difference"],
            rows,
            marked=rows_of([row[0] for row in rows]),
        )
        section.parts.append(Section(name, [table]))
    return section
