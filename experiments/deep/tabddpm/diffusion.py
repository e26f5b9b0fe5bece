"""Numbers and categories diffuse together: the loss of a batch, and one step back."""

from collections.abc import Sequence
from typing import Any

import torch

from experiments.deep.tabddpm.gaussian import Gaussian
from experiments.deep.tabddpm.multinomial import Multinomial
from experiments.deep.tabddpm.schedule import cosine
from rectifold._core.utils import Tensor


class Diffusion:
    """Both processes on rows of numbers, then one slot for each category.

    Parameters
    ----------
    timesteps : int
        Steps from a row to noise.
    low, high : array-like of shape (n_numbers,)
        The range of each column of numbers.
    sizes : sequence of int
        How many categories each column has that has categories.
    device : torch.device
        Where tables are kept.
    """

    def __init__(
        self, timesteps: int, low: Any, high: Any, sizes: Sequence[int], device: torch.device
    ) -> None:
        schedule = cosine(timesteps)
        self.timesteps, self.device = timesteps, device
        self.gaussian = Gaussian(schedule, low, high, device)
        self.multinomial = Multinomial(schedule, sizes, device)
        self.n_numbers = len(self.gaussian.low)
        self.width = self.n_numbers + self.multinomial.segments.n_slots

    def loss(
        self, denoiser: Any, numbers: Tensor, codes: Tensor, labels: Tensor, t: Tensor
    ) -> Tensor:
        """Give the loss of each row, with fresh noise.

        The mean squared error of the noise of numbers, plus the bound for categories per column.

        Parameters
        ----------
        denoiser : Denoiser
            The network.
        numbers : Tensor of shape (n_rows, n_numbers)
            Encoded numbers.
        codes : Tensor of shape (n_rows, n_categorical)
            Codes of categories.
        labels : Tensor of shape (n_rows,)
            Codes of classes.
        t : Tensor of shape (n_rows,)
            Steps.

        Returns
        -------
        Tensor of shape (n_rows,)
        """
        noise = torch.randn_like(numbers)
        segments = self.multinomial.segments
        row = segments.one_hot(self.multinomial.noised(codes, t))
        noisy = torch.cat((self.gaussian.noised(numbers, t, noise), row), dim=1)
        answer = denoiser(noisy, t, labels)
        loss = torch.zeros(len(t), device=t.device)
        if self.n_numbers:
            loss = loss + (answer[:, : self.n_numbers] - noise).square().mean(1)
        if segments.n_columns:
            logits = answer[:, self.n_numbers :]
            loss = loss + self.multinomial.loss(codes, row, t, logits)
        return loss

    def noise(self, n_rows: int) -> Tensor:
        """Draw rows of nothing but noise."""
        segments = self.multinomial.segments
        numbers = torch.randn(n_rows, self.n_numbers, device=self.device)
        uniform = torch.rand(n_rows, segments.n_slots, device=self.device)
        codes = segments.highest(uniform) if segments.n_columns else uniform.long()
        return torch.cat((numbers, segments.one_hot(codes)), dim=1)

    def back(self, denoiser: Any, rows: Tensor, t: Tensor, labels: Tensor) -> Tensor:
        """Draw rows before step `t`, from rows after it and codes of their classes."""
        answer = denoiser(rows, t, labels)
        m = self.n_numbers
        parts = [self.gaussian.back(rows[:, :m], t, answer[:, :m])]
        if self.multinomial.segments.n_columns:
            parts.append(self.multinomial.back(rows[:, m:], t, answer[:, m:]))
        return torch.cat(parts, dim=1)

    def split(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Give rows as numbers and codes."""
        segments, slots = self.multinomial.segments, rows[:, self.n_numbers :]
        codes = segments.highest(slots) if segments.n_columns else slots.long()
        return rows[:, : self.n_numbers], codes
