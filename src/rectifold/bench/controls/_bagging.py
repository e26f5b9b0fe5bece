"""Bagging and balanced bagging that average decision functions if there are no probabilities."""

from typing import Any

from imblearn.ensemble import BalancedBaggingClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.utils.metaestimators import available_if

from rectifold.model_selection._predictions import predicted_labels


def _has_probabilities(self: Any) -> bool:
    # None is a decision tree. Estimators with neither method vote, as in scikit-learn.
    one = self.estimator
    return one is None or hasattr(one, "predict_proba") or not hasattr(one, "decision_function")


class _AverageOutputs:
    """Average decision functions of estimators without probabilities.

    scikit-learn averages the predicted labels of such estimators, which ranks samples much more
    coarsely and makes a weak control.
    """

    estimator: Any
    classes_: Any
    decision_function: Any

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the average probabilities of the estimators."""
        return super().predict_proba(X)  # type: ignore[misc]

    def predict(self, X: Any) -> Any:
        """Predict labels by average probabilities, or else by average decision functions."""
        if _has_probabilities(self):
            return super().predict(X)  # type: ignore[misc]
        return predicted_labels({"decision_function": self.decision_function(X)}, self.classes_)


class Bagging(_AverageOutputs, BaggingClassifier):
    """scikit-learn's bagging, with averaged decision functions if there are no probabilities."""


class BalancedBagging(_AverageOutputs, BalancedBaggingClassifier):
    """imbalanced-learn's balanced bagging, with averaged decision functions like `Bagging`."""
