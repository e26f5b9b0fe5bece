"""Do distances concentrate, does the cosine help, and does the switch at 100 columns help?

    python -m experiments.theory.corollary

Synthetic: the contrast of distances against the number of columns, for independent noise and for
mixtures of a few hidden columns. Real: the contrast, how well neighbours predict labels, and the
AUPRC of classifiers after cleaning the training part with either metric.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.cases import DATA, load
from experiments.theory.page import Result, interval, publish, rounded, table, with_interval
from rectifold import GMR
from rectifold._core.utils import Floats
from rectifold.bench._data import load as load_source
from rectifold.bench._data import paper_sources
from rectifold.bench._protocols import TRAIN_ONLY, prepare
from rectifold.plot._style import COLOURS

METRICS = ("euclidean", "cosine")
COLUMNS = (5, 10, 30, 100, 300, 1000)
ROWS, QUERIES, DRAWS = 1000, 100, 3
#: Data sets of about a hundred columns and more, with seeds; isolet is the largest.
SETS = {"us_crime": 5, "yeast_ml8": 5, "arrhythmia": 5, "scene": 5, "isolet": 1}
CLASSIFIERS = {
    "KNN": KNeighborsClassifier(5),
    "LR": LogisticRegression(max_iter=1000),
}


def noise(n: int, columns: int, rng: np.random.Generator) -> Floats:
    """Draw independent columns."""
    return rng.standard_normal((n, columns))


def positive(n: int, columns: int, rng: np.random.Generator) -> Floats:
    """Draw independent columns from 0 to 1: not centred, like counts and shares."""
    return rng.random((n, columns))


def hidden(n: int, columns: int, rng: np.random.Generator) -> Floats:
    """Draw columns that are mixtures of five hidden ones, with a little noise."""
    mixed = rng.standard_normal((n, 5)) @ rng.standard_normal((5, columns))
    return mixed + 0.1 * rng.standard_normal((n, columns))


WORLDS = {
    "independent columns": noise,
    "independent, from 0 to 1": positive,
    "five hidden columns": hidden,
}


def contrast(X: Floats, metric: str) -> float:
    """Return the median of (farthest - nearest) / nearest; copies do not count."""
    d = cdist(X[:QUERIES], X, metric)
    itself = d < 1e-12
    nearest = np.where(itself, np.inf, d).min(axis=1)
    return float(np.median((d.max(axis=1) - nearest) / nearest))


def brier_scores(X: Floats, y: np.ndarray, metric: str) -> tuple[Floats, np.ndarray]:
    """Return the Brier scores of leave-one-out votes, and which samples are removed."""
    gmr = GMR(metric=metric)
    gmr.fit_resample(X, y)
    record = gmr.rectification_
    return (1 - record.majority_confidence - y) ** 2, record.removed


def on_real_rows(name: str, seeds: int) -> Result:
    """Compare the metrics on one data set."""
    warnings.simplefilter("ignore")
    X, y = load(name)
    (source,) = paper_sources([name], DATA)
    data = load_source(source)
    scores: dict[str, dict[str, list[float]]] = {
        classifier: {"none": [], **{metric: [] for metric in METRICS}} for classifier in CLASSIFIERS
    }
    removed_rows, decided_otherwise, differences = [], [], []
    briers: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for seed in range(seeds):
        split = prepare(data, None, seed, TRAIN_ONLY)
        lost, kept = {}, {"none": np.ones(len(split.y_train), dtype=bool)}
        for metric in METRICS:
            lost[metric], removed = brier_scores(split.X_train, split.y_train, metric)
            kept[metric] = ~removed
            briers[metric].append(lost[metric].mean())
        differences.append(lost["cosine"] - lost["euclidean"])
        decided_otherwise.append(int((kept["cosine"] != kept["euclidean"]).sum()))
        removed_rows.append([int((~kept[metric]).sum()) for metric in METRICS])
        for which, rows in kept.items():
            for classifier, model in CLASSIFIERS.items():
                model.fit(split.X_train[rows], split.y_train[rows])
                p = model.predict_proba(split.X_test)[:, 1]
                scores[classifier][which].append(average_precision_score(split.y_test, p))
    first = differences[0]
    half = 1.96 * first.std(ddof=1) / np.sqrt(len(first))
    return {
        "rows": len(y),
        "columns": X.shape[1],
        "seeds": seeds,
        "contrast": {metric: rounded(contrast(X, metric), 4)[0] for metric in METRICS},
        "brier": {metric: rounded(np.mean(values))[0] for metric, values in briers.items()},
        "brier_difference_of_the_first_split": rounded(first.mean() + half * np.array([0, -1, 1])),
        "removed": rounded(np.mean(removed_rows, axis=0)),
        "decided_otherwise": rounded(np.mean(decided_otherwise))[0],
        "auprc": {
            classifier: {which: interval(values) for which, values in some.items()}
            for classifier, some in scores.items()
        },
        "cosine_less_euclidean": {
            classifier: interval(np.subtract(some["cosine"], some["euclidean"]))
            for classifier, some in scores.items()
        },
    }


def measure() -> Result:
    """Run both parts."""
    made = {
        name: {
            metric: [
                interval(
                    [
                        contrast(make(ROWS, columns, np.random.default_rng(draw)), metric)
                        for draw in range(DRAWS)
                    ]
                )
                for columns in COLUMNS
            ]
            for metric in METRICS
        }
        for name, make in WORLDS.items()
    }
    return {
        "rows": ROWS,
        "draws": DRAWS,
        "columns": list(COLUMNS),
        "made_up": made,
        "real": {name: on_real_rows(name, seeds) for name, seeds in SETS.items()},
    }


def draw(found: Result) -> Figure:
    """Draw the contrast against the number of columns, with the real data sets."""
    figure = Figure(figsize=(6.8, 6))
    axes = figure.subplots()
    for (name, metrics), colour in zip(found["made_up"].items(), COLOURS, strict=False):
        for metric, style in zip(METRICS, ("-", "--"), strict=True):
            mean = [row[0] for row in metrics[metric]]
            axes.plot(found["columns"], mean, style, color=colour, label=f"{name}, {metric}")
    for name, row in found["real"].items():
        for metric, face in zip(METRICS, ("#222222", "white"), strict=True):
            axes.plot(
                row["columns"],
                row["contrast"][metric],
                "o",
                markeredgecolor="#222222",
                markerfacecolor=face,
                markersize=6,
                label=f"real data, {metric}" if name == "us_crime" else None,
            )
        shift = {"us_crime": (-6, "right"), "yeast_ml8": (-6, "right"), "arrhythmia": (-6, "right")}
        x, side = shift.get(name, (6, "left"))
        axes.annotate(
            name,
            (row["columns"], row["contrast"]["euclidean"]),
            (x, -3),
            textcoords="offset points",
            ha=side,
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    axes.axvline(100, color="#777777", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="columns (dotted: where the metric switches)")
    axes.set_ylabel("contrast: (farthest − nearest) / nearest")
    axes.set_xticks(found["columns"], [f"{c:,}" for c in found["columns"]])
    axes.set(ylim=(0.08, 6000))
    axes.set_yticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1,000"])
    axes.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def blocks(found: Result) -> list[str]:
    """Return the generated parts of the page: tables and sentences."""
    chosen = [found["columns"].index(c) for c in (10, 100, 1000)]
    first = table(
        ("data", "metric", *(f"{found['columns'][c]:,} columns" for c in chosen)),
        [
            (
                name if metric == "euclidean" else "",
                metric,
                *(f"{metrics[metric][c][0]:.2f}" for c in chosen),
            )
            for name, metrics in found["made_up"].items()
            for metric in METRICS
        ],
        words=2,
    )
    second = table(
        (
            *("data", "columns", "contrast", "Brier", "rows removed"),
            "decided otherwise",
        ),
        [
            (
                name,
                row["columns"],
                ", ".join(f"{row['contrast'][metric]:.1f}" for metric in METRICS),
                ", ".join(f"{row['brier'][metric]:.4f}" for metric in METRICS),
                ", ".join(f"{value:.1f}" for value in row["removed"]),
                f"{row['decided_otherwise']:.1f}",
            )
            for name, row in found["real"].items()
        ],
    )
    third = table(
        ("data", "classifier", "no cleaning", "Euclidean", "cosine", "cosine − Euclidean"),
        [
            (
                name if classifier == "KNN" else "",
                classifier,
                *(f"{row['auprc'][classifier][which][0]:.3f}" for which in ("none", *METRICS)),
                with_interval(row["cosine_less_euclidean"][classifier], sign=True)
                if row["seeds"] > 1
                else f"{row['cosine_less_euclidean'][classifier][0]:+.3f}".replace("-", "−"),
            )
            for name, row in found["real"].items()
            for classifier in CLASSIFIERS
        ],
        words=2,
    )
    return [first, second, third]


if __name__ == "__main__":
    publish("corollary", measure, draw, blocks)
