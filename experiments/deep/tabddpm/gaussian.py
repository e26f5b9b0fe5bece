"""Diffusion of numbers: Gaussian noise is added step by step, and removed again."""

from typing import Any

import numpy as np
import torch

from experiments.deep.tabddpm.schedule import Schedule
from rectifold._core.utils import Floats, Tensor


class Gaussian:
    """The forward process of numbers, its posterior, and one step back (Ho et al., 2020).

    Estimates of samples are clipped to the range of each column, `low` to `high`. TabDDPM does not
    clip; but no sample lies outside, and near the last step an estimate is a small difference
    divided by a very small number.
    """

    def __init__(self, schedule: Schedule, low: Any, high: Any, device: torch.device) -> None:
        def kept(values: Any) -> Tensor:
            return torch.tensor(np.asarray(values), dtype=torch.float32, device=device)

        beta, left, before = schedule.beta, schedule.left, schedule.before
        self.low, self.high = kept(low), kept(high)
        self._signal, self._noise = kept(np.sqrt(left)), kept(np.sqrt(1 - left))
        self._inverse, self._excess = kept(np.sqrt(1 / left)), kept(np.sqrt(1 / left - 1))
        self._of_start = kept(beta * np.sqrt(before) / (1 - left))
        self._of_row = kept((1 - before) * np.sqrt(1 - beta) / (1 - left))
        self._spread = kept(_spread(beta))

    def noised(self, start: Tensor, t: Tensor, noise: Tensor) -> Tensor:
        """Return samples after step `t`, with standard normal noise."""
        return self._signal[t, None] * start + self._noise[t, None] * noise

    def start(self, row: Tensor, t: Tensor, noise: Tensor) -> Tensor:
        """Estimate samples without noise, from samples after step `t` and their estimated noise."""
        estimate = self._inverse[t, None] * row - self._excess[t, None] * noise
        return torch.maximum(torch.minimum(estimate, self.high), self.low)

    def posterior_mean(self, start: Tensor, row: Tensor, t: Tensor) -> Tensor:
        """Return the mean of samples before step `t`, given them after it and without noise."""
        return self._of_start[t, None] * start + self._of_row[t, None] * row

    def back(self, row: Tensor, t: Tensor, noise: Tensor) -> Tensor:
        """Draw samples before step `t`, from samples after it and their estimated noise.

        As in TabDDPM the variance is that of the step itself. It is right for columns of unit
        variance, as quantiles have made them; the posterior's own variance would be right for a
        table of one sample. The two differ little if there are many steps.
        """
        mean = self.posterior_mean(self.start(row, t, noise), row, t)
        return mean + self._spread[t, None] * torch.randn_like(row)


def _spread(beta: Floats) -> Floats:
    """Return the standard deviations of the steps back; the last one adds no noise."""
    spread = np.sqrt(beta)
    spread[0] = 0.0
    return spread
