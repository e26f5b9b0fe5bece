"""What the experiment on long-tailed images shows: bars, and a table like the paper's."""

from __future__ import annotations

import json

import pandas as pd

from rectifold.bench.report.document import Figure, Part, Section, Table, file_name
from rectifold.bench.report.figures import bars
from rectifold.bench.report.wording import NOTHING, count, listing, number, pvalue, spread
from rectifold.bench.statistics import against

#: What the paper prints for CIFAR-100-LT: percent, and their standard deviation.
_PAPER = {
    "CE": "37.76 ± 1.43",
    "CB": "29.64 ± 1.15",
    "LDAM": "1.00 ± 0.00",
    "GMR-Feature": "36.34 ± 0.73",
}
#: The order in which methods are shown.
_ORDER = (*_PAPER, "CE-Linear")


def section(rows: pd.DataFrame) -> Section:
    """Say what it shows.

    Parameters
    ----------
    rows : pandas.DataFrame
        Its rows.

    Returns
    -------
    Section
    """
    parts: list[Part] = []
    for name in sorted(set(rows["dataset"])):
        of = rows[rows["dataset"] == name]
        methods = [method for method in _ORDER if method in set(of["method"])]
        table = of.pivot_table("balanced_accuracy", "seed", "method")
        told = against(table, "CE") if "CE" in table else {}
        lines = []
        for method in methods:
            mine = of[of["method"] == method]
            test = told.get(method)
            lines.append(
                [
                    method,
                    spread(100 * mine["balanced_accuracy"], 2),
                    *(spread(100 * mine[group], 1) for group in ("many", "medium", "few")),
                    NOTHING if test is None else number(100 * test.difference, 2, sign=True),
                    NOTHING if test is None else pvalue(test.pvalue),
                    _PAPER.get(method, NOTHING),
                ]
            )
        best = table[methods].mean().idxmax()
        beside = ""
        if "GMR-Feature" in told:
            gain = number(100 * told["GMR-Feature"].difference, 2, sign=True)
            beside = f"; GMR-Feature differs from CE by {gain} points"
        settings = json.loads(next(iter(of["settings"].dropna()), "{}"))
        cleaned = of[of["method"] == "GMR-Feature"]
        parts += [
            f"On {name} {best} has the highest balanced accuracy, "
            f"{number(100 * table[best].mean(), 2)} %{beside}.",
            f"ResNet-32, {settings.get('epochs', 0)} epochs, "
            f"{count(of['seed'].nunique(), 'seed')}; tested on the balanced test set. "
            "GMR-Feature cleans the 64 features of the CE network "
            f"({listing(sorted(set(cleaned['metric'].dropna())))} metric) and retrains a linear "
            "classifier on what is kept; CE-Linear, its control, retrains it on all. The paper's "
            "column is of CIFAR-100-LT: another data set, there for its order alone.",
            Figure(
                f"images-{file_name(name)}",
                f"Balanced accuracy on {name}, in percent: mean and standard deviation over seeds.",
                bars(
                    methods,
                    {
                        "balanced accuracy": [
                            (100 * table[method].mean(), 100 * table[method].std())
                            for method in methods
                        ]
                    },
                    "balanced accuracy, %",
                ),
            ),
            Table(
                f"images-{file_name(name)}",
                f"Balanced accuracy on {name} in percent, over all classes and over those with "
                "many (over 100), medium (20 to 100) and few training images; what a method adds "
                "to CE, Wilcoxon's test over seeds; and what the paper prints for CIFAR-100-LT.",
                ["method", "all", "many", "medium", "few", "over CE", "p", "paper, CIFAR-100-LT"],
                lines,
                marked=frozenset({methods.index("GMR-Feature")} if len(cleaned) else ()),
            ),
        ]
    return Section("Long-tailed images", parts)
