"""How far cleaning moves the boundary of a classifier, and where the costs would put it.

    python -m experiments.theory.proposition

Pairs of Gaussian classes whose true probabilities are known. Classifiers are trained on 4,000
samples, raw or cleaned, and tested on 10,000 others. The position of a boundary is the threshold on
the true probability that would flag as many samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from imblearn.under_sampling import EditedNearestNeighbours
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from experiments.theory.page import ROOT, Result, interval, publish, table, with_interval
from experiments.theory.worlds import true_posterior, two_gaussians
from rectifold import GMR
from rectifold._core.utils import Floats, Ints
from rectifold.metrics import asymmetric_risk
from rectifold.plot._style import COLOURS, GREY, INK, SHAPES

TRAIN, TEST, SEEDS, COST = 4_000, 10_000, 6, 10


@dataclass(frozen=True)
class World:
    """Two Gaussian classes; a share of the minority is labelled as majority in training."""

    ratio: float
    apart: float
    mislabelled: float = 0.0


#: The minority is the more likely class in some region; hardly anywhere; and in some region, but a
#: third of its training samples have the wrong label.
WORLDS = {
    "overlap": World(ratio=10, apart=2),
    "hardly a region of its own": World(ratio=10, apart=1),
    "wrong labels": World(ratio=3, apart=2, mislabelled=1 / 3),
}
CLEANERS = {
    "no cleaning": None,
    "ENN, majority only": EditedNearestNeighbours(sampling_strategy="majority", n_neighbors=15),
    "ENN, both classes": EditedNearestNeighbours(
        sampling_strategy="all", n_neighbors=15, kind_sel="mode"
    ),
    "GMR()": GMR(),
    "GMR(gamma=0)": GMR(gamma=0),
    "GMR(alpha=10/11, gamma=0)": GMR(alpha=10 / 11, gamma=0),
    "GMR(alpha=10/11, gamma=0, n_neighbors=100)": GMR(alpha=10 / 11, gamma=0, n_neighbors=100),
    "GMR(class_weight='balanced', gamma=0)": GMR(class_weight="balanced", gamma=0),
}
MODELS = {
    "neighbours": lambda: KNeighborsClassifier(51),
    "logistic regression": LogisticRegression,
}
#: The threshold moved to where the costs put it.
MOVED = ("no cleaning, threshold 1/11", "GMR(), threshold 1/11")
#: The rows of the second and the third world in the table of the page.
SHOWN = ("no cleaning", "ENN, both classes", "GMR()", "GMR(gamma=0)", *MOVED)


def equivalent_threshold(flagged: Ints, p: Floats) -> float:
    """Return the threshold on the true probability that flags as many samples."""
    return float(np.quantile(p, 1 - flagged.mean()))


def premises(p: Floats, y: Ints, kept: Ints) -> dict[str, float]:
    """Return the rates of removal that the assumptions of the proposition are about."""
    removed = np.ones(len(y), dtype=bool)
    removed[kept] = False
    overlap = (p > 0.3) & (p < 0.7)
    majority = y == 0
    return {
        "r0": removed[majority].mean(),
        "r1": removed[~majority].mean(),
        "r0_in_the_overlap": removed[majority & overlap].mean(),
        "r1_in_the_overlap": removed[~majority & overlap].mean(),
        "rows_of_majority_for_one_of_minority": removed[majority].sum()
        / max(1, removed[~majority].sum()),
        "share_from_the_overlap": overlap[removed & majority].mean()
        if removed[majority].any()
        else 0.0,
    }


def one_run(name: str, seed: int) -> list[dict[str, object]]:
    """Clean, fit and predict with every cleaner; predictions are scored by the true labels."""
    world = WORLDS[name]
    X, y = two_gaussians(TRAIN, world.ratio, seed, apart=world.apart)
    y[np.random.default_rng(2000 + seed).random(TRAIN) < world.mislabelled] = 0
    # The probability of the label in the training part; `p` is that in the test part.
    p_train = true_posterior(X, world.ratio, apart=world.apart) * (1 - world.mislabelled)
    X_test, y_test = two_gaussians(TEST, world.ratio, 1000 + seed, apart=world.apart)
    p = true_posterior(X_test, world.ratio, apart=world.apart)
    runs: list[dict[str, Any]] = []

    def score(model: str, cleaner: str, flagged: Ints, **more: float) -> None:
        runs.append(
            {
                "world": name,
                "model": model,
                "cleaner": cleaner,
                "threshold": equivalent_threshold(flagged, p),
                "missed": 1 - flagged[y_test == 1].mean(),
                "false_alarms": flagged[y_test == 0].mean(),
                "error": asymmetric_risk(y_test, flagged, cost_fn=1),
                "risk": asymmetric_risk(y_test, flagged, cost_fn=COST),
                **more,
            }
        )

    for cleaner, sampler in CLEANERS.items():
        kept = np.arange(len(y))
        if sampler is not None:
            sampler.fit_resample(X, y)
            kept = sampler.sample_indices_
        facts = premises(p_train, y, kept)
        for model, make in MODELS.items():
            probabilities = make().fit(X[kept], y[kept]).predict_proba(X_test)[:, 1]
            score(model, cleaner, (probabilities > 0.5).astype(int), **facts)
            if f"{cleaner}, threshold 1/11" in MOVED:
                flagged = (probabilities > 1 / (1 + COST)).astype(int)
                score(model, f"{cleaner}, threshold 1/11", flagged, **facts)
    # How far cleaning moved a boundary, compared with the same model on the raw samples.
    before = {
        (run["model"], "threshold 1/11" in run["cleaner"]): run["threshold"]
        for run in runs
        if run["cleaner"].startswith("no cleaning")
    }
    for run in runs:
        run["moved"] = run["threshold"] - before[run["model"], "threshold 1/11" in run["cleaner"]]
    score("the true probabilities", "threshold 0.5", (p > 0.5).astype(int))
    score("the true probabilities", "threshold 1/11", (p > 1 / (1 + COST)).astype(int))
    return runs


def on_real_sets() -> list[dict[str, object]]:
    """Return what GMR removed from every training part of the paper's experiment."""
    store = pd.read_parquet(ROOT / "results" / "paper" / "results.parquet")
    mine = store[
        (store["method"] == "GMR") & (store["protocol"] == "train-only") & (store["status"] == "ok")
    ].drop_duplicates(["dataset", "seed"])
    rows = []
    for name, runs in mine.groupby("dataset"):
        size = {c: runs[f"{c}_before"].mean() for c in ("majority", "minority")}
        removed = {c: size[c] - runs[f"{c}_after"].mean() for c in size}
        rows.append(
            {
                "data": name,
                "imbalance_ratio": round(size["majority"] / size["minority"], 2),
                "majority_removed": round(removed["majority"], 2),
                "minority_removed": round(removed["minority"], 2),
                "r0": round(removed["majority"] / size["majority"], 5),
                "r1": round(removed["minority"] / size["minority"], 5),
            }
        )
    return sorted(rows, key=lambda row: -row["r0"])


