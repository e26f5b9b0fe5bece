"""RectifiedClassifier: a classifier with the vote of the nearest samples, on cleaned data."""

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rectifold._core.documentation import DocumentationLink
from rectifold.model_selection._explanation import Explanation, explain
from rectifold.model_selection._fusion import as_probabilities, fuse
from rectifold.model_selection._gains import Outcome, Search
from rectifold.model_selection._predictions import predicted_labels
from rectifold.model_selection._refit import fit_voter, refit, results_table
from rectifold.model_selection._scorers import SOFT, scorer_for
from rectifold.model_selection._search import explore, sampler_of
from rectifold.model_selection._selection import best_fusion, eliminate
from rectifold.posterior import reweighted


def _offers(model: "RectifiedClassifier", name: str) -> bool:
    """Return whether the classifier that is wrapped has a method."""
    fitted = getattr(model, "estimators_", None)
    return hasattr(fitted[0] if fitted else model.estimator, name)


def _has_probabilities(self: "RectifiedClassifier") -> bool:
    fuses = not (isinstance(self.vote_weight, numbers.Real) and self.vote_weight == 0)
    if hasattr(self, "estimators_"):
        fuses = self._scale is not None
    return _offers(self, "predict_proba") or (fuses and _offers(self, "decision_function"))


def _has_decisions(self: "RectifiedClassifier") -> bool:
    # Otherwise it would contradict the labels, which follow corrected probabilities.
    return not self.correct_posterior and _offers(self, "decision_function")


