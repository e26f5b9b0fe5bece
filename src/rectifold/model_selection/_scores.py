"""The scores of a fitted classifier on test samples."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from imblearn.metrics import geometric_mean_score
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    roc_auc_score,
)

from rectifold._core.utils import Floats, Ints
from rectifold.metrics import asymmetric_risk


@dataclass(frozen=True)
class Score:
    """A score of a classifier on test samples."""

    title: str
    greater_is_better: bool
    #: Called with the labels, 0 and 1, the predicted ones, and the probabilities of class 1, or
    #: values of the decision function.
    function: Callable[[Ints, Ints, Floats], float]
    #: Whether it is missing for a classifier without probabilities.
    needs_probabilities: bool = False


#: All scores, by the names of their columns in results.
SCORES = {
    "auprc": Score("AUPRC", True, lambda y, _, ranking: average_precision_score(y, ranking)),
    "roc_auc": Score("ROC-AUC", True, lambda y, _, ranking: roc_auc_score(y, ranking)),
    "f1": Score("F1", True, lambda y, predicted, _: f1_score(y, predicted, zero_division=0)),
    "balanced_accuracy": Score(
        "balanced accuracy", True, lambda y, predicted, _: balanced_accuracy_score(y, predicted)
    ),
    "g_mean": Score("G-mean", True, lambda y, predicted, _: geometric_mean_score(y, predicted)),
    "brier": Score("Brier score", False, lambda y, _, p: brier_score_loss(y, p), True),
    "asymmetric_risk": Score(
        "asymmetric risk, 10:1",
        False,
        lambda y, predicted, _: asymmetric_risk(y, predicted, cost_fn=10),
    ),
}


def score(classifier: Any, X: Floats, y: Ints) -> dict[str, float | None]:
    """Return the scores of a fitted classifier of the classes 0 and 1, by the names of `SCORES`.

    Samples are ranked by probability, or by the decision function of a classifier without
    probabilities.
    """
    predicted = classifier.predict(X)
    soft = hasattr(classifier, "predict_proba")
    if soft:
        classes = list(getattr(classifier, "classes_", (0, 1)))
        ranking = classifier.predict_proba(X)[:, classes.index(1)]
    elif hasattr(classifier, "decision_function"):
        ranking = classifier.decision_function(X)
    else:
        raise TypeError("the classifier has neither predict_proba nor decision_function")
    if not np.isfinite(ranking).all():
        raise ValueError("the classifier returned scores that are not finite")
    scores: dict[str, float | None] = {}
    for name, one in SCORES.items():
        missing = one.needs_probabilities and not soft
        value = None if missing else float(one.function(y, predicted, ranking))
        if value is not None and not isfinite(value):
            raise ValueError(f"{name} is not a finite number on these test samples")
        scores[name] = value
    return scores
