"""The basis of the controls: a classifier whose members' outputs are averaged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from rectifold._core.errors import Param, ParameterError
from rectifold._core.target import Target, encode_for
from rectifold._core.utils import Floats
from rectifold.model_selection._predictions import predicted_labels
from rectifold.model_selection._scorers import SOFT, check_classifier


def _has(name: str) -> Any:
    def check(self: "Averaged") -> bool:
        fitted = getattr(self, "estimators_", None)
        return hasattr(fitted[0] if fitted else self.estimator, name)

    return available_if(check)


class Averaged(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classifier that averages the outputs of the fitted classifiers in `estimators_`."""

    estimator: Any
    estimators_: list[Any]
    #: Whether there may be two classes only.
    _binary = False

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the average probabilities of the members."""
        check_is_fitted(self, "estimators_")
        return np.mean([model.predict_proba(X) for model in self.estimators_], axis=0)

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the average decision function of the members."""
        check_is_fitted(self, "estimators_")
        return np.mean([model.decision_function(X) for model in self.estimators_], axis=0)

    def predict(self, X: Any) -> Any:
        """Predict labels by average probabilities, or else by average decision functions."""
        check_is_fitted(self, "estimators_")
        if len(self.estimators_) == 1:
            return self.estimators_[0].predict(X)
        method = next(name for name in SOFT if hasattr(self, name))
        return predicted_labels({method: getattr(self, method)(X)}, self.classes_)

    def _check_input(self, X: Any, y: Any) -> tuple[Any, Target]:
        """Return samples that can be indexed, and the encoded labels; set what `fit` learns."""
        check_classifier(self.estimator, False)
        if self._binary and not any(
            hasattr(one, name) for one in (self.estimator, type(self.estimator)) for name in SOFT
        ):
            raise ParameterError(
                "{} is ranked by {}, and {} has none.",
                Param("estimator"),
                " or ".join(SOFT),
                type(self.estimator).__name__,
            )
        target = encode_for(self, X, y)
        check_consistent_length(X, target.values)
        if self._binary and len(target.classes) > 2:
            raise ParameterError(
                "Only binary classification is supported. The type of the target is multiclass: {} "
                "has {} classes.",
                Param("y"),
                str(len(target.classes)),
            )
        self.classes_ = target.classes
        (X,) = indexable(X)
        return X, target

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        of_classifier = inner.classifier_tags
        several = of_classifier is None or of_classifier.multi_class
        tags.classifier_tags.multi_class = several and not self._binary
        return tags


def ranking(model: Any, X: Any, position: int, methods: Sequence[str] = SOFT) -> Floats:
    """Return the probability of one of two classes, or the decision function in its favour.

    The first of `methods` that the model has is used.
    """
    method = next(name for name in methods if hasattr(model, name))
    values = np.asarray(getattr(model, method)(X))
    if method == "predict_proba":
        return values[:, position]
    return values if position == 1 else -values
