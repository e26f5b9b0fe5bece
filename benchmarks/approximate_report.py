"""The results of the approximate engine as a table and a figure.

    python benchmarks/approximate_report.py

Reads the results of benchmarks/approximate.py and approximate_effect.py in results/approximate/,
and writes README.md and speed.png there.
"""

import json
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from approximate import DATA, RESULTS, RUNS, TARGET
from libraries import LIBRARIES
from rectifold._core.accuracy import percent

CONTESTANTS = ("exact", "approximate", *LIBRARIES)
TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50)
SHAPES = dict(zip(CONTESTANTS, "sovP^XD", strict=True))


def main() -> None:
    """Write the table and the figure."""
    runs = [json.loads(path.read_text()) for path in sorted(RUNS.glob("*.json"))]
    by = {(run["data"], run["contestant"]): run for run in runs}
    with style.context("rectifold.figures"):
        plot(by)
    effect = RESULTS / "effect.json"
    found = json.loads(effect.read_text()) if effect.exists() else {"auprc": [], "repeated": None}
    (RESULTS / "README.md").write_text("\n".join([*table(by), *effects(found)]) + "\n")


def table(by: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """Return the table of all runs, one line each."""
    lines = [
        "# Approximate neighbours",
        "",
        "Made by `make bench-approximate` on two cores. Seconds are comparable within a data set",
        "only. They include everything from the data to the decisions, with the least effort that",
        "found 99 % of the true neighbours of a random sample. *Recall* is measured on another",
        "2,000 samples. *Differ*: decisions that differ from those of the exact engine, of",
        "all samples if it was run on all of them, otherwise of the 2,000. *Memory*: the peak",
        "beyond the data. Combinations that are not in the table were not run.",
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
                f"{name}, {run['rows']:,} samples" if contestant == "exact" else "",
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
        "\\* Extrapolated from the search for 5,000 samples: all would take an hour or more.",
        "",
        "![Recall against speed, for each data set.](speed.png)",
    ]


def effects(found: dict[str, Any]) -> list[str]:
    """Return the effect on classifiers, and whether runs agree."""
    lines = [
        "",
        "## Effect on classifiers",
        "",
        "AUPRC on test splits, of classifiers trained on data cleaned exactly and approximately:",
        "the mean over splits, the mean difference, and the standard deviation over splits.",
        "",
        "| data | classifier | splits | exact | approximate | difference | deviation |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name in dict.fromkeys(split["data"] for split in found["auprc"]):
        splits = [split for split in found["auprc"] if split["data"] == name]
        for model in (key for key, value in splits[0].items() if isinstance(value, dict)):
            exact = np.array([split[model]["exact"] for split in splits])
            close = np.array([split[model]["approximate"] for split in splits])
            spread = f"{exact.std(ddof=1):.4f}" if len(splits) > 1 else ""
            lines.append(
                f"| {name} | {model} | {len(splits)} | {exact.mean():.4f} | {close.mean():.4f} | "
                f"{(close - exact).mean():+.5f} | {spread} |"
            )
    same = found["repeated"]
    if same:
        lines += [
            "",
            "## Reproducibility",
            "",
            f"{same['runs']} runs on {same['data']} with one core and {same['runs']} with two gave "
            f"{same['answers']} distinct result{'s' if same['answers'] != 1 else ''}.",
            "",
            "Whether libraries find the same neighbours of 20,000 of its samples:",
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


def plot(by: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Plot recall against the speed relative to the exact engine."""
    names = [name for name in DATA if (name, "exact") in by]
    n_lines = -(-len(names) // 2)
    figure = Figure(figsize=(7.6, 1 + 3.2 * n_lines))
    axes = figure.subplots(n_lines, 2, sharex=True, sharey=True, squeeze=False).ravel()
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, names, strict=False):
        exact = by[name, "exact"]["seconds"]
        for contestant in CONTESTANTS:
            run = by.get((name, contestant))
            if run is None:
                continue
            accuracy = run.get("accuracy")
            recall = accuracy["recall"]["value"] if accuracy else 1.0
            own = contestant in ("exact", "approximate")
            axis.plot(
                exact / run["seconds"],
                recall,
                SHAPES[contestant],
                color="#c1121f" if contestant == "approximate" else "#333333",
                markerfacecolor=None if own else "white",
                markersize=9,
                label=contestant,
            )
        axis.axhline(TARGET, color="#999999", linewidth=0.8, linestyle=":")
        axis.axvline(1, color="#999999", linewidth=0.8, linestyle=":")
        axis.set_xscale("log")
        axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.minorticks_off()
        axis.set_title(name)
        axis.set_xlabel("times as fast as exact")
        axis.tick_params(labelbottom=True, axis="x", rotation=45)
    figure.supylabel("true neighbours found", fontsize="medium")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(RESULTS / "speed.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
