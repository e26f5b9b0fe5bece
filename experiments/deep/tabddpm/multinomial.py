"""Diffusion of categories: each is replaced by a random one now and then, and restored."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from experiments.deep.tabddpm.schedule import Schedule
from rectifold._core.utils import Tensor

#: What stands for a probability of 0, whose logarithm is no number.
_TINY = 1e-30


class Segments:
    """Columns of categories side by side: one slot for each category of each column.

    Sums within columns are products with a table of zeros and ones, in float64. On a GPU these
    give the same bits each time, which adding at indices does not.

    Parameters
    ----------
    sizes : sequence of int
        How many categories each column has.
    device : torch.device
        Where tables of slots are kept.
    """

    def __init__(self, sizes: Sequence[int], device: torch.device) -> None:
        self.sizes = torch.tensor(list(sizes), dtype=torch.int64, device=device)
        self.starts = self.sizes.cumsum(0) - self.sizes
        self.n_columns, self.n_slots = len(sizes), sum(sizes)
        columns = torch.arange(self.n_columns, device=device)
        #: The column of each slot, and the category that it stands for.
        self.column = torch.repeat_interleave(columns, self.sizes)
        self.category = torch.arange(self.n_slots, device=device) - self.starts[self.column]
        self.log_size = self.sizes[self.column].log().float()
        self._member = (self.column[:, None] == columns).double()

    def one_hot(self, codes: Tensor) -> Tensor:
        """Give codes of shape (n_rows, n_columns) as zeros and ones, (n_rows, n_slots)."""
        empty = torch.zeros(len(codes), self.n_slots, device=codes.device)
        return empty.scatter_(1, codes + self.starts, 1.0)

    def highest(self, values: Tensor) -> Tensor:
        """Give the code of the highest value in each column."""
        there = values >= self._maximum(values)[:, self.column]
        places = torch.where(there, self.category, -1)
        none = torch.full((len(values), self.n_columns), -1, device=values.device)
        return none.scatter_reduce(1, self._index(values), places, "amax")

    def log_sum_exp(self, values: Tensor) -> Tensor:
        """Give the logarithm of the sum of exponentials in each column, in float64."""
        with torch.no_grad():
            most = self._maximum(values)
            shift = most[:, self.column]
        sums = (values - shift).exp().double() @ self._member
        return sums.log() + most

    def normalised(self, values: Tensor) -> Tensor:
        """Shift logarithms so that the probabilities of each column have the sum 1."""
        # The product spreads columns over their slots; its gradient adds in a fixed order.
        return values - (self.log_sum_exp(values) @ self._member.T).float()

    def _maximum(self, values: Tensor) -> Tensor:
        low = values.new_full((len(values), self.n_columns), -math.inf)
        return low.scatter_reduce(1, self._index(values), values, "amax")

    def _index(self, values: Tensor) -> Tensor:
        return self.column.expand(len(values), -1)


class Multinomial:
    """The forward process of categories, its posterior, and one step back.

    After Hoogeboom et al. (2021). Probabilities are logarithms of shape (n_rows, n_slots), all
    columns at once.

    Parameters
    ----------
    schedule : Schedule
        How much noise each step brings.
    sizes : sequence of int
        How many categories each column has.
    device : torch.device
        Where tables are kept.
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
        """Draw codes as they are after step `t`: the same, or any of their column."""
        uniform = torch.rand(2, *codes.shape, device=codes.device)
        sizes = self.segments.sizes
        # The product can be rounded up to the size itself.
        other = torch.minimum((uniform[0] * sizes).long(), sizes - 1)
        return torch.where(uniform[1] < self._left[t, None], codes, other)

    def before(self, start: Tensor, t: Tensor) -> Tensor:
        """Give log probabilities before step `t`, from those before any noise."""
        other = self._log_lost[t, None] - self.segments.log_size
        return torch.logaddexp(start + self._log_before[t, None], other)

    def posterior(self, start: Tensor, row: Tensor, t: Tensor) -> Tensor:
        """Give log probabilities before step `t`, from rows after it and before any noise.

        Parameters
        ----------
        start : Tensor of shape (n_rows, n_slots)
            Log probabilities before any noise.
        row : Tensor of shape (n_rows, n_slots)
            Rows after step `t`, as zeros and ones.
        t : Tensor of shape (n_rows,)
            Steps.

        Returns
        -------
        Tensor of shape (n_rows, n_slots)
        """
        return self.segments.normalised(self._odds(start, row, t))

    def _odds(self, start: Tensor, row: Tensor, t: Tensor) -> Tensor:
        """Give the same but for a summand in each column."""
        beta = self._beta[t, None]
        step = torch.log((1 - beta) * row + beta * torch.exp(-self.segments.log_size))
        return self.before(start, t) + step

    def loss(self, codes: Tensor, row: Tensor, t: Tensor, logits: Tensor) -> Tensor:
        """Give the part of each row in the bound on its log likelihood, per column.

        It is the divergence of the estimated posterior from the true one, times the number of
        steps, since one of them is drawn. At step 0 the true posterior is the row itself, and the
        divergence is the negative log likelihood of the decoder. The prior's term depends on no
        weight, and is left out.

        Parameters
        ----------
        codes : Tensor of shape (n_rows, n_columns)
            Rows before any noise.
        row : Tensor of shape (n_rows, n_slots)
            Rows after step `t`, as zeros and ones.
        t : Tensor of shape (n_rows,)
            Steps.
        logits : Tensor of shape (n_rows, n_slots)
            What the network says of rows before any noise.

        Returns
        -------
        Tensor of shape (n_rows,)
        """
        with torch.no_grad():
            start = self.segments.one_hot(codes).clamp_(min=_TINY).log_()
            true = self.posterior(start, row, t)
        estimate = self.posterior(self.segments.normalised(logits), row, t)
        divergence = (true.exp() * (true - estimate)).sum(1)
        return divergence * (self.timesteps / self.segments.n_columns)

    def back(self, row: Tensor, t: Tensor, logits: Tensor) -> Tensor:
        """Draw rows before step `t`, as zeros and ones, from rows after it."""
        estimate = self._odds(self.segments.normalised(logits), row, t)
        # Gumbel's trick: the highest of disturbed logarithms is a draw, whatever their sum.
        disturbed = estimate - torch.empty_like(estimate).exponential_().clamp_(min=_TINY).log_()
        return self.segments.one_hot(self.segments.highest(disturbed))
