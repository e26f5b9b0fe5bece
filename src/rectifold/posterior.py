"""The lemma: how removing rows shifts probabilities, and how to put them back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def posterior_shift(p: Any, r0: float, r1: float) -> Any:
    """Shift probabilities as removing rows of both classes does.

    The paper's Lemma 1: where a fraction `r0` of the rows of class 0 and `r1` of class 1 go,
    the share of class 1 among the rows near a point goes from `p` to
    ``p (1 - r1) / (p (1 - r1) + (1 - p) (1 - r0))``.

    Parameters
    ----------
    p : float or array-like
        Probabilities of class 1 on the uncleaned data, from 0 to 1.

    r0, r1 : float
        The fractions of class 0 and of class 1 that were removed, from 0 to 1; less than 1.

    Returns
    -------
    float or ndarray
        Probabilities of class 1 on the cleaned data, of the shape of `p`.

    See Also
    --------
    undo_posterior_shift : The way back.

    Notes
    -----
    The lemma takes removal to be uniform: the same fraction of a class everywhere. Cleaning is
    local, it removes most where classes meet, so the shift there is larger than this and
    elsewhere none.

    Examples
    --------
    >>> from rectifold.posterior import posterior_shift
    >>> round(posterior_shift(1 / 11, r0=0.2, r1=0.05), 3)
    0.106
    """
    return _shifted(p, kept_0=1 - _fraction("r0", r0), kept_1=1 - _fraction("r1", r1))


def undo_posterior_shift(p: Any, r0: float, r1: float) -> Any:
    """Put probabilities learnt from cleaned data back on the scale of the uncleaned data.

    The inverse of `posterior_shift`.

    Parameters
    ----------
    p : float or array-like
        Probabilities of class 1 on the cleaned data, from 0 to 1.

    r0, r1 : float
        The fractions of class 0 and of class 1 that were removed, from 0 to 1; less than 1.

    Returns
    -------
    float or ndarray
        Probabilities of class 1 on the uncleaned data, of the shape of `p`.

    Examples
    --------
    >>> from rectifold.posterior import posterior_shift, undo_posterior_shift
    >>> round(undo_posterior_shift(posterior_shift(0.3, 0.2, 0.05), 0.2, 0.05), 12)
    0.3
    """
    return _shifted(p, kept_0=1 - _fraction("r1", r1), kept_1=1 - _fraction("r0", r0))


def reweighted(probabilities: npt.NDArray[Any], factors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Multiply the probability of every class by a factor: the lemma for many classes.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Each row adds up to 1.

    factors : ndarray of shape (n_classes,)
        Positive. The share of a class that is left takes probabilities to the cleaned data; its
        inverse takes them back.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Each row adds up to 1.
    """
    weighted = probabilities * factors
    total = weighted.sum(axis=1, keepdims=True)
    # A classifier that gives no class any chance has nothing to put back.
    return np.asarray(np.divide(weighted, total, out=probabilities.astype(float), where=total > 0))


def _shifted(p: Any, kept_0: float, kept_1: float) -> Any:
    values = np.asarray(p, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p must hold probabilities, numbers from 0 to 1.")
    shifted = values * kept_1 / (values * kept_1 + (1 - values) * kept_0)
    return shifted if shifted.ndim else float(shifted)


def _fraction(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(
            f"{name}={value!r} must be the removed fraction of a class: 0 or more, less than 1."
        )
    return float(value)
