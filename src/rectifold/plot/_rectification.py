"""Three panels on a run of GMR: the original samples, a vote, and the cleaned samples."""

from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.patches import Rectangle
from sklearn.base import is_classifier

from rectifold._core.errors import Param, ParameterError
from rectifold._core.projection import check_embedding, project, sample_by_class
from rectifold._core.rectification import Rectification
from rectifold._core.trace import rows_of
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._core.votes import size_order
from rectifold.plot._boundary import draw_boundaries, smooth_classifier
from rectifold.plot._scatter import Scene, draw_marks, draw_samples, make_scene
from rectifold.plot._style import (
    INK,
    STYLE,
    add_legend,
    class_entries,
    make_panels,
    record_of,
    short_name,
    text_entry,
)
from rectifold.plot._vote import choose_sample, draw_vote

#: Maximum size of the random sample that is drawn.
_MAX_DRAWN = 20_000
#: Maximum number of characters of an axis label.
_MAX_LABEL = 40


def plot_rectification(
    gmr: Any,
    X: Any = None,
    *,
    embedding: Any = None,
    sample: int | None = None,
    estimator: Any = None,
    axes: Any = None,
) -> npt.NDArray[Any]:
    """Plot a run of GMR in three panels: the original samples, a vote, the cleaned samples.

    The first panel marks removed samples by reason, and spared ones; its dashed box is the view of
    the second panel. There, arrows point from the neighbours of a sample to the sample, as wide as
    their weights in the vote. The third panel shows the decision boundary of a classifier that is
    fitted to the two coordinates, before cleaning (dashed) and after; with more than two classes,
    all boundaries between the regions in which a class is predicted. With more than 20,000 samples
    a random sample is drawn, an equal number of each class, with all removed and spared samples.
    Outliers may be out of view.

    Parameters
    ----------
    gmr : GMR or Rectification
        A sampler after `fit_resample`, or its record.
    X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features), default=None
        The samples that were cleaned, for a record that does not hold them, such as one
        from a pickle.
    embedding : array-like of shape (n_samples, 2), default=None
        Coordinates at which samples are drawn. None takes the features if there are two
        of them, numeric and without a space, and otherwise the first two principal
        components of the space.
    sample : int, default=None
        Index of the sample whose vote is shown. None chooses an intrusion whose neighbours
        differ in weight without one of them deciding alone; if there is no intrusion,
        another removed, spared or doubtful sample.
    estimator : classifier, default=None
        A classifier with the interface of scikit-learn. None uses a smooth one with
        balanced class weights: logistic regression on an approximate RBF kernel.
    axes : sequence of three matplotlib.axes.Axes, default=None
        Axes to draw on; None makes a figure.

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
    sample = choose_sample(record) if sample is None else _check_index(sample, len(points))
    drawn = np.zeros(len(points), dtype=bool)
    drawn[sample_by_class(record._target.codes, record._target.sizes, _MAX_DRAWN)] = True
    scene = make_scene(record, points, drawn)
    with mpl.rc_context(STYLE):
        panels = make_panels(axes, 3, ncols=3, figsize=(15, 6))
        original, vote, cleaned = panels
        for panel in panels:
            panel.set(xlim=scene.window[:, 0], ylim=scene.window[:, 1], xticks=[], yticks=[])
            panel.spines[:].set(color="#bbbbbb", visible=True)
        _draw_original(original, scene)
        across, up = (short_name(name, _MAX_LABEL) for name in names)
        original.set(xlabel=across, ylabel=up)
        box = draw_vote(vote, scene, sample)
        if box is not None:
            edge = Rectangle(box[0], *(box[1] - box[0]), fill=False, ec=INK, ls="--", zorder=5)
            original.add_patch(edge)
        _draw_cleaned(cleaned, scene, drawn, estimator)
    return panels


def coordinates(record: Rectification, X: Any, embedding: Any) -> tuple[Floats, tuple[str, str]]:
    """Return coordinates of all samples, of shape (n_samples, 2), and names of the axes."""
    n_samples = len(record.certified)
    if embedding is not None:
        return check_embedding(embedding, n_samples), ("", "")
    projection = project(record, rows_of(record._trace, n_samples, X))
    if projection is None:
        raise ParameterError(
            "with {} samples have no coordinates: pass {}, an array of shape ({}, 2).",
            Param("metric", "precomputed"),
            Param("embedding"),
            str(n_samples),
        )
    return projection.at(np.arange(n_samples)), projection.axes


def _check_index(sample: Any, n_samples: int) -> int:
    is_integer = isinstance(sample, int | np.integer) and not isinstance(sample, bool)
    if not is_integer or not 0 <= sample < n_samples:
        raise ParameterError(
            "{} is not the index of a sample: it must be in 0 to {}.",
            Param("sample", sample),
            str(n_samples - 1),
        )
    return int(sample)


def _draw_original(axes: Any, scene: Scene) -> None:
    draw_samples(axes, scene, scene.shown)
    entries = [*class_entries(scene.record), *draw_marks(axes, scene, 6)]
    unseen = {"not drawn": int((~scene.shown).sum()), "out of view": scene.n_out_of_view}
    entries += [text_entry(f"{name} ({count:,})") for name, count in unseen.items() if count]
    add_legend(axes, entries, ncols=2)
    axes.set_title("(a) original: " + _counts(scene.record, scene.record._target.sizes))


def _draw_cleaned(axes: Any, scene: Scene, drawn: Bools, estimator: Any) -> None:
    record = scene.record
    draw_samples(axes, scene, scene.shown & ~record.removed)
    after = np.bincount(record._target.codes[~record.removed], minlength=len(record.classes))
    axes.set_title("(c) cleaned: " + _counts(record, after))
    if estimator is None:
        smooth = smooth_classifier(int((drawn & ~record.removed).sum()))
        entries = draw_boundaries(axes, scene, drawn, smooth)
    else:
        # The user's classifier is fitted to all samples.
        entries = draw_boundaries(axes, scene, np.ones_like(drawn), estimator)
    add_legend(axes, entries)


def _counts(record: Rectification, counts: Ints) -> str:
    if len(counts) > 3:
        return f"{int(counts.sum()):,} samples of {len(counts)} classes"
    order = size_order(record._target.sizes)
    return ", ".join(f"{counts[code]:,} of {short_name(record.classes[code])}" for code in order)
