"""Metrics for unequal costs of error."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d


def asymmetric_risk(y_true: Any, y_pred: Any, *, cost: float = 10.0, pos_label: Any = 1) -> float:
    """Average cost of a prediction where a missed positive costs more than a false alarm.

    The paper's Definition 1: ``cost * P(missed positive) + P(false alarm)``, over all rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels, two classes.

    y_pred : array-like of shape (n_samples,)
        Predicted labels.

    cost : float, default=10.0
        What a missed positive costs; a false alarm costs 1.

    pos_label : object, default=1
        The class that must not be missed.

    Returns
    -------
    float
        Not negative; lower is better.

    Examples
    --------
    >>> from rectifold.metrics import asymmetric_risk
    >>> asymmetric_risk([0, 0, 0, 1], [0, 0, 1, 0])
    2.75
    """
    if not cost > 0:
        raise ValueError(f"cost must be a number above 0, not {cost!r}")
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred)
    positive, found = y_true == pos_label, y_pred == pos_label
    return float(np.mean(cost * (positive & ~found) + (~positive & found)))
