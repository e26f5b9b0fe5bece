"""Images on the device: normalised, and shifted and flipped at random, a batch at once."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from experiments.deep.longtail.data import Images
from rectifold._core.utils import Floats, Tensor

#: Black pixels around an image, within which it may be shifted.
PADDING = 4


def padded(images: Tensor) -> Tensor:
    """Put black pixels around images.

    Parameters
    ----------
    images : Tensor of uint8 of shape (n_images, 32, 32, 3)

    Returns
    -------
    Tensor of uint8 of shape (n_images, 40, 40, 3)
    """
    return functional.pad(images, (0, 0, PADDING, PADDING, PADDING, PADDING))


def draw(rows: Tensor, generator: torch.Generator) -> Tensor:
    """Draw what happens to images: they are named first, then where they are cut, and how.

    Parameters
    ----------
    rows : Tensor of int of shape (...,)
        The images, by their positions.
    generator : torch.Generator
        Of the CPU, so that all devices train on the same.

    Returns
    -------
    Tensor of int of shape (..., 4)
        Position of the image, first row, first column, and whether it is flipped.
    """
    shape = rows.shape
    top = torch.randint(2 * PADDING + 1, shape, generator=generator)
    left = torch.randint(2 * PADDING + 1, shape, generator=generator)
    flipped = torch.randint(2, shape, generator=generator)
    return torch.stack((rows, top, left, flipped), dim=-1)


def augmented(images: Tensor, drawn: Tensor) -> Tensor:
    """Cut images out of what `padded` gave, by one gather for the whole batch.

    Parameters
    ----------
    images : Tensor of uint8 of shape (n_images, 40, 40, 3)
        All of them.
    drawn : Tensor of int of shape (batch, 4)
        What `draw` gave.

    Returns
    -------
    Tensor of uint8 of shape (batch, 32, 32, 3)
    """
    row, top, left, flipped = drawn.unbind(1)
    side = images.shape[1] - 2 * PADDING
    steps = torch.arange(side, device=images.device)
    down = top[:, None] + steps
    across = left[:, None] + torch.where(flipped[:, None] > 0, side - 1 - steps, steps)
    return images[row[:, None, None], down[:, :, None], across[:, None, :]]


def moments(images: Images) -> tuple[Floats, Floats]:
    """Give the mean and the standard deviation of each colour, from 0 to 1.

    Parameters
    ----------
    images : ndarray of uint8 of shape (n_images, 32, 32, 3)
        Those of the training part.

    Returns
    -------
    mean, std : ndarray of shape (3,)
    """
    values = np.arange(256) / 255
    # Of a histogram, so that no copy in floating point is needed.
    shares = np.stack(
        [np.bincount(images[..., colour].ravel(), minlength=256) for colour in range(3)]
    ) / (images.size // 3)
    mean = shares @ values
    std = np.sqrt((shares * (values - mean[:, None]) ** 2).sum(axis=1))
    # A colour that is the same everywhere says nothing.
    return mean, np.where(std > 0, std, 1.0)


class Normaliser:
    """Bytes become numbers by the training part's mean and standard deviation of each colour.

    Parameters
    ----------
    images : ndarray of uint8 of shape (n_images, 32, 32, 3)
        The training part.
    device : torch.device
        Where images will be.
    """

    def __init__(self, images: Images, device: torch.device) -> None:
        mean, std = moments(images)
        self.factor = torch.as_tensor(1 / (255 * std), dtype=torch.float32, device=device)
        self.offset = torch.as_tensor(-mean / std, dtype=torch.float32, device=device)

    def __call__(self, images: Tensor) -> Tensor:
        """Give float32 images of shape (n, 3, 32, 32), channels last in memory."""
        return (images * self.factor + self.offset).permute(0, 3, 1, 2)
