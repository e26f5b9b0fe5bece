"""Three panels of a run: the original rows, one of the votes, the cleaned rows."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.patches import Rectangle
from sklearn.base import is_classifier

from rectifold._core.projection import sample_rows
from rectifold._core.rectification import Rectification
from rectifold._core.utils import Bools, Ints
from rectifold._core.votes import size_order
from rectifold.plot._boundary import draw_boundaries, smooth_classifier
from rectifold.plot._scatter import Scene, draw_marks, draw_rows, set_scene
from rectifold.plot._style import (
    INK,
    STYLE,
    add_legend,
    class_entries,
    make_panels,
    plain_entry,
    short_name,
)
from rectifold.plot._validation import check_row, coordinates, record_of
from rectifold.plot._vote import draw_vote, telling

#: Of more rows a sample is drawn.
MOST = 20_000
#: Characters of what an axis is called.
_LONGEST = 40


def plot_rectification(
    gmr: Any,
    X: Any = None,
    *,
    embedding: Any = None,
    row: int | None = None,
    estimator: Any = None,
    axes: Any = None,
) -> npt.NDArray[Any]:
    """Draw what cleaning did, in three panels: the original rows, a vote, the cleaned rows.

    The first panel marks rows that were removed, by reason, or spared; its dashed box is what the
    second one shows. There, arrows from its neighbours to a row are as thick as their weights in
    the vote. The third has the decision boundary of a classifier that is fitted to the two
    coordinates, before cleaning (dashed) and after; with more than two classes, all edges between
    the regions in which a class is predicted. Of more than 20,000 rows a sample is drawn, an equal
    number of every class, with all that were removed or spared. Rows far out may be out of view.

    Parameters
    ----------
    gmr : GMR or Rectification
        A sampler after `fit_resample`, or its record.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features), default=None
        The rows that were cleaned, for a record that does not hold them, such as one from a file.
    embedding : array-like of shape (n_rows, 2), default=None
        Coordinates to draw rows at. None takes the two columns of `X`, if it has just two, of
        numbers, by which rows were compared as they are; or else the first two principal
        components in the space of the run.
    row : int, default=None
        Position of the row whose vote is shown. None takes an intrusion of whose neighbours some
        weigh more than others, but none decides alone; where there is no intrusion, another row
        that was removed, spared or in question.
    estimator : classifier, default=None
        Any classifier of scikit-learn. None takes a smooth one with balanced class weights: a
        logistic regression on an approximate RBF kernel.
    axes : sequence of three matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ndarray of three matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.plot import plot_rectification
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> original, vote, cleaned = plot_rectification(gmr)
    >>> cleaned.get_title()
    '(c) cleaned: 825 of 0, 155 of 1'
    """
    record = record_of(gmr)
    if estimator is not None and not (hasattr(estimator, "fit") and is_classifier(estimator)):
        raise TypeError(
            f"estimator must be a classifier of scikit-learn, and is {estimator!r:.60}."
        )
    points, names = coordinates(record, X, embedding)
    row = telling(record) if row is None else check_row(row, len(points))
    sample = np.zeros(len(points), dtype=bool)
    sample[sample_rows(record._target.codes, record._target.sizes, MOST)] = True
    scene = set_scene(record, points, sample)
    with mpl.rc_context(STYLE):
        panels = make_panels(axes, 3, ncols=3, figsize=(15, 6))
        original, vote, cleaned = panels
        for panel in panels:
            panel.set(xlim=scene.window[:, 0], ylim=scene.window[:, 1], xticks=[], yticks=[])
            panel.spines[:].set_color("#bbbbbb")
        _draw_original(original, scene)
        across, up = (short_name(name, _LONGEST) for name in names)
        original.set(xlabel=across, ylabel=up)
        box = draw_vote(vote, scene, row)
        if box is not None:
            edge = Rectangle(box[0], *(box[1] - box[0]), fill=False, ec=INK, ls="--", zorder=5)
            original.add_patch(edge)
        _draw_cleaned(cleaned, scene, sample, estimator)
    return panels


def _draw_original(axes: Any, scene: Scene) -> None:
    draw_rows(axes, scene, scene.shown)
    entries = [*class_entries(scene.record), *draw_marks(axes, scene, 6)]
    unseen = {"not drawn": int((~scene.shown).sum()), "out of view": scene.out_of_view}
    entries += [plain_entry(f"{what} ({count:,})") for what, count in unseen.items() if count]
    add_legend(axes, entries, ncols=2)
    axes.set_title("(a) original: " + _in_words(scene.record, scene.record._target.sizes))


def _draw_cleaned(axes: Any, scene: Scene, sample: Bools, estimator: Any) -> None:
    record = scene.record
    draw_rows(axes, scene, scene.shown & ~record.removed)
    after = np.bincount(record._target.codes[~record.removed], minlength=len(record.classes))
    axes.set_title("(c) cleaned: " + _in_words(record, after))
    if estimator is None:
        smooth = smooth_classifier(int((sample & ~record.removed).sum()))
        entries = draw_boundaries(axes, scene, sample, smooth)
    else:
        # The caller's classifier is shown as it is, and so gets every row.
        entries = draw_boundaries(axes, scene, np.ones_like(sample), estimator)
    add_legend(axes, entries)


def _in_words(record: Rectification, counts: Ints) -> str:
    if len(counts) > 3:
        return f"{int(counts.sum()):,} rows of {len(counts)} classes"
    order = size_order(record._target.sizes)
    return ", ".join(f"{counts[code]:,} of {short_name(record.classes[code])}" for code in order)
