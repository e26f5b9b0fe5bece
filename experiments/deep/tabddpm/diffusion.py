"""Diffusion of numbers and categories together: the loss of a batch, and one step back."""

from collections.abc import Sequence
from typing import Any

import torch

from experiments.deep.tabddpm.gaussian import Gaussian
from experiments.deep.tabddpm.multinomial import Multinomial
from experiments.deep.tabddpm.schedule import cosine
from rectifold._core.utils import Tensor


class Diffusion:
    """Both processes on samples that are numbers, then one slot for each category.

    `low` and `high` are the ranges of the columns of numbers, `sizes` the numbers of categories of
    the categorical columns.
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
        """Return the loss of each sample at its step `t`, with fresh noise.

        It is the mean squared error of the noise of the numbers, plus the bound for categories, per
        column. `codes` and `labels` are the codes of the categories and of the classes.
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

    def noise(self, n_samples: int) -> Tensor:
        """Draw samples of pure noise."""
        segments = self.multinomial.segments
        numbers = torch.randn(n_samples, self.n_numbers, device=self.device)
        uniform = torch.rand(n_samples, segments.n_slots, device=self.device)
        codes = segments.highest(uniform) if segments.n_columns else uniform.long()
        return torch.cat((numbers, segments.one_hot(codes)), dim=1)

    def back(self, denoiser: Any, rows: Tensor, t: Tensor, labels: Tensor) -> Tensor:
        """Draw samples before step `t`, from samples after it and the codes of their classes."""
        answer = denoiser(rows, t, labels)
        m = self.n_numbers
        parts = [self.gaussian.back(rows[:, :m], t, answer[:, :m])]
        if self.multinomial.segments.n_columns:
            parts.append(self.multinomial.back(rows[:, m:], t, answer[:, m:]))
        return torch.cat(parts, dim=1)

    def split(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Split samples into numbers and codes of categories."""
        segments, slots = self.multinomial.segments, rows[:, self.n_numbers :]
        codes = segments.highest(slots) if segments.n_columns else slots.long()
        return rows[:, : self.n_numbers], codes
