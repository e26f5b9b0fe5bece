"""The scorer that settings are chosen by, and whether an estimator can answer it."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.metrics import check_scoring, get_scorer, get_scorer_names, make_scorer
from sklearn.utils.metadata_routing import _routing_enabled

from rectifold._core.target import Target
from rectifold._core.utils import did_you_mean

#: What can be averaged.
SOFT = ("predict_proba", "decision_function")


def scorer_for(estimator: Any, scoring: Any, labels: Target | None = None) -> Any:
    """Make the scorer, and refuse an estimator that can never answer it before any fit.

    Parameters
    ----------
    estimator : classifier
        What will be scored.
    scoring : str or callable
        As for `RectifiedClassifier`.
    labels : Target or None
        Of the training rows: the rarer of two classes is the positive one of a metric that is
        given by its name, whatever that class sorts like.

    Returns
    -------
    scorer
        As scikit-learn makes them.
    """
    if callable(scoring):
        return check_scoring(estimator, scoring=scoring)
    try:
        scorer = get_scorer(scoring)
    except ValueError:
        raise ValueError(
            f"scoring={scoring!r} is not known{did_you_mean(scoring, get_scorer_names())}"
        ) from None
    takes = inspect.signature(scorer._score_func).parameters
    average = scorer._kwargs.get("average", "binary")
    one_class = "pos_label" in takes and average == "binary"
    if one_class and labels is not None and len(labels.classes) == 2:
        scorer = make_scorer(
            scorer._score_func,
            response_method=scorer._response_method,
            greater_is_better=scorer._sign > 0,
            **{**scorer._kwargs, "pos_label": labels.classes[labels.sizes.argmin()]},
        )
    if _routing_enabled():
        # Weights are for fitting, unless a scorer of the caller's asks for them.
        scorer.set_score_request(sample_weight=False)
    # By its class too: some estimators know what they can do only once they are fitted.
    check_answers(scorer, estimator, type(estimator))
    return scorer


def check_answers(scorer: Any, estimator: Any, *others: Any) -> None:
    """Refuse an estimator that has none of the methods a scorer asks for.

    Parameters
    ----------
    scorer : callable
        One of scikit-learn's; of others nothing is known.
    estimator : classifier
        What will be scored.
    *others : object
        Where else a method may be.
    """
    wanted = getattr(scorer, "_response_method", ())
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if names and not any(hasattr(one, name) for one in (estimator, *others) for name in names):
        raise ValueError(
            f"scoring needs {' or '.join(names)}, and {type(estimator).__name__} has none: take "
            "another scoring, such as 'balanced_accuracy', or an estimator that has it."
        )


def is_pooled(scorer: Any) -> bool:
    """Tell whether answers about several folds may be scored together.

    scikit-learn's scorers ask for answers about the rows they are given, and for nothing else; a
    function of the caller's may do anything with an estimator.
    """
    return hasattr(scorer, "_score_func")


def check_ensemble(estimator: Any, scorer: Any, m: int, n_classes: int) -> None:
    """Refuse what can't be averaged.

    Parameters
    ----------
    estimator : classifier
        What the members will be.
    scorer : callable
        By which members are chosen.
    m : int
        How many.
    n_classes : int
        Of the labels.
    """
    name = type(estimator).__name__
    if not any(hasattr(type(estimator), one) or hasattr(estimator, one) for one in SOFT):
        raise ValueError(
            f"ensemble={m} averages {' or '.join(SOFT)}, and {name} has none: leave ensemble=None."
        )
    pairs = getattr(estimator, "decision_function_shape", None) == "ovo"
    if pairs and n_classes > 2 and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"ensemble={m} averages the values of classes, and {name} gives those of pairs: set "
            "decision_function_shape='ovr'."
        )
    if not is_pooled(scorer):
        raise ValueError(
            f"ensemble={m} scores averaged answers, and a scoring function that is given the "
            "estimator can't do that: make it a scorer with sklearn.metrics.make_scorer."
        )
