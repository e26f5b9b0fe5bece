"""The losses: cross-entropy, class-balanced cross-entropy, and LDAM with deferred weights."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from rectifold._core.utils import Floats, Ints, Tensor

#: The losses by name.
LOSSES = ("CE", "CB", "LDAM")
#: Parameter of the effective number of images (Cui et al. 2019).
BETA = 0.9999
#: The largest margin of LDAM, and the scale of its cosines (Cao et al. 2019).
MARGIN, SCALE = 0.5, 30.0
#: LDAM weights classes from this part of the training on: epoch 160 of 200.
DEFERRED = (8, 10)


def class_balanced(counts: Ints, beta: float = BETA) -> Floats:
    """Return weights of classes, inverse to the effective number of images; their mean is 1.

    With ``beta=0`` all weights are equal; towards 1 they become the inverse frequencies.

    >>> class_balanced(np.array([5000, 50])).round(3)
    array([0.025, 1.975])
    """
    weights = (1 - beta) / (1 - np.power(beta, counts.astype(np.float64)))
    return np.asarray(weights / weights.sum() * len(counts), dtype=np.float64)


def margins(counts: Ints, most: float = MARGIN) -> Floats:
    """Return LDAM's margins, proportional to the inverse fourth root of the class sizes.

    `most` is the margin of the smallest class.
    """
    raw = counts.astype(np.float64) ** -0.25
    return np.asarray(raw * (most / raw.max()), dtype=np.float64)


def weights_at(loss: str, counts: Ints, epoch: int, epochs: int) -> Floats:
    """Return the weights of classes in an epoch, counted from 0.

    "LDAM" weights classes in the last fifth of the training only (DRW), "CE" never.
    """
    late = epoch * DEFERRED[1] >= epochs * DEFERRED[0]
    weighed = loss == "CB" or (loss == "LDAM" and late)
    return class_balanced(counts) if weighed else np.ones(len(counts))


class Loss:
    """One of `LOSSES`, for training images with the class sizes `counts`.

    With weights, the loss of a batch is the sum of its images' losses, each times the weight of its
    class. "CB" divides it by the number of images, as Cui et al. define it; "LDAM" divides it by
    the sum of these weights, as in the code published with it (Cao et al. 2019).

    Weights are a tensor that is overwritten, never replaced: a recorded step goes on reading it.
    """

    def __init__(self, name: str, counts: Ints, device: torch.device) -> None:
        self.name, self.counts = name, counts
        self.weights = torch.ones(len(counts), device=device)
        self.codes = torch.arange(len(counts), device=device)
        self.margins: Tensor | None = None
        if name == "LDAM":
            self.margins = torch.as_tensor(margins(counts), dtype=torch.float32, device=device)

    def begin(self, epoch: int, epochs: int) -> None:
        """Set the weights of an epoch, counted from 0."""
        now = weights_at(self.name, self.counts, epoch, epochs)
        self.weights.copy_(torch.as_tensor(now, dtype=torch.float32))

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of a batch: the mean, weighted by class."""
        if self.margins is not None:
            own = labels[:, None] == self.codes
            logits = SCALE * (logits - own * self.margins)
        if self.name == "CB":
            total = functional.cross_entropy(logits, labels, weight=self.weights, reduction="sum")
            return total / len(labels)
        return functional.cross_entropy(logits, labels, weight=self.weights)
