"""LeafVote: the vote of the training samples that fall into the same leaves of a forest."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state

from rectifold._core.utils import Floats, Ints

#: The forest that is grown.
FOREST = RandomForestClassifier(50, min_samples_leaf=2)
#: Maximum number of samples that the trees are grown on.
_GROWN_ON = 10_000


class LeafVote:
    """Vote of all training samples that share a leaf with a sample, averaged over trees.

    A tree is a partition of the space that follows the labels, and its leaves are neighbourhoods.
    In large data the trees are grown on a part of the samples, with all of the smallest classes;
    all samples vote.
    """

    def __init__(self, forest: Any = FOREST) -> None:
        self.forest = forest

    def fit(
        self, X: Floats, y: Ints, n_classes: int, *, random_state: Any, n_jobs: int | None
    ) -> "LeafVote":
        """Grow the trees, and count the training samples of every class in every leaf."""
        random = check_random_state(random_state)
        grown_on = _part(y, random)
        forest = clone(self.forest).set_params(n_jobs=n_jobs, random_state=random)
        forest.fit(X[grown_on], y[grown_on])
        self._trees = [tree.tree_ for tree in forest.estimators_]
        #: For every tree the share of every class in each of its nodes.
        self._shares = []
        for leaves, tree in zip(self._leaves(X, n_jobs), self._trees, strict=True):
            n_nodes = tree.node_count
            counts = np.bincount(leaves * n_classes + y, minlength=n_nodes * n_classes)
            counts = counts.reshape(n_nodes, n_classes)
            self._shares.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
        return self

    def predict_proba(self, X: Floats, *, n_jobs: int | None) -> Floats:
        """Return the vote for every class."""
        votes = np.zeros((len(X), self._shares[0].shape[1]))
        # Tree by tree, so that no sum depends on the other samples.
        for leaves, shares in zip(self._leaves(X, n_jobs), self._shares, strict=True):
            votes += shares[leaves]
        return votes / len(self._shares)

    def vote_shares(self, X: Floats, training: Floats) -> sparse.csr_array:
        """Return the share of every training sample in the votes, one row per sample."""
        queries, voters = self._membership(X), self._membership(training)
        weights = 1 / (np.maximum(voters.sum(axis=0), 1) * len(self._shares))
        return sparse.csr_array(queries.multiply(weights) @ voters.T)

    def _membership(self, X: Floats) -> sparse.csr_array:
        """Return one row per sample, with a 1 for its leaf in every tree."""
        offsets = np.cumsum([0, *(len(shares) for shares in self._shares)])
        leaves = np.column_stack(list(self._leaves(X, None))) + offsets[:-1]
        n, n_trees = leaves.shape
        starts = np.arange(0, n * n_trees + 1, n_trees)
        shape = (n, offsets[-1])
        return sparse.csr_array((np.ones(leaves.size), leaves.ravel(), starts), shape=shape)

    def _leaves(self, X: Floats, n_jobs: int | None) -> Iterator[Ints]:
        """Yield for every tree the leaves of the samples."""
        run = Parallel(effective_n_jobs(n_jobs), prefer="threads", return_as="generator")
        return iter(run(delayed(tree.apply)(X) for tree in self._trees))


def _part(y: Ints, random: np.random.RandomState) -> Ints | slice:
    """Return the samples to grow trees on: of large classes a random part, of others all."""
    if len(y) <= _GROWN_ON:
        return slice(None)
    sizes = np.bincount(y)
    # The largest number per class with which the classes have at most `_GROWN_ON` samples.
    left, limit = _GROWN_ON, 0
    for rank, size in enumerate(sorted(sizes)):
        limit = left // (len(sizes) - rank)
        left -= min(size, limit)
    parts = [
        random.choice(np.flatnonzero(y == code), min(size, limit), replace=False)
        for code, size in enumerate(sizes)
    ]
    return np.sort(np.concatenate(parts))
