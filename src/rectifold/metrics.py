"""The asymmetric risk, a metric for unequal costs of errors, as a function and as a scorer."""

from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from rectifold._core.errors import Param, ParameterError
from rectifold._core.target import named


def asymmetric_risk(
    y_true: Any,
    y_pred: Any,
    cost_fn: float = 10,
    cost_fp: float = 1,
    *,
    pos_label: Any = 1,
    sample_weight: Any = None,
) -> float:
    """Compute the average cost of predictions when false negatives cost more.

    Definition 1 of the paper: ``cost_fn * P(false negative) + cost_fp * P(false positive)``, over
    all samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of two classes.

    y_pred : array-like of shape (n_samples,)
        Predicted labels.

    cost_fn : float, default=10
        Cost of a false negative.

    cost_fp : float, default=1
        Cost of a false positive.

    pos_label : object, default=1
        The positive class.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    float
        The risk; lower is better.

    See Also
    --------
    asymmetric_risk_scorer : Scorer for model selection.

    Examples
    --------
    >>> from rectifold.metrics import asymmetric_risk
    >>> asymmetric_risk([0, 0, 0, 1], [0, 0, 1, 0])
    2.75
    """
    _check_costs(cost_fn, cost_fp)
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, y_true)
    positive, found = y_true == pos_label, y_pred == pos_label
    others = np.concatenate((y_true[~positive], y_pred[~found]))
    # Sorting strings to find the classes would take longer than everything else.
    if len(others) and not (others == others[0]).all():
        known = np.union1d(y_true, y_pred)
        if len(known) > 2 or pos_label not in known:
            raise ParameterError(
                "the labels are {}: there must be two, and {} one of them.",
                ", ".join(map(named, known)),
                Param("pos_label", pos_label),
            )
    costs = cost_fn * (positive & ~found) + cost_fp * (~positive & found)
    return float(np.average(costs, weights=weight))


def asymmetric_risk_scorer(cost_fn: float = 10, cost_fp: float = 1, *, pos_label: Any = 1) -> Any:
    """Make a scorer of the asymmetric risk, for `scoring` of scikit-learn and rectifold.

    Parameters
    ----------
    cost_fn, cost_fp : float
        Costs of a false negative and of a false positive.

    pos_label : object, default=1
        The positive class.

    Returns
    -------
    scorer
        Returns the negative risk, so that higher is better.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from rectifold.metrics import asymmetric_risk_scorer
    >>> never = DummyClassifier(strategy="constant", constant=0)
    >>> X, y = [[0], [0], [0], [0]], [0, 0, 0, 1]
    >>> float(asymmetric_risk_scorer(cost_fn=20)(never.fit(X, y), X, y))
    -5.0
    """
    _check_costs(cost_fn, cost_fp)
    return make_scorer(
        asymmetric_risk,
        greater_is_better=False,
        cost_fn=cost_fn,
        cost_fp=cost_fp,
        pos_label=pos_label,
    )


def _check_costs(cost_fn: float, cost_fp: float) -> None:
    for name, cost in (("cost_fn", cost_fn), ("cost_fp", cost_fp)):
        if not 0 < cost < float("inf"):
            raise ParameterError("{} must be a finite number above 0.", Param(name, cost))
