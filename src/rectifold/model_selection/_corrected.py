"""CorrectedPosterior: probabilities of a classifier after a sampler, put back to the true scale."""

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _check_method_params, check_is_fitted

from rectifold._core.documentation import DocumentationLink
from rectifold._core.errors import Param, ParameterError
from rectifold._core.target import encode_for, named
from rectifold._core.utils import Floats, Ints
from rectifold.model_selection._folds import Fold, make_folds
from rectifold.model_selection._predictions import predicted_labels
from rectifold.model_selection._trials import class_sizes
from rectifold.posterior import reweighted


class CorrectedPosterior(DocumentationLink, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Correct the probabilities of a classifier for a sampler that changes the class sizes.

    A classifier that is fitted on resampled data takes the rare class for as frequent as it is
    there. The odds of every class are multiplied by its number of samples before resampling,
    divided by the number after it, to a power from 0 (no correction) to 1: that with the lowest
    log loss in cross-validation.

    Parameters
    ----------
    estimator : Pipeline of imbalanced-learn
        Any steps, with one or several samplers among them, and last a classifier with
        `predict_proba`. It is cloned.

    cv : int, cross-validation generator, iterable or None, default=5
        The folds on which the strength of the correction is chosen; with an int they are
        stratified. None means full strength, without further fits.

    n_jobs : int, default=None
        Number of jobs to run in parallel over the folds. None means 1 unless in a
        ``joblib.parallel_backend`` context. -1 means using all processors.

    random_state : int, RandomState instance or None, default=0
        Controls the folds. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    estimator_ : Pipeline
        The fitted pipeline, whose probabilities are not corrected.

    class_shares_ : ndarray of shape (n_classes,)
        The number of samples of each class that the classifier was fitted on, divided by the number
        before resampling.

    strength_ : float
        The power of `class_shares_` that probabilities are divided by, from 0 to 1.

    n_features_in_ : int
        Number of features seen during `fit`. Defined only if `X` has columns.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only if `X` has feature names that are all
        strings.

    See Also
    --------
    RectifiedClassifier : Its parameter `correct_posterior` does the same after cleaning.
    rectifold.posterior.undo_posterior_shift : The correction for two classes, as a function.
    sklearn.calibration.CalibratedClassifierCV : Learns a correction from data.

    Notes
    -----
    The full correction is exact if resampling draws from every class at random, as random
    under-sampling and over-sampling do. Synthetic samples and cleaning are local: they change the
    class sizes more in some places than in others, and flexible classifiers, such as forests, need
    only a part of the correction. With the chosen strength the mean probability out of fold is the
    frequency of the class (of two classes, and unless no or the full correction is not enough).

    It does not concern ``class_weight`` of the classifier. Ranks of samples by the probability of
    one of two classes stay as they are.

    Predicted labels are those of the highest corrected probability. They are closer to those of the
    classifier without a sampler; to move the threshold, use
    :class:`sklearn.model_selection.TunedThresholdClassifierCV`.

    Examples
    --------
    >>> from imblearn.pipeline import make_pipeline
    >>> from imblearn.under_sampling import RandomUnderSampler
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rectifold import CorrectedPosterior
    >>> X, y = make_classification(n_samples=2000, weights=[0.9], class_sep=0.5, random_state=0)
    >>> model = make_pipeline(RandomUnderSampler(random_state=0), LogisticRegression())
    >>> round(float(model.fit(X, y).predict_proba(X)[:, 1].mean()), 2)
    0.24
    >>> corrected = CorrectedPosterior(model).fit(X, y)
    >>> round(float(corrected.predict_proba(X)[:, 1].mean()), 2)
    0.11
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"])],
        "cv": ["cv_object", None],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> "CorrectedPosterior":
        """Fit the pipeline, and determine how its probabilities are corrected.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Target values.

        **params : dict
            Passed to the `fit` of the pipeline.

        Returns
        -------
        self : CorrectedPosterior
            Fitted estimator.
        """
        _check(self.estimator)
        target = encode_for(self, X, y, min_size=1 if self.cv is None else 2)
        y, self.classes_, self.strength_ = target.values, target.classes, 1.0
        folds: list[Fold] = []
        if self.cv is not None:
            settings = {"random_state": self.random_state, "repeats": 1}
            folds = make_folds(self.cv, X, target, None, **settings)
        self.estimator_, self.class_shares_ = _fit_counting(self.estimator, X, y, params)
        if folds and (self.class_shares_ != 1).any():
            tried = Parallel(n_jobs=self.n_jobs)(
                delayed(_predict_fold)(self.estimator, X, y, params, fold) for fold in folds
            )
            probabilities, shares = map(np.concatenate, zip(*tried, strict=True))
            codes = np.concatenate([target.codes[fold.test] for fold in folds])
            self.strength_ = _best_strength(probabilities, shares, codes)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """Return the corrected probabilities.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "class_shares_")
        probabilities = np.asarray(self.estimator_.predict_proba(X))
        return reweighted(probabilities, self.class_shares_**-self.strength_)

    def predict(self, X: Any) -> Any:
        """Predict the labels of the highest corrected probabilities.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels.
        """
        return predicted_labels({"predict_proba": self.predict_proba(X)}, self.classes_)

    def get_metadata_routing(self) -> Any:
        """Get metadata routing of this object.

        Returns
        -------
        MetadataRouter
            From `fit` to the `fit` of the pipeline.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.input_tags = of_estimator.input_tags
        if of_estimator.classifier_tags is not None:
            tags.classifier_tags.multi_class = of_estimator.classifier_tags.multi_class
        return tags


def _check(estimator: Any) -> None:
    if not hasattr(estimator, "steps"):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: it must be a pipeline of "
            "imbalanced-learn with a sampler and a classifier."
        )
    if not hasattr(estimator, "predict_proba"):
        raise ParameterError(
            "the last step of {} must be a classifier with predict_proba.", Param("estimator")
        )


