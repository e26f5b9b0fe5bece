"""CorrectedPosterior: probabilities of a classifier after a sampler, put back to the true scale."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from rectifold._core.documentation import DocumentationLink
from rectifold._core.errors import Param, ParameterError
from rectifold._core.target import named
from rectifold.model_selection._predictions import predicted_labels
from rectifold.model_selection._trials import class_sizes
from rectifold.posterior import reweighted


class CorrectedPosterior(DocumentationLink, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Correct the probabilities of a classifier for a sampler that changes the class sizes.

    A classifier that is fitted on resampled data takes the rare class for as frequent as it is
    there. The odds of every class are multiplied by its number of samples before resampling,
    divided by the number after it.

    Parameters
    ----------
    estimator : Pipeline of imbalanced-learn
        Any steps, with one or several samplers among them, and last a classifier with
        `predict_proba`. It is cloned.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    estimator_ : Pipeline
        The fitted pipeline, whose probabilities are not corrected.

    class_shares_ : ndarray of shape (n_classes,)
        The number of samples of each class that the classifier was fitted on, divided by the number
        before resampling.

    n_features_in_ : int
        Number of features seen during `fit`, if the pipeline has it.

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
    The correction is exact if resampling draws from every class at random, as random under-sampling
    and over-sampling do. For synthetic samples and for cleaning, which is local, it is approximate.
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
    0.1
    """

    _parameter_constraints: dict[str, Any] = {"estimator": [HasMethods(["fit"])]}  # noqa: RUF012

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> "CorrectedPosterior":
        """Fit the pipeline, and count the samples that its classifier gets.

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
        pipeline = clone(self.estimator)
        if not hasattr(pipeline, "steps"):
            raise TypeError(
                f"estimator is a {type(pipeline).__name__}: it must be a pipeline of "
                "imbalanced-learn with a sampler and a classifier."
            )
        if not hasattr(pipeline, "predict_proba"):
            raise ParameterError(
                "the last step of {} must be a classifier with predict_proba.", Param("estimator")
            )
        name, classifier = pipeline.steps[-1]
        counting = _Counting(classifier)
        pipeline.steps[-1] = name, counting
        pipeline.fit(X, y, **params)
        pipeline.steps[-1] = name, classifier
        self.estimator_, self.classes_ = pipeline, np.unique(np.asarray(y))
        shares = class_sizes(counting.labels, self.classes_) / class_sizes(y, self.classes_)
        if not shares.all():
            raise ParameterError(
                "the samplers of {} leave no sample of class {}.",
                Param("estimator"),
                named(self.classes_[shares.argmin()]),
            )
        self.class_shares_ = shares
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(pipeline, attribute):
                setattr(self, attribute, getattr(pipeline, attribute))
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
        return reweighted(np.asarray(self.estimator_.predict_proba(X)), 1 / self.class_shares_)

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
