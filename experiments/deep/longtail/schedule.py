"""How a network is trained: sizes, rates, and what becomes of them over the epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold.model_selection._registry import BenchError


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; by default as in the code of Cao et al. (NeurIPS 2019).

    Attributes
    ----------
    batch : int
        Images of a step. What is left of an epoch's order after whole batches is dropped, so that
        all steps are alike; the order is drawn anew in each epoch.
    rate, momentum, decay : float
        Of stochastic gradient descent: the highest learning rate, its momentum, and weight decay.
    width, blocks : int
        Of the network; 16 and 5 are a ResNet-32.

    Examples
    --------
    >>> from experiments.deep.longtail import Recipe
    >>> Recipe()
    Recipe(batch=128, rate=0.1, momentum=0.9, decay=0.0002, width=16, blocks=5)

    A small network for a first try; what is not named stays as it is:

    >>> Recipe(batch=32, width=4, blocks=1)
    Recipe(batch=32, rate=0.1, momentum=0.9, decay=0.0002, width=4, blocks=1)
    """

    batch: int = 128
    rate: float = 0.1
    momentum: float = 0.9
    decay: float = 2e-4
    width: int = 16
    blocks: int = 5


def rate_at(epoch: int, epochs: int, rate: float = 0.1) -> float:
    """Give the learning rate of an epoch.

    It rises over the first 2.5 % of the epochs, and falls to a hundredth at 80 % and again at 90 %.

    Parameters
    ----------
    epoch, epochs : int
        Which, from 0, and how many there are.
    rate : float, default=0.1
        The highest.

    Returns
    -------
    float

    Examples
    --------
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
    """Refuse a number of epochs that is none."""
    if isinstance(epochs, bool) or not isinstance(epochs, int | np.integer) or epochs < 1:
        raise BenchError(f"epochs={epochs!r}: at least 1 is needed")
    return int(epochs)
