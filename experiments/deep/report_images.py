"""The section of the report on long-tailed images: a figure, and a table like the paper's."""

from __future__ import annotations

import json
from functools import partial

import pandas as pd

from rectifold.bench._statistics import Contrast, against
from rectifold.bench.report._figures import bars
from rectifold.report._document import Figure, Part, Section, Table, file_name
from rectifold.report._wording import NOTHING, count, number, pvalue, span, spread

#: The paper's accuracies on CIFAR-100-LT: percent, and their standard deviation.
_PAPER = {
    "CE": "37.76 ± 1.43",
    "CB": "29.64 ± 1.15",
    "LDAM": "1.00 ± 0.00",
    "GMR-Feature": "36.34 ± 0.73",
}
#: The order in which methods are shown.
_ORDER = (*_PAPER, "CE-Linear")
_CLEANED = "GMR-Feature"


def section(rows: pd.DataFrame) -> Section:
    """Return the section on long-tailed images, from the rows of the experiment."""
    parts: list[Part] = []
    for name in sorted(set(rows["dataset"])):
        of = rows[rows["dataset"] == name]
        methods = [method for method in _ORDER if method in set(of["method"])]
        # Seeds that all have.
        table = of.pivot_table("balanced_accuracy", "seed", "method")[methods].dropna()
        if not len(table):
            continue
        of = of[of["seed"].isin(table.index)]
        told = against(table, "CE") if "CE" in table else {}
        beside = against(table, "CE-Linear") if "CE-Linear" in table else {}
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
                    NOTHING if test is None else pvalue(test.holm),
                    _PAPER.get(method, NOTHING),
                ]
            )
        best = table.mean().idxmax()
        settings = json.loads(next(iter(of["settings"].dropna()), "{}"))
        cleaned = of[of["method"] == _CLEANED]
        parts += [
            f"On {name} {best} has the highest balanced accuracy, "
            f"{number(100 * table[best].mean(), 2)} %.",
            *([_cleaning(cleaned, told, beside)] if len(cleaned) else []),
            f"ResNet-32, {settings.get('epochs', 0)} epochs, "
            f"{count(of['seed'].nunique(), 'seed')}; tested on the balanced test set. The "
            "paper's column is of CIFAR-100-LT.",
            Figure(
                f"images-{file_name(name)}",
                f"Balanced accuracy on {name}, in percent: mean and standard deviation over seeds.",
                partial(
                    bars,
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
                "to CE, Wilcoxon's test over seeds, corrected by Holm; and what the paper prints "
                "for CIFAR-100-LT.",
                ["method", "all", "many", "medium", "few", "over CE", "p", "paper, CIFAR-100-LT"],
                lines,
                marked=frozenset({methods.index(_CLEANED)} if len(cleaned) else ()),
            ),
        ]
    return Section("Long-tailed images", parts)


def _cleaning(cleaned: pd.DataFrame, told: dict[str, Contrast], beside: dict[str, Contrast]) -> str:
    """Return a paragraph on what cleaning the features did, beside the same classifier on all."""
    gone = cleaned["rows_before"] - cleaned["rows_after"]
    metric = ", ".join(sorted(set(cleaned["metric"].dropna())))
    differs = [
        f"from {what} by {number(100 * found[_CLEANED].difference, 2, sign=True)} points"
        for what, found in (("CE", told), ("CE-Linear", beside))
        if _CLEANED in found
    ]
    return (
        f"{_CLEANED} cleans the 64 features of the CE network ({metric} metric), which removed "
        f"{span(int(gone.min()), int(gone.max()))} of {int(cleaned['rows_before'].iloc[0]):,} "
        "images, and retrains a linear classifier on the rest; CE-Linear, its control, retrains it "
        "on all." + (f" It differs {' and '.join(differs)}." if differs else "")
    )
