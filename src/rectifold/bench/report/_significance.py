"""Which differences are more than chance, with data sets as blocks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pandas as pd

from rectifold.bench._comparison import Comparison, in_order
from rectifold.bench._statistics import ALPHA, LEAST_BLOCKS, TIE, against, friedman
from rectifold.bench.report import _figures
from rectifold.model_selection._registry import CLASSIFIERS, METHODS
from rectifold.report._document import GMR, NONE, Figure, Section, Table, file_name, rows_of
from rectifold.report._wording import NOTHING, count, equation, number, pvalue


def section(comparison: Comparison) -> Section:
    """Test what a comparison shows.

    Parameters
    ----------
    comparison : Comparison
        By AUPRC.

    Returns
    -------
    Section
        It says so where there is too little to test.
    """
    table = comparison.by_dataset()
    test = friedman(table)
    found = Section("Significance")
    if test is None:
        found.parts.append(
            f"Tests need at least {LEAST_BLOCKS} data sets on which all classifiers are compared, "
            "and three methods."
        )
        return found
    found.parts += [
        "Data sets are the blocks of every test: classifiers on one data set share its rows and "
        "are not independent, so their AUPRC is averaged first. Ranks of these averages are "
        "not the averages of ranks above.",
        f"Friedman test over {count(test.n_blocks, 'data set')}: chi² = "
        f"{number(test.statistic, 1)}, {equation(test.pvalue)}. Nemenyi: average ranks that differ "
        f"by less than {number(test.critical_difference)} are not told apart at the level "
        f"{ALPHA:g}.",
        Figure(
            "critical-difference",
            "Average ranks of the mean AUPRC; a bar joins methods that the Nemenyi test does not "
            f"tell apart (critical difference {number(test.critical_difference)}).",
            partial(_figures.critical_difference, test, _short(table.columns)),
        ),
    ]
    for reference in (NONE, GMR):
        if reference in table.columns:
            found.parts.append(_against(table, reference))
    found.parts.append(_each_classifier(comparison))
    return found


def _against(table: pd.DataFrame, reference: str) -> Table:
    contrasts = against(table, reference)
    rows = [
        [
            name,
            number(one.difference, 4, sign=True),
            f"{number(one.low, 4, sign=True)} to {number(one.high, 4, sign=True)}",
            pvalue(one.pvalue),
            pvalue(one.holm),
            number(one.effect, sign=True),
            f"{one.wins} / {one.ties} / {one.losses}",
        ]
        for name, one in contrasts.items()
    ]
    what = "no sampling" if reference == NONE else reference
    return Table(
        f"against-{reference.lower()}",
        f"Every method against {what}, by mean AUPRC over {count(len(table), 'data set')} "
        "(fewer where a method failed): mean "
        f"difference (positive: better than {what}) with a bootstrap interval, Wilcoxon "
        "signed-rank test, the same corrected by Holm, rank-biserial correlation, and on how many "
        f"data sets the method wins, ties (within {TIE:g}) and loses.",
        ["Method", "difference", "95 % interval", "p", "p, Holm", "effect", "win / tie / loss"],
        rows,
        marked=rows_of(list(contrasts)),
    )


def _each_classifier(comparison: Comparison) -> Section:
    rows, pictures = [], []
    classifiers = comparison.values.index.get_level_values("classifier")
    for name in in_order(classifiers, CLASSIFIERS):
        values = comparison.values[classifiers == name]
        test = friedman(values)
        if test is None:
            continue
        both = {GMR, NONE} <= set(values.columns)
        one = against(values[[GMR, NONE]], NONE).get(GMR) if both else None
        gain = [NOTHING] * 2
        if one is not None:
            gain = [number(one.difference, 4, sign=True), pvalue(one.pvalue)]
        rows.append(
            [
                name,
                str(test.n_blocks),
                pvalue(test.pvalue),
                number(test.critical_difference),
                f"{test.ranks.index[0]} ({number(test.ranks.iloc[0])})",
                *gain,
            ]
        )
        pictures.append(
            Figure(
                f"critical-difference-{file_name(name)}",
                f"Average ranks with {name}, over {count(test.n_blocks, 'data set')}.",
                partial(_figures.critical_difference, test, _short(values.columns)),
            )
        )
    table = Table(
        "by-classifier",
        "The same for each classifier alone: data sets, the Friedman test, the critical "
        "difference, the best method with its average rank, and GMR less no sampling with its "
        "Wilcoxon test (not corrected for the number of classifiers).",
        ["Classifier", "data sets", "Friedman p", "CD", "best", "GMR − None", "p"],
        rows,
    )
    return Section("Each classifier alone", [table, *pictures])


def _short(names: Iterable[str]) -> dict[str, str]:
    # The paper's abbreviations; a method that it does not have keeps its name.
    return {name: METHODS[name].short if name in METHODS else name for name in names}
