"""How a network is trained: batch size, learning rate and its schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold.model_selection._registry import BenchError


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; the defaults are those of the code of Cao et al. (NeurIPS 2019).

    Parameters
    ----------
    batch : int
        Images of a step. Images left over after the last whole batch of an epoch are skipped, so
        that all steps are alike; every epoch has a new order.
    rate, momentum, decay : float
        Highest learning rate, momentum and weight decay of SGD.
    width, blocks : int
        Size of the network; 16 and 5 are a ResNet-32.

    Examples
    --------
    >>> from experiments.deep.longtail import Recipe
    >>> Recipe()
    Recipe(batch=128, rate=0.1, momentum=0.9, decay=0.0002, width=16, blocks=5)
    """

    batch: int = 128
    rate: float = 0.1
    momentum: float = 0.9
    decay: float = 2e-4
    width: int = 16
    blocks: int = 5


def rate_at(epoch: int, epochs: int, rate: float = 0.1) -> float:
    """Return the learning rate of an epoch, counted from 0.

    It rises over the first 2.5 % of the epochs, and falls to a hundredth at 80 % and again at 90 %.

    >>> [f"{rate_at(epoch, 200):.6f}" for epoch in (0, 4, 159, 160, 180)]
    ['0.020000', '0.100000', '0.100000', '0.001000', '0.000010']
    """
    rising = epochs // 40
    if epoch < rising:
        return rate * (epoch + 1) / rising
    if epoch * 10 >= epochs * 9:
        return rate * 1e-4
    return rate * 1e-2 if epoch * 10 >= epochs * 8 else rate


def check_epochs(epochs: Any) -> int:
    """Return a number of epochs as int, or raise an error."""
    if isinstance(epochs, bool) or not isinstance(epochs, int | np.integer) or epochs < 1:
        raise BenchError(f"epochs must be an integer of at least 1, not {epochs!r}")
    return int(epochs)
