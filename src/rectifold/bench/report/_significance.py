"""The section on significance: tests with data sets as blocks."""

from functools import partial

import pandas as pd

from rectifold.bench._comparison import Comparison, by_block, in_order
from rectifold.bench._statistics import ALPHA, MARGIN, MIN_BLOCKS, TIE, Friedman, against, friedman
from rectifold.bench.report._figures import critical_difference
from rectifold.datasets import SAME_SOURCE
from rectifold.model_selection._registry import CLASSIFIERS
from rectifold.report._document import GMR, NONE, Figure, Section, Table, file_name, rows_of
from rectifold.report._wording import NOTHING, count, equation, number, pvalue


def section(comparison: Comparison) -> Section:
    """Test the differences of a comparison by AUPRC."""
    table, ranks = comparison.by_block(), comparison.rank_table()
    test = friedman(table, ranks["Avg"])
    if test is None:
        return Section(
            "Significance",
            [
                f"The tests need at least {MIN_BLOCKS} data sets on which all classifiers are "
                "compared, and three methods."
            ],
        )
    critical = number(test.critical_difference)
    return Section(
        "Significance",
        [
            "Data sets are the blocks of every test; those of one source are one block "
            f"({_shared(comparison)}). Results of classifiers on one data set are not independent, "
            "so their AUPRC is averaged first.",
            f"Friedman test over {count(test.n_blocks, 'block')}: chi² = "
            f"{number(test.statistic, 1)}, {equation(test.pvalue)}. Nemenyi test: average ranks "
            f"that differ by less than {critical} are not significantly different at the level "
            f"{ALPHA:g}. It is conservative, since these ranks are averages over classifiers.",
            _diagram(
                "critical-difference",
                "The average ranks of the table above; a bar joins methods that do not differ "
                f"significantly (Nemenyi test, critical difference {critical}).",
                test,
            ),
            *(against_reference(table, name) for name in (NONE, GMR) if name in table.columns),
            _each_classifier(comparison, ranks),
        ],
    )


def _shared(comparison: Comparison) -> str:
    """Return which of the data sets have one source."""
    known = set(comparison.values.index.get_level_values("dataset"))
    pairs = [pair for pair in SAME_SOURCE.items() if known.issuperset(pair)]
    return "; ".join(" and ".join(sorted(pair)) for pair in pairs) or "none here"


def _diagram(name: str, caption: str, test: Friedman) -> Figure:
    return Figure(name, caption, partial(critical_difference, test))


def against_reference(table: pd.DataFrame, reference: str) -> Table:
    """Compare every method with a reference, given a row for each block."""
    contrasts = against(table, reference)
    rows = [
        [
            name,
            number(one.difference, 4, sign=True),
            f"{number(one.low, 4, sign=True)} to {number(one.high, 4, sign=True)}",
            pvalue(one.pvalue),
            pvalue(one.holm),
            pvalue(one.equivalence),
            number(one.effect, sign=True),
            f"{one.wins} / {one.ties} / {one.losses}",
        ]
        for name, one in contrasts.items()
    ]
    baseline = "no sampling" if reference == NONE else reference
    return Table(
        f"against-{reference.lower()}",
        f"Every method against {baseline}, by mean AUPRC over {count(len(table), 'block')} "
        "(fewer if a method failed): mean difference (positive: better than "
        f"{baseline}) with a bootstrap interval; Wilcoxon signed-rank test, without and with "
        f"Holm's correction; p-value of equivalence within {MARGIN:g} (two one-sided signed-rank "
        "tests: a small value means that the difference is negligible); rank-biserial correlation; "
        f"and the number of blocks on which the method wins, ties (within {TIE:g}) and loses.",
        [
            *("Method", "difference", "95 % interval", "p", "p, Holm", "p, equivalence", "effect"),
            "win / tie / loss",
        ],
        rows,
        marked=rows_of(list(contrasts)),
    )


def _each_classifier(comparison: Comparison, ranks: pd.DataFrame) -> Section:
    rows, diagrams = [], []
    classifiers = comparison.values.index.get_level_values("classifier")
    for name in in_order(classifiers, CLASSIFIERS):
        values = by_block(comparison.values[classifiers == name].droplevel("classifier"))
        test = friedman(values, ranks[name])
        if test is None:
            continue
        has_both = {GMR, NONE} <= set(values.columns)
        gmr = against(values[[GMR, NONE]], NONE).get(GMR) if has_both else None
        gain = [NOTHING] * 2
        if gmr is not None:
            gain = [number(gmr.difference, 4, sign=True), pvalue(gmr.pvalue)]
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
        diagrams.append(
            _diagram(
                f"critical-difference-{file_name(name)}",
                f"Average ranks with {name}; {count(test.n_blocks, 'block')}.",
                test,
            )
        )
    table = Table(
        "by-classifier",
        "The same tests for each classifier alone: number of blocks, Friedman test, critical "
        "difference, best method with its average rank, and the difference between GMR and no "
        "sampling with its Wilcoxon test (not corrected for the number of classifiers).",
        ["Classifier", "blocks", "Friedman p", "CD", "best", "GMR − None", "p"],
        rows,
    )
    return Section("Each classifier alone", [table, *diagrams])
