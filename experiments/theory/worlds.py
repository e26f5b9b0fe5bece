"""Synthetic data with known probabilities: two classes of Gaussians."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from rectifold._core.utils import Floats, Ints


def two_gaussians(
    n: int, ratio: float, seed: int, *, apart: float = 2.0, columns: int = 2
) -> tuple[Floats, Ints]:
    """Draw two Gaussian classes, with `ratio` samples of class 0 for each of class 1.

    The centre of class 1 is `apart` from that of class 0 in the first column; the others are noise.
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 1 / (1 + ratio)).astype(np.intp)
    X = rng.standard_normal((n, columns))
    X[:, 0] += apart * y
    return X, y


def true_posterior(X: Floats, ratio: float, *, apart: float = 2.0) -> Floats:
    """Return the probability of class 1 at samples of `two_gaussians`."""
    return np.asarray(expit(apart * X[:, 0] - apart**2 / 2 - np.log(ratio)))
