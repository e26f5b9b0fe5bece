"""Views: transformations of the features, in each of which the nearest samples vote."""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import QuantileTransformer

from rectifold._core.utils import Floats, Ints, Matrix

#: The views, in the order in which their votes are averaged.
VIEWS = ("standardized", "weighted", "quantiles")
#: Bins of a feature for its mutual information with the label.
_BINS = 16
#: The weight of a feature without information, relative to that of an average one.
_FLOOR = 0.05
#: Maximum number of quantiles of a feature, and of samples to determine them from.
_QUANTILES, _SAMPLES = 200, 100_000


class FeatureViews(BaseEstimator):
    """Transform features on one scale into views.

    - "standardized": the features as they are;
    - "weighted": multiplied by their mutual information with the label;
    - "quantiles": replaced by their quantiles, and weighted in the same way.

    Every sample is transformed on its own, so that its views do not depend on other samples.
    """

    def __init__(self, names: tuple[str, ...] = VIEWS) -> None:
        self.names = names

    def fit(self, X: Matrix, y: Ints) -> "FeatureViews":
        """Learn the weights and the quantiles of the features from samples and class codes."""
        if "weighted" in self.names or "quantiles" in self.names:
            information = mutual_information(X, y)
            mean = information.mean()
            relative = information / mean if mean > 0 else np.ones_like(information)
            self.weights_ = relative + _FLOOR
        if "quantiles" in self.names:
            self.quantiles_ = QuantileTransformer(
                n_quantiles=min(_QUANTILES, len(X)), subsample=_SAMPLES, random_state=0
            ).fit(X)
        return self

    def transform(self, X: Matrix, name: str) -> Matrix:
        """Return the samples in one view."""
        if name == "standardized":
            return X
        if name == "quantiles":
            X = self.quantiles_.transform(X)
        if sparse.issparse(X):
            weighted = sparse.csr_array(X, copy=True)
            weighted.data *= self.weights_[weighted.indices]
            return weighted
        return X * self.weights_


def mutual_information(X: Matrix, y: Ints) -> Floats:
    """Return an estimate of the mutual information of every feature with the label, in nats.

    Dense features are cut into bins of about equally many samples, of sparse ones only the presence
    counts. The bias of small samples is subtracted (Miller and Madow, 1955).
    """
    n_classes = int(y.max()) + 1
    if sparse.issparse(X):
        members = sparse.csr_array((np.ones(len(y)), (y, np.arange(len(y)))))
        present = sparse.csr_array((X.data != 0, X.indices, X.indptr), shape=X.shape)
        counts = (members @ present.astype(np.float64)).toarray().T
        sizes = np.bincount(y, minlength=n_classes)
        tables = np.stack([sizes - counts, counts], axis=1)
    else:
        tables = np.stack([_contingency(column, y, n_classes) for column in X.T])
    joint = tables / len(y)
    of_bins, of_classes = joint.sum(axis=2, keepdims=True), joint.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = joint * np.log(joint / (of_bins * of_classes))
    bias = ((of_bins > 0).sum(axis=(1, 2)) - 1) * (n_classes - 1) / (2 * len(y))
    return np.asarray(np.maximum(np.nansum(terms, axis=(1, 2)) - bias, 0))


def _contingency(column: Floats, y: Ints, n_classes: int) -> Floats:
    """Return the number of samples in each bin and class."""
    edges = np.unique(np.quantile(column, np.linspace(0, 1, _BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, column, side="right")
    counts = np.bincount(bins * n_classes + y, minlength=_BINS * n_classes)
    return counts.reshape(_BINS, n_classes).astype(np.float64)
