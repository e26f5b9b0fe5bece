"""Settings chosen by cross-validation, and methods compared on one's own data."""

from rectifold.model_selection._classifier import RectifiedClassifier
from rectifold.model_selection._comparison import Evaluation, compare
from rectifold.model_selection._shared_search import rectify_all

__all__ = ["Evaluation", "RectifiedClassifier", "compare", "rectify_all"]
