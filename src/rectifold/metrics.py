"""Metrics for unequal costs of error, as functions and as scorers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

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
    """Average cost of a prediction where a missed positive costs more than a false alarm.

    The paper's Definition 1: ``cost_fn * P(missed positive) + cost_fp * P(false alarm)``, over
    all rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels, two classes.

    y_pred : array-like of shape (n_samples,)
        Predicted labels.

    cost_fn : float, default=10
        What a missed positive costs.

    cost_fp : float, default=1
        What a false alarm costs.

    pos_label : object, default=1
        The class that must not be missed.

    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts.

    Returns
    -------
    float
        Not negative; lower is better.

    See Also
    --------
    asymmetric_risk_scorer : The same for model selection.

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
    # Sorting texts to see which there are would take longer than all the rest.
    if len(others) and not (others == others[0]).all():
        known = np.union1d(y_true, y_pred)
        if len(known) > 2 or pos_label not in known:
            raise ValueError(
                f"the labels are {', '.join(map(named, known))}: there must be two, and pos_label="
                f"{pos_label!r} one of them."
            )
    costs = cost_fn * (positive & ~found) + cost_fp * (~positive & found)
    return float(np.average(costs, weights=weight))


def asymmetric_risk_scorer(cost_fn: float = 10, cost_fp: float = 1, *, pos_label: Any = 1) -> Any:
    """Make a scorer of the asymmetric risk, for `scoring=` of scikit-learn and rectifold.

    Parameters
    ----------
    cost_fn, cost_fp : float
        What a missed positive and a false alarm cost.

    pos_label : object, default=1
        The class that must not be missed.

    Returns
    -------
    scorer
        Higher is better: it gives the risk with a minus sign.

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
            raise ValueError(f"{name} must be a number above 0, not {cost!r}")
