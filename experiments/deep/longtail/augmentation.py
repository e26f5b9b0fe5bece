"""Images on the device: normalised, and a batch shifted and flipped at random."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from experiments.deep.longtail.data import Images
from rectifold._core.utils import Floats, Tensor

#: Width of the black border within which an image may be shifted.
PADDING = 4


def padded(images: Tensor) -> Tensor:
    """Return images with a black border of `PADDING` pixels, (n_images, 40, 40, 3)."""
    return functional.pad(images, (0, 0, PADDING, PADDING, PADDING, PADDING))


def draw(rows: Tensor, generator: torch.Generator) -> Tensor:
    """Draw shifts and flips for images at the positions `rows`.

    The generator is that of the CPU, so that all devices train on the same images. The last axis of
    the result holds the position of the image, its first row and column, and whether it is flipped.
    """
    shape = rows.shape
    top = torch.randint(2 * PADDING + 1, shape, generator=generator)
    left = torch.randint(2 * PADDING + 1, shape, generator=generator)
    flipped = torch.randint(2, shape, generator=generator)
    return torch.stack((rows, top, left, flipped), dim=-1)


def augmented(images: Tensor, drawn: Tensor) -> Tensor:
    """Return a batch of shifted and flipped images, by a single gather.

    `images` are all `padded` images, `drawn` is a row of `draw` for each image of the batch.
    """
    row, top, left, flipped = drawn.unbind(1)
    side = images.shape[1] - 2 * PADDING
    steps = torch.arange(side, device=images.device)
    down = top[:, None] + steps
    across = left[:, None] + torch.where(flipped[:, None] > 0, side - 1 - steps, steps)
    return images[row[:, None, None], down[:, :, None], across[:, None, :]]


def moments(images: Images) -> tuple[Floats, Floats]:
    """Return the mean and the standard deviation of each colour, on the scale from 0 to 1."""
    values = np.arange(256) / 255
    # From histograms, so that no copy in floating point is needed.
    shares = np.stack(
        [np.bincount(images[..., colour].ravel(), minlength=256) for colour in range(3)]
    ) / (images.size // 3)
    mean = shares @ values
    std = np.sqrt((shares * (values - mean[:, None]) ** 2).sum(axis=1))
    # A constant colour is not scaled.
    return mean, np.where(std > 0, std, 1.0)


class Normaliser:
    """Standardises uint8 images by the mean and deviation of each colour of the training part."""

    def __init__(self, images: Images, device: torch.device) -> None:
        mean, std = moments(images)
        self.factor = torch.as_tensor(1 / (255 * std), dtype=torch.float32, device=device)
        self.offset = torch.as_tensor(-mean / std, dtype=torch.float32, device=device)

    def __call__(self, images: Tensor) -> Tensor:
        """Return float32 images of shape (n, 3, 32, 32), channels last in memory."""
        return (images * self.factor + self.offset).permute(0, 3, 1, 2)
