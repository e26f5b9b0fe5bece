"""The paper's experiment on long-tailed images: four ways to train, and GMR on their features."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as problem:
    raise ImportError(
        'long-tailed images need torch: pip install "rectifold[deep]" brings it'
    ) from problem

from rectifold.bench.deep.longtail.data import LongTailed, long_tailed, read_cifar, read_npz
from rectifold.bench.deep.longtail.experiment import run
from rectifold.bench.deep.longtail.methods import METHODS
from rectifold.bench.deep.longtail.schedule import Recipe
from rectifold.bench.deep.longtail.training import Trainer, train, train_together

__all__ = [
    "METHODS",
    "LongTailed",
    "Recipe",
    "Trainer",
    "long_tailed",
    "read_cifar",
    "read_npz",
    "run",
    "train",
    "train_together",
]
