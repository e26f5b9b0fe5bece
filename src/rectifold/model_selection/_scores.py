"""The scores of one fit on its test rows."""

from __future__ import annotations

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

#: Each score, and whether more of it is better.
SCORES = {
    "auprc": True,
    "roc_auc": True,
    "f1": True,
    "balanced_accuracy": True,
    "g_mean": True,
    "brier": False,
    "asymmetric_risk": False,
}
#: What a missed positive costs in the asymmetric risk, where a false alarm costs 1.
COST = 10.0


def score(classifier: Any, X: Floats, y: Ints) -> dict[str, float | None]:
    """Score a fitted classifier.

    Parameters
    ----------
    classifier : classifier
        It knows the classes 0 and 1.
    X : ndarray
        Test rows.
    y : ndarray of int
        Their classes.

    Returns
    -------
    dict of str to float or None
        Under the names of `SCORES`. Rows are ranked by probability, or by the decision function
        where a classifier gives none; the Brier score, which is of probabilities, is None then.
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
        raise ValueError("the classifier gave scores that are no finite numbers")
    scores = {
        "auprc": float(average_precision_score(y, ranking)),
        "roc_auc": float(roc_auc_score(y, ranking)),
        "f1": float(f1_score(y, predicted, zero_division=0)),
        "balanced_accuracy": float(balanced_accuracy_score(y, predicted)),
        "g_mean": float(geometric_mean_score(y, predicted)),
        "brier": brier,
        "asymmetric_risk": asymmetric_risk(y, predicted, cost_fn=COST),
    }
    wrong = [name for name, value in scores.items() if value is not None and not isfinite(value)]
    if wrong:
        raise ValueError(f"{wrong[0]} is no finite number on these test rows")
    return scores
