"""The result of `rectifold predict`: as a dict for JSON, and on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from rectifold._core.summary import plain
from rectifold.cli.errors import visible
from rectifold.cli.terminal import console, plain_table

if TYPE_CHECKING:
    import pandas as pd

    from rectifold.model_selection import Explanation

#: Number of rows that are shown.
_N_SHOWN = 10
#: Number of features in the table of rows, and of characters of a cell.
_N_FEATURES, _WIDTH = 3, 24
#: Number of characters of the other columns of that table, and the least of a cell.
_FIXED_WIDTH, _MIN_WIDTH = 50, 5
#: Number of characters for the name of a fact.
_NAME_WIDTH = 17


def describe_model(model: Any, classifier: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Return what was fitted and chosen, and the estimated gain."""
    results = model.cv_results_
    chosen = int(np.flatnonzero(results["chosen"])[0])
    return {
        "classifier": classifier,
        "classes": [{"label": label, "rows": rows} for label, rows in sizes.items()],
        "setting": results["setting"][chosen],
        "vote_weight": float(model.vote_weight_),
        # With a weight that was set, settings are compared by cleaning alone.
        "gain_over": "the classifier alone" if model.vote_weight == "auto" else "no cleaning",
        "gain": _number(results["gain"][chosen]),
        "gain_se": _number(results["gain_se"][chosen]),
        "scoring": str(model.scoring),
    }


def highest_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """Return the rows with the highest probability of the smallest class."""
    code = int(np.flatnonzero(explanation.classes == explanation.positive)[0])
    return [
        {
            "row": row,
            "prediction": plain(explanation.predicted[row]),
            "probability": float(explanation.probabilities[row, code]),
            "classifier": float(explanation.classifier[row, code]),
            "vote": None if explanation.vote is None else float(explanation.vote[row, code]),
        }
        for row in explanation.order[:_N_SHOWN].tolist()
    ]


def show_result(result: dict[str, Any], features: pd.DataFrame) -> None:
    """Print the summary, and the highest-scored rows with the first of their features."""
    out = console(sys.stdout)
    shown = [visible(name) for name in features.columns[:_N_FEATURES]]
    counts = ", ".join(
        f"{one['rows']:,} {visible(one['label'], _WIDTH)}" for one in result["classes"]
    )
    facts = {
        "trained on": f"{result['rows_train']:,} rows with {result['features']} features: {counts}",
        "classifier": visible(result["classifier"]),
        "cleaning": _cleaning(result["setting"]),
        "vote weight": _vote(result["vote_weight"]),
        "estimated gain": _gain(result),
    }
    for name, text in facts.items():
        _fact(out, name, text)
    predicted = ", ".join(
        f"{one['predicted']:,} {visible(one['label'], _WIDTH)}" for one in result["classes"]
    )
    _fact(out, "predicted", f"{result['rows']:,} rows: {predicted}")
    positive = visible(result["positive"], _WIDTH)
    highest = result["highest"]
    out.print(
        Text(
            f"\nThe {len(highest)} rows with the highest probability of {positive}; rows are "
            "counted from 0:\n"
        )
    )
    # In a narrow terminal the cells of features are cut.
    room = (out.width - _FIXED_WIDTH) // max(1, len(shown)) - 2
    width = min(_WIDTH, max(_MIN_WIDTH, room))
    table = plain_table([], ["row", "probability", "classifier", "vote"])
    table.add_column("prediction", vertical="bottom", no_wrap=True, min_width=10)
    for name in shown:
        table.add_column(Text(name), vertical="bottom", no_wrap=True, max_width=width)
    for one in highest:
        cells = features.iloc[one["row"], : len(shown)].tolist()
        table.add_row(
            str(one["row"]),
            f"{one['probability']:.3f}",
            f"{one['classifier']:.3f}",
            "" if one["vote"] is None else f"{one['vote']:.3f}",
            Text(visible(one["prediction"], _WIDTH)),
            *(Text(visible(_cell(cell), 2 * _WIDTH)) for cell in cells),
        )
    out.print(table, "", sep="\n")
    lines = []
    if result["output"] is not None:
        lines.append(f"{result['rows']:,} rows to {visible(result['output'])}")
    if result["report"] is not None:
        lines.append(f"the report to {visible(result['report'])}: open it in a browser")
    for i, line in enumerate(lines):
        _fact(out, "" if i else "written", line)


def _cleaning(setting: str) -> str:
    return "none" if setting == "None" else visible(setting)


def _vote(weight: float) -> str:
    if weight == 0:
        return "0: the classifier alone decides"
    return f"{weight:.3g}: {1 - weight:.3g} x classifier + {weight:.3g} x vote of the neighbours"


def _gain(result: dict[str, Any]) -> str:
    if result["gain"] is None:
        return "not estimated"
    chosen = result["gain_over"] != "no cleaning"
    if result["gain"] == 0 and not (chosen and result["vote_weight"]):
        tried = "neither cleaning nor the vote" if chosen else "no cleaning"
        return f"none: {tried} was clearly better in cross-validation"
    name = result["scoring"].replace("_", " ")
    error = "" if result["gain_se"] is None else f" (standard error {result['gain_se']:.4f})"
    over = result["gain_over"]
    return f"{result['gain']:+.4f} {name} over {over}, by cross-validation{error}"


def _cell(cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _fact(out: Any, name: str, text: str) -> None:
    out.print(Text(f"{name:<{_NAME_WIDTH}}{text}"), soft_wrap=True)


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