def _fit_counting(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> tuple[Any, Floats]:
    """Return the fitted pipeline and the class shares."""
    pipeline, classes = clone(estimator), np.unique(y)
    name, classifier = pipeline.steps[-1]
    counting = _Counting(classifier)
    pipeline.steps[-1] = name, counting
    pipeline.fit(X, y, **params)
    pipeline.steps[-1] = name, classifier
    shares = class_sizes(counting.labels, classes) / class_sizes(y, classes)
    if not shares.all():
        raise ParameterError(
            "the samplers of {} leave no sample of class {}.",
            Param("estimator"),
            named(classes[shares.argmin()]),
        )
    return pipeline, shares


def _predict_fold(
    estimator: Any, X: Any, y: Any, params: dict[str, Any], fold: Fold
) -> tuple[Floats, Floats]:
    """Return uncorrected probabilities of the test samples, and the class shares for each."""
    params = _check_method_params(X, params, fold.train)
    X_train, y_train = _safe_indexing(X, fold.train), _safe_indexing(y, fold.train)
    pipeline, shares = _fit_counting(estimator, X_train, y_train, params)
    probabilities = np.asarray(pipeline.predict_proba(_safe_indexing(X, fold.test)))
    return probabilities, np.broadcast_to(shares, probabilities.shape)


def _best_strength(probabilities: Floats, shares: Floats, codes: Ints) -> float:
    """Return the strength from 0 to 1 with the lowest log loss.

    The loss is convex in the strength. Its slope is the mean logarithm of the shares of the true
    classes minus its expectation by the corrected probabilities.
    """
    logarithms = np.log(shares)
    true = logarithms[np.arange(len(codes)), codes].mean()

    def slope(strength: float) -> float:
        expected = (reweighted(probabilities, shares**-strength) * logarithms).sum(axis=1).mean()
        return float(true - expected)

    if slope(0) >= 0:
        return 0.0
    return 1.0 if slope(1) <= 0 else float(brentq(slope, 0, 1))


class _Counting:
    """The last step of a pipeline, which keeps the labels that it is fitted on."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any, **params: Any) -> "_Counting":
        self.labels = y
        self.classifier.fit(X, y, **params)
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "classifier":
            raise AttributeError(name)
        return getattr(self.classifier, name)
