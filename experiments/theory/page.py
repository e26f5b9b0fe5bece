"""From an experiment on the theory to its stored result, its picture and its part of a page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks import recording

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "theory"
PAGES = ROOT / "docs" / "theory"
PICTURES = ROOT / "docs" / "images"
#: The statements in the order of the pages; each has a module, a result, a page and a picture.
NAMES = ("definition", "lemma", "theorem", "corollary", "proposition", "thresholds")

Result = dict[str, Any]


def mark(name: str) -> str:
    """Return the mark before and after each generated part of a page."""
    return f"<!-- written by experiments/theory/{name}.py -->"


def result(name: str) -> Result:
    """Read the stored result of an experiment."""
    return dict(recording.read(name, RESULTS))


def written(name: str) -> list[str]:
    """Return the generated parts of a page as they are now."""
    return [part.strip() for part in (PAGES / f"{name}.md").read_text().split(mark(name))[1::2]]


def publish(
    name: str,
    measure: Callable[[], Result],
    draw: Callable[[Result], Figure],
    blocks: Callable[[Result], list[str]],
) -> None:
    """Measure, store the result, draw the picture, and write the parts of the page.

    With the argument "again" nothing is measured: picture and page are made from the stored result.
    """
    if sys.argv[1:] != ["again"]:
        # Fits on small tables are slower on more threads than one.
        with threadpool_limits(limits=1):
            recording.write(name, RESULTS, more=("matplotlib",), **measure())
    stored = result(name)
    with style.context("rectifold.figures"):
        draw(stored).savefig(PICTURES / f"theory-{name}.png")
    parts = blocks(stored)
    print("\n\n".join(parts))
    recording.fill(PAGES / f"{name}.md", mark(name), *parts)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1) -> str:
    """Return a Markdown table; the first `words` columns hold text, the others numbers."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * words}{'--:|' * (len(head) - words)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def interval(values: Any) -> list[float]:
    """Return the mean of independent runs and its 95 % interval (Student's t)."""
    values = np.asarray(values, dtype=float)
    mean, half = values.mean(), 0.0
    if len(values) > 1 and np.ptp(values) > 0:
        half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return [float(f"{value:.6g}") for value in (mean, mean - half, mean + half)]


def with_interval(values: Sequence[float], digits: int = 3, sign: bool = False) -> str:
    """Return a mean and half of its interval as text."""
    mean, low, high = values
    text = f"{mean:{'+' if sign else ''}.{digits}f} ± {(high - low) / 2:.{digits}f}"
    # Without line breaks.
    return text.replace("-", "−").replace(" ", "\N{NO-BREAK SPACE}")


def short_threshold(value: float) -> str:
    """Return a threshold with three digits, or with five if three are all zero."""
    return f"{value:.3f}" if value > 0.001 else f"{value:.5f}"


def rounded(values: Any, digits: int = 6) -> list[float]:
    """Return numbers as a list, rounded to significant digits, for JSON."""
    return [float(f"{value:.{digits}g}") for value in np.ravel(values)]
