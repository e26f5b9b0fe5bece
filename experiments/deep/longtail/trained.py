"""A trained network on its device: the features and the classes that it sees in images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from experiments.deep.longtail.augmentation import Normaliser
from experiments.deep.longtail.data import Images
from experiments.deep.longtail.network import ResNet32
from rectifold._core.utils import Floats, Ints
from rectifold._engines.gpu import devices

#: Images that go through a trained network at once.
_AT_ONCE = 1000


@contextmanager
def reproducibly(device: torch.device) -> Iterator[None]:
    """Have cuDNN take algorithms that add in a fixed order; the setting is the process's."""
    if device.type != "cuda":
        yield
        return
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = True, False
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark = before


@dataclass(frozen=True)
class Trained:
    """A network after its last epoch.

    Attributes
    ----------
    network : ResNet32
        In evaluation mode.
    normalise : Normaliser
        From bytes to what it takes.
    device : torch.device
        Where it is.
    losses : tuple of float
        The mean loss of each epoch.
    seconds : float
        From the making of its trainer to the end of the last epoch.
    recorded : bool
        Whether its steps were replays of a CUDA graph.
    """

    network: ResNet32
    normalise: Normaliser
    device: torch.device
    losses: tuple[float, ...]
    seconds: float
    recorded: bool

    def features(self, images: Images) -> Floats:
        """Give what the last layer sees of images, as they are: no shift, no flip.

        Parameters
        ----------
        images : ndarray of uint8 of shape (n_images, 32, 32, 3)

        Returns
        -------
        ndarray of shape (n_images, 64)
        """
        return np.asarray(self._through(images, self.network.features), dtype=np.float64)

    def predict(self, images: Images) -> Ints:
        """Give the codes of the classes that images seem to be of.

        Parameters
        ----------
        images : ndarray of uint8 of shape (n_images, 32, 32, 3)

        Returns
        -------
        ndarray of int
        """
        return np.asarray(self._through(images, self.network).argmax(axis=1), dtype=np.intp)

    def _through(self, images: Any, part: Any) -> Any:
        given = []
        with torch.no_grad(), reproducibly(self.device):
            for at in range(0, len(images), _AT_ONCE):
                batch = devices.sent(images[at : at + _AT_ONCE], self.device)
                given.append(part(self.normalise(batch)).cpu())
        return torch.cat(given).numpy()
