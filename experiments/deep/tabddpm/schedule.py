"""The cosine schedule: how much of a sample is left after each step of noise."""

from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Floats

#: Nichol and Dhariwal (2021): an offset that keeps the first steps from being too small.
_OFFSET = 0.008
#: Upper bound of the noise of one step.
_MAX_BETA = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The shares of signal and noise at each step, counted from 0."""

    #: The share of noise that a step adds.
    beta: Floats
    #: The share of the sample left after a step: the products of ``1 - beta``.
    left: Floats
    #: The same before the step; 1 for the first.
    before: Floats

    @property
    def timesteps(self) -> int:
        """Number of steps."""
        return len(self.beta)


def cosine(timesteps: int) -> Schedule:
    """Return the cosine schedule of at least 2 steps.

    >>> cosine(4).left.round(3).tolist()
    [0.847, 0.494, 0.144, 0.0]
    """
    at = np.arange(timesteps + 1) / timesteps
    curve = np.cos((at + _OFFSET) / (1 + _OFFSET) * np.pi / 2) ** 2
    beta = np.minimum(1 - curve[1:] / curve[:-1], _MAX_BETA)
    left = np.cumprod(1 - beta)
    return Schedule(beta, left, np.concatenate(([1.0], left[:-1])))
