"""Our figures beside the paper's: where they should agree, and how far they do."""

from __future__ import annotations

import pandas as pd
from scipy.stats import spearmanr

from rectifold.bench._comparison import compare, newest
from rectifold.bench._data import notes
from rectifold.bench.report import Published
from rectifold.report._document import NONE, Section, Table, rows_of
from rectifold.report._wording import NOTHING, count, number

#: Scores on a data set with fewer minority samples in its test splits vary much.
FEW = 15


def sections(frame: pd.DataFrame, published: Published, protocol: str) -> list[Section]:
    """Compare what should agree: the AUPRC of no sampling and of every baseline.

    `frame` are all rows of a store. There is no section if the paper prints nothing on its data
    sets and methods, or if other classifiers were compared than the paper's seven, over which its
    figures are means.
    """
    frame, _ = newest(frame)
    frame = frame[frame["protocol"] == protocol]
    comparison = compare(frame, protocol=protocol)
    if comparison.values.empty:
        return []
    ours, printed = comparison.by_dataset(), published.auprc
    classifiers = set(comparison.values.index.get_level_values("classifier"))
    sets = [name for name in printed.index if name in ours.index]
    methods = [name for name in ours.columns if name in printed.columns]
    if not sets or not methods or classifiers != set(published.ranks.columns) - {"Avg"}:
        return []
    gaps = ours.loc[sets, methods] - printed.loc[sets, methods]
    section = Section("Agreement with the paper", folded=True)
    by_method = gaps.abs().mean().sort_values()
    section.parts.append(
        f"Over {count(len(sets), 'data set')} with the paper's five seeds, AUPRC differs from the "
        f"printed one by {number(by_method.mean(), 4)} (mean absolute difference, averaged over "
        f"{count(len(methods), 'method')}), most of all after {by_method.index[-1]}, by "
        f"{number(by_method.iloc[-1], 4)}. {_by_positives(gaps, frame)}"
    )
    if NONE in methods:
        section.parts += [
            "Without sampling, only the protocol can differ: over "
            f"{count(len(sets), 'data set')}, AUPRC differs from the paper's by "
            f"{number(gaps[NONE].abs().mean(), 4)} on average (mean absolute difference; with its "
            f"sign, {number(gaps[NONE].mean(), 4, sign=True)}).",
            _without_sampling(ours, printed, gaps, frame),
        ]
    ranks = comparison.rank_table()
    printed_ranks = published.ranks_among(ranks.index)
    if printed_ranks is not None:
        here, theirs = ranks.loc[methods, "Avg"], printed_ranks.loc[methods, "Avg"]
        section.parts.append(
            f"The average ranks of {count(len(methods), 'method')}, all but GMR, differ from the "
            f"paper's by {number((here - theirs).abs().mean())} on average; the rank correlation "
            f"of the two is {number(spearmanr(here, theirs).statistic)} (Spearman)."
        )
    section.parts.append(_baselines(gaps, ranks, published.ranks))
    if printed_ranks is not None:
        section.parts.append(_ranks_by_classifier(ranks, printed_ranks))
    return [section]


def _positives(gaps: pd.DataFrame, frame: pd.DataFrame) -> pd.Series[int]:
    """Return the number of minority samples in the test splits of each data set."""
    largest = frame.groupby("dataset")["test_positives"].max()
    return largest.reindex(gaps.index).astype("Int64")


def _by_positives(gaps: pd.DataFrame, frame: pd.DataFrame) -> str:
    """Compare the data sets whose test splits have few minority samples with the others."""
    few = _positives(gaps, frame).lt(FEW).fillna(False).astype(bool)
    if few.all() or not few.any():
        return ""
    means = [number(gaps[mask].abs().mean(axis=None), 4) for mask in (few, ~few)]
    return (
        f"On the {count(int(few.sum()), 'data set')} with fewer than {FEW} minority samples in a "
        f"test split the mean is {means[0]}, on the others {means[1]}."
    )


def _without_sampling(
    ours: pd.DataFrame, printed: pd.DataFrame, gaps: pd.DataFrame, frame: pd.DataFrame
) -> Table:
    remarks, positives = notes(frame), _positives(gaps, frame)
    rows = [
        [
            name + ("*" if name in remarks else ""),
            number(printed.loc[name, NONE], 4),
            number(ours.loc[name, NONE], 4),
            number(gaps.loc[name, NONE], 4, sign=True),
            number(gaps.loc[name].abs().mean(), 4),
            NOTHING if pd.isna(positives[name]) else str(positives[name]),
        ]
        for name in gaps.index
    ]
    footnotes = "".join(f" * {remarks[name]}" for name in gaps.index if name in remarks)
    return Table(
        "none-beside-the-paper",
        "AUPRC without sampling, the mean over seven classifiers; the mean absolute difference "
        f"over all methods; and the minority samples in a test split.{footnotes}",
        ["Data set", "paper", "here", "difference", "all methods", "test minority"],
        rows,
    )


def _baselines(gaps: pd.DataFrame, ranks: pd.DataFrame, printed: pd.DataFrame) -> Table:
    rows = [
        [
            name,
            number(gaps[name].abs().mean(), 4),
            number(gaps[name].mean(), 4, sign=True),
            number(gaps[name].abs().max(), 4),
            str(gaps[name].abs().idxmax()),
            number(printed.loc[name, "Avg"]),
            number(ranks.loc[name, "Avg"]),
        ]
        for name in sorted(gaps.columns, key=lambda name: gaps[name].abs().mean())
    ]
    return Table(
        "baselines-beside-the-paper",
        "AUPRC of every baseline here less the paper's: mean absolute, mean and largest difference "
        "over the data sets above, with the data set of the largest; and average ranks, among the "
        "methods of this store.",
        ["Method", "mean absolute", "mean", "largest", "on", "rank, paper", "rank, here"],
        rows,
        marked=rows_of([row[0] for row in rows]),
    )


def _ranks_by_classifier(ranks: pd.DataFrame, printed: pd.DataFrame) -> Section:
    rows = [
        [name]
        + [
            f"{number(printed.loc[name, column])} / {number(ranks.loc[name, column])}"
            for column in ranks.columns
        ]
        for name in ranks.index
    ]
    table = Table(
        "ranks-beside-the-paper",
        "Average ranks, paper / here.",
        ["Method", *ranks.columns],
        rows,
        marked=rows_of(list(ranks.index)),
    )
    return Section("Every classifier beside the paper", [table], folded=True)
