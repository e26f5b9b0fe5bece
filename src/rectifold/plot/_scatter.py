"""Draw samples in the plane, and marks of those that were removed or spared."""

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
    """What the panels of a figure have in common."""

    record: Rectification
    #: Coordinates of all samples, of shape (n_samples, 2).
    points: Floats
    #: Mask of the samples that are drawn.
    shown: Bools
    #: The lower left and the upper right corner of the view.
    window: Floats
    #: Marker area of the largest class, in square points.
    size: float

    @property
    def n_out_of_view(self) -> int:
        """Number of samples outside the window."""
        outside = (self.points < self.window[0]) | (self.points > self.window[1])
        return int(outside.any(axis=1).sum())


def make_scene(record: Rectification, points: Floats, sample: Bools) -> Scene:
    """Return the scene of a random sample and all removed and spared samples."""
    marked = record.removed | record.spared
    shown = sample | marked
    size = float(np.clip(16_000 / shown.sum(), 4, 20))
    return Scene(record, points, shown, _window(points, marked), size)


def draw_samples(
    axes: Any, scene: Scene, rows: Bools, *, larger: float = 1.0, fade: float = 1.0
) -> None:
    """Draw samples by class; `larger` and `fade` are factors of their area and opacity."""
    sizes, codes = scene.record._target.sizes, scene.record._target.codes
    for rank, code in enumerate(size_order(sizes)):
        colour, shape = class_look(scene.record, code)
        some = scene.points[rows & (codes == code)]
        # The largest class is drawn first and paler, so that it does not hide the others.
        area, alpha = (scene.size, 0.5) if rank == 0 else (1.8 * scene.size, 0.85)
        looks: dict[str, Any] = {"s": larger * area, "alpha": fade * alpha, "linewidths": 0}
        axes.scatter(*some.T, c=colour, marker=shape, **looks)


def draw_marks(axes: Any, scene: Scene, size: float, zorder: int = 4) -> Entries:
    """Mark removed and spared samples, and return entries of a legend with their numbers.

    `size` is the width of a mark in points; it is reduced if there are many.
    """
    record = scene.record
    n_marked = int((record.removed | record.spared).sum())
    size *= float(np.clip(np.sqrt(200 / max(1, n_marked)), 0.5, 1))
    kinds: list[tuple[str, Bools, dict[str, Any]]] = [
        (
            f"removed: {reason}",
            record.removed & (record._decisions.reason == REASONS.index(reason)),
            {"marker": shape, "ms": size, "mec": INK},
        )
        for reason, shape in MARKS.items()
    ]
    kinds.append(("spared", record.spared, {"marker": "o", "ms": 1.4 * size, "mec": GREY}))
    entries = []
    for name, rows, looks in kinds:
        (line,) = axes.plot(
            *scene.points[rows].T, ls="none", mfc="none", mew=1.3, zorder=zorder, **looks
        )
        if rows.any():
            entries.append((line, f"{name} ({rows.sum():,})"))
    return entries


def _window(points: Floats, needed: Bools) -> Floats:
    """Return the corners of a view of nearly all samples, so that outliers do not shrink it."""
    low, high = np.quantile(points, (0.01, 0.99), axis=0)
    some = needed | (abs(points - (low + high) / 2) <= high - low).all(axis=1)
    low, high = points[some].min(axis=0), points[some].max(axis=0)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    return np.array((low - margin, high + margin))