def measure() -> Result:
    """Run all worlds and seeds, and summarise the seeds."""
    runs = pd.DataFrame(
        [run for world in WORLDS for seed in range(SEEDS) for run in one_run(world, seed)]
    )
    found = []
    for (world, model, cleaner), some in runs.groupby(["world", "model", "cleaner"], sort=False):
        figures = some.drop(columns=["world", "model", "cleaner"]).dropna(axis=1)
        found.append(
            {
                "world": world,
                "model": model,
                "cleaner": cleaner,
                **{what: interval(values) for what, values in figures.items()},
            }
        )
    return {
        "training_rows": TRAIN,
        "test_rows": TEST,
        "seeds": SEEDS,
        "cost_of_a_miss": COST,
        "runs": found,
        "real": on_real_sets(),
    }


def draw(found: Result) -> Figure:
    """Draw the positions of the boundaries, with a panel for each world."""
    figure = Figure(figsize=(6.4, 10.4))
    panels = figure.subplots(3, 1)
    order = [*CLEANERS, *MOVED]
    for axes, world in zip(panels, WORLDS, strict=True):
        for line, text in ((0.5, "equal costs"), (1 / (1 + COST), "a miss: 10")):
            axes.axvline(line, color=GREY, linestyle=":", linewidth=1.2)
            axes.text(line, -0.8, text, ha="center", fontsize="small", color=INK)
        for model, colour, shape, shift in zip(
            MODELS, COLOURS, SHAPES, (-0.13, 0.13), strict=False
        ):
            for run in found["runs"]:
                if run["world"] == world and run["model"] == model:
                    mean, low, high = run["threshold"]
                    axes.errorbar(
                        mean,
                        order.index(run["cleaner"]) + shift,
                        xerr=[[mean - low], [high - mean]],
                        color=colour,
                        marker=shape,
                        label=model if run["cleaner"] == "no cleaning" else None,
                    )
        axes.set_title(world, pad=22)
        axes.set_yticks(range(len(order)), [name.replace(", n_nei", ",\nn_nei") for name in order])
        axes.tick_params(axis="y", labelsize="x-small")
        axes.set(xlabel="boundary, as true probability", xlim=(0, 1), ylim=(9.6, -0.6))
    panels[0].legend(loc="lower right")
    return figure


