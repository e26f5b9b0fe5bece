"""The scores of a fitted classifier on test samples."""

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

#: Names of the scores, and whether higher is better.
SCORES = {
    "auprc": True,
    "roc_auc": True,
    "f1": True,
    "balanced_accuracy": True,
    "g_mean": True,
    "brier": False,
    "asymmetric_risk": False,
}


def score(classifier: Any, X: Floats, y: Ints) -> dict[str, float | None]:
    """Return the scores of a fitted classifier of the classes 0 and 1, by the names of `SCORES`.

    Samples are ranked by probability, or by the decision function of a classifier without
    probabilities, which has no Brier score.
    """
    predicted = classifier.predict(X)
    brier = None
    if hasattr(classifier, "predict_proba"):
        classes = list(getattr(classifier, "classes_", (0, 1)))
        ranking = classifier.predict_proba(X)[:, classes.index(1)]
        brier = float(brier_score_loss(y, ranking))
    elif hasattr(classifier, "decision_function"):
        ranking = classifier.decision_function(X)
    else:
        raise TypeError("the classifier has neither predict_proba nor decision_function")
    if not np.isfinite(ranking).all():
        raise ValueError("the classifier returned scores that are not finite")
    scores = {
        "auprc": float(average_precision_score(y, ranking)),
        "roc_auc": float(roc_auc_score(y, ranking)),
        "f1": float(f1_score(y, predicted, zero_division=0)),
        "balanced_accuracy": float(balanced_accuracy_score(y, predicted)),
        "g_mean": float(geometric_mean_score(y, predicted)),
        "brier": brier,
        "asymmetric_risk": asymmetric_risk(y, predicted, cost_fn=10),
    }
    wrong = [name for name, value in scores.items() if value is not None and not isfinite(value)]
    if wrong:
        raise ValueError(f"{wrong[0]} is not a finite number on these test samples")
    return scores
