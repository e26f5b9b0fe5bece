"""Class weights, and a choice among common samplers by the same guard as RectifiedClassifier."""

import numbers
import warnings
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import EditedNearestNeighbours
from sklearn.base import _fit_context, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing, compute_sample_weight
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import has_fit_parameter

from rectifold._core.target import Target
from rectifold._core.utils import Floats
from rectifold.bench.controls._averages import Averaged, ranking
from rectifold.bench.controls._guard import compare_rankings, folds_and_seed, seed_of, seeded_clone
from rectifold.model_selection._folds import Fold
from rectifold.model_selection._scorers import SOFT
from rectifold.model_selection._selection import best_candidate

_NONE, _WEIGHTS = "None", "ClassWeights"
_SAMPLERS = {one.__name__: one for one in (RandomOverSampler, SMOTE, EditedNearestNeighbours)}
#: What a Chooser chooses from.
CANDIDATES = (_NONE, *_SAMPLERS, _WEIGHTS)


class ClassWeights(Averaged):
    """Classifier with balanced class weights, if it can be weighted.

    The parameter `class_weight` of the classifier becomes "balanced", also where it is that of an
    estimator inside the classifier. A classifier without that parameter gets balanced weights of
    samples if its `fit` takes `sample_weight`, and otherwise is fitted as it is (nearest
    neighbours). Of a pipeline, the last step is weighted.

    Parameters
    ----------
    estimator : classifier
        The classifier. It is cloned.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    estimators_ : list of classifier
        The fitted classifier alone.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only if `X` has feature names that are all
        strings.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rectifold.bench.controls import ClassWeights
    >>> X, y = make_classification(weights=[0.9], random_state=0)
    >>> ClassWeights(LogisticRegression()).fit(X, y).estimators_
    [LogisticRegression(class_weight='balanced')]
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"])],
    }

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> "ClassWeights":
        """Fit the classifier with balanced weights.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : ClassWeights
            Fitted estimator.
        """
        X, target = self._check_input(X, y)
        self.estimators_ = [_fit(_WEIGHTS, clone(self.estimator), X, target.values, 0)]
        return self


class Chooser(Averaged):
    """Classifier after the best of a few common samplers, if that is better than none.

    The candidates are no change, random over-sampling, SMOTE, edited nearest neighbours and
    balanced class weights, with their default parameters. The choice is made as by
    :class:`rectifold.RectifiedClassifier`: on the same folds (repeated twice if the smaller class
    has fewer than 500 samples), by the average precision of the out-of-fold predictions of a
    repeat, and only if the gain over no change exceeds `min_gain_se` standard errors; a candidate
    that is behind after the first repeat is not tried in the second. So it measures how much of a
    gain comes from choosing, whatever is chosen from.

    Parameters
    ----------
    estimator : classifier
        The classifier. It is cloned.

    cv : int, default=5
        Number of folds.

    min_gain_se : float, default=1.0
        Number of standard errors of the differences over folds that the gain must exceed.

    random_state : int, RandomState instance or None, default=0
        Controls the folds, the samplers, and the classifiers fitted on folds. The final classifier
        keeps its own `random_state`.

    Attributes
    ----------
    best_ : str
        The candidate that was chosen.

    gains_ : dict of str to (float, float)
        For every candidate that could be tried the gain in average precision over no change, and
        its standard error.

    classes_ : ndarray of shape (2,)
        The class labels.

    estimators_ : list of classifier
        The fitted classifier alone.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only if `X` has feature names that are all
        strings.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rectifold.bench.controls import Chooser
    >>> X, y = make_classification(n_samples=400, weights=[0.85], random_state=0)
    >>> model = Chooser(DecisionTreeClassifier(random_state=0)).fit(X, y)
    >>> model.best_
    'None'
    >>> list(model.gains_)
    ['None', 'RandomOverSampler', 'SMOTE', 'EditedNearestNeighbours', 'ClassWeights']
    """

    _binary = True
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"])],
        "cv": [Interval(numbers.Integral, 2, None, closed="left")],
        "min_gain_se": [Interval(numbers.Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator: Any, *, cv: int = 5, min_gain_se: float = 1.0, random_state: Any = 0
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.min_gain_se = min_gain_se
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> "Chooser":
        """Try all candidates on the folds, and fit the classifier after the best one.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self : Chooser
            Fitted estimator.
        """
        X, target = self._check_input(X, y)
        folds, seed = folds_and_seed(self.cv, X, target, self.random_state)
        positive = target.codes == target.sizes.argmin()
        rankings: dict[str, list[Floats]] = {name: [] for name in CANDIDATES}
        tried = list(CANDIDATES)
        for repeat in sorted({fold.repeat for fold in folds}):
            now = [fold for fold in folds if fold.repeat == repeat]
            for name in tried:
                try:
                    rankings[name] += [self._out_of_fold(name, X, target, f, seed) for f in now]
                except _NotResampledError as error:
                    # SMOTE needs six samples of the smaller class.
                    message = f"{name} could not be tried: {error}"
                    warnings.warn(message, FitFailedWarning, stacklevel=2)
                    del rankings[name]
            gains = compare_rankings(folds, positive, list(rankings.values()))
            self.gains_ = {
                name: (float(gain), float(error))
                for name, gain, error in zip(rankings, gains.gain, gains.gain_se, strict=True)
            }
            # A candidate that is behind is not tried again.
            tried = [name for name, (gain, _) in self.gains_.items() if name == _NONE or gain > 0]
            if tried == [_NONE]:
                break
        self.best_ = list(rankings)[best_candidate(gains, self.min_gain_se)]
        self.estimators_ = [_fit(self.best_, clone(self.estimator), X, target.values, seed)]
        return self

    def _out_of_fold(self, name: str, X: Any, target: Target, fold: Fold, seed: int) -> Floats:
        """Return the ranking of a fold's test samples after a candidate."""
        seed = seed_of(fold, seed)
        X_train, y_train = _safe_indexing(X, fold.train), target.values[fold.train]
        model = _fit(name, seeded_clone(self.estimator, seed), X_train, y_train, seed)
        # Decision functions first, like scikit-learn's scorer "average_precision".
        X_test, smaller = _safe_indexing(X, fold.test), int(target.sizes.argmin())
        return ranking(model, X_test, smaller, SOFT[::-1])


class _NotResampledError(ValueError):
    """A sampler failed, or left one class only."""


def _fit(name: str, model: Any, X: Any, y: Any, seed: int) -> Any:
    """Fit a model in place after a candidate, and return it."""
    if name in _SAMPLERS:
        try:
            X, y = seeded_clone(_SAMPLERS[name](), seed).fit_resample(X, y)
        except Exception as error:
            raise _NotResampledError(str(error)) from error
        if len(np.unique(y)) < 2:
            raise _NotResampledError("resampling left one class only")
    return model.fit(X, y, **(_balance(model, y) if name == _WEIGHTS else {}))


def _balance(model: Any, y: Any) -> dict[str, Any]:
    """Balance the class weights of a model, or else return the parameters of `fit` that do."""
    path = ""
    # Earlier steps can have weights of another meaning, such as GMR.
    while hasattr(model, "steps"):
        step, model = model.steps[-1]
        path += f"{step}__"
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "class_weight"]
    if names:
        model.set_params(**dict.fromkeys(names, "balanced"))
        return {}
    if not has_fit_parameter(model, "sample_weight"):
        return {}
    return {f"{path}sample_weight": compute_sample_weight("balanced", y)}