def _is_cleaned(cleaner: str) -> bool:
    return not cleaner.startswith(("no cleaning", "threshold"))


def _code(cleaner: str) -> str:
    call, threshold, rest = cleaner.partition(", threshold")
    return f"`{call}`{threshold}{rest}" if call.startswith("GMR") else cleaner


def blocks(found: Result) -> list[str]:
    """Return the generated parts of the page: tables and sentences."""
    runs = {(run["world"], run["model"], run["cleaner"]): run for run in found["runs"]}
    head = (*("data", "cleaning", "A2", "r0", "r1", "A3", "r0 in Ω"),)
    first = table(
        head,
        [
            (
                world if cleaner == "ENN, majority only" else "",
                _code(cleaner),
                f"{run['rows_of_majority_for_one_of_minority'][0]:.1f}"
                if run["r1"][0] > 0
                else "–",
                f"{run['r0'][0]:.3f}",
                f"{run['r1'][0]:.3f}",
                f"{run['share_from_the_overlap'][0]:.0%}",
                f"{run['r0_in_the_overlap'][0]:.2f}",
            )
            for world in WORLDS
            for cleaner in list(CLEANERS)[1:]
            for run in [runs[world, "neighbours", cleaner]]
        ],
        words=2,
    )
    lines = []
    for world in WORLDS:
        shown = (*CLEANERS, *MOVED) if world == "overlap" else SHOWN
        for model, cleaners in (
            ("logistic regression", shown),
            ("the true probabilities", ("threshold 0.5", "threshold 1/11")),
        ):
            for cleaner in cleaners:
                run = runs[world, model, cleaner]
                lines.append(
                    (
                        (world if cleaner == shown[0] else model if cleaner == cleaners[0] else ""),
                        _code(cleaner),
                        with_interval(run["threshold"], 2),
                        with_interval(run["moved"], 2, sign=True) if _is_cleaned(cleaner) else "",
                        f"{run['missed'][0]:.2f}",
                        f"{run['false_alarms'][0]:.3f}",
                        f"{run['error'][0]:.3f}",
                        with_interval(run["risk"]),
                    )
                )
    second = table(
        (
            *("data", "cleaning", "boundary", "moved", "missed", "false alarms"),
            *("error", "risk"),
        ),
        lines,
        words=2,
    )
    real = found["real"]
    asymmetric = [
        row["data"] for row in real if row["majority_removed"] >= 3 * row["minority_removed"]
    ]
    more = [row["data"] for row in real if row["r0"] > row["r1"]]
    third = (
        f"On {len(real)} of the paper's data sets, in the training parts of the paper's experiment "
        f"and at the paper's settings, three rows of the majority for one of the minority went on "
        f"{len(asymmetric)} ({', '.join(asymmetric) or 'none'}), and the majority's rate was the "
        f"higher on {len(more)}. The median rates are "
        f"r0 = {np.median([row['r0'] for row in real]):.4f} and "
        f"r1 = {np.median([row['r1'] for row in real]):.4f}; the highest r0 is "
        f"{real[0]['r0']:.4f}, on {real[0]['data']}."
    )
    return [first, second, third]


if __name__ == "__main__":
    publish("proposition", measure, draw, blocks)
