"""A trained network: the features and the predicted classes of images."""

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

#: Batch size of predictions.
_BATCH = 1000


@contextmanager
def reproducibly(device: torch.device) -> Iterator[None]:
    """Use cuDNN's deterministic algorithms; the setting is that of the process."""
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
    """A network after its last epoch."""

    #: In evaluation mode.
    network: ResNet32
    normalise: Normaliser
    device: torch.device
    #: The mean loss of each epoch.
    losses: tuple[float, ...]
    #: From the creation of its trainer to the end of the last epoch.
    seconds: float
    #: Whether its steps were replays of a CUDA graph.
    recorded: bool

    def features(self, images: Images) -> Floats:
        """Return the inputs of the last layer for images without shift or flip, (n_images, 64)."""
        return np.asarray(self._through(images, self.network.features), dtype=np.float64)

    def predict(self, images: Images) -> Ints:
        """Return the predicted classes of uint8 images of shape (n_images, 32, 32, 3)."""
        return np.asarray(self._through(images, self.network).argmax(axis=1), dtype=np.intp)

    def _through(self, images: Any, part: Any) -> Any:
        outputs = []
        with torch.no_grad(), reproducibly(self.device):
            for at in range(0, len(images), _BATCH):
                batch = devices.to_device(images[at : at + _BATCH], self.device)
                outputs.append(part(self.normalise(batch)).cpu())
        return torch.cat(outputs).numpy()
