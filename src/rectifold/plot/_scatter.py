"""Rows in a plane: which of them are drawn and how, and what is in view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.rectification import Rectification
from rectifold._core.rules import REASONS
from rectifold._core.utils import Bools, Floats
from rectifold._core.votes import size_order
from rectifold.plot._style import GREY, INK, MARKS, Entries, class_look


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What panels of the same rows have in common."""

    record: Rectification
    #: Where rows are: of shape (n_rows, 2).
    points: Floats
    #: Which rows are drawn.
    shown: Bools
    #: The lower left and the upper right corner of what is in view.
    window: Floats
    #: The area of a row of the largest class, in square points.
    size: float

    @property
    def out_of_view(self) -> int:
        """How many rows are outside the window."""
        outside = (self.points < self.window[0]) | (self.points > self.window[1])
        return int(outside.any(axis=1).sum())


def set_scene(record: Rectification, points: Floats, sample: Bools) -> Scene:
    """Choose what to draw and what is in view.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    points : ndarray of shape (n_rows, 2)
        Where its rows are.
    sample : ndarray of bool of shape (n_rows,)
        Rows to draw, besides all that were removed or spared.

    Returns
    -------
    Scene
    """
    marked = record.removed | record.spared
    shown = sample | marked
    size = float(np.clip(16_000 / shown.sum(), 4, 20))
    return Scene(record, points, shown, _window(points, marked), size)


def draw_rows(
    axes: Any, scene: Scene, rows: Bools, *, larger: float = 1.0, fade: float = 1.0
) -> None:
    """Draw rows in the colours and shapes of their classes.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where.
    scene : Scene
        What there is to draw.
    rows : ndarray of bool of shape (n_rows,)
        Which rows.
    larger, fade : float
        Factors for the area and for the opacity.
    """
    sizes, codes = scene.record._target.sizes, scene.record._target.codes
    for place, code in enumerate(size_order(sizes)):
        colour, shape = class_look(scene.record, code)
        some = scene.points[rows & (codes == code)]
        # The largest class is drawn first, and recedes: it would bury the others.
        area, alpha = (scene.size, 0.5) if place == 0 else (1.8 * scene.size, 0.85)
        looks: dict[str, Any] = {"s": larger * area, "alpha": fade * alpha, "linewidths": 0}
        axes.scatter(*some.T, c=colour, marker=shape, **looks)


def draw_marks(axes: Any, scene: Scene, size: float, zorder: int = 4) -> Entries:
    """Mark rows that were removed, by reason, or spared.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where.
    scene : Scene
        What there is to draw.
    size : float
        Points that a mark is wide, where there is room.
    zorder : int
        Higher ones are in front.

    Returns
    -------
    list of (matplotlib.lines.Line2D, str)
        For a legend: the marks that there are, with their numbers.
    """
    record = scene.record
    marked = int((record.removed | record.spared).sum())
    # Hundreds of marks would be one blot.
    size *= float(np.clip(np.sqrt(200 / max(1, marked)), 0.5, 1))
    kinds = [
        (f"removed: {reason}", record.removed & (record._decisions.reason == REASONS.index(reason)))
        for reason in MARKS
    ]
    looks = [{"marker": shape, "ms": size, "mec": INK} for shape in MARKS.values()]
    kinds.append(("spared", record.spared))
    looks.append({"marker": "o", "ms": 1.4 * size, "mec": GREY})
    entries = []
    for (name, rows), look in zip(kinds, looks, strict=True):
        (line,) = axes.plot(
            *scene.points[rows].T, ls="none", mfc="none", mew=1.3, zorder=zorder, **look
        )
        if rows.any():
            entries.append((line, f"{name} ({rows.sum():,})"))
    return entries


def _window(points: Floats, needed: Bools) -> Floats:
    """Find the corners of a view that a few rows far out do not shrink to a dot."""
    low, high = np.quantile(points, (0.01, 0.99), axis=0)
    some = needed | (abs(points - (low + high) / 2) <= high - low).all(axis=1)
    low, high = points[some].min(axis=0), points[some].max(axis=0)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    return np.array((low - margin, high + margin))
