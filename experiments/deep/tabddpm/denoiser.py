"""The network: from a noisy sample, its step and its class to the noise and the categories."""

import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from rectifold._core.utils import Tensor

#: The longest period of the embedding of a step.
_PERIOD = 10_000


class Denoiser(nn.Module):
    """The MLP of TabDDPM: samples, steps and classes are added in one embedding.

    `width` is the number of inputs and outputs, `embedding` the even width of the embedding.
    """

    def __init__(
        self, width: int, n_classes: int, layers: Sequence[int], embedding: int, dropout: float
    ) -> None:
        super().__init__()
        self.rows = nn.Linear(width, embedding)
        self.steps = nn.Sequential(
            nn.Linear(embedding, embedding), nn.SiLU(), nn.Linear(embedding, embedding)
        )
        # A product with zeros and ones, not a look-up: its gradient adds in a fixed order.
        self.classes = nn.Parameter(torch.randn(n_classes, embedding))
        hidden: list[nn.Module] = []
        for before, after in zip((embedding, *layers), layers, strict=False):
            hidden += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout)]
        self.hidden = nn.Sequential(*hidden, nn.Linear(layers[-1], width))

    def forward(self, rows: Tensor, t: Tensor, labels: Tensor) -> Tensor:
        """Return the output for samples after step `t`, with the codes of their classes.

        `t` holds one step for each sample, or one for all.
        """
        every = torch.arange(len(self.classes), device=labels.device)
        classes = (labels[:, None] == every).float() @ functional.silu(self.classes)
        step = self.steps(waves(t, self.classes.shape[1]))
        answer: Tensor = self.hidden(self.rows(rows) + (step + classes))
        return answer


def waves(t: Tensor, width: int) -> Tensor:
    """Return sinusoidal embeddings of steps, with periods from short to long."""
    half = width // 2
    place = torch.arange(half, device=t.device, dtype=torch.float32)
    angle = t[:, None].float() * torch.exp(-math.log(_PERIOD) / half * place)
    return torch.cat((angle.cos(), angle.sin()), dim=1)
