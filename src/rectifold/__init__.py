"""Clean imbalanced training data by its geometry."""

from importlib.metadata import version as _version

from rectifold.classifier import RectifiedClassifier
from rectifold.evaluation import Evaluation, compare
from rectifold.heom import HEOMSpace
from rectifold.rectification import Rectification
from rectifold.sampler import GMR
from rectifold.tables import TableSpace

__version__ = _version("rectifold")
__all__ = [
    "GMR",
    "Evaluation",
    "HEOMSpace",
    "Rectification",
    "RectifiedClassifier",
    "TableSpace",
    "__version__",
    "compare",
]
