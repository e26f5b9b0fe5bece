"""Diffusion of categories: each is replaced by a random one at some steps, and restored."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from experiments.deep.tabddpm.schedule import Schedule
from rectifold._core.utils import Tensor

#: Replaces a probability of 0, whose logarithm is not finite.
_TINY = 1e-30


class Segments:
    """Categorical columns side by side: one slot for each category of each column.

    Sums within columns are products with a one-hot matrix, in float64. On a GPU these give the same
    bits each time, which scattered additions do not.
    """

    def __init__(self, sizes: Sequence[int], device: torch.device) -> None:
        self.sizes = torch.tensor(list(sizes), dtype=torch.int64, device=device)
        self.starts = self.sizes.cumsum(0) - self.sizes
        self.n_columns, self.n_slots = len(sizes), sum(sizes)
        columns = torch.arange(self.n_columns, device=device)
        #: The column of each slot, and its category.
        self.column = torch.repeat_interleave(columns, self.sizes)
        self.category = torch.arange(self.n_slots, device=device) - self.starts[self.column]
        self.log_size = self.sizes[self.column].log().float()
        self._member = (self.column[:, None] == columns).double()

    def one_hot(self, codes: Tensor) -> Tensor:
        """Return codes of shape (n_samples, n_columns) one-hot encoded, (n_samples, n_slots)."""
        empty = torch.zeros(len(codes), self.n_slots, device=codes.device)
        return empty.scatter_(1, codes + self.starts, 1.0)

    def highest(self, values: Tensor) -> Tensor:
        """Return the code of the highest value in each column."""
        there = values >= self._maximum(values)[:, self.column]
        places = torch.where(there, self.category, -1)
        none = torch.full((len(values), self.n_columns), -1, device=values.device)
        return none.scatter_reduce(1, self._index(values), places, "amax")

    def log_sum_exp(self, values: Tensor) -> Tensor:
        """Return the logarithm of the sum of exponentials in each column, in float64."""
        with torch.no_grad():
            most = self._maximum(values)
            shift = most[:, self.column]
        sums = (values - shift).exp().double() @ self._member
        return sums.log() + most

    def normalised(self, values: Tensor) -> Tensor:
        """Shift logarithms so that the probabilities of each column sum to 1."""
        # The product copies columns to their slots; its gradient adds in a fixed order.
        return values - (self.log_sum_exp(values) @ self._member.T).float()

    def _maximum(self, values: Tensor) -> Tensor:
        low = values.new_full((len(values), self.n_columns), -math.inf)
        return low.scatter_reduce(1, self._index(values), values, "amax")

    def _index(self, values: Tensor) -> Tensor:
        return self.column.expand(len(values), -1)


class Multinomial:
    """The forward process of categories, its posterior, and one step back.

    After Hoogeboom et al. (2021). Probabilities are logarithms of shape (n_samples, n_slots), of
    all columns at once; `row` is one-hot encoded.
    """

    def __init__(self, schedule: Schedule, sizes: Sequence[int], device: torch.device) -> None:
        def kept(values: object) -> Tensor:
            return torch.tensor(np.asarray(values), dtype=torch.float32, device=device)

        self.segments = Segments(sizes, device)
        self.timesteps = schedule.timesteps
        self._left, self._beta = kept(schedule.left), kept(schedule.beta)
        self._log_before = kept(np.log(schedule.before))
        self._log_lost = kept(np.log(np.maximum(1 - schedule.before, _TINY)))

    def noised(self, codes: Tensor, t: Tensor) -> Tensor:
        """Draw codes after step `t`: the same, or any category of the column."""
        uniform = torch.rand(2, *codes.shape, device=codes.device)
        sizes = self.segments.sizes
        # The product may be rounded up to the size itself.
        other = torch.minimum((uniform[0] * sizes).long(), sizes - 1)
        return torch.where(uniform[1] < self._left[t, None], codes, other)

    def before(self, start: Tensor, t: Tensor) -> Tensor:
        """Return log probabilities before step `t`, from those without noise."""
        other = self._log_lost[t, None] - self.segments.log_size
        return torch.logaddexp(start + self._log_before[t, None], other)

    def posterior(self, start: Tensor, row: Tensor, t: Tensor) -> Tensor:
        """Return log probabilities before step `t`, given samples after it and without noise."""
        return self.segments.normalised(self._odds(start, row, t))

    def _odds(self, start: Tensor, row: Tensor, t: Tensor) -> Tensor:
        """Return the posterior up to a constant in each column."""
        beta = self._beta[t, None]
        step = torch.log((1 - beta) * row + beta * torch.exp(-self.segments.log_size))
        return self.before(start, t) + step

    def loss(self, codes: Tensor, row: Tensor, t: Tensor, logits: Tensor) -> Tensor:
        """Return the term of each sample in the bound on its log likelihood, per column.

        It is the divergence of the estimated posterior from the true one, times the number of
        steps, since one of them is drawn. At step 0 the true posterior is the sample itself, and
        the divergence is the negative log likelihood of the decoder. The prior's term depends on no
        weight, and is left out. `codes` are those without noise, `logits` the estimate of the
        network.
        """
        with torch.no_grad():
            start = self.segments.one_hot(codes).clamp_(min=_TINY).log_()
            true = self.posterior(start, row, t)
        estimate = self.posterior(self.segments.normalised(logits), row, t)
        divergence = (true.exp() * (true - estimate)).sum(1)
        return divergence * (self.timesteps / self.segments.n_columns)

    def back(self, row: Tensor, t: Tensor, logits: Tensor) -> Tensor:
        """Draw samples before step `t`, one-hot encoded, from samples after it."""
        estimate = self._odds(self.segments.normalised(logits), row, t)
        # Gumbel's trick: the highest of the disturbed logarithms is a draw, whatever their sum.
        disturbed = estimate - torch.empty_like(estimate).exponential_().clamp_(min=_TINY).log_()
        return self.segments.one_hot(self.segments.highest(disturbed))
