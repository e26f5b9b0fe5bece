"""Predictions of fitted classifiers: recorded while they are scored, replayed, and joined."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Ints
from rectifold.model_selection._folds import Fold
from rectifold.posterior import reweighted

#: Outputs of a classifier for some samples, by the name of the method.
Predictions: TypeAlias = Mapping[str, Any]

_METHODS = ("predict_proba", "decision_function", "predict_log_proba", "predict")


class Recorder(ClassifierMixin, BaseEstimator):
    """A fitted classifier that records the predictions a scorer asks it for.

    With `factors`, one per class, it predicts the probabilities multiplied by them.
    """

    def __init__(self, model: Any, factors: Any = None) -> None:
        self.model = model
        self.factors = factors
        self.predictions: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the classifier, methods for prediction with recording."""
        if name.startswith("__") or name in ("model", "factors", "predictions"):
            raise AttributeError(name)
        if name == "decision_function" and self.factors is not None:
            raise AttributeError(name)
        value = getattr(self.model, name)
        return self._recording(name, value) if name in _METHODS else value

    def _recording(self, name: str, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def predict(X: Any) -> Any:
            self.predictions[name] = self._predict(name, method, X)
            return self.predictions[name]

        # Scorers of scikit-learn distinguish methods by their names.
        predict.__name__ = name
        return predict

    def _predict(self, name: str, method: Callable[[Any], Any], X: Any) -> Any:
        if self.factors is None:
            return method(X)
        probabilities = reweighted(self.model.predict_proba(X), self.factors)
        if name == "predict":
            return self.model.classes_[probabilities.argmax(axis=1)]
        return probabilities if name == "predict_proba" else np.log(probabilities)


class Replay(ClassifierMixin, BaseEstimator):
    """A classifier that returns given predictions, whatever its input."""

    def __init__(self, classes_: Any, predictions: Predictions) -> None:
        self.classes_ = classes_
        self.predictions = predictions

    def __getattr__(self, name: str) -> Any:
        """Return a method whose predictions are given."""
        if name in _METHODS and name in self.predictions:

            def predict(X: Any) -> Any:
                return self.predictions[name]

            predict.__name__ = name
            return predict
        raise AttributeError(f"there are no recorded predictions of {name}")


def score_checked(scorer: Callable[..., float], model: Any, X: Any, y: Any, **params: Any) -> float:
    """Return the score of a fitted classifier, or raise an error if it is not a finite number."""
    try:
        score = float(scorer(model, X, y, **params))
    except Exception as error:
        error.add_note("This happened while scoring samples that a fold held out.")
        raise
    if not np.isfinite(score):
        raise ParameterError(
            "{} returned {}: a scorer must return a finite number.", Param("scoring"), str(score)
        )
    return score


def pool(
    folds: Sequence[Fold], predictions: Sequence[Predictions]
) -> Iterator[tuple[Ints, Predictions]]:
    """Yield, for each repeat, the indices of its test samples and their predictions, joined."""
    for repeat in sorted({fold.repeat for fold in folds}):
        parts = [
            (fold.test, part)
            for fold, part in zip(folds, predictions, strict=True)
            if fold.repeat == repeat
        ]
        yield (
            np.concatenate([test for test, _ in parts]),
            {name: np.concatenate([part[name] for _, part in parts]) for name in parts[0][1]},
        )


def predicted_labels(predictions: Predictions, classes: Any) -> Any:
    """Return the label that probabilities, or else decision functions, are highest for."""
    if "predict_proba" in predictions:
        return classes[np.argmax(predictions["predict_proba"], axis=1)]
    values = predictions["decision_function"]
    return classes[(values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)]
