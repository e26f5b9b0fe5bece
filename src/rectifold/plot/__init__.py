"""Figures with matplotlib: a run of GMR, the confidence of its votes, and average ranks."""

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError:
    raise ImportError("rectifold.plot needs matplotlib: pip install 'rectifold[plot]'.") from None

from rectifold.plot._confidence import plot_confidence
from rectifold.plot._ranks import plot_rank_heatmap
from rectifold.plot._rectification import plot_rectification

__all__ = ["plot_confidence", "plot_rank_heatmap", "plot_rectification"]
