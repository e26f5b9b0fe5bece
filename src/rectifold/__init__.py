"""Clean imbalanced training data by its geometry."""

from importlib.metadata import version as _version

from rectifold._core.rectification import Rectification
from rectifold._engines import GPU, Approximate
from rectifold.model_selection import Evaluation, RectifiedClassifier, compare
from rectifold.neighbors import NeighborVoteClassifier
from rectifold.preprocessing import HEOMSpace, TableSpace
from rectifold.sampler import GMR

__version__ = _version("rectifold")
__all__ = [
    "GMR",
    "GPU",
    "Approximate",
    "Evaluation",
    "HEOMSpace",
    "NeighborVoteClassifier",
    "Rectification",
    "RectifiedClassifier",
    "TableSpace",
    "__version__",
    "compare",
]
