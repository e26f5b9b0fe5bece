"""The section of the report on long-tailed images: a figure, and a table like the paper's."""

from __future__ import annotations

import json
from functools import partial

import pandas as pd

from experiments.deep.figures import points
from experiments.deep.records import outdated
from rectifold.bench._statistics import Contrast, against
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
_OTHER_LOSS = (
    " CB was trained with another loss than that of Cui et al.: the weighted sum over a batch was "
    "divided by the sum of the weights, as in the code of LDAM, not by the number of images. The "
    "code is corrected, and these networks are to be trained again."
)
#: If cleaning removes a smaller share, training on the rest hardly tests anything.
FEW = 0.01


def section(rows: pd.DataFrame) -> Section:
    """Return the section on long-tailed images, from the rows of the experiment."""
    parts: list[Part] = []
    for name in sorted(set(rows["dataset"])):
        mine = rows[rows["dataset"] == name]
        methods = [method for method in _ORDER if method in set(mine["method"])]
        # Only seeds that all methods have.
        table = mine.pivot_table("balanced_accuracy", "seed", "method")[methods].dropna()
        if not len(table):
            continue
        mine = mine[mine["seed"].isin(table.index)]
        over_ce = against(table, "CE") if "CE" in table else {}
        over_linear = against(table, "CE-Linear") if "CE-Linear" in table else {}
        lines = []
        for method in methods:
            fits = mine[mine["method"] == method]
            test = over_ce.get(method)
            lines.append(
                [
                    method,
                    spread(100 * fits["balanced_accuracy"], 2),
                    *(spread(100 * fits[group], 1) for group in ("many", "medium", "few")),
                    NOTHING if test is None else number(100 * test.difference, 2, sign=True),
                    NOTHING if test is None else pvalue(test.holm),
                    _PAPER.get(method, NOTHING),
                ]
            )
        best = table.mean().idxmax()
        settings = json.loads(next(iter(mine["settings"].dropna()), "{}"))
        cleaned = mine[mine["method"] == _CLEANED]
        parts += [
            f"On {name}, {best} has the highest balanced accuracy, "
            f"{number(100 * table[best].mean(), 2)} %.",
            *([_cleaning(cleaned, over_ce, over_linear)] if len(cleaned) else []),
            f"ResNet-32, {settings.get('epochs', 0)} epochs, "
            f"{count(mine['seed'].nunique(), 'seed')}, tested on the balanced test set. The "
            "paper's column is for CIFAR-100-LT." + (_OTHER_LOSS if outdated(mine).any() else ""),
            Figure(
                f"images-{file_name(name)}",
                f"Balanced accuracy on {name}, in percent: mean and standard deviation over seeds.",
                partial(
                    points,
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
                "many (over 100), a medium number of (20 to 100) and few training images; the "
                "difference from CE; Wilcoxon's test over seeds with Holm's correction; and the "
                "paper's figures for CIFAR-100-LT.",
                ["method", "all", "many", "medium", "few", "over CE", "p", "paper, CIFAR-100-LT"],
                lines,
                marked=frozenset({methods.index(_CLEANED)} if len(cleaned) else ()),
            ),
        ]
    return Section("Long-tailed images", parts)


def _cleaning(
    cleaned: pd.DataFrame, over_ce: dict[str, Contrast], over_linear: dict[str, Contrast]
) -> str:
    """Return a paragraph on what cleaning the features did, beside the same classifier on all."""
    removed = cleaned["rows_before"] - cleaned["rows_after"]
    n_samples = int(cleaned["rows_before"].iloc[0])
    metric = ", ".join(sorted(set(cleaned["metric"].dropna())))
    share = float(removed.max()) / n_samples
    differs = [
        f"from {what} by {number(100 * tests[_CLEANED].difference, 2, sign=True)} points"
        for what, tests in (("CE", over_ce), ("CE-Linear", over_linear))
        if _CLEANED in tests
    ]
    return (
        f"{_CLEANED} cleans the 64 features of the CE network ({metric} metric), which removed "
        f"{span(int(removed.min()), int(removed.max()))} of {n_samples:,} images"
        + (
            f" (at most {number(100 * share, 1)} %: the test is nearly empty)"
            if share < FEW
            else ""
        )
        + ", and trains a linear classifier on the others; CE-Linear, its control, trains it on "
        "all images." + (f" It differs {' and '.join(differs)}." if differs else "")
    )
