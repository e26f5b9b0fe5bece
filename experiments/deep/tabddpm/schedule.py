"""How much of a row is left after so many steps of noise: the cosine schedule."""

from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Floats

#: Nichol and Dhariwal (2021): an offset that keeps the first steps from being too small.
_OFFSET = 0.008
#: One step never takes all that is left.
_MOST = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The shares of signal and noise at each step; step 0 is the first one.

    Attributes
    ----------
    beta : ndarray of shape (timesteps,)
        The share of noise that a step brings.
    left : ndarray of shape (timesteps,)
        The share of the row that is left after a step: the products of ``1 - beta``.
    before : ndarray of shape (timesteps,)
        The same before the step; 1 for the first.
    """

    beta: Floats
    left: Floats
    before: Floats

    @property
    def timesteps(self) -> int:
        """How many steps there are."""
        return len(self.beta)


def cosine(timesteps: int) -> Schedule:
    """Make the cosine schedule of so many steps.

    Parameters
    ----------
    timesteps : int
        At least 2.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> from experiments.deep.tabddpm.schedule import cosine
    >>> cosine(4).left.round(3).tolist()
    [0.847, 0.494, 0.144, 0.0]
    """
    at = np.arange(timesteps + 1) / timesteps
    curve = np.cos((at + _OFFSET) / (1 + _OFFSET) * np.pi / 2) ** 2
    beta = np.minimum(1 - curve[1:] / curve[:-1], _MOST)
    left = np.cumprod(1 - beta)
    return Schedule(beta, left, np.concatenate(([1.0], left[:-1])))
