"""Improve imbalanced classification by the geometry of the training data."""

from rectifold._lazy import attach as _attach

# Type checkers take it as true. To import `typing` would take as long as Python takes to start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification
    from rectifold._engines import GPU, Approximate
    from rectifold._version import __version__
    from rectifold.model_selection import (
        CorrectedPosterior,
        Evaluation,
        RectifiedClassifier,
        compare,
    )
    from rectifold.neighbors import NeighborVoteClassifier
    from rectifold.preprocessing import HEOMSpace, TableSpace
    from rectifold.sampler import GMR

# Modules are imported with the first use of their names, so that the command line starts quickly.
__getattr__, __dir__ = _attach(
    "rectifold",
    {
        "rectifold._core.rectification": ("Rectification",),
        "rectifold._engines": ("GPU", "Approximate"),
        "rectifold._version": ("__version__",),
        "rectifold.model_selection": (
            *("CorrectedPosterior", "Evaluation", "RectifiedClassifier", "compare"),
        ),
        "rectifold.neighbors": ("NeighborVoteClassifier",),
        "rectifold.preprocessing": ("HEOMSpace", "TableSpace"),
        "rectifold.sampler": ("GMR",),
    },
    submodules=(
        *("bench", "dask", "datasets", "metrics", "model_selection", "neighbors", "plot"),
        *("posterior", "preprocessing", "progress", "report", "sampler"),
    ),
)

__all__ = [
    "GMR",
    "GPU",
    "Approximate",
    "CorrectedPosterior",
    "Evaluation",
    "HEOMSpace",
    "NeighborVoteClassifier",
    "Rectification",
    "RectifiedClassifier",
    "TableSpace",
    "__version__",
    "compare",
]
