"""The paper's experiment on long-tailed images: three losses, and GMR on features."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "long-tailed images need torch: pip install -r experiments/requirements.txt"
    ) from error

from experiments.deep.longtail.data import LongTailed, long_tailed, read_cifar, read_npz
from experiments.deep.longtail.experiment import run
from experiments.deep.longtail.methods import METHODS
from experiments.deep.longtail.schedule import Recipe
from experiments.deep.longtail.training import Trainer, train, train_together

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
