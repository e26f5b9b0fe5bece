"""The shift of probabilities that removing samples causes, and its inverse."""

from typing import Any

import numpy as np
import numpy.typing as npt

from rectifold._core.errors import Param, ParameterError


def posterior_shift(p: Any, r0: float, r1: float) -> Any:
    """Compute the shift of probabilities when samples of both classes are removed.

    Lemma 1 of the paper: if a fraction `r0` of class 0 and `r1` of class 1 is removed, the share
    of class 1 among the samples near a point changes from `p` to
    ``p (1 - r1) / (p (1 - r1) + (1 - p) (1 - r0))``.

    Parameters
    ----------
    p : float or array-like
        Probabilities of class 1 on the uncleaned data, from 0 to 1.

    r0, r1 : float
        The removed fractions of class 0 and of class 1, at least 0 and less than 1.

    Returns
    -------
    float or ndarray
        Probabilities of class 1 on the cleaned data, of the shape of `p`.

    See Also
    --------
    undo_posterior_shift : The inverse.

    Notes
    -----
    The lemma assumes that removal is uniform: the same fraction of a class everywhere. Cleaning is
    local: it removes most samples where classes overlap, so that the shift is larger there and
    zero elsewhere.

    Examples
    --------
    >>> from rectifold.posterior import posterior_shift
    >>> round(posterior_shift(1 / 11, r0=0.2, r1=0.05), 3)
    0.106
    """
    return _shifted(p, kept_0=1 - _fraction("r0", r0), kept_1=1 - _fraction("r1", r1))


def undo_posterior_shift(p: Any, r0: float, r1: float) -> Any:
    """Correct probabilities learnt from cleaned data to the scale of the uncleaned data.

    The inverse of `posterior_shift`.

    Parameters
    ----------
    p : float or array-like
        Probabilities of class 1 on the cleaned data, from 0 to 1.

    r0, r1 : float
        The removed fractions of class 0 and of class 1, at least 0 and less than 1.

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
    """Multiply probabilities by positive factors, one per class, and normalise every row to 1.

    The lemma for many classes: with the share of every class that is kept as the factor it is
    `posterior_shift`, with the inverse of that share `undo_posterior_shift`.
    """
    weighted = probabilities * factors
    total = weighted.sum(axis=1, keepdims=True)
    # A row of zeros is left as it is.
    return np.asarray(np.divide(weighted, total, out=probabilities.astype(float), where=total > 0))


def _shifted(p: Any, kept_0: float, kept_1: float) -> Any:
    values = np.asarray(p, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ParameterError("{} must hold probabilities, numbers from 0 to 1.", Param("p"))
    shifted = values * kept_1 / (values * kept_1 + (1 - values) * kept_0)
    return shifted if shifted.ndim else float(shifted)


def _fraction(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ParameterError(
            "{} must be the removed fraction of a class, at least 0 and less than 1.",
            Param(name, value),
        )
    return float(value)
