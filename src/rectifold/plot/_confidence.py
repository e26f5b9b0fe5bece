"""Histograms of confidence by class and decision."""

from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rectifold._core.rectification import Rectification
from rectifold._core.rules import KEPT, REMOVED, SPARED, can_lose
from rectifold._core.utils import Floats
from rectifold._core.votes import size_order
from rectifold.plot._style import (
    GREY,
    INK,
    STYLE,
    add_legend,
    class_look,
    class_name,
    make_panels,
    record_of,
)

_EDGES = np.linspace(0, 1, 21)


def plot_confidence(gmr: Any, *, axes: Any = None) -> npt.NDArray[Any]:
    """Plot a histogram of confidence for each class, the largest class first.

    Bars are stacked: removed samples at the bottom, then spared ones, then kept ones. Dashed lines
    are the thresholds of the class: alpha if it is strict, and 1 - beta if it is protected, since
    candidates have a vote above beta against them. If the larger of two classes is strict, it
    also has a line at 0.5, below which neighbours predict the other class. Counts are on a
    logarithmic scale if one bar would dwarf the others, as the one at 1 often does.

    Parameters
    ----------
    gmr : GMR or Rectification
        A sampler after `fit_resample`, or its record.
    axes : sequence of matplotlib.axes.Axes, one per class, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, one per class

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.plot import plot_confidence
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> [panel.get_title() for panel in plot_confidence(gmr)]
    ['0 (strict): 828 samples', '1 (protected): 172 samples']
    """
    record = record_of(gmr)
    order = size_order(record._target.sizes)
    with mpl.rc_context(STYLE):
        size = (7.5, 1.1 + 1.9 * len(order))
        panels = make_panels(axes, len(order), nrows=len(order), figsize=size, sharex=True)
        for panel, code in zip(panels, order, strict=True):
            _draw_class(panel, record, int(code))
        panels[-1].set_xlabel("confidence: the vote for the sample's own class")
        patches = [Patch(**looks) for looks in _bar_looks(GREY).values()]
        entries = list(zip(patches, ("removed", "spared", "kept"), strict=True))
        add_legend(panels[-1], entries, -0.36, 3)
    return panels


def _draw_class(axes: Any, record: Rectification, code: int) -> None:
    mine = record._target.codes == code
    below = np.zeros(len(_EDGES) - 1)
    for decision, looks in _bar_looks(class_look(record, code)[0]).items():
        rows = mine & (record._decisions.decision == decision)
        counts = np.histogram(record.confidence[rows], _EDGES)[0]
        axes.bar(_EDGES[:-1], counts, _EDGES[1], below, align="edge", **looks)
        below += counts
    _scale_counts(axes, below)
    for at, name in _thresholds(record, code):
        axes.axvline(at, color=INK, linestyle="--", linewidth=1.2)
        transform = axes.get_xaxis_transform()
        looks = {"va": "top", "size": "x-small", "rotation": 90}
        axes.text(at + 0.005, 0.97, name, transform=transform, **looks)
    axes.set_title(f"{class_name(record, code)}: {int(mine.sum()):,} samples", fontsize="medium")
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)


def _bar_looks(colour: str) -> dict[int, dict[str, Any]]:
    """Return fill and hatching by decision, from the bottom up; they differ without colour too."""
    return {
        REMOVED: {"facecolor": INK, "edgecolor": INK, "linewidth": 0.6},
        SPARED: {"facecolor": "white", "edgecolor": colour, "hatch": "//////", "linewidth": 0.6},
        KEPT: {"facecolor": colour, "edgecolor": "white", "alpha": 0.6, "linewidth": 0.6},
    }


def _thresholds(record: Rectification, code: int) -> list[tuple[float, str]]:
    """Return the thresholds of a class and their names; none if it can't lose samples."""
    thresholds, role = record._thresholds, record._setting.role(code)
    large = can_lose(code, record._target.sizes, thresholds.min_minority)
    if role == "untouched" or not large:
        return []
    if role == "protected":
        return [(1 - thresholds.beta, f"1 - beta = {1 - thresholds.beta:.3g}")]
    lines = [(thresholds.alpha, f"alpha = {thresholds.alpha:.3g}")]
    if len(record.classes) == 2 and size_order(record._target.sizes)[0] == code:
        lines.append((0.5, "even vote"))
    return lines


def _scale_counts(axes: Any, counts: Floats) -> None:
    filled = np.sort(counts[counts > 0])
    dwarfed = len(filled) > 1 and filled[-1] > 10 * filled[:-1].mean()
    if dwarfed:
        axes.set_yscale("log")
        axes.set_ylim(0.5, 2 * filled[-1])
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    # The default format of a logarithmic axis needs math text, which STYLE switches off.
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_ylabel("samples (log scale)" if dwarfed else "samples")
