"""The lemma's shift of probabilities and the measured one: random removal, and cleaning.

    python -m experiments.theory.lemma

Two Gaussian classes of ratio 5, whose true probabilities are known. Samples are removed at random,
or by GMR; the shares of the classes are counted along the first column, in which they differ.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.theory.page import Result, interval, publish, rounded, table, with_interval
from experiments.theory.worlds import true_posterior, two_gaussians
from rectifold import GMR
from rectifold._core.utils import Bools, Floats, Ints
from rectifold.plot._style import COLOURS, GREY
from rectifold.posterior import posterior_shift

RATIO, ROWS, SEEDS = 5, 20_000, 5
#: Edges of the strips of true probability in which samples are counted.
EDGES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: The strips in the table of the page.
SHOWN = ((0.0, 0.01), (0.03, 0.1), (0.3, 0.4), (0.5, 0.6), (0.9, 1.0))
CLEANERS: dict[str, GMR | None] = {
    "at random, r0 = 0.3": None,
    "GMR()": GMR(),
    "GMR(gamma=0)": GMR(gamma=0),
    "GMR(alpha=0.9, gamma=0)": GMR(alpha=0.9, gamma=0),
}


def removed_samples(name: str, X: Floats, y: Ints, rng: np.random.Generator) -> Bools:
    """Return a mask of the samples that a cleaner removes."""
    cleaner = CLEANERS[name]
    if cleaner is None:
        return np.asarray((y == 0) & (rng.random(len(y)) < 0.3))
    cleaner.fit_resample(X, y)
    return np.asarray(cleaner.rectification_.removed)


def in_strips(p: Floats, y: Ints, removed: Bools) -> dict[str, Floats]:
    """Count samples by their true probability, and return the lemma's value for each strip."""
    strip = np.digitize(p, EDGES[1:-1])
    n = len(EDGES) - 1
    before, after = (
        np.stack([np.bincount(strip[rows & (y == c)], minlength=n) for c in (0, 1)], axis=1).astype(
            float
        )
        for rows in (np.ones(len(y), dtype=bool), ~removed)
    )
    rates = 1 - np.array([(~removed[y == c]).mean() for c in (0, 1)])
    share = before[:, 1] / before.sum(axis=1)
    nearby = 1 - after / before
    return {
        "rates": rates,
        "share": share,
        "true": np.bincount(strip, p, minlength=n) / np.bincount(strip, minlength=n),
        "measured": after[:, 1] / after.sum(axis=1),
        "lemma": posterior_shift(share, *rates),
        # The same formula with the rates of the strip itself, which is only another way to count.
        "local": np.array(
            [
                posterior_shift(s, *row) if (row < 1).all() else float(row[0] == 1)
                for s, row in zip(share, nearby, strict=True)
            ]
        ),
        "nearby": nearby,
    }


def measure() -> Result:
    """Remove and count, for every cleaner and seed."""
    found: dict[str, list[dict[str, Floats]]] = {name: [] for name in CLEANERS}
    for seed in range(SEEDS):
        X, y = two_gaussians(ROWS, RATIO, seed)
        p = true_posterior(X, RATIO)
        for name in CLEANERS:
            removed = removed_samples(name, X, y, np.random.default_rng(1000 + seed))
            found[name].append(in_strips(p, y, removed))

    def of(name: str, what: str) -> Floats:
        return np.array([run[what] for run in found[name]])

    return {
        "majority_rows_for_each_of_the_minority": RATIO,
        "rows": ROWS,
        "seeds": SEEDS,
        "edges": list(EDGES),
        "cleaners": {
            name: {
                "r0": interval(of(name, "rates")[:, 0]),
                "r1": interval(of(name, "rates")[:, 1]),
                "true": rounded(of(name, "true").mean(axis=0)),
                "measured_shift": [
                    interval(v) for v in (of(name, "measured") - of(name, "share")).T
                ],
                "shift_by_the_lemma": [
                    interval(v) for v in (of(name, "lemma") - of(name, "share")).T
                ],
                "most_that_local_rates_miss": float(
                    np.abs(of(name, "measured") - of(name, "local")).max().round(12)
                ),
                "nearby_r0": rounded(of(name, "nearby")[:, :, 0].mean(axis=0)),
                "nearby_r1": rounded(of(name, "nearby")[:, :, 1].mean(axis=0)),
            }
            for name in CLEANERS
        },
    }


def draw(found: Result) -> Figure:
    """Draw the measured and the predicted shift, with a panel for each cleaner."""
    figure = Figure(figsize=(7.2, 7.6))
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (name, row) in zip(panels.flat, found["cleaners"].items(), strict=True):
        mean, low, high = np.array(row["measured_shift"]).T
        p = row["true"]
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.plot(
            p,
            np.array(row["shift_by_the_lemma"])[:, 0],
            "--",
            color=COLOURS[0],
            label="the lemma, with the rates of whole classes",
        )
        axes.errorbar(
            p,
            mean,
            np.abs([mean - low, high - mean]),
            color=COLOURS[1],
            marker="o",
            markersize=5,
            linewidth=1.6,
            label="measured",
        )
        axes.set_title(f"{name}\nr0 = {row['r0'][0]:.3f}, r1 = {row['r1'][0]:.3f}")
    entries = panels[0, 0].get_legend_handles_labels()
    figure.legend(*entries, loc="outside upper center")
    figure.supxlabel("true probability of the minority", fontsize="medium")
    figure.supylabel("shift of its share among the rows", fontsize="medium")
    return figure


def blocks(found: Result) -> list[str]:
    """Return the generated parts of the page: tables and sentences."""
    strips = list(zip(found["edges"], found["edges"][1:], strict=False))
    rows = []
    for name, row in found["cleaners"].items():
        for strip in SHOWN:
            place = strips.index(strip)
            rows.append(
                (
                    name if strip == SHOWN[0] else "",
                    f"{strip[0]:g} to {strip[1]:g}",
                    f"{row['nearby_r0'][place]:.3f}",
                    f"{row['nearby_r1'][place]:.3f}",
                    f"{row['shift_by_the_lemma'][place][0]:+.3f}".replace("-", "−"),
                    with_interval(row["measured_shift"][place], sign=True),
                )
            )
    head = ("rows removed", "true probability", "r0 there", "r1 there", "lemma's shift", "measured")
    rates = "; ".join(
        f"{name}: r0 = {row['r0'][0]:.3f}, r1 = {row['r1'][0]:.3f}"
        for name, row in found["cleaners"].items()
    )
    most = max(row["most_that_local_rates_miss"] for row in found["cleaners"].values())
    return [
        table(head, rows, words=2),
        f"Rates of whole classes: {rates}. With the rates of a strip itself instead, the formula "
        f"gives the measured share everywhere; the largest difference is {most:g}.",
    ]


if __name__ == "__main__":
    publish("lemma", measure, draw, blocks)
