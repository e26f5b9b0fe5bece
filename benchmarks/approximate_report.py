"""What the approximate engine showed, as a table and a picture.

    python benchmarks/approximate_report.py

Reads what benchmarks/approximate.py and approximate_effect.py wrote to results/approximate/, and
writes README.md and speed.png there.
"""

import json
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from approximate import DATA, RESULTS, RUNS, TARGET
from libraries import LIBRARIES
from rectifold._core.accuracy import percent

CONTESTANTS = ("exact", "approximate", *LIBRARIES)
TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50)
SHAPES = dict(zip(CONTESTANTS, "sovP^XD", strict=True))


def main() -> None:
    """Write the table and the picture."""
    runs = [json.loads(path.read_text()) for path in sorted(RUNS.glob("*.json"))]
    by = {(run["data"], run["contestant"]): run for run in runs}
    picture(by)
    effect = RESULTS / "effect.json"
    found = json.loads(effect.read_text()) if effect.exists() else {"auprc": [], "repeated": None}
    (RESULTS / "README.md").write_text("\n".join([*table(by), *effects(found)]) + "\n")


def table(by: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """One line for each run."""
    lines = [
        "# Approximate neighbours",
        "",
        "`make bench-approximate` made this on two cores; seconds compare within a data set only.",
        "Every line is the whole job, from rows to decisions, with the least effort that found",
        "99 % of the true neighbours of a sample; *recall* is that of another 2,000 rows.",
        "*Differ*: decisions that differ from the exact engine's, of all rows where its answer",
        "for all is known, else as those 2,000 show. *Memory*: the peak beyond the data.",
        "What is not in the table was not run.",
        "",
        "| data | | seconds | exact / this | recall | differ | memory, MB |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name in DATA:
        exact = by.get((name, "exact"))
        for contestant in CONTESTANTS:
            run = by.get((name, contestant))
            if run is None:
                continue
            accuracy = run.get("accuracy")
            share = run.get("decisions_changed")
            if accuracy and share is None:
                share = accuracy["decisions_changed"]["value"]
            ratio = "" if exact is None else f"{exact['seconds'] / run['seconds']:.2g}"
            cells = (
                f"{name}, {run['rows']:,} rows" if contestant == "exact" else "",
                f"**{contestant}**" if contestant == "approximate" else contestant,
                f"{run['seconds']:.1f}" + (" *" if "part" in run else ""),
                ratio,
                f"{accuracy['recall']['value']:.4f}" if accuracy else "1",
                percent(share) if accuracy else "0 %",
                f"{run['megabytes']:,.0f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "\\* Extrapolated from the search for 5,000 rows: all of it would take an hour or more.",
        "",
        "![Recall over the speed, for each data set.](speed.png)",
    ]


def effects(found: dict[str, Any]) -> list[str]:
    """What it means for classifiers, and whether runs agree."""
    lines = [
        "",
        "## What it means for a classifier",
        "",
        "AUPRC on test splits, of classifiers trained on rows cleaned exactly and approximately:",
        "the mean over splits, the mean difference, and the standard deviation over splits.",
        "",
        "| data | classifier | splits | exact | approximate | difference | deviation |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name in dict.fromkeys(one["data"] for one in found["auprc"]):
        mine = [one for one in found["auprc"] if one["data"] == name]
        for model in (key for key, value in mine[0].items() if isinstance(value, dict)):
            exact = np.array([one[model]["exact"] for one in mine])
            close = np.array([one[model]["approximate"] for one in mine])
            spread = f"{exact.std(ddof=1):.4f}" if len(mine) > 1 else ""
            lines.append(
                f"| {name} | {model} | {len(mine)} | {exact.mean():.4f} | {close.mean():.4f} | "
                f"{(close - exact).mean():+.5f} | {spread} |"
            )
    same = found["repeated"]
    if same:
        lines += [
            "",
            "## The same every time",
            "",
            f"{same['runs']} runs on {same['data']} with one core and {same['runs']} with two gave "
            f"{same['answers']} answer{'s' if same['answers'] != 1 else ''}, bit by bit.",
            "",
            "Libraries, built and asked on 20,000 of its rows, find the same neighbours:",
            "",
            "| | twice with two threads | with one thread and with two |",
            "|---|---|---|",
            *(
                f"| {name} | {_yes(answer['again'])} | {_yes(answer['with one thread'])} |"
                for name, answer in found["libraries"].items()
            ),
        ]
    return lines


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def picture(by: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Draw recall over the speed beside the exact engine."""
    names = [name for name in DATA if (name, "exact") in by]
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.4 * len(names), 3.6), sharex=True, sharey=True
    )
    for axis, name in zip(np.atleast_1d(axes), names, strict=True):
        exact = by[name, "exact"]["seconds"]
        for contestant in CONTESTANTS:
            run = by.get((name, contestant))
            if run is None:
                continue
            accuracy = run.get("accuracy")
            recall = accuracy["recall"]["value"] if accuracy else 1.0
            mine = contestant in ("exact", "approximate")
            axis.plot(
                exact / run["seconds"],
                recall,
                SHAPES[contestant],
                color="#c1121f" if contestant == "approximate" else "#333333",
                markerfacecolor=None if mine else "white",
                markersize=9,
                label=contestant,
            )
        axis.axhline(TARGET, color="#999999", linewidth=0.8, linestyle=":")
        axis.axvline(1, color="#999999", linewidth=0.8, linestyle=":")
        axis.set_xscale("log")
        axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.minorticks_off()
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("times as fast as exact")
    first = np.atleast_1d(axes)[0]
    first.set_ylabel("true neighbours found")
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(CONTESTANTS), frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(RESULTS / "speed.png", dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
