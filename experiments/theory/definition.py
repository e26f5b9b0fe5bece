"""Asymmetric risk: how the ratio of costs moves the best threshold, and when it does not.

    python -m experiments.theory.definition

Two Gaussian classes of ratio 10. A model is trained on 4,000 samples; the risk of every threshold
on its probabilities is measured on 20,000 others.
"""

from __future__ import annotations

import numpy as np
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import RandomUnderSampler
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer

from experiments.theory.page import (
    Result,
    interval,
    publish,
    rounded,
    short_threshold,
    table,
    with_interval,
)
from experiments.theory.worlds import true_posterior, two_gaussians
from rectifold.metrics import asymmetric_risk
from rectifold.plot._style import COLOURS, GREY, INK
from rectifold.posterior import undo_posterior_shift

RATIO, TRAIN, TEST, SEEDS = 10, 4_000, 20_000, 10
COSTS = (1, 3, 10, 30, 100)
#: The cost of a miss at which models with wrong probabilities are compared.
HIGH_COST = 100
#: The thresholds, evenly spaced in log-odds.
THRESHOLDS = 1 / (1 + np.exp(-np.linspace(-12, 3, 61)))


def _copied(X: np.ndarray) -> np.ndarray:
    return np.tile(X, 4)


def models(seed: int) -> dict[str, object]:
    """Return models whose probabilities are right, or wrong in a known way."""
    return {
        "the true probabilities": None,
        "logistic regression": LogisticRegression(),
        "the same after random under-sampling": make_pipeline(
            RandomUnderSampler(random_state=seed), LogisticRegression()
        ),
        "the same, put back by the lemma": make_pipeline(
            RandomUnderSampler(random_state=seed), LogisticRegression()
        ),
        "naive Bayes, each column four times": make_pipeline(
            FunctionTransformer(_copied), GaussianNB()
        ),
    }


def measure() -> Result:
    """Compute the risk at every threshold, for every model and ratio of costs."""
    curves: dict[str, np.ndarray] = {}
    at_half = np.zeros((SEEDS, len(COSTS)))
    found: dict[str, np.ndarray] = {name: np.zeros((SEEDS, len(COSTS), 5)) for name in models(0)}
    for seed in range(SEEDS):
        X, y = two_gaussians(TRAIN, RATIO, seed)
        X_test, y_test = two_gaussians(TEST, RATIO, 1000 + seed)
        for name, model in models(seed).items():
            p = (
                true_posterior(X_test, RATIO)
                if model is None
                else model.fit(X, y).predict_proba(X_test)[:, 1]
            )
            if "put back" in name:
                p = undo_posterior_shift(p, r0=1 - (y == 1).sum() / (y == 0).sum(), r1=0)
            curve = np.array(
                [
                    [asymmetric_risk(y_test, p > t, cost_fn=cost) for t in THRESHOLDS]
                    for cost in COSTS
                ]
            )
            curves[name] = curves.get(name, 0) + curve / SEEDS
            for place, cost in enumerate(COSTS):
                best = THRESHOLDS[curve[place].argmin()]
                flagged = p > 1 / (1 + cost)
                hits = (flagged & (y_test == 1)).sum()
                found[name][seed, place] = (
                    best,
                    asymmetric_risk(y_test, flagged, cost_fn=cost),
                    curve[place].min(),
                    hits / (y_test == 1).sum(),
                    hits / max(1, flagged.sum()),
                )
                if name == "logistic regression":
                    at_half[seed, place] = asymmetric_risk(y_test, p > 0.5, cost_fn=cost)
    return {
        "majority_rows_for_each_of_the_minority": RATIO,
        "training_rows": TRAIN,
        "test_rows": TEST,
        "seeds": SEEDS,
        "costs": list(COSTS),
        "thresholds": rounded(THRESHOLDS),
        "risk_at_half": [interval(column) for column in at_half.T],
        "curves": {
            name: [rounded(row) for row in 1 / np.add(1, COSTS)[:, None] * curve]
            for name, curve in curves.items()
        },
        "models": {
            name: [
                {
                    "best_threshold": rounded(np.median(values[:, place, 0]))[0],
                    "risk_there": interval(values[:, place, 1]),
                    "lowest_risk": interval(values[:, place, 2]),
                    "recall": interval(values[:, place, 3]),
                    "precision": interval(values[:, place, 4]),
                    "more": interval(values[:, place, 1] / values[:, place, 2] - 1),
                }
                for place in range(len(COSTS))
            ]
            for name, values in found.items()
        },
    }


def draw(found: Result) -> Figure:
    """Draw the risk against the threshold, for right probabilities and for wrong ones."""
    figure = Figure(figsize=(6.4, 11))
    both = figure.subplots(2, 1, sharex=True)
    t = np.array(found["thresholds"])
    for place, cost in enumerate(found["costs"]):
        if cost not in (1, 10, 100):
            continue
        colour = COLOURS[(1, 10, 100).index(cost)]
        curve = np.array(found["curves"]["logistic regression"][place])
        both[0].plot(t, curve / curve.min(), color=colour, label=f"a miss costs {cost}")
        both[0].axvline(1 / (1 + cost), color=colour, linestyle=":", linewidth=1.2)
    place = found["costs"].index(HIGH_COST)
    for (name, curves), colour, style in zip(
        found["curves"].items(),
        (INK, COLOURS[1], COLOURS[0], COLOURS[4], COLOURS[3]),
        ("--", "-", "-.", ":", (0, (5, 1))),
        strict=True,
    ):
        curve = np.array(curves[place])
        both[1].plot(t, curve / curve.min(), color=colour, linestyle=style, label=name)
    both[1].axvline(1 / (1 + HIGH_COST), color=GREY, linestyle=":", linewidth=1.2)
    for axes, title in zip(
        both, ("logistic regression", f"a miss costs {HIGH_COST}: other probabilities"), strict=True
    ):
        axes.set(xscale="logit", xlabel="threshold", ylim=(0.97, 2.5), title=title)
        axes.set_xticks([1e-5, 0.001, 0.01, 0.1, 0.5], ["0.00001", "0.001", "0.01", "0.1", "0.5"])
        axes.minorticks_off()
        axes.tick_params(labelbottom=True)
        axes.set_ylabel("risk, over the lowest")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18))
    return figure


def blocks(found: Result) -> list[str]:
    """Return the generated parts of the page: tables and sentences."""
    mine = found["models"]["logistic regression"]
    first = table(
        (
            *("a miss costs", "1 / (1 + cost)", "best, measured", "risk at 0.5"),
            *("risk at 1 / (1 + cost)", "recall, precision"),
        ),
        [
            (
                cost,
                f"{1 / (1 + cost):.3f}",
                f"{row['best_threshold']:.3f}",
                with_interval(half),
                with_interval(row["risk_there"]),
                f"{row['recall'][0]:.2f}, {row['precision'][0]:.2f}",
            )
            for cost, half, row in zip(found["costs"], found["risk_at_half"], mine, strict=True)
        ],
    )
    place = found["costs"].index(HIGH_COST)
    second = table(
        (
            "probabilities",
            "best threshold, measured",
            "lowest risk",
            f"risk at 1/{1 + HIGH_COST}",
            "more, %",
        ),
        [
            (
                name,
                short_threshold(rows[place]["best_threshold"]),
                with_interval(rows[place]["lowest_risk"]),
                with_interval(rows[place]["risk_there"]),
                with_interval([100 * value for value in rows[place]["more"]], 1),
            )
            for name, rows in found["models"].items()
        ],
    )
    return [first, second]


if __name__ == "__main__":
    publish("definition", measure, draw, blocks)
