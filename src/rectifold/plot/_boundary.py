"""Draw the decision boundaries of a classifier before and after cleaning."""

from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rectifold._core.utils import Bools, Floats
from rectifold.plot._scatter import Scene
from rectifold.plot._style import GREY, INK, Entries

#: Number of grid points along each axis.
_STEPS = 160


def smooth_classifier(n_samples: int) -> Any:
    """Return a classifier with smooth boundaries that can be fitted to `n_samples` or more."""
    model = LogisticRegression(C=10, class_weight="balanced", max_iter=1000)
    kernel = Nystroem(gamma=1.0, n_components=min(100, n_samples), random_state=0)
    return make_pipeline(StandardScaler(), kernel, model)


def draw_boundaries(axes: Any, scene: Scene, rows: Bools, estimator: Any) -> Entries:
    """Draw the boundaries of a clone of `estimator`, and return entries of a legend.

    It is fitted to the coordinates of the samples that `rows` marks, and again to those of them
    that were kept.
    """
    x, y = np.meshgrid(*np.linspace(scene.window[0], scene.window[1], _STEPS).T)
    entries: Entries = []
    for when, some, colour, style in (
        ("before", rows, GREY, "--"),
        ("after", rows & ~scene.record.removed, INK, "-"),
    ):
        present, codes = np.unique(scene.record._target.codes[some], return_inverse=True)
        if len(present) < 2:
            continue
        model = clone(estimator).fit(scene.points[some], codes)
        scores = _scores(model, np.column_stack((x.ravel(), y.ravel())), len(present))
        scores = scores.reshape(*x.shape, -1)
        best = scores.argmax(axis=-1)
        for one, other in combinations(np.unique(best), 2):
            # Where a third class is predicted, these two have no boundary.
            third = (best != one) & (best != other)
            margin = np.ma.array(scores[..., one] - scores[..., other], mask=third)
            looks = {"colors": colour, "linestyles": style, "linewidths": 1.8}
            axes.contour(x, y, margin, [0], zorder=3, **looks)
        line = Line2D([], [], color=colour, ls=style, lw=1.8)
        entries.append((line, f"decision boundary {when} cleaning"))
    return entries


def _scores(model: Any, grid: Floats, n_classes: int) -> Floats:
    """Return a score per class; the highest is that of the predicted class."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(grid))
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(grid))
        return scores if scores.ndim == 2 else np.column_stack((-scores, scores))
    return np.asarray(np.eye(n_classes)[model.predict(grid)])
