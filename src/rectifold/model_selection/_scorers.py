"""The scorer that candidates are compared by, and checks of the estimator that it scores."""

import inspect
from typing import Any

from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names, make_scorer
from sklearn.utils.metadata_routing import _routing_enabled

from rectifold._core.errors import Param, ParameterError
from rectifold._core.target import Target
from rectifold._core.utils import did_you_mean

#: Methods whose predictions can be averaged.
SOFT = ("predict_proba", "decision_function")


def scorer_for(estimator: Any, scoring: Any, target: Target | None = None) -> Any:
    """Return the scorer, or raise an error if the estimator lacks the methods it needs.

    Of two classes, the smaller one is the positive class of a metric given by its name.
    """
    if callable(scoring):
        return check_scoring(estimator, scoring=scoring)
    try:
        scorer = get_scorer(scoring)
    except ValueError:
        raise ParameterError(
            "{} is not known{}",
            Param("scoring", scoring),
            did_you_mean(scoring, get_scorer_names()),
        ) from None
    takes = inspect.signature(scorer._score_func).parameters
    one_class = "pos_label" in takes and scorer._kwargs.get("average", "binary") == "binary"
    if one_class and target is not None and len(target.classes) == 2:
        scorer = make_scorer(
            scorer._score_func,
            response_method=scorer._response_method,
            greater_is_better=scorer._sign > 0,
            **{**scorer._kwargs, "pos_label": target.classes[target.sizes.argmin()]},
        )
    elif "pos_label" in takes and target is not None and len(target.classes) > 2:
        # Before scikit-learn 1.7 the default, 1, has to be one of the labels.
        scorer._get_pos_label = _no_positive_class
    if _routing_enabled():
        # A metric given by its name takes no weights; those passed to `fit` are for the estimator.
        scorer.set_score_request(sample_weight=False)
    # Some estimators have their methods only once they are fitted, so the class counts too.
    check_responses(scorer, estimator, type(estimator))
    return scorer


def _no_positive_class() -> None:
    """Return the positive class of a metric for several classes: none."""


def check_responses(scorer: Any, estimator: Any, *others: Any) -> None:
    """Raise an error if neither the estimator nor `others` have a method that the scorer needs.

    Nothing is known of scorers that are not scikit-learn's; they pass.
    """
    wanted = getattr(scorer, "_response_method", ())
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if names and not any(hasattr(one, name) for one in (estimator, *others) for name in names):
        raise ParameterError(
            "{} needs {}, and {} has none: choose another scoring, such as 'balanced_accuracy', "
            "or an estimator that has it.",
            Param("scoring"),
            " or ".join(names),
            type(estimator).__name__,
        )


def scores_predictions(scorer: Any) -> bool:
    """Return whether the scorer depends on predictions alone, so that folds can be pooled.

    This holds for scikit-learn's scorers; another function may do anything with an estimator.
    """
    return hasattr(scorer, "_score_func")


def check_classifier(estimator: Any, correct_posterior: bool) -> None:
    """Raise an error if the estimator is not a classifier, or lacks probabilities to correct."""
    name = type(estimator).__name__
    if not is_classifier(estimator):
        raise ParameterError("{} is a {}, which is not a classifier.", Param("estimator"), name)
    if correct_posterior and not hasattr(type(estimator), "predict_proba"):
        raise ParameterError(
            "{} corrects probabilities, and {} has no predict_proba: leave {}.",
            Param("correct_posterior", True),
            name,
            Param("correct_posterior", False),
        )


def can_be_fused(estimator: Any, scorer: Any, n_classes: int) -> bool:
    """Return whether the estimator has values for every class, and fused ones can be scored."""
    return (
        any(hasattr(one, name) for one in (estimator, type(estimator)) for name in SOFT)
        and not _votes_on_pairs(estimator, n_classes)
        and scores_predictions(scorer)
    )


def check_ensemble(estimator: Any, n_estimators: int, n_classes: int) -> None:
    """Raise an error if predictions of the estimator can't be averaged."""
    ensemble, name = Param("ensemble", n_estimators), type(estimator).__name__
    if not any(hasattr(type(estimator), one) or hasattr(estimator, one) for one in SOFT):
        raise ParameterError(
            "{} averages {}, and {} has none: leave {}.",
            ensemble,
            " or ".join(SOFT),
            name,
            Param("ensemble", None),
        )
    if _votes_on_pairs(estimator, n_classes):
        raise ParameterError(
            "{} averages one value per class, and {} returns one per pair of classes: set "
            "decision_function_shape='ovr'.",
            ensemble,
            name,
        )


def _votes_on_pairs(estimator: Any, n_classes: int) -> bool:
    """Return whether there is one decision value per pair of classes, and no probability."""
    one_versus_one = getattr(estimator, "decision_function_shape", None) == "ovo"
    return one_versus_one and n_classes > 2 and not hasattr(estimator, "predict_proba")
