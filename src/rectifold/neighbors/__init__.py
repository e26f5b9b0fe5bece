"""The vote of the nearest training samples, as a classifier."""

from rectifold.neighbors._classifier import NeighborVoteClassifier

__all__ = ["NeighborVoteClassifier"]
