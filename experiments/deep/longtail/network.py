"""ResNet-32 for images of 32 by 32 pixels, as in the literature on long tails."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from rectifold._core.utils import Tensor


class NormedLinear(nn.Module):
    """Cosines of the features with one direction for each class, for the loss LDAM."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        directions = torch.empty(features, classes).uniform_(-1, 1)
        self.weight = nn.Parameter(functional.normalize(directions, dim=0))

    def forward(self, x: Tensor) -> Tensor:
        """Return the cosines, one column for each class."""
        return functional.normalize(x, dim=1) @ functional.normalize(self.weight, dim=0)


class Block(nn.Module):
    """Two convolutions with a shortcut without parameters (option A); stride 2 halves the image."""

    def __init__(self, incoming: int, outgoing: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(incoming, outgoing, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outgoing)
        self.second = nn.Conv2d(outgoing, outgoing, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outgoing)
        self.stride, self.added = stride, outgoing - incoming

    def shortcut(self, x: Tensor) -> Tensor:
        """Drop every second row and column, and add channels of zeros on both sides."""
        if self.stride == 1 and not self.added:
            return x
        before = self.added // 2
        return functional.pad(
            x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.added - before)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both paths, after a rectifier."""
        inside = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(inside)) + self.shortcut(x))


class ResNet32(nn.Module):
    """Three stages of five blocks, with 16, 32 and 64 channels.

    `width` is the number of channels of the first stage, `blocks` the blocks of each stage; with
    `normed` the last layer returns cosines (`NormedLinear`). As in the code of Cao et al. (NeurIPS
    2019), convolutions and the linear layer have He's normal initialisation.
    """

    def __init__(
        self, classes: int, *, normed: bool = False, width: int = 16, blocks: int = 5
    ) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(width)
        stages, channels = [], width
        for stage in range(3):
            for block in range(blocks):
                outgoing = width * 2**stage
                stages.append(Block(channels, outgoing, 2 if stage and not block else 1))
                channels = outgoing
        self.stages = nn.Sequential(*stages)
        self.head = NormedLinear(channels, classes) if normed else nn.Linear(channels, classes)
        for part in self.modules():
            if isinstance(part, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(part.weight)

    def features(self, x: Tensor) -> Tensor:
        """Return the inputs of the last layer, 64 for each image, in float32."""
        x = functional.relu(self.stem_norm(self.stem(x)))
        return self.stages(x).float().mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits; the last layer is never in reduced precision."""
        features = self.features(x)
        with torch.autocast(x.device.type, enabled=False):
            return self.head(features)
