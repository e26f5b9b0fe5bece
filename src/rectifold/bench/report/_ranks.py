"""Average ranks: by AUPRC beside the paper's, and by other scores."""

from __future__ import annotations

from functools import partial

import pandas as pd

from rectifold.bench._comparison import Comparison, compare
from rectifold.bench._statistics import LEAST_BLOCKS, interval
from rectifold.bench.paper import paper_ranks_of
from rectifold.bench.report import _figures
from rectifold.model_selection._scores import SCORES
from rectifold.report._document import Figure, Part, Section, Table, rows_of
from rectifold.report._wording import NOTHING, number

#: What scores are called.
TITLES = {
    "auprc": "AUPRC",
    "roc_auc": "ROC-AUC",
    "f1": "F1",
    "balanced_accuracy": "balanced accuracy",
    "g_mean": "G-mean",
    "brier": "Brier score",
    "asymmetric_risk": "asymmetric risk, 10:1",
}


def section(comparison: Comparison, ranks: pd.DataFrame) -> Section:
    """Show average ranks, and the paper's beside them.

    Parameters
    ----------
    comparison : Comparison
        By AUPRC.
    ranks : pandas.DataFrame
        Its table of ranks.

    Returns
    -------
    Section
        With the paper's heat map.
    """
    printed = paper_ranks_of(ranks.index)
    by_set = comparison.mean_ranks()
    rows = []
    for name in ranks.index:
        cells = [name, *(number(value) for value in ranks.loc[name])]
        if len(by_set) >= LEAST_BLOCKS:
            low, high = interval(by_set[name].to_numpy())
            cells.append(f"{number(low, 1)} to {number(high, 1)}")
        else:
            cells.append(NOTHING)
        if printed is not None:
            paper = printed.loc[name, "Avg"]
            cells += [number(paper), number(ranks.loc[name, "Avg"] - paper, sign=True)]
        rows.append(cells)
    columns = ["Method", *ranks.columns, "95 % interval"]
    table = Table(
        "ranks",
        "Average ranks by AUPRC, the lower the better; Avg is the mean of the classifiers' "
        "columns, its interval a bootstrap over data sets."
        + (
            " “Paper” is its Avg, “difference” ours less the paper's."
            if printed is not None
            else ""
        ),
        columns if printed is None else [*columns, "Paper", "difference"],
        rows,
        marked=rows_of(list(ranks.index)),
    )
    picture = Figure(
        "rank-heat-map",
        "Average ranks: blue is good, red is bad. Of rows from top to bottom, the first is the "
        "best on average.",
        partial(_figures.heat_map, ranks),
    )
    parts: list[Part] = [table, picture]
    if printed is not None:
        parts.append(_beside(ranks, printed))
    return Section("Average ranks", parts)


def _beside(ranks: pd.DataFrame, printed: pd.DataFrame) -> Section:
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
    return Section("Every classifier beside the paper", [table])


def by_score(frame: pd.DataFrame, ranks: pd.DataFrame) -> Section:
    """Show average ranks by every score.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the honest protocol.
    ranks : pandas.DataFrame
        The table of ranks by AUPRC, for the order of methods.

    Returns
    -------
    Section
        With one table.
    """
    averages = {}
    for score in SCORES:
        comparison = compare(frame, score)
        if len(comparison.values):
            averages[score] = comparison.rank_table()["Avg"]
    rows = [[name, *(number(averages[score][name]) for score in averages)] for name in ranks.index]
    table = Table(
        "ranks-by-score",
        "Average ranks (Avg) by each score. F1, balanced accuracy, G-mean and asymmetric risk (a "
        "missed positive costs 10, a false alarm 1) are of predicted classes, and so depend on "
        "where a classifier draws its line; AUPRC and ROC-AUC do not. The Brier score is of "
        "probabilities, and leaves out classifiers that give none, such as the SVM.",
        ["Method", *(TITLES[score] for score in averages)],
        rows,
        marked=rows_of(list(ranks.index)),
    )
    return Section("Other scores", [table])
