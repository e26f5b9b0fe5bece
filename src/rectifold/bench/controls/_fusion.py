"""Fusion with a second classifier: the control of the fusion with the neighbour vote."""

import numbers
from typing import Any

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rectifold._core.utils import Floats
from rectifold.bench.controls._averages import Averaged, ranking
from rectifold.bench.controls._guard import (
    compare_rankings,
    exceeds_error,
    folds_and_seed,
    seed_of,
    seeded_clone,
)

#: The weights of the partner that are tried.
WEIGHTS = tuple(step / 10 for step in range(11))


def _has_probabilities(self: "Fused") -> bool:
    return getattr(self, "weight_", 0) > 0 or hasattr(self.estimator, "predict_proba")


def _has_decisions(self: "Fused") -> bool:
    return hasattr(self.estimator, "decision_function")


class Fused(Averaged):
    """Classifier whose probabilities are averaged with those of a second classifier.

    The probability is ``(1 - w)`` times that of the classifier plus ``w`` times that of the
    partner. The weight w is the one of 0, 0.1, ..., 1 with the highest average precision of
    out-of-fold predictions, or 0 if its gain does not exceed `min_gain_se` standard errors. That is
    how :class:`rectifold.RectifiedClassifier` chooses the weight of the vote, on the same folds. So
    it measures how much of a gain comes from averaging with any second classifier.

    Parameters
    ----------
    estimator : classifier
        The classifier. It is cloned.

    partner : {"forest", "logistic"} or classifier, default="forest"
        The second classifier. "forest" is a random forest of 100 trees, "logistic" a logistic
        regression on standardised features. Another one is cloned, and needs `predict_proba`.

    cv : int, default=5
        Number of folds.

    min_gain_se : float, default=1.0
        Number of standard errors of the differences over folds that the gain must exceed.

    random_state : int, RandomState instance or None, default=0
        Controls the folds, the partner, and the classifiers fitted on folds. The final classifier
        keeps its own `random_state`.

    Attributes
    ----------
    weight_ : float
        The weight of the partner.

    gains_ : dict of float to (float, float)
        For every weight the gain in average precision over the classifier alone, and its standard
        error.

    classes_ : ndarray of shape (2,)
        The class labels.

    estimators_ : list of classifier
        The fitted classifier, and the fitted partner if its weight is not 0.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only if `X` has feature names that are all
        strings.

    Notes
    -----
    The decision function of a classifier without probabilities is mapped to them by Platt's
    logistic function, fitted on the out-of-fold values of all repeats. It is increasing, so the
    weight 0 is scored the same with and without it.

    If the weight is 0, all predictions are those of the classifier. Otherwise the predicted label
    is that of the higher probability, and the decision function of a classifier that has one is
    the difference of the two probabilities.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from rectifold.bench.controls import Fused
    >>> X, y = make_classification(n_samples=400, weights=[0.85], random_state=0)
    >>> model = Fused(GaussianNB(), "logistic").fit(X, y)
    >>> 0 <= model.weight_ <= 1
    True
    """

    _binary = True
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"])],
        "partner": [
            StrOptions({"forest", "logistic"}),
            HasMethods(["fit", "predict_proba"]),
        ],
        "cv": [Interval(numbers.Integral, 2, None, closed="left")],
        "min_gain_se": [Interval(numbers.Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        partner: Any = "forest",
        *,
        cv: int = 5,
        min_gain_se: float = 1.0,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.partner = partner
        self.cv = cv
        self.min_gain_se = min_gain_se
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> "Fused":
        """Choose the weight on the folds, and fit the classifier and its partner.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self : Fused
            Fitted estimator.
        """
        X, target = self._check_input(X, y)
        folds, seed = folds_and_seed(self.cv, X, target, self.random_state)
        self._position = int(target.sizes.argmin())
        positive = target.codes == self._position
        values: list[list[Floats]] = [[], []]
        for fold in folds:
            X_train, y_train = _safe_indexing(X, fold.train), target.values[fold.train]
            X_test = _safe_indexing(X, fold.test)
            for model, out_of_fold in zip((self.estimator, self._partner()), values, strict=True):
                one = seeded_clone(model, seed_of(fold, seed)).fit(X_train, y_train)
                out_of_fold.append(ranking(one, X_test, self._position))
        own, other = values
        classifier = clone(self.estimator).fit(X, target.values)
        self._calibration = None
        if not hasattr(classifier, "predict_proba"):
            tests = np.concatenate([fold.test for fold in folds])
            self._calibration = _SigmoidCalibration().fit(np.concatenate(own), positive[tests])
        gains = compare_rankings(
            folds,
            positive,
            [
                own,
                *(
                    [self._mix(a, b, w) for a, b in zip(own, other, strict=True)]
                    for w in WEIGHTS[1:]
                ),
            ],
        )
        self.gains_ = {
            weight: (float(gain), float(error))
            for weight, gain, error in zip(WEIGHTS, gains.gain, gains.gain_se, strict=True)
        }
        best = int(gains.gain.argmax())
        self.weight_ = WEIGHTS[best] if exceeds_error(gains, best, self.min_gain_se) else 0.0
        self.estimators_ = [classifier]
        if self.weight_:
            partner = seeded_clone(self._partner(), seed).fit(X, target.values)
            self.estimators_.append(partner)
        return self

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the weighted average of the probabilities."""
        check_is_fitted(self, "estimators_")
        if not self.weight_:
            return self.estimators_[0].predict_proba(X)
        own, other = (ranking(model, X, self._position) for model in self.estimators_)
        fused = self._mix(own, other, self.weight_)
        return np.column_stack([1 - fused, fused][:: 1 if self._position else -1])

    @available_if(_has_decisions)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the decision function of the classifier, or the difference of probabilities."""
        check_is_fitted(self, "estimators_")
        if not self.weight_:
            return self.estimators_[0].decision_function(X)
        return 2 * self.predict_proba(X)[:, 1] - 1

    def _mix(self, own: Floats, other: Floats, weight: float) -> Floats:
        """Return the weighted average of the outputs of the classifier and of its partner."""
        if self._calibration is not None:
            own = self._calibration.predict(own)
        return (1 - weight) * own + weight * other

    def _partner(self) -> Any:
        if self.partner == "forest":
            return RandomForestClassifier()
        if self.partner == "logistic":
            return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        return self.partner

    def __sklearn_tags__(self) -> Any:
        tags, partner = super().__sklearn_tags__(), get_tags(self._partner())
        tags.input_tags.sparse &= partner.input_tags.sparse
        tags.input_tags.allow_nan &= partner.input_tags.allow_nan
        return tags
