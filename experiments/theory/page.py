"""How an experiment on the theory becomes a result, a picture and a part of its page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks import recording

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "theory"
PAGES = ROOT / "docs" / "theory"
PICTURES = ROOT / "docs" / "images"
#: The statements, in the order of the pages; each is a module, a result, a page and a picture.
NAMES = ("definition", "lemma", "theorem", "corollary", "proposition", "thresholds")

Result = dict[str, Any]


def mark(name: str) -> str:
    """Give what stands before and after a part of a page that is written by an experiment."""
    return f"<!-- written by experiments/theory/{name}.py -->"


def result(name: str) -> Result:
    """Give what was measured."""
    return dict(recording.read(name, RESULTS))


def written(name: str) -> list[str]:
    """Give the parts of a page that an experiment wrote."""
    return [part.strip() for part in (PAGES / f"{name}.md").read_text().split(mark(name))[1::2]]


def publish(
    name: str,
    measure: Callable[[], Result],
    draw: Callable[[Result], Figure],
    blocks: Callable[[Result], list[str]],
) -> None:
    """Measure, write the result, draw the picture, and write the parts of the page.

    With the argument "again" nothing is measured: picture and page are made from the result.
    """
    if sys.argv[1:] != ["again"]:
        # Fits on small tables are slower on more threads than one.
        with threadpool_limits(limits=1):
            recording.write(name, RESULTS, more=("matplotlib",), **measure())
    found = result(name)
    draw(found).savefig(PICTURES / f"theory-{name}.png", dpi=130)
    parts = blocks(found)
    print("\n\n".join(parts))
    recording.fill(PAGES / f"{name}.md", mark(name), *parts)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1) -> str:
    """Make a table in Markdown: columns of words to the left, the others to the right."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * words}{'--:|' * (len(head) - words)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def interval(values: Any) -> list[float]:
    """Give the mean of independent runs and its 95 % interval (Student's t)."""
    values = np.asarray(values, dtype=float)
    mean, half = values.mean(), 0.0
    if len(values) > 1 and np.ptp(values) > 0:
        half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return [float(f"{value:.6g}") for value in (mean, mean - half, mean + half)]


def told(found: Sequence[float], digits: int = 3, sign: bool = False) -> str:
    """Write a mean with half of its interval."""
    mean, low, high = found
    text = f"{mean:{'+' if sign else ''}.{digits}f} ± {(high - low) / 2:.{digits}f}"
    # Spaces at which no line is broken.
    return text.replace("-", "−").replace(" ", "\N{NO-BREAK SPACE}")


def few(value: float) -> str:
    """Write a threshold with three digits, or with five where three are all zero."""
    return f"{value:.3f}" if value > 0.001 else f"{value:.5f}"


def plain(values: Any, digits: int = 6) -> list[float]:
    """Give numbers as JSON has them, without digits that mean nothing."""
    return [float(f"{value:.{digits}g}") for value in np.ravel(values)]