class RectifiedClassifier(DocumentationLink, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classifier fused with a vote of the nearest training samples, and fitted on cleaned data.

    The predicted probability is ``(1 - w)`` times that of the classifier plus ``w`` times the vote
    of :class:`rectifold.NeighborVoteClassifier`: the share of a class among the nearest training
    samples, weighted by their inverse distances, and among those in the same leaves of a forest.
    The classifier may be fitted on data cleaned by :class:`rectifold.GMR`.

    The weight w, the share of the leaves in the vote, and the setting of GMR, or no cleaning, are
    chosen by cross-validation inside the training data. The vote and cleaning are used only if
    their gain exceeds `min_gain_se` standard errors; otherwise the model is the classifier alone.

    Parameters
    ----------
    estimator : classifier
        The classifier to fit. It is cloned. The vote needs one with `predict_proba` or
        `decision_function`.

    sampler : GMR, default=None
        Parameters that all settings have in common, such as ``GMR(space=StandardScaler())`` for
        features on different scales. None means ``GMR()``, and ``GMR(space="auto")`` for a table
        with text, categories, dates or missing values.

    param_grid : "auto", dict, list or callable, default="auto"
        The settings to choose from; no cleaning is always among them.

        - "auto": a few that experiments have shown to be worth trying (see Notes);
        - a dict of parameters of GMR with lists of values: all combinations;
        - a list of dicts of parameters of GMR. The key ``"resampler"`` may hold an over-sampler
          for the cleaned samples: ``{"gamma": 0, "resampler": SMOTE()}``;
        - a function of `X` and `y` that returns one of these.

    cv : int, cross-validation generator or iterable, default=5
        The folds inside the training data. With an int they are stratified, and keep groups
        together if `fit` is passed ``groups``. They are repeated twice if the smallest class has
        fewer than 500 samples, or as often as `ensemble` needs.

    scoring : str or callable, default="average_precision"
        The score to compare settings by, as in scikit-learn. If a metric given by its name needs a
        positive class, that is the smallest class. A function of (estimator, X, y) is averaged
        over folds.

    min_gain_se : float, default=1.0
        Number of standard errors that a gain must exceed: that of the vote over the classifier
        alone, and that of cleaning over no cleaning. 0 chooses what has the highest score.

    ensemble : int, default=None
        None fits one classifier on all samples, with the setting that was chosen. An int m fits
        m classifiers on bootstrap samples of the cleaned data, drawn from every class by itself,
        and fuses their average with the vote. The predicted label is that of the highest average.

    correct_posterior : bool, default=False
        Correct the probabilities of the classifier for the samples removed
        (:func:`rectifold.posterior.undo_posterior_shift`), as far as removal was uniform. Effects
        of the estimator itself, such as ``class_weight``, remain. Predicted labels follow the
        corrected probabilities, and there is no `decision_function`.

    vote_weight : "auto" or float, default="auto"
        The weight of the vote, from 0 to 1. "auto" chooses from 0, 0.1, ..., 1 by `scoring`, which
        must be a metric or a scorer made by :func:`sklearn.metrics.make_scorer`. 0 turns the vote
        off.

    voter : NeighborVoteClassifier, default=None
        Parameters of the vote, such as ``NeighborVoteClassifier(n_neighbors=15)``. None means the
        default parameters. With its ``leaf_share="auto"`` and `vote_weight` "auto" the share of the
        leaves is chosen from 0.25, 0.5 and 0.75, with the weight and without cleaning.

    n_jobs : int, default=None
        Number of jobs to run in parallel over the folds. None means 1 unless in a
        ``joblib.parallel_backend`` context. -1 means using all processors. The result does not
        depend on it.

    random_state : int, RandomState instance or None, default=0
        Controls the folds, over-sampling, and the members of an ensemble. A single classifier
        keeps the `random_state` of `estimator`. Pass an int for reproducible results.

    verbose : int, default=0
        1 prints the setting that was chosen, 2 also the gain of every setting.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    sampler_ : GMR or None
        The chosen setting, fitted on all training samples; None if nothing was cleaned.

    estimator_ : classifier
        The fitted classifier; with an ensemble its first member.

    estimators_ : list of classifier
        All fitted classifiers: the members of the ensemble, or `estimator_` alone.

    vote_weight_ : float
        The weight of the vote.

    vote_ : NeighborVoteClassifier or None
        The classifier whose vote is fused, fitted on all training samples; None if its weight is 0.

    class_shares_ : ndarray of shape (n_estimators, n_classes)
        For every fitted classifier, the number of samples of each class after cleaning and
        over-sampling, divided by the number before.

    best_params_ : dict or None
        The parameters that `sampler_` has beyond those of `sampler`, and ``"resampler"`` if an
        over-sampler followed; None if nothing was cleaned.

    cv_results_ : dict
        One entry per setting under each key, no cleaning first; can be passed to
        :class:`pandas.DataFrame`.

        - ``params``: list of the settings, as dicts in the form of `param_grid`, None for no
          cleaning;
        - ``setting``: the same as written in Python;
        - ``vote_weight``: the weight of the vote that is best for it, at which it is scored;
        - ``split0_test_score``, ``split1_test_score``, ...: the score on every fold, NaN where
          the setting was no longer tried;
        - ``mean_test_score``, ``std_test_score``: over the folds on which it was tried;
        - ``gain``: the score over the classifier alone on the same folds, by which settings are
          compared (see Notes);
        - ``gain_se``: the standard error of the gain;
        - ``gain_without_vote``: the gain with a weight of 0;
        - ``rank_test_score``: the rank by ``gain``, 1 is best;
        - ``chosen``: whether it was chosen.

    rectification_ : Rectification or None
        The record of `sampler_`: for every training sample the decision and the reason.

    n_fits_ : int
        Number of classifiers fitted in all; settings that keep the same samples share one.

    n_features_in_ : int
        Number of features seen during `fit`, if the estimator has it.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only if `X` has feature names that are all
        strings.

    See Also
    --------
    GMR : The sampler alone.
    NeighborVoteClassifier : The vote alone.

    Notes
    -----
    Within a fold, neighbours are searched for once for all settings. The out-of-fold predictions of
    a repeat are scored together: with few samples of the minority class in each fold, averages of
    fold scores are noisy. Settings that are behind no cleaning after the first repeat are not
    tried in the second, each with its best weight of the vote.

    Votes for the samples of a fold come from the training part of the fold, before cleaning.
    Decision values of a classifier without probabilities are mapped to them by a logistic function
    through (0, 0.5), or a softmax, whose scale is fitted to out-of-fold values; no label changes.
    A prediction does not depend on the other samples in its batch, as far as that holds for the
    classifier.

    The settings of ``param_grid="auto"``, besides no cleaning: ``GMR(beta=0.5, gamma=0.3)``,
    ``GMR(alpha=0.7, gamma=0)`` and ``GMR(class_weight="balanced", gamma=0)``. Without a vote also
    ``GMR(gamma=0)``, ``GMR()``, ``GMR(alpha=0.7, beta=0.5, gamma=0.3)``, and ``GMR(gamma=0)``
    followed by random over-sampling. None of them gains if it is always used;
    :doc:`the guide </docs/guide/choosing>` has the reason for each.

    For the vote, a fitted model keeps the encoded features of the training data in single
    precision and a forest, unless its weight is 0, and no other copy of `X`. Sample weights are
    passed to the classifier and do not weight votes.

    `rectification_` refers to `X` and keeps up to 64 MiB of neighbours, so that
    ``rectification_.report()`` can show them; neither is pickled. To drop both:
    ``model.rectification_ = model.sampler_.rectification_ =
    model.rectification_.without_data()``. The fitted classifiers keep what they keep.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rectifold import RectifiedClassifier
    >>> X, y = make_classification(n_samples=600, n_features=4, weights=[0.9], flip_y=0.1,
    ...                            class_sep=0.8, random_state=0)
    >>> model = RectifiedClassifier(DecisionTreeClassifier(random_state=0)).fit(X, y)
    >>> model.vote_weight_ > 0
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"])],
        "sampler": [HasMethods(["fit_resample"]), None],
        "param_grid": [str, dict, list, tuple, callable],
        "cv": ["cv_object"],
        "scoring": [str, callable],
        "min_gain_se": [Interval(numbers.Real, 0, None, closed="left")],
        "ensemble": [Interval(numbers.Integral, 2, None, closed="left"), None],
        "correct_posterior": ["boolean"],
        "vote_weight": [StrOptions({"auto"}), Interval(numbers.Real, 0, 1, closed="both")],
        "voter": [HasMethods(["fit", "predict_proba"]), None],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        sampler: Any = None,
        param_grid: Any = "auto",
        cv: Any = 5,
        scoring: Any = "average_precision",
        min_gain_se: float = 1.0,
        ensemble: int | None = None,
        correct_posterior: bool = False,
        vote_weight: Any = "auto",
        voter: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.min_gain_se = min_gain_se
        self.ensemble = ensemble
        self.correct_posterior = correct_posterior
        self.vote_weight = vote_weight
        self.voter = voter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> "RectifiedClassifier":
        """Choose a setting, clean the data, and fit the classifier.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Target values.

        **params : dict
            ``groups`` is passed to the folds, everything else to the `fit` of the estimator; of an
            array with one entry per sample, those of the samples kept. With metadata routing
            enabled, parameters go to the estimator, the splitter and the scorer as requested.

        Returns
        -------
        self : RectifiedClassifier
            Fitted estimator.
        """
        self._select(explore(self, X, y, params))
        return self

    def _select(self, search: Search) -> None:
        """Choose candidates by the trials of a search, fit them, and set the attributes."""
        gains, chosen = None, 0
        weight, leaf_share = search.task.weights[0], search.task.leaf_shares[0]
        if search.folds:
            search, _, gains = eliminate(search)
            chosen, weight = best_fusion(gains, self.min_gain_se)
            leaf_share = gains.leaf_share
        final = refit(search, chosen, self.ensemble, self.n_jobs)
        self.classes_ = search.target.classes
        self.best_params_ = final.candidate.setting
        self.sampler_ = final.sampler
        self.rectification_ = None if final.sampler is None else final.sampler.rectification_
        self.estimators_ = [fit.model for fit in final.fits]
        self.class_shares_ = np.array([fit.class_shares for fit in final.fits])
        self.estimator_ = self.estimators_[0]
        self.vote_weight_, self.vote_ = weight, fit_voter(search, weight, leaf_share)
        # Maps decision values to probabilities; None without fusion.
        self._scale: float | None = None
        if search.task.voter is not None:
            self._scale = (
                Outcome.of(search, final.position, leaf_share).scale if search.folds else 1.0
            )
        self.n_fits_ = final.n_fits
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name) and not hasattr(self, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.cv_results_ = results_table(search.candidates, gains, final.position, weight)
        self._print_choice()

    def _print_choice(self) -> None:
        results = self.cv_results_
        if self.verbose > 1 and len(results["setting"]) > 1:
            columns = ("setting", "vote_weight", "gain", "gain_se")
            for name, weight, gain, error in zip(*map(results.get, columns), strict=True):
                print(
                    f"[rectifold] {name}, vote {weight:g}: gain {gain:+.4f} "
                    f"(standard error {error:.4f})"
                )
        if self.verbose:
            (name,) = results["setting"][results["chosen"]]
            print(f"[rectifold] chosen: {name}, vote {self.vote_weight_:g}")

    def predict(self, X: Any) -> Any:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels.
        """
        check_is_fitted(self, "estimators_")
        if self.vote_weight_:
            return predicted_labels({"predict_proba": self.predict_proba(X)}, self.classes_)
        corrected = self.correct_posterior and hasattr(self.estimator_, "predict_proba")
        if len(self.estimators_) == 1 and not corrected:
            return self.estimator_.predict(X)
        method = next(name for name in SOFT if hasattr(self.estimator_, name))
        return predicted_labels({method: getattr(self, method)(X)}, self.classes_)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`: of the classifier, or the average over
            the members of an ensemble, fused with the vote.
        """
        check_is_fitted(self, "estimators_")
        own = self._classifier_proba(X)
        if self.vote_ is None:
            return own
        return fuse(own, self.vote_.predict_proba(X), self.vote_weight_)

    def _classifier_proba(self, X: Any) -> npt.NDArray[Any]:
        """Return the probabilities of the classifier before the fusion with the vote."""
        if not hasattr(self.estimator_, "predict_proba"):
            values = _average([model.decision_function(X) for model in self.estimators_])
            return as_probabilities({"decision_function": values}, self._scale or 1.0)
        probabilities = [model.predict_proba(X) for model in self.estimators_]
        if self.correct_posterior:
            probabilities = [
                reweighted(one, 1 / shares)
                for one, shares in zip(probabilities, self.class_shares_, strict=True)
            ]
        return _average(probabilities)

    @available_if(_has_decisions)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Return the decision function of the classifier, or probabilities in its form.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Without a vote, the values of the classifier, or their average over the members of an
            ensemble. With a vote, the fused probabilities; of two classes, their difference.
        """
        check_is_fitted(self, "estimators_")
        if self.vote_ is not None:
            fused = np.asarray(self.predict_proba(X))
            return fused if fused.shape[1] > 2 else fused[:, 1] - fused[:, 0]
        return _average([model.decision_function(X) for model in self.estimators_])

    def explain(self, X: Any, X_train: Any = None) -> Explanation:
        """Explain predictions by the parts of the probability and the neighbours that voted.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        X_train : {array-like, dataframe, sparse matrix} of shape (n_training_samples, n_features) \
                , default=None
            The samples passed to `fit`, which the model does not keep, to show the values of
            neighbours.

        Returns
        -------
        Explanation
            For every sample the part of the classifier, the part of the vote, and the training
            samples that voted with label, distance and weight; also as a page.
        """
        check_is_fitted(self, "estimators_")
        return explain(self, X, X_train)

    def get_metadata_routing(self) -> Any:
        """Get metadata routing of this object.

        Returns
        -------
        MetadataRouter
            From `fit` to the `fit` of the estimator, the splitter and the scorer.
        """
        scorer = scorer_for(self.estimator, self.scoring)
        # Other values of `cv` take groups as ours do; an iterator must not be used up here.
        splitter = self.cv if hasattr(self.cv, "split") else StratifiedGroupKFold(2)
        return (
            MetadataRouter(owner=self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(
                splitter=splitter,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=scorer,
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator, of_sampler = get_tags(self.estimator), get_tags(sampler_of(self))
        tags.input_tags.sparse = of_estimator.input_tags.sparse and of_sampler.input_tags.sparse
        tags.input_tags.string = of_estimator.input_tags.string
        tags.input_tags.categorical = of_estimator.input_tags.categorical
        # By default, missing values get a space.
        cleans_missing = self.sampler is None or of_sampler.input_tags.allow_nan
        tags.input_tags.allow_nan = of_estimator.input_tags.allow_nan and cleans_missing
        if of_estimator.classifier_tags is not None:
            tags.classifier_tags.multi_class = of_estimator.classifier_tags.multi_class
        return tags


def _average(outputs: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    # One classifier keeps its own precision.
    return np.asarray(
        outputs[0] if len(outputs) == 1 else np.mean(outputs, axis=0, dtype=np.float64)
    )
