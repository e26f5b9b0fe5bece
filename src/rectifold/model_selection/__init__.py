"""Choose settings by cross-validation, and compare methods on your own data."""

from rectifold.model_selection._classifier import RectifiedClassifier
from rectifold.model_selection._comparison import compare
from rectifold.model_selection._corrected import CorrectedPosterior
from rectifold.model_selection._evaluation import Evaluation
from rectifold.model_selection._explanation import Explanation, explain
from rectifold.model_selection._shared_search import rectify_all

__all__ = [
    "CorrectedPosterior",
    "Evaluation",
    "Explanation",
    "RectifiedClassifier",
    "compare",
    "explain",
    "rectify_all",
]
