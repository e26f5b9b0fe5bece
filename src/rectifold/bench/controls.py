"""Plain bagging, the control of the ensembles; stores record its import path, so it is public."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import BaggingClassifier
from sklearn.utils.metaestimators import available_if


def _has_probabilities(self: Bagging) -> bool:
    return hasattr(self.estimator, "predict_proba")


class Bagging(BaggingClassifier):
    """scikit-learn's bagging, with averaged decision functions if there are no probabilities.

    scikit-learn averages the predicted labels of such estimators, which ranks samples much more
    coarsely and makes a weak control.
    """

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the average probabilities of the estimators."""
        return super().predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Predict labels by average probabilities, or else by average decision functions."""
        if _has_probabilities(self):
            return super().predict(X)
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
