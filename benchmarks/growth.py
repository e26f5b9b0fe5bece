"""Measure how time grows with the number of samples, beside the paper's implementation.

    python benchmarks/growth.py [NAME] [--data-home FOLDER] [--again]

On 1/16, 1/8, ... of the samples of NAME (creditcard), drawn at random within each class. The
exponent is the slope of the logarithm of seconds over that of samples. Results go to
results/speed/growth.json, the figure to docs/images/growth.png; --again only draws what is stored.
"""

import argparse
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

from cases import DATA, load
from contestants import ours, paper
from recording import read, write

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "growth.png"


def timed(clean, X: np.ndarray, y: np.ndarray) -> float:
    """Return the seconds of a run, the median of three if it is short."""
    seconds: list[float] = []
    while len(seconds) < (3 if not seconds or seconds[0] < 10 else 1):
        sleep(0.05)
        start = perf_counter()
        clean(X, y)
        seconds.append(perf_counter() - start)
    return median(seconds)


def exponent(rows: list[int], times: list[float]) -> float:
    """Return the slope in logarithms."""
    return float(np.polyfit(np.log(rows), np.log(times), 1)[0])


def draw(rows: list[int], times: dict[str, list[float]], slopes: dict[str, float]) -> None:
    """Draw both lines; seconds are relative to ours at the smallest part."""
    with style.context("rectifold.figures"):
        _draw(rows, times, slopes)


def _draw(rows: list[int], times: dict[str, list[float]], slopes: dict[str, float]) -> None:
    figure = Figure()
    axes = figure.subplots()
    labels = {"paper": "the paper's way", "ours": "rectifold"}
    for name, colour in (("paper", "C1"), ("ours", "C0")):
        relative = np.array(times[name]) / times["ours"][0]
        axes.loglog(rows, relative, "o-", color=colour)
        axes.annotate(
            f"{labels[name]}: rows^{slopes[name]:.2f}",
            (rows[-1], relative[-1]),
            xytext=(-8, 8),
            textcoords="offset points",
            ha="right",
            color=colour,
        )
    axes.set_xticks(rows, [f"{n:,}" for n in rows], rotation=20)
    axes.minorticks_off()
    axes.set_xlabel("rows")
    axes.set_ylabel("time, relative to the shortest")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Software": None})


def main() -> None:
    """Run, record and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="creditcard")
    parser.add_argument("--data-home", type=Path, default=DATA)
    parser.add_argument("--again", action="store_true", help="draw the stored result, measure none")
    options = parser.parse_args()
    if options.again:
        stored = read("growth")
        draw(stored["rows"], stored["relative"], stored["exponents"])
        return
    X, y = load(options.name, options.data_home)
    ours(*train_test_split(X, y, train_size=1 / 16, stratify=y, random_state=0)[::2])
    rows: list[int] = []
    times: dict[str, list[float]] = {"paper": [], "ours": []}
    for part in (16, 8, 4, 2, 1):
        some = np.arange(len(y))
        if part > 1:
            some, _ = train_test_split(some, train_size=1 / part, stratify=y, random_state=0)
        rows.append(len(some))
        for name, clean in (("paper", paper), ("ours", ours)):
            times[name].append(timed(clean, X[some], y[some]))
        ratio = times["paper"][-1] / times["ours"][-1]
        print(f"{len(some):>9,} rows: paper / ours {ratio:.1f}", flush=True)
    slopes = {name: round(exponent(rows, times[name]), 2) for name in times}
    print(f"exponents: {slopes}")
    ratios = [round(a / b, 2) for a, b in zip(times["paper"], times["ours"], strict=True)]
    relative = {name: [round(t / times["ours"][0], 2) for t in times[name]] for name in times}
    write(
        "growth", data=options.name, rows=rows, ratios=ratios, relative=relative, exponents=slopes
    )
    draw(rows, times, slopes)


if __name__ == "__main__":
    main()
