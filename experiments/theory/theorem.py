"""The variance of an inverse-distance vote and of a uniform one, under five kinds of label noise.

    python -m experiments.theory.theorem

Synthetic: neighbours evenly distributed in a ball around a point where the minority has probability
0.02, each label wrong with a probability that grows with distance, is constant, or falls.
Real: how well the votes of the other samples predict a sample's own label, with both weights.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from benchmarks.cases import load
from experiments.theory.page import Result, interval, publish, rounded, table, with_interval
from rectifold import GMR
from rectifold._core.utils import Floats
from rectifold._core.votes import weigh
from rectifold.plot._style import COLOURS, GREY

K, P, DRAWS, BATCHES = 15, 0.02, 200_000, 20
DIMENSIONS = (1, 2, 3, 5, 10, 30, 100)
#: The probability that a label is wrong, at a distance from 0 to 1.
NOISE = {
    "none": lambda d: 0 * d,
    "grows with distance": lambda d: 0.5 * d,
    "leaps beyond two thirds": lambda d: 0.5 * (d > 2 / 3),
    "the same everywhere": lambda d: 0.25 + 0 * d,
    "falls with distance": lambda d: 0.5 * (1 - d),
}
SETS = (
    *("ecoli", "abalone", "us_crime", "oil", "car_eval_34", "yeast_me2", "wine_quality"),
    *("spectrometer", "libras_move", "thyroid_sick", "ozone_level", "scene"),
)
BOTH = ("geometric", "uniform")
#: An epsilon so large that distances do not matter: uniform weights.
UNIFORM = 1e9


def vote(kind: str, dimension: int, p: float, rng: np.random.Generator) -> dict[str, Floats]:
    """Draw neighbourhoods; return votes for the minority, and whether the condition holds."""
    d = rng.random((DRAWS // BATCHES, K)) ** (1 / dimension)
    wrong = NOISE[kind](d)
    q = p + wrong * (1 - 2 * p)
    labels = (rng.random(d.shape) < q).astype(np.intp)
    weights = weigh(d, labels, np.array([1, 1]), epsilon=1e-8, class_weight=None)
    spread = q * (1 - q)
    return {
        "geometric": (weights * labels).sum(axis=1),
        "uniform": labels.mean(axis=1),
        "effective": 1 / (weights**2).sum(axis=1),
        # The two sides of the condition, neighbourhood by neighbourhood.
        "holds": (weights**2 * spread).sum(axis=1) < (spread / K**2).sum(axis=1),
    }


def compare(kind: str, dimension: int, p: float = P) -> Result:
    """Compare both votes over batches of draws."""
    rng = np.random.default_rng(list(NOISE).index(kind) * 1000 + dimension)
    found: dict[str, list[float]] = {
        name: []
        for name in (
            *("variance_ratio", "squared_error_ratio", "effective", "holds"),
            *("bias_geometric", "bias_uniform", "wrong_geometric", "wrong_uniform"),
        )
    }
    for _ in range(BATCHES):
        run = vote(kind, dimension, p, rng)
        geometric, uniform = run["geometric"], run["uniform"]
        found["variance_ratio"].append(geometric.var() / uniform.var())
        found["squared_error_ratio"].append(
            ((geometric - p) ** 2).mean() / ((uniform - p) ** 2).mean()
        )
        found["effective"].append(run["effective"].mean())
        found["holds"].append(run["holds"].mean())
        for name, values in (("geometric", geometric), ("uniform", uniform)):
            found[f"bias_{name}"].append(values.mean() - p)
            found[f"wrong_{name}"].append((values > 0.5).mean())
    return {name: interval(values) for name, values in found.items()}


def on_real_rows(name: str, *, distinct: bool = False) -> Result:
    """Score leave-one-out votes by both weights (Brier).

    A vote does not depend on the sample's own label, so the difference of the scores is that of the
    mean squared errors from the unknown true probability.
    """
    X, y = load(name)
    if distinct:
        _, first = np.unique(X, axis=0, return_index=True)
        X, y = X[first], y[first]
    lost = []
    for epsilon in (1e-8, UNIFORM):
        gmr = GMR(epsilon=epsilon, metric="euclidean", n_neighbors=K)
        gmr.fit_resample(X, y)
        lost.append((1 - gmr.rectification_.majority_confidence - y) ** 2)
        predicted = gmr.rectification_.predicted
        lost.append(predicted != y)
    geometric, wrong_geometric, uniform, wrong_uniform = lost
    difference = geometric - uniform
    half = 1.96 * difference.std(ddof=1) / np.sqrt(len(y))
    return {
        "rows": len(y),
        "columns": X.shape[1],
        "copies": len(y) - len(np.unique(X, axis=0)),
        "brier_uniform": float(uniform.mean().round(6)),
        "brier_geometric": float(geometric.mean().round(6)),
        "difference": rounded(difference.mean() + half * np.array([0, -1, 1])),
        "predicted_otherwise": int((wrong_geometric != wrong_uniform).sum()),
    }


def measure() -> Result:
    """Run both parts."""
    return {
        "k": K,
        "probability": P,
        "draws": DRAWS,
        "dimensions": list(DIMENSIONS),
        "noise": {kind: [compare(kind, dimension) for dimension in DIMENSIONS] for kind in NOISE},
        "others": {
            kind: {
                str(p): [compare(kind, dimension, p)["variance_ratio"] for dimension in (2, 3, 10)]
                for p in (0.02, 0.1, 0.3, 0.5)
            }
            for kind in ("grows with distance", "leaps beyond two thirds")
        },
        "real": {name: on_real_rows(name) for name in SETS},
        "distinct": {name: on_real_rows(name, distinct=True) for name in SETS},
    }


def draw(found: Result) -> Figure:
    """Draw the ratios of variance and of squared error against the dimension."""
    figure = Figure(figsize=(6.4, 8.4))
    both = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes, what, title in zip(
        both,
        ("variance_ratio", "squared_error_ratio"),
        ("variance", "mean squared error"),
        strict=True,
    ):
        axes.axhline(1, color=GREY, linewidth=0.8)
        for (kind, rows), colour, shape in zip(
            found["noise"].items(), COLOURS, "os^Dv", strict=False
        ):
            mean, low, high = np.array([row[what] for row in rows]).T
            axes.errorbar(
                found["dimensions"],
                mean,
                [mean - low, high - mean],
                color=colour,
                marker=shape,
                label=kind,
            )
        axes.set(xscale="log", yscale="log", xlabel="dimensions", title=title)
        axes.set_xticks(found["dimensions"], [str(d) for d in found["dimensions"]])
        axes.set_yticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
        axes.minorticks_off()
        axes.set_ylabel("inverse-distance over uniform")
    entries = both[0].get_legend_handles_labels()
    figure.legend(*entries, title="label noise", loc="outside lower center", ncols=2)
    return figure


def blocks(found: Result) -> list[str]:
    """Return the generated parts of the page: tables and sentences."""
    rows = []
    for kind, runs in found["noise"].items():
        for dimension in (2, 10):
            run = runs[found["dimensions"].index(dimension)]
            rows.append(
                (
                    kind if dimension == 2 else "",
                    dimension,
                    f"{run['effective'][0]:.1f}",
                    f"{run['holds'][0]:.0%}",
                    with_interval(run["variance_ratio"], 2),
                    ", ".join(f"{round(run[f'bias_{which}'][0], 3) + 0:+.3f}" for which in BOTH),
                    with_interval(run["squared_error_ratio"], 2),
                    ", ".join(f"{run[f'wrong_{which}'][0]:.1%}" for which in BOTH),
                )
            )
    head = (
        *("label noise", "dimensions", "k_eff", "condition holds", "variance, ratio"),
        *("bias of both", "squared error, ratio", "wrong, both"),
    )
    others = table(
        ("label noise", "true probability", "2 dimensions", "3 dimensions", "10 dimensions"),
        [
            (kind if p == "0.02" else "", p, *(with_interval(ratio, 2) for ratio in ratios))
            for kind, by_probability in found["others"].items()
            for p, ratios in by_probability.items()
        ],
    )
    real = [
        (
            name,
            f"{row['rows']:,} x {row['columns']}",
            row["copies"],
            f"{row['brier_uniform']:.4f}",
            f"{row['brier_geometric']:.4f}",
            *(
                with_interval(
                    [1000 * value for value in found[which][name]["difference"]], 2, sign=True
                )
                for which in ("real", "distinct")
            ),
            row["predicted_otherwise"],
        )
        for name, row in found["real"].items()
    ]
    columns = (
        *("data", "rows x columns", "copies", "uniform", "weighted"),
        *("difference, thousandths", "without copies", "rows predicted otherwise"),
    )
    lines = []
    for which, rows_of in (("With all rows", "real"), ("Without copies of rows", "distinct")):
        clear = [row["difference"] for row in found[rows_of].values()]
        better = sum(high < 0 for _, _, high in clear)
        worse = sum(low > 0 for _, low, _ in clear)
        lines.append(
            f"{which}, weights are clearly better on {better} of {len(clear)} sets (the interval "
            f"lies below zero) and clearly worse on {worse}."
        )
    return [table(head, rows).replace(" -", " −"), others, table(columns, real), " ".join(lines)]


if __name__ == "__main__":
    publish("theorem", measure, draw, blocks)
