"""NeighborVoteClassifier: the mean vote of the nearest training samples in several views."""

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _num_samples,
    check_array,
    check_is_fitted,
    validate_data,
)

from rectifold._core.documentation import DocumentationLink
from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import LARGEST, Hint, Points, as_numbers, as_points, comparable
from rectifold._core.target import encode_for
from rectifold._core.utils import Floats, Ints, Matrix, did_you_mean
from rectifold._core.votes import TOLERANCE, class_votes, in_blocks, size_order, weigh
from rectifold._engines.options import GPU, Approximate, EngineLike
from rectifold._engines.queries import QueryAnswer, QueryIndex
from rectifold._engines.registry import check_engine
from rectifold._engines.settle import pair_distances
from rectifold.neighbors._leaves import LeafVote
from rectifold.neighbors._views import VIEWS, FeatureViews
from rectifold.preprocessing import TableSpace

#: Coordinates are clipped to this, so that they and their multiples fit in single precision.
_FARTHEST = 1e30
#: The ends of errors about a column that is not numeric.
_HINT_SPARSE: Hint = ("fill them, or pass a dense array",)
_HINT_NUMERIC: Hint = ("all columns were numeric in fit",)
#: Samples that are prepared at a time.
_QUERIES = 1 << 16
#: The view in which the samples in the same leaves are the neighbours.
LEAVES = "leaves"
#: The views that sparse samples can have: quantiles would make them dense, and trees are slow.
_SPARSE_VIEWS = VIEWS[:2]
#: The share of the leaves in the vote, unless it is chosen or set.
LEAF_SHARE = 0.5


