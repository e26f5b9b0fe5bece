"""Values of alpha and beta that have no effect: counted on real data, and with more classes.

    python -m experiments.theory.thresholds

Votes are counted once; every threshold is then applied to them by `redecide`.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from benchmarks.cases import load
from experiments.adaptive.grid import SETS
from experiments.theory.page import Result, publish, rounded, table
from rectifold import GMR
from rectifold._core.rectification import Rectification
from rectifold._core.utils import Bools, Floats, Ints
from rectifold.plot._style import COLOURS, GREY

GRID = tuple(round(0.05 * step, 2) for step in range(21))
CLASSES = (2, 3, 4, 6, 10)


def record_of(X: Floats, y: Ints, **settings: object) -> Rectification:
    """Clean without a cap, which could hide the effect of beta, and return the record."""
    gmr = GMR(gamma=1, **settings)
    gmr.fit_resample(X, y)
    return gmr.rectification_


def clouds(n_classes: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Draw overlapping round clouds, each a little smaller than the last."""
    rng = np.random.default_rng(seed)
    sizes = np.linspace(900, 500, n_classes).astype(int)
    y = np.repeat(np.arange(n_classes), sizes)
    return rng.standard_normal((len(y), 2)) + rng.standard_normal((n_classes, 2))[y], y


def along(record: Rectification, what: str) -> list[int]:
    """Count the samples that the rules select at each value of alpha or beta.

    Alpha is for the largest class, beta for all others.
    """
    largest = record._target.codes == np.argmax(record._target.sizes)
    mine = largest if what == "alpha" else ~largest
    return [int((selected(record, **{what: value}) & mine).sum()) for value in GRID]


def selected(record: Rectification, **thresholds: float) -> Bools:
    """Return a mask of samples that are removed, or spared only by the floor."""
    again = record.redecide(**thresholds)
    return again.removed | again.spared


def first_change(counts: list[int]) -> float | None:
    """Return the last value on the grid up to which the counts do not change."""
    return max(value for value, count in zip(GRID, counts, strict=True) if count == counts[0])


def measure() -> Result:
    """Apply all thresholds to real data of two classes, and to clouds of more."""
    real = []
    for name in SETS:
        X, y = load(name)
        for weight in (None, "balanced"):
            record = record_of(X, y, class_weight=weight)
            sizes = record._target.sizes
            real.append(
                {
                    "data": name,
                    "class_weight": weight,
                    "majority": int(sizes.max()),
                    "minority": int(sizes.min()),
                    "alpha": along(record, "alpha"),
                    "beta": along(record, "beta"),
                    "half": int((np.abs(record.majority_confidence - 0.5) < 1e-12).sum()),
                }
            )
    made = []
    for n_classes in CLASSES:
        record = record_of(*clouds(n_classes))
        everywhere = record_of(*clouds(n_classes), sampling_strategy="all")
        made.append(
            {
                "classes": n_classes,
                "alpha": along(record, "alpha"),
                "beta": along(record, "beta"),
                "alpha_where_all_are_strict": [
                    int(selected(everywhere, alpha=value).sum()) for value in GRID
                ],
            }
        )
    return {"grid": rounded(GRID), "real": real, "made_up": made}


def draw(found: Result) -> Figure:
    """Draw the share of a class that is removed against the threshold."""
    figure = Figure(figsize=(6.4, 7))
    both = figure.subplots(2, 1)
    for axes, what, size, title in zip(
        both,
        ("alpha", "beta"),
        ("majority", "minority"),
        ("majority rows that go", "minority rows that may go"),
        strict=True,
    ):
        axes.axvspan(0, 0.5, color="#eeeeee", zorder=0)
        for weight, colour, style in ((None, COLOURS[0], "-"), ("balanced", COLOURS[1], "--")):
            rows = [row for row in found["real"] if row["class_weight"] == weight]
            shares = np.array([np.array(row[what]) / row[size] for row in rows])
            axes.plot(
                found["grid"],
                100 * shares.mean(axis=0),
                style,
                color=colour,
                marker=".",
                label="plain votes" if weight is None else 'class_weight="balanced"',
            )
        axes.set(xlabel=what, title=f"{title}, %", xlim=(0, 1), ylim=(0, None))
    both[0].text(0.25, 0.5, "decides nothing", transform=both[0].transAxes, ha="center", color=GREY)
    both[1].text(0.25, 0.5, "decides nothing", transform=both[1].transAxes, ha="center", color=GREY)
    both[0].legend(loc="upper left")
    return figure


def blocks(found: Result) -> list[str]:
    """Return the generated parts of the page: tables and sentences."""
    shown = (0.0, 0.3, 0.5, 0.6, 0.7, 0.9)
    places = [GRID.index(value) for value in shown]
    rows = []
    for weight in (None, "balanced"):
        some = [row for row in found["real"] if row["class_weight"] == weight]
        for what, size in (("alpha", "majority"), ("beta", "minority")):
            rows.append(
                (
                    f"{what}, " + ("plain votes" if weight is None else "balanced votes"),
                    *(f"{sum(row[what][place] for row in some):,}" for place in places),
                    f"{sum(row[size] for row in some):,}",
                )
            )
    halves = sum(row["half"] for row in found["real"] if row["class_weight"] is None)
    first = table(("rows that go at", *(f"{value:g}" for value in shown), "of"), rows)
    line = (
        f"{len(found['real']) // 2} data sets of two classes, standardised; beta with gamma = 1, "
        f"so that no cap hides what it decides. With balanced votes a floor "
        f"may spare some of these rows. Plain votes of exactly one half: {halves} rows."
    )
    second = table(
        (
            *("classes", "1 / classes", "alpha decides nothing up to", "alpha = 0.3 decides"),
            *("beta decides nothing up to", "alpha, all classes strict, up to"),
        ),
        [
            (
                row["classes"],
                f"{1 / row['classes']:.2f}",
                f"{first_change(row['alpha']):.2f}",
                f"{row['alpha'][GRID.index(0.3)] - row['alpha'][0]} rows",
                f"{first_change(row['beta']):.2f}",
                f"{first_change(row['alpha_where_all_are_strict']):.2f}",
            )
            for row in found["made_up"]
        ],
    )
    return [first, line, second]


if __name__ == "__main__":
    publish("thresholds", measure, draw, blocks)
