"""The losses: cross-entropy, class-balanced cross-entropy, and LDAM with deferred weights."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from rectifold._core.utils import Floats, Ints, Tensor

#: The losses by name.
LOSSES = ("CE", "CB", "LDAM")
#: Of the effective number of images (Cui et al. 2019).
BETA = 0.9999
#: The largest margin of LDAM, and the scale of its cosines (Cao et al. 2019).
MARGIN, SCALE = 0.5, 30.0
#: LDAM weighs classes from this part of the training on: epoch 160 of 200.
DEFERRED = (8, 10)


def class_balanced(counts: Ints, beta: float = BETA) -> Floats:
    """Weigh classes by the inverse of their effective number of images.

    Parameters
    ----------
    counts : ndarray of int
        Training images of each class.
    beta : float, default=0.9999
        0 gives equal weights; 1 would be the inverse frequency.

    Returns
    -------
    ndarray of float
        They sum to the number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> class_balanced(np.array([5000, 50])).round(3)
    array([0.025, 1.975])
    """
    weights = (1 - beta) / (1 - np.power(beta, counts.astype(np.float64)))
    return np.asarray(weights / weights.sum() * len(counts), dtype=np.float64)


def margins(counts: Ints, most: float = MARGIN) -> Floats:
    """Give LDAM's margins: in proportion to the inverse fourth root of the number of images.

    Parameters
    ----------
    counts : ndarray of int
        Training images of each class.
    most : float, default=0.5
        The margin of the smallest class.

    Returns
    -------
    ndarray of float
    """
    raw = counts.astype(np.float64) ** -0.25
    return np.asarray(raw * (most / raw.max()), dtype=np.float64)


def weights_at(loss: str, counts: Ints, epoch: int, epochs: int) -> Floats:
    """Give the weights of classes in an epoch.

    Parameters
    ----------
    loss : {"CE", "CB", "LDAM"}
        "LDAM" weighs classes late: in the last fifth of the training (DRW).
    counts : ndarray of int
        Training images of each class.
    epoch, epochs : int
        Which, from 0, and how many there are.

    Returns
    -------
    ndarray of float
        Ones where the loss weighs nothing.
    """
    late = epoch * DEFERRED[1] >= epochs * DEFERRED[0]
    weighed = loss == "CB" or (loss == "LDAM" and late)
    return class_balanced(counts) if weighed else np.ones(len(counts))


class Loss:
    """One of the losses, for training images of known classes.

    Where classes are weighed, the loss of a batch is the sum of its images' losses, each times the
    weight of its class, divided by the sum of these weights (not by the number of images), as in
    the code published with LDAM (Cao et al. 2019).

    Weights are a tensor that is overwritten, never replaced: a recorded step goes on reading it.

    Parameters
    ----------
    name : {"CE", "CB", "LDAM"}
        Which.
    counts : ndarray of int
        Training images of each class.
    device : torch.device
        Where logits are.
    """

    def __init__(self, name: str, counts: Ints, device: torch.device) -> None:
        self.name, self.counts = name, counts
        self.weights = torch.ones(len(counts), device=device)
        self.codes = torch.arange(len(counts), device=device)
        self.margins: Tensor | None = None
        if name == "LDAM":
            self.margins = torch.as_tensor(margins(counts), dtype=torch.float32, device=device)

    def begin(self, epoch: int, epochs: int) -> None:
        """Take on the weights of an epoch, numbered from 0."""
        now = weights_at(self.name, self.counts, epoch, epochs)
        self.weights.copy_(torch.as_tensor(now, dtype=torch.float32))

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Give the loss of a batch: a mean in which an image counts by its class's weight."""
        if self.margins is not None:
            own = labels[:, None] == self.codes
            logits = SCALE * (logits - own * self.margins)
        return functional.cross_entropy(logits, labels, weight=self.weights)