class NeighborVoteClassifier(DocumentationLink, ClassifierMixin, BaseEstimator):
    """Classifier by a distance-weighted vote of the nearest training samples, in several views.

    A view is a transformation of the features: on one scale, weighted by their information about
    the label, or weighted quantiles. In each view the k nearest training samples vote, a neighbour
    at distance d with the weight 1 / (d + epsilon). In a last view, the leaves of a random forest,
    the neighbours of a sample are all training samples in the same leaves. The probability of a
    class is its vote, averaged over the numbers of neighbours and over the views.

    It is the partner of the classifier in :class:`rectifold.RectifiedClassifier`.

    Parameters
    ----------
    n_neighbors : int or sequence of int, default=(5, 15, 45)
        Numbers of neighbours whose votes are averaged. If there are fewer training samples, all of
        them vote.

    views : "auto" or sequence of str, default="auto"
        The views whose votes are averaged; "auto" means all that the data can have.

        - "standardized": features on one scale;
        - "weighted": the same, multiplied by their mutual information with the label;
        - "quantiles": replaced by their quantiles, and weighted likewise; dense features only;
        - "leaves": the leaves of a random forest; dense features only.

    leaf_share : "auto" or float, default="auto"
        The share of the view "leaves" in the vote, from 0 to 1; the other views have equal parts
        of the rest. "auto" means 0.5; :class:`rectifold.RectifiedClassifier` chooses it.

    space : "auto" or transformer, default="auto"
        Transformer applied to a copy of `X` before the views. "auto" puts numeric features on one
        scale; a table with text, categories, dates or missing values is encoded by
        :class:`rectifold.TableSpace`.

    metric_threshold : int, default=100
        Sparse features are compared by their cosine distance if there are more than this, and are
        not scaled then.

    epsilon : float, default=1e-8
        Added to distances.

    engine : {"auto", "exact", "gpu"} or GPU(...), default="auto"
        Where neighbours are searched for; see :class:`rectifold.GMR`. All give the same votes.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a ``joblib.parallel_backend`` context. -1 means
        using all processors. The result does not depend on it.

    random_state : int, RandomState instance or None, default=0
        Controls the trees of the forest. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    views_ : tuple of str
        Names of the views that vote.

    space_ : transformer
        The fitted transformer; for sparse features that are not scaled it is None.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only if `X` has feature names that are all
        strings.

    See Also
    --------
    sklearn.neighbors.KNeighborsClassifier : One vote in the features as they are.
    sklearn.ensemble.RandomForestClassifier : A forest, in whose leaves its bootstrap samples vote.

    Notes
    -----
    Votes are exact, and the same for any batch of samples, number of threads and device. A sample
    whose nearest training samples provably share one label needs no search.

    The forest has 50 trees, grown on bootstrap samples of at most 10,000 samples (with all of the
    smallest classes); all training samples vote in its leaves, so that an average over trees is a
    weighted vote of neighbours (Lin and Jeon, 2006). It is grown and searched on the CPU.

    A fitted model keeps the encoded features of the training data in single precision and the
    trees, at most 50 MB of them, and its pickle has little more. The search indexes, two to three
    times the size of the features for each view, are built when they are first needed, and are not
    pickled.

    A missing value of a column that had none in `fit` counts as the mean of the column.

    References
    ----------
    Y. Lin and Y. Jeon, "Random forests and adaptive nearest neighbors", Journal of the American
    Statistical Association 101 (2006), 578-590.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import NeighborVoteClassifier
    >>> X, y = make_classification(n_samples=300, weights=[0.9], class_sep=2, random_state=0)
    >>> model = NeighborVoteClassifier().fit(X[:200], y[:200])
    >>> model.predict_proba(X[200:203]).round(2)
    array([[0.97, 0.03],
           [0.99, 0.01],
           [0.93, 0.07]])
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "n_neighbors": [Interval(numbers.Integral, 1, None, closed="left"), "array-like", tuple],
        "views": [StrOptions({"auto"}), "array-like", tuple],
        "leaf_share": [StrOptions({"auto"}), Interval(numbers.Real, 0, 1, closed="both")],
        "space": [StrOptions({"auto"}), HasMethods(["fit", "transform"])],
        "metric_threshold": [Interval(numbers.Integral, 1, None, closed="left")],
        "epsilon": [Interval(numbers.Real, 0, None, closed="neither")],
        "engine": [str, Approximate, GPU],
        "n_jobs": [numbers.Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors: Any = (5, 15, 45),
        *,
        views: Any = "auto",
        leaf_share: Any = "auto",
        space: Any = "auto",
        metric_threshold: int = 100,
        epsilon: float = 1e-8,
        engine: EngineLike = "auto",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.views = views
        self.leaf_share = leaf_share
        self.space = space
        self.metric_threshold = metric_threshold
        self.epsilon = epsilon
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> "NeighborVoteClassifier":
        """Learn the views and keep the training samples.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Training data.

        y : array-like of shape (n_samples,)
            Target values.

        Returns
        -------
        self : NeighborVoteClassifier
            Fitted estimator.
        """
        check_engine(self.engine)
        numbers_of_neighbours = _read_numbers(self.n_neighbors)
        target = encode_for(self, X, y, min_size=1)
        if _num_samples(X) != len(target.codes):
            raise ParameterError(
                "Found input variables with inconsistent numbers of samples: {} has {}, {} has {}.",
                Param("X"),
                str(_num_samples(X)),
                Param("y"),
                str(len(target.codes)),
            )
        self._fit_space(X, target.values)
        base = self._encode(X)
        self.views_, self._share = self._read_views(sparse.issparse(base))
        self._nearest_views = tuple(view for view in self.views_ if view != LEAVES)
        self._metric = "euclidean"
        if sparse.issparse(base) and base.shape[1] > self.metric_threshold:
            self._metric = "cosine"
        self._base, self._codes, self._sizes = base, target.codes, target.sizes
        self._ks = sorted({min(k, base.shape[0]) for k in numbers_of_neighbours})
        self._transformer = FeatureViews(self._nearest_views).fit(_in_double(base), target.codes)
        self._indexes: dict[str, QueryIndex] = {}
        self._leaves: LeafVote | None = None
        if LEAVES in self.views_:
            self._leaves = LeafVote().fit(
                *(base, target.codes, len(target.classes)),
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
        self.classes_ = target.classes
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the vote for every class.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The votes, which sum to 1, in the order of `classes_`.
        """
        return mean_vote(self._votes_of_parts(X), self._share)

    def predict(self, X: Any) -> Any:
        """Predict class labels; equal votes go to the larger class.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels.
        """
        votes = self.predict_proba(X)
        order = size_order(self._sizes)
        best = votes[:, order] >= votes.max(axis=1, keepdims=True) - TOLERANCE
        return self.classes_[order[best.argmax(axis=1)]]

    def vote_shares(self, X: Any) -> Any:
        """Return the share of every training sample in the votes.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        csr_array of shape (n_samples, n_training_samples)
            The weight with which each training sample votes, averaged over the numbers of
            neighbours and over the views. A row sums to 1; its sum over the training samples of a
            class is the vote for that class.
        """
        base = self._check(X)
        n = base.shape[0]
        total = sparse.csr_array((n, self._base.shape[0]))
        for view in self._nearest_views:
            answer = self._query(base, view, certify=False)
            for k in self._ks:
                indices = answer.indices[:, :k]
                weights = self._weights(answer.distances[:, :k], self._codes[indices])
                starts = np.arange(0, n * k + 1, k)
                cells = (weights.ravel(), indices.ravel(), starts)
                total = total + sparse.csr_array(cells, shape=total.shape)
        if self._nearest_views:
            total = total * ((1 - self._share) / (len(self._nearest_views) * len(self._ks)))
        if self._leaves is not None:
            total = total + self._share * self._leaves.vote_shares(base, self._base)
        total = sparse.csr_array(total)
        total.sort_indices()
        return total

    def neighbor_distances(self, X: Any, rows: Ints, columns: Ints) -> Floats:
        """Return the distances of pairs of a sample and a training sample, on one scale.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The samples.

        rows : ndarray of int of shape (n_pairs,)
            Positions of the samples in `X`.

        columns : ndarray of int of shape (n_pairs,)
            Positions of the training samples, as in the columns of `vote_shares`.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The distances in the view "standardized", also if it does not take part in the vote.
        """
        queries = self._points(self._check(X), "standardized")
        used, columns = np.unique(columns, return_inverse=True)
        points = self._points(self._base[used], "standardized")
        return pair_distances(points, rows, columns, queries=queries)

    def _votes_of_parts(self, X: Any) -> Floats:
        """Return the votes of the nearest samples and those of the leaves, if both take part."""
        base = self._check(X)
        parts = np.zeros(
            (bool(self._nearest_views) + (LEAVES in self.views_), base.shape[0], len(self.classes_))
        )
        for at in range(0, base.shape[0], _QUERIES):
            some = slice(at, at + _QUERIES)
            for view in self._nearest_views:
                self._add_votes(parts[0, some], self._query(base[some], view, certify=True))
            if self._leaves is not None:
                parts[-1, some] = self._leaves.predict_proba(base[some], n_jobs=self.n_jobs)
        if self._nearest_views:
            parts[0] /= len(self._nearest_views) * len(self._ks)
        return parts

    def _add_votes(self, votes: Floats, answer: QueryAnswer) -> None:
        """Add the votes for the queries of an answer, for every number of neighbours."""
        certain = np.flatnonzero(answer.certified >= 0)
        votes[certain, answer.certified[certain]] += len(self._ks)
        n_classes = len(self.classes_)
        for some in in_blocks(len(answer.rows), self._ks[-1], n_classes):
            rows, distances = answer.rows[some], answer.distances[some]
            classes = self._codes[answer.indices[some]]
            for k in self._ks:
                weights = self._weights(distances[:, :k], classes[:, :k])
                votes[rows] += class_votes(weights, classes[:, :k], n_classes)

    def _weights(self, distances: Floats, classes: Ints) -> Floats:
        return weigh(distances, classes, self._sizes, epsilon=self.epsilon, class_weight=None)

    def _query(self, base: Matrix, view: str, *, certify: bool) -> QueryAnswer:
        """Return the nearest training samples in a view."""
        if view not in self._indexes:
            self._indexes[view] = QueryIndex(
                self._points(self._base, view),
                self._codes,
                self._ks[-1],
                engine=self.engine,
                n_jobs=self.n_jobs,
            )
        return self._indexes[view].query(
            self._points(base, view), certify=certify, n_jobs=self.n_jobs
        )

    def _points(self, base: Matrix, view: str) -> Points:
        # Single precision halves the memory of the indexes; samples that are equal stay equal.
        if view == "standardized" and self._metric == "euclidean":
            return Points(base, self._metric)
        values = self._transformer.transform(_in_double(base), view)
        points = comparable(values, self._metric)
        return Points(points.values.astype(np.float32), self._metric, points.zero)

    def _read_views(self, is_sparse: bool) -> tuple[tuple[str, ...], float]:
        """Return the views that vote, and the share of the leaves."""
        known = _SPARSE_VIEWS if is_sparse else (*VIEWS, LEAVES)
        names = known if isinstance(self.views, str) else tuple(dict.fromkeys(self.views))
        for name in names:
            if name not in known:
                raise ParameterError(
                    "{} has {}, which is not a view of {} features{}.",
                    Param("views"),
                    repr(name),
                    "sparse" if is_sparse else "dense",
                    did_you_mean(str(name), known, list_all=True),
                )
        if not names:
            raise ParameterError("{} names no view: pass at least one.", Param("views"))
        share = LEAF_SHARE if isinstance(self.leaf_share, str) else float(self.leaf_share)
        if LEAVES not in names or names == (LEAVES,):
            share = float(LEAVES in names)
        voting = [name for name in names if (share > 0 if name == LEAVES else share < 1)]
        return tuple(voting), share

    def _fit_space(self, X: Any, y: Any) -> None:
        """Fit the transformer that is applied before the views."""
        self._fitted_sparse = sparse.issparse(X)
        self.space_: Any = None
        if self.space != "auto":
            self.space_ = clone(self.space).fit(X, y)
            return
        try:
            values = as_numbers(X, hint=_HINT_SPARSE)
            if not sparse.issparse(values) and values.size and abs(values).max() > LARGEST:
                values = None
        except ParameterError:
            if sparse.issparse(X):
                raise
            values = None
        if values is None:
            self.space_ = TableSpace().fit(X)
        elif not sparse.issparse(values):
            self.space_ = StandardScaler().fit(values)
        elif values.shape[1] <= self.metric_threshold:
            self.space_ = StandardScaler(with_mean=False).fit(values)

    def _encode(self, X: Any) -> Matrix:
        """Return samples on one scale, in single precision."""
        if self.space == "auto" and not self._fitted_sparse and sparse.issparse(X):
            X = X.toarray()
        if self.space == "auto" and not isinstance(self.space_, TableSpace):
            values = as_numbers(X, hint=_HINT_NUMERIC, allow_nan=True)
            if self.space_ is not None:
                with np.errstate(over="ignore"):
                    values = self.space_.transform(values)
            # The mean of a feature; of a sparse one, its most frequent value.
            if sparse.issparse(values):
                values = sparse.csr_array(values)
                values.data[np.isnan(values.data)] = 0
            else:
                values[np.isnan(values)] = 0
        else:
            X = X.copy() if hasattr(X, "copy") else X
            values = as_points(self.space_.transform(X), _num_samples(X))
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
        data = values.data if sparse.issparse(values) else values
        np.clip(data, -_FARTHEST, _FARTHEST, out=data)
        return values

    def _check(self, X: Any) -> Matrix:
        check_is_fitted(self, "classes_")
        if getattr(X, "ndim", 2) == 1:
            check_array(X)  # It raises the error for one-dimensional input.
        validate_data(self, X, reset=False, skip_check_array=True)
        base = self._encode(X)
        if sparse.issparse(base) and not sparse.issparse(self._base):
            base = base.toarray()
        elif sparse.issparse(self._base):
            base = sparse.csr_array(base)
        return base

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_indexes" in state:
            state["_indexes"] = {}
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        automatic = isinstance(self.space, str)
        of_space = None if automatic else get_tags(self.space).input_tags
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, automatic or getattr(of_space, name))
        return tags


def _in_double(base: Matrix) -> Matrix:
    return base.astype(np.float64)


def _read_numbers(n_neighbors: Any) -> list[int]:
    several = [n_neighbors] if isinstance(n_neighbors, numbers.Integral) else list(n_neighbors)
    if not several or not all(isinstance(k, numbers.Integral) and int(k) > 0 for k in several):
        raise ParameterError(
            "{} must be a positive integer, or several of them.", Param("n_neighbors", n_neighbors)
        )
    return [int(k) for k in several]


def mean_vote(parts: Floats, leaf_share: float) -> Floats:
    """Return the average of the votes of the nearest samples and those of the leaves."""
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.asarray((1 - leaf_share) * parts[0] + leaf_share * parts[1])
