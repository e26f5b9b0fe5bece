"""The sections on scores: average ranks by AUPRC and by other scores, and each data set."""

from functools import partial

import pandas as pd

from rectifold.bench._comparison import Comparison, compare, means_and_deviations
from rectifold.bench._data import notes
from rectifold.bench._statistics import MIN_BLOCKS, interval
from rectifold.bench.report._figures import heat_map
from rectifold.model_selection._scores import SCORES
from rectifold.report._document import Figure, Section, Table, file_name, rows_of
from rectifold.report._wording import NOTHING, count, number, span


def average_ranks(
    comparison: Comparison, ranks: pd.DataFrame, published: pd.DataFrame | None
) -> Section:
    """Show average ranks by AUPRC, with published ones beside them."""
    by_dataset = comparison.mean_ranks()
    rows = []
    for name in ranks.index:
        cells = [name, *(number(value) for value in ranks.loc[name])]
        if len(by_dataset) >= MIN_BLOCKS:
            low, high = interval(by_dataset[name].to_numpy())
            cells.append(f"{number(low, 1)} to {number(high, 1)}")
        else:
            cells.append(NOTHING)
        if published is not None:
            paper = published.loc[name, "Avg"]
            cells += [number(paper), number(ranks.loc[name, "Avg"] - paper, sign=True)]
        rows.append(cells)
    columns = ["Method", *ranks.columns, "95 % interval"]
    caption = (
        "Average ranks by AUPRC; lower is better. Avg is the mean over classifiers, with a "
        "bootstrap interval over data sets."
    )
    if published is not None:
        columns += ["Paper", "difference"]
        caption += " “Paper” is its Avg, “difference” the Avg here less the paper's."
    table = Table("ranks", caption, columns, rows, marked=rows_of(list(ranks.index)))
    picture = Figure(
        "rank-heat-map",
        "Average ranks: blue is low (good), red is high. Methods are sorted by Avg.",
        partial(heat_map, ranks),
    )
    return Section("Average ranks", [table, picture])


def other_scores(frame: pd.DataFrame, ranks: pd.DataFrame, protocol: str) -> Section:
    """Show average ranks by every score, for the methods in the order of `ranks`."""
    averages = {}
    for score in SCORES:
        comparison = compare(frame, score, protocol)
        if len(comparison.values):
            averages[score] = comparison.rank_table()["Avg"]
    rows = [[name, *(number(averages[score][name]) for score in averages)] for name in ranks.index]
    table = Table(
        "ranks-by-score",
        "Average ranks (Avg) by each score. F1, balanced accuracy, G-mean and asymmetric risk (a "
        "false negative costs 10, a false positive 1) are computed from predicted labels, so they "
        "depend on the decision threshold of a classifier; AUPRC and ROC-AUC do not. The Brier "
        "score leaves out classifiers without probabilities, such as the SVM.",
        ["Method", *(SCORES[score].title for score in averages)],
        rows,
        marked=rows_of(list(ranks.index)),
    )
    return Section("Other scores", [table])


def every_dataset(
    frame: pd.DataFrame, comparison: Comparison, published: pd.DataFrame | None
) -> Section:
    """Show the AUPRC of all methods on each data set, with published figures beside them."""
    summary, remarks = means_and_deviations(frame, comparison), notes(frame)
    introduction = (
        "AUPRC: the mean over seeds and then over the classifiers that are compared, ± the "
        "standard deviation over seeds of the mean over classifiers."
    )
    if published is not None:
        introduction += (
            " Beside it the paper's figure (over its seven classifiers), and the difference. The "
            "paper prints none for GMR."
        )
    section = Section("Every data set", [introduction])
    for name in sorted(summary.index.unique("dataset")):
        part = summary.loc[summary.index.get_level_values("dataset") == name]
        part = part.droplevel("dataset").sort_values("mean", ascending=False, kind="stable")
        columns = ["Method", "AUPRC"]
        rows = [
            [str(method), f"{number(mean, 4)} ± {number(deviation, 4)}"]
            for method, mean, deviation in zip(part.index, part["mean"], part["std"], strict=True)
        ]
        if published is not None:
            columns += ["paper", "difference"]
            paper = published.reindex(index=[name], columns=part.index).iloc[0]
            for row, mean, theirs in zip(rows, part["mean"], paper, strict=True):
                row += [number(theirs, 4), number(mean - theirs, 4, sign=True)]
        seeds = comparison.seeds_on(name)
        remark = f" {remarks[name]}" if name in remarks else ""
        caption = (
            f"{name}: mean AUPRC over {count(len(seeds), 'classifier')} and "
            f"{span(seeds.min(), seeds.max())} seeds.{remark}"
        )
        table = Table(
            f"dataset-{file_name(name)}",
            caption,
            columns,
            rows,
            marked=rows_of([row[0] for row in rows]),
        )
        section.parts.append(Section(name, [table]))
    return section
