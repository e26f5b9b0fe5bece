"""Fusion: a weighted average of a classifier's probabilities and the vote of the neighbours."""

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from rectifold._core.utils import Floats, Ints
from rectifold.model_selection._predictions import Predictions

#: The weights of the vote that are tried.
WEIGHTS = tuple(step / 10 for step in range(11))
#: The shares of the leaves in the vote that are tried.
LEAF_SHARES = (0.5, 0.25, 0.75)
#: Range of the logarithm of a scale, relative to 1 / the mean absolute decision value.
_LOG_SCALES = (-7.0, 7.0)


def fuse(probabilities: Floats, votes: Floats, weight: float) -> Floats:
    """Return the weighted average of a classifier's probabilities and the votes."""
    return (1 - weight) * probabilities + weight * votes


def as_probabilities(predictions: Predictions, scale: float) -> Floats:
    """Return the probabilities of a classifier, or those that its decision values stand for.

    Decision values are multiplied by `scale`. The softmax of the result is a monotone map that
    changes no label.
    """
    if "predict_proba" in predictions:
        return np.asarray(predictions["predict_proba"], dtype=np.float64)
    return np.asarray(softmax(scale * _columns(predictions["decision_function"]), axis=1))


def decision_scale(predictions: Predictions, codes: Ints) -> float:
    """Return the scale with which decision values give the most likely probabilities.

    `codes` are the true classes. The targets are smoothed as by Platt (1999), so that the scale is
    finite for classes that are separated. It is 1 for a classifier with probabilities.
    """
    if "predict_proba" in predictions:
        return 1.0
    values = _columns(predictions["decision_function"])
    unit = float(abs(values).mean())
    if not unit > 0:
        return 1.0
    n_classes = values.shape[1]
    sizes = np.bincount(codes, minlength=n_classes)[codes]
    targets = np.repeat((1 / (sizes + 2) / (n_classes - 1))[:, None], n_classes, axis=1)
    targets[np.arange(len(codes)), codes] = (sizes + 1) / (sizes + 2)

    def loss(log_scale: float) -> float:
        return -float((targets * log_softmax(np.exp(log_scale) / unit * values, axis=1)).sum())

    best = minimize_scalar(loss, bounds=_LOG_SCALES, method="bounded")
    return float(np.exp(best.x) / unit)


def _columns(decisions: npt.ArrayLike) -> Floats:
    """Return decision values with one column per class; of two classes the first is 0."""
    values = np.asarray(decisions, dtype=np.float64)
    return np.column_stack([np.zeros(len(values)), values]) if values.ndim == 1 else values
