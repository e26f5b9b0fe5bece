"""The second panel: the neighbours of a row, and what each of them weighs in its vote."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.patches import FancyArrowPatch

from rectifold._core.rectification import Rectification
from rectifold._core.rules import INTRUSION
from rectifold._core.utils import Floats, Ints
from rectifold._core.votes import weigh
from rectifold.plot._scatter import Scene, draw_marks, draw_rows
from rectifold.plot._style import INK, class_look, short_name

#: Points of line width that the heaviest neighbour's arrow has.
THICKEST = 4.5
#: Characters in a line of the caption.
_WIDTH = 64


def telling(record: Rectification) -> int | None:
    """Choose a row in whose vote weights show: the heaviest neighbour has twice the average.

    Parameters
    ----------
    record : Rectification
        The record of a run.

    Returns
    -------
    int or None
        The position of an intrusion or else of another row that was removed, spared or in
        question; None where the record keeps no neighbours.
    """
    kept = record._trace.neighbours if record._trace else None
    if kept is None or not len(kept.rows):
        return None
    removed, intrusion = record.removed[kept.rows], record._decisions.reason[kept.rows] == INTRUSION
    kinds = (removed & intrusion, removed, record.spared[kept.rows], ~removed)
    some = next(np.flatnonzero(kind) for kind in kinds if kind.any())
    heaviest = _weights(record, kept.indices[some], kept.distances[some]).max(axis=1)
    return int(kept.rows[some[abs(heaviest - 2 / kept.indices.shape[1]).argmin()]])


def draw_vote(axes: Any, scene: Scene, row: int | None) -> Floats | None:
    """Draw the vote on a row, and say in words what it was and what came of it.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where.
    scene : Scene
        What there is to draw.
    row : int or None
        The position of the row; None where there is none to choose.

    Returns
    -------
    ndarray of shape (2, 2) or None
        The corners of what is in view, if that is not all that the other panels have in view.
    """
    record, points = scene.record, scene.points
    near, weights = _voters(record, row)
    known = len(near) > 0
    draw_rows(axes, scene, scene.shown, larger=2 if known else 1, fade=0.35)
    draw_marks(axes, scene, 9 if known else 6, zorder=8)
    axes.set_title("(b) the vote" if row is None else f"(b) the vote on row {row}")
    axes.set_xlabel(_caption(record, row, near, weights))
    if row is None or not known:
        return None
    # Nearest first, so that thin arrows end up on top of thick ones.
    for other, width in zip(near, THICKEST * weights / weights.max(), strict=True):
        colour, shape = class_look(record, record._target.codes[other])
        looks: dict[str, Any] = {"color": colour, "lw": width, "shrinkA": 4, "shrinkB": 9}
        looks |= {"arrowstyle": "-|>", "mutation_scale": 5 + 2.5 * width, "zorder": 5}
        axes.add_patch(FancyArrowPatch(points[other], points[row], **looks))
        axes.scatter(*points[other], s=80, c=colour, marker=shape, ec="white", lw=0.8, zorder=6)
    colour, shape = class_look(record, record._target.codes[row])
    axes.scatter(*points[row], s=190, c=colour, marker=shape, ec=INK, lw=2, zorder=7)
    # Neighbours of a row are so near in the plane, often, that all arrows would be a dot.
    sides = scene.window[1] - scene.window[0]
    reach = float((abs(points[near] - points[row]) / sides).max())
    if reach > 0.4:
        return None
    half = max(1.15 * reach, 0.01) * sides
    box = np.array((points[row] - half, points[row] + half))
    axes.set(xlim=box[:, 0], ylim=box[:, 1])
    return box


def _voters(record: Rectification, row: int | None) -> tuple[Ints, Floats]:
    """Who voted on a row, and with what weights: nobody where the record does not keep them."""
    if record._trace is None or row is None:
        return np.empty(0, dtype=np.intp), np.empty(0)
    _, near, distances = record._trace.neighbours.of(np.array([row]))
    return near.ravel(), _weights(record, near, distances).ravel()


def _weights(record: Rectification, near: Ints, distances: Floats) -> Floats:
    setting, target = record._setting, record._target
    return weigh(
        distances,
        target.codes[near],
        target.sizes,
        epsilon=setting.epsilon,
        class_weight=setting.class_weight,
    )


def _caption(record: Rectification, row: int | None, near: Ints, weights: Floats) -> str:
    """Say what the vote was on, and what came of it."""
    start = "" if record.removed.any() else "Nothing was removed. "
    if row is None or not len(near):
        subject, some = ("every row", slice(None)) if row is None else (f"row {row}", row)
        if np.min(record.confidence[some]) == 1:
            return _wrap(f"{start}All neighbours of {subject} carry its own label.")
        return _wrap(f"{start}The record does not keep the neighbours of {subject}.")
    voted = record.label[near] == record.predicted[row]
    said = f"{voted.sum()} of its {len(near)} neighbours say {short_name(record.predicted[row])}"
    outcome = " as ".join(filter(None, (record.decision[row], record.reason[row])))
    text = f"{start}Row {row} is labelled {short_name(record.label[row])}; {said}"
    text = _wrap(f"{text}, with {weights[voted].sum():.2f} of the vote: {outcome}.")
    return f"{text}\nThicker arrows weigh more."


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH)
