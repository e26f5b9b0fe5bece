"""The sections on scores: average ranks by AUPRC and by other scores, and each data set."""

from functools import partial

import pandas as pd

from rectifold.bench._comparison import Comparison, by_block, compare, means_and_deviations
from rectifold.bench._data import notes
from rectifold.bench._statistics import MIN_BLOCKS, Contrast, against, interval
from rectifold.bench.report._figures import heat_map
from rectifold.model_selection._evaluation import holm
from rectifold.model_selection._scores import SCORES
from rectifold.report._document import GMR, NONE, Figure, Section, Table, file_name, rows_of
from rectifold.report._wording import NOTHING, count, number, pvalue, span


def average_ranks(
    comparison: Comparison, ranks: pd.DataFrame, published: pd.DataFrame | None
) -> Section:
    """Show average ranks by AUPRC, with published ones beside them."""
    blocks = by_block(comparison.mean_ranks())
    rows = []
    for name in ranks.index:
        cells = [name, *(number(value) for value in ranks.loc[name])]
        if len(blocks) >= MIN_BLOCKS:
            low, high = interval(blocks[name].to_numpy())
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
        "bootstrap interval over data sets, those of one source as one."
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
    """Show every score: average ranks in the order of `ranks`, and GMR against no sampling."""
    averages, contrasts = {}, {}
    for score in SCORES:
        comparison = compare(frame, score, protocol)
        if comparison.values.empty:
            continue
        averages[score] = comparison.rank_table()["Avg"]
        if {GMR, NONE} <= set(ranks.index):
            pair = comparison.by_block()[[GMR, NONE]]
            greater = SCORES[score].greater_is_better
            if found := against(pair, NONE, greater_is_better=greater):
                contrasts[score] = found[GMR]
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
    return Section("Other scores", [table, *([_against_none(contrasts)] if contrasts else [])])


def _against_none(contrasts: dict[str, Contrast]) -> Table:
    """Compare GMR with no sampling by every score."""
    adjusted = holm([one.pvalue for one in contrasts.values()])
    rows = [
        [
            SCORES[score].title,
            number(one.difference, 4, sign=True),
            f"{number(one.low, 4, sign=True)} to {number(one.high, 4, sign=True)}",
            pvalue(one.pvalue),
            pvalue(corrected),
            f"{one.wins} / {one.ties} / {one.losses}",
        ]
        for (score, one), corrected in zip(contrasts.items(), adjusted, strict=True)
    ]
    return Table(
        "gmr-by-score",
        "GMR against no sampling by every score, as in the tests above: mean difference over "
        "blocks (positive: GMR is better, also where lower scores are), with a bootstrap interval; "
        "Wilcoxon signed-rank test, without and with Holm's correction for the number of scores; "
        "and the blocks on which GMR wins, ties and loses.",
        ["Score", "difference", "95 % interval", "p", "p, Holm", "win / tie / loss"],
        rows,
    )


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
    section = Section("Every data set", [introduction], folded=True)
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
