"""Draw the vote on one sample: its neighbours and their weights."""

import textwrap
from typing import Any

import numpy as np
from matplotlib.patches import FancyArrowPatch

from rectifold._core.rectification import Rectification
from rectifold._core.rules import INTRUSION
from rectifold._core.utils import Floats, Ints
from rectifold.plot._scatter import Scene, draw_marks, draw_samples
from rectifold.plot._style import INK, class_look, short_name

#: Width of the arrow of the heaviest neighbour, in points.
_MAX_WIDTH = 4.5
#: Number of characters in a line of the caption.
_LINE_LENGTH = 64


def choose_sample(record: Rectification) -> int | None:
    """Return the sample whose vote is shown, or None if the record keeps no neighbours.

    It is an intrusion or else another removed, spared or doubtful sample. To show the effect of
    weights, its heaviest neighbour has about twice the average weight.
    """
    kept = record._trace.neighbours if record._trace else None
    if kept is None or not len(kept.rows):
        return None
    removed, intrusion = record.removed[kept.rows], record._decisions.reason[kept.rows] == INTRUSION
    kinds = (removed & intrusion, removed, record.spared[kept.rows], ~removed)
    some = next(np.flatnonzero(kind) for kind in kinds if kind.any())
    heaviest = record._weigh(kept.indices[some], kept.distances[some]).max(axis=1)
    return int(kept.rows[some[abs(heaviest - 2 / kept.indices.shape[1]).argmin()]])


def draw_vote(axes: Any, scene: Scene, sample: int | None) -> Floats | None:
    """Draw the vote on a sample, and return the corners of the view if it is zoomed in."""
    record, points = scene.record, scene.points
    neighbours, weights = _neighbours(record, sample)
    known = len(neighbours) > 0
    draw_samples(axes, scene, scene.shown, larger=2 if known else 1, fade=0.35)
    draw_marks(axes, scene, 9 if known else 6, zorder=8)
    axes.set_title("(b) the vote" if sample is None else f"(b) the vote on sample {sample}")
    axes.set_xlabel(_caption(record, sample, neighbours, weights))
    if sample is None or not known:
        return None
    # Nearest first, so that thin arrows are drawn over thick ones.
    for other, width in zip(neighbours, _MAX_WIDTH * weights / weights.max(), strict=True):
        colour, shape = class_look(record, record._target.codes[other])
        looks: dict[str, Any] = {"color": colour, "lw": width, "shrinkA": 4, "shrinkB": 9}
        looks |= {"arrowstyle": "-|>", "mutation_scale": 5 + 2.5 * width, "zorder": 5}
        axes.add_patch(FancyArrowPatch(points[other], points[sample], **looks))
        axes.scatter(*points[other], s=80, c=colour, marker=shape, ec="white", lw=0.8, zorder=6)
    colour, shape = class_look(record, record._target.codes[sample])
    axes.scatter(*points[sample], s=190, c=colour, marker=shape, ec=INK, lw=2, zorder=7)
    # The neighbours are often so close that all arrows would be a dot, unless zoomed in.
    sides = scene.window[1] - scene.window[0]
    reach = float((abs(points[neighbours] - points[sample]) / sides).max())
    if reach > 0.4:
        return None
    half = max(1.15 * reach, 0.01) * sides
    box = np.array((points[sample] - half, points[sample] + half))
    axes.set(xlim=box[:, 0], ylim=box[:, 1])
    return box


def _neighbours(record: Rectification, sample: int | None) -> tuple[Ints, Floats]:
    """Return the neighbours of a sample and their weights; empty if the record has none."""
    if record._trace is None or sample is None:
        return np.empty(0, dtype=np.intp), np.empty(0)
    _, neighbours, distances = record._trace.neighbours.of(np.array([sample]))
    return neighbours.ravel(), record._weigh(neighbours, distances).ravel()


def _caption(record: Rectification, sample: int | None, neighbours: Ints, weights: Floats) -> str:
    start = "" if record.removed.any() else "Nothing was removed. "
    if sample is None or not len(neighbours):
        some = slice(None) if sample is None else slice(sample, sample + 1)
        if record.confidence[some].min() == 1:
            subject = "every sample" if sample is None else f"sample {sample}"
            return _wrap(f"{start}All neighbours of {subject} carry its own label.")
        of_which = "" if sample is None else f" of sample {sample}"
        return _wrap(f"{start}The record does not hold the neighbours{of_which}.")
    voted = record.label[neighbours] == record.predicted[sample]
    outcome = " as ".join(filter(None, (record.decision[sample], record.reason[sample])))
    text = _wrap(
        f"{start}Sample {sample} is labelled {short_name(record.label[sample])}; {voted.sum()} of "
        f"its {len(neighbours)} neighbours are labelled {short_name(record.predicted[sample])}, "
        f"with {weights[voted].sum():.2f} of the vote: {outcome}."
    )
    return f"{text}\nThicker arrows have more weight."


def _wrap(text: str) -> str:
    return textwrap.fill(text, _LINE_LENGTH)
