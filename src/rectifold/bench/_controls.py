"""Plain bagging, the control that every ensemble of ours stands beside."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import BaggingClassifier
from sklearn.utils.metaestimators import available_if


def _is_soft(self: Bagging) -> bool:
    return hasattr(self.estimator, "predict_proba")


class Bagging(BaggingClassifier):
    """scikit-learn's bagging, ranking by decision functions where members have no probabilities.

    scikit-learn lets the labels of such members vote, which ranks rows far more coarsely than
    their decision functions do: a control that is easy to beat.
    """

    @available_if(_is_soft)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Average the probabilities of the members.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        return super().predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Predict labels: by average probabilities, or else by average decision functions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Their labels.
        """
        if _is_soft(self):
            return super().predict(X)
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
