"""Draw the figures of docs/guide/method.md: samples, two votes, confidence, cleaned samples.

python examples/method_pictures.py [FOLDER]
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

# Importing the example runs it, figure included.
from plot_what_it_does import X, y
from rectifold import GMR
from rectifold.plot import plot_confidence, plot_rectification

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def panels(gmr: GMR, sample: int | None = None) -> dict[str, Any]:
    """Return the three panels of a run as separate figures, for narrow screens."""
    figures = [Figure(figsize=(6.4, 6.4), layout="constrained") for _ in range(3)]
    axes = [figure.add_subplot() for figure in figures]
    # The two features have no meaning.
    plot_rectification(gmr, sample=sample, axes=axes)[0].set(xlabel="", ylabel="")
    for one in axes:
        # A single panel needs no letter.
        one.set_title(one.get_title().partition(") ")[2])
    return dict(zip(("rows", "vote", "cleaned"), figures, strict=True))


def most_certain(gmr: GMR) -> int:
    """Return the sample of deep noise with the highest vote for the majority class."""
    record = gmr.rectification_
    deep = np.flatnonzero(record.removed & (record.reason == "deep noise"))
    return int(deep[record.majority_confidence[deep].argmax()])


def main(folder: str | Path = IMAGES) -> None:
    """Draw all figures of one run; alpha is 0.6 so that all three reasons occur."""
    gmr = GMR(alpha=0.6)
    gmr.fit_resample(X, y)
    pictures = panels(gmr)
    pictures["deep"] = panels(gmr, most_certain(gmr))["vote"]
    pictures["confidence"] = Figure(figsize=(6.4, 5), layout="constrained")
    plot_confidence(gmr, axes=pictures["confidence"].subplots(2, 1))
    for name, figure in pictures.items():
        figure.savefig(Path(folder) / f"method-{name}.png", metadata={"Software": None})


if __name__ == "__main__":
    with style.context("rectifold.figures"):
        main(*sys.argv[1:2])
