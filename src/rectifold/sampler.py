"""GMR: the sampler, for imbalanced-learn and scikit-learn."""

import inspect
import numbers
import warnings
from typing import Any

import numpy as np
from imblearn.under_sampling.base import BaseCleaningSampler
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, validate_data

from rectifold import progress
from rectifold._core import pipeline
from rectifold._core.accuracy import in_words
from rectifold._core.device_arrays import is_on_device, take
from rectifold._core.documentation import DocumentationLink
from rectifold._core.errors import Param, ParameterWarning
from rectifold._core.pipeline import Settings, make_settings, warn_of_classes, warn_recorded
from rectifold._core.space import ROWS, SPACES
from rectifold._core.target import Labels, Target
from rectifold._core.threads import over
from rectifold._core.utils import Ints, duration, timed
from rectifold._engines import GPU, Approximate
from rectifold._engines.contract import TimeEstimate


class GMR(DocumentationLink, BaseCleaningSampler):
    """Clean imbalanced data by Geometric Manifold Rectification.

    Every sample is scored by a vote of its nearest neighbours, weighted by inverse
    distance. Cleaning is then asymmetric: a sample of the majority class is removed if
    its neighbours predict the minority class or give its own class a low vote; a sample
    of the minority class is removed only if it lies deep in the majority class, and at
    most a fraction `gamma` of the class is removed.

    Parameters
    ----------
    sampling_strategy : str or list, default="auto"
        The strict classes: those that are cleaned without a cap.

        - "auto": the largest class is strict, and every other class is protected: it
          can lose at most a fraction `gamma` of its samples. This is the rule of the
          paper.
        - "majority": only the largest class;
        - "not minority": all classes but the smallest;
        - "not majority": all classes but the largest;
        - "all": all classes;
        - a list of labels.

        As everywhere in imbalanced-learn, the last five name all the classes that may
        change: the other classes lose nothing.

    n_neighbors : int or object, default=15
        Number of neighbours that vote. Or an object with a `kneighbors` method (of
        scikit-learn, cuML or your own) that does the search; as in imbalanced-learn it
        must find one neighbour more than shall vote, because it finds the sample itself.
        Or a transformer that returns a graph of neighbours, such as pynndescent's
        PyNNDescentTransformer, of which all `n_neighbors` vote.

    alpha : float, default=0.3
        A sample of a strict class is removed if the vote for its own class is below
        `alpha`. While only the largest class is strict, values up to 1 / n_classes have
        no effect, since a vote below that is not the highest: the default decides
        nothing with two or three classes.

    beta : float, default=0.7
        A sample of a protected class is a candidate for removal if its neighbours
        predict a larger class and the vote for the larger classes exceeds `beta`.

    gamma : float, default=0.1
        Maximum fraction of a protected class that is removed.

    metric : str or callable, default="auto"
        "auto" is the Euclidean distance up to `metric_threshold` features and the
        cosine distance above. Or any metric of
        :class:`sklearn.neighbors.NearestNeighbors`; or "precomputed", where `X` is a
        graph of distances as returned by
        :meth:`sklearn.neighbors.NearestNeighbors.kneighbors_graph`.

    metric_threshold : int, default=100
        See `metric`. Features are counted after `space`.

    epsilon : float, default=1e-8
        A neighbour at distance d has the weight ``1 / (d + epsilon)``.

    min_minority : int, default=10
        Minimum size of the minority class; below it the data are returned unchanged,
        with a warning. With more than two classes, a class below it loses no samples.

    class_weight : {None, "balanced"}, default=None
        "balanced" weights votes by the inverse frequency of their class. The majority
        class then keeps at least as many samples as the largest protected class.

    space : {None, "auto", "heom"} or transformer, default=None
        Transformer applied to a copy of `X` before distances are computed; the samples
        returned are those of `X`, unchanged. None uses `X` as it is and needs finite
        numbers. "auto" handles messy tables: numbers are scaled robustly, categories
        compared by overlap, dates turned into numbers, missing values imputed and
        marked (:class:`rectifold.TableSpace`). "heom" is the heterogeneous
        Euclidean-overlap metric (:class:`rectifold.HEOMSpace`); it compares all pairs,
        so it suits thousands of samples rather than millions. A transformer such as
        ``StandardScaler()`` is cloned and fitted.

    engine : str, Approximate or GPU, default="auto"
        The neighbour search.

        - "exact" runs on the CPU. For most samples it proves that all neighbours carry
          the sample's own label without finding them, and searches only for the rest.
        - "gpu" does the same on a GPU, with PyTorch, and gives the same result. Pass
          ``GPU(device="cuda:1")`` to choose a device (:class:`rectifold.GPU`).
        - "auto" is "gpu" if PyTorch sees a CUDA device and there is enough work for it,
          and otherwise the exact engine for `metric`.
        - "approximate" may miss a neighbour. Where classes overlap in many dimensions it
          takes seconds instead of minutes, and it measures its error
          (``rectification_.accuracy``). Pass ``Approximate(recall=0.95, budget=60)`` to
          set its options (:class:`rectifold.Approximate`). For metrics other than
          the Euclidean and the cosine distance it needs pynndescent
          (``rectifold[ann]``).

    random_state : int, RandomState instance or None, default=0
        Controls the approximate search, and the samples on which its error, or that of a
        search object, is measured. Pass an int for reproducible results; they do not
        depend on `n_jobs`.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a ``joblib.parallel_backend``
        context. -1 means using all processors. The result does not depend on it.

    Attributes
    ----------
    sampling_strategy_ : dict
        The strict classes, in the form of imbalanced-learn.

    sample_indices_ : ndarray of shape (n_samples_new,)
        Indices of the samples that were kept, ascending.

    rectification_ : Rectification
        The record of the run: for every sample its votes, the decision and the reason. For
        reports it refers to `X` and keeps up to 64 MiB of neighbours; a pickle has neither,
        and `Rectification.without_data` drops both.

    metric_ : str
        The metric that was used.

    space_ : transformer or None
        The fitted space.

    n_features_in_ : int
        Number of features seen during `fit_resample`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit_resample`. Defined only if `X` has feature
        names that are all strings.

    See Also
    --------
    imblearn.under_sampling.EditedNearestNeighbours : Cleans without weights or cap.
    imblearn.under_sampling.NeighbourhoodCleaningRule : Cleans more cautiously.

    Notes
    -----
    Two classes are cleaned exactly by Algorithm 1 of [1]_. Neighbours are the k nearest
    samples in the order (distance, index), the sample itself excluded by its index;
    equal votes (within 1e-12) go to the larger class. The result does not depend on
    `n_jobs`, nor on `engine` unless that is approximate.

    A fitted sampler refers to `X`, without a copy, and keeps up to 64 MiB of neighbours,
    so that ``rectification_.report()`` can show them. Neither is pickled.
    ``gmr.rectification_ = gmr.rectification_.without_data()`` drops both.

    References
    ----------
    .. [1] X. Wang, Q. Li, W. Jia, "Geometric Manifold Rectification for Imbalanced
       Learning", arXiv:2602.13045, 2026.

    Examples
    --------
    >>> from collections import Counter
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> sorted(Counter(y.tolist()).items())
    [(0, 828), (1, 172)]
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> sorted(Counter(y_clean.tolist()).items())
    [(0, 825), (1, 155)]
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "sampling_strategy": [
            StrOptions({"auto", "majority", "not minority", "not majority", "all"}),
            list,
        ],
        "n_neighbors": [
            Interval(numbers.Integral, 1, None, closed="left"),
            HasMethods(["kneighbors"]),
            HasMethods(["fit_transform"]),
        ],
        "alpha": [Interval(numbers.Real, 0, 1, closed="both")],
        "beta": [Interval(numbers.Real, 0, 1, closed="both")],
        "gamma": [Interval(numbers.Real, 0, 1, closed="both")],
        "metric": [str, callable],
        "metric_threshold": [Interval(numbers.Integral, 0, None, closed="left")],
        # With a smaller value a sum of weights 1 / epsilon could overflow.
        "epsilon": [Interval(numbers.Real, 1e-300, None, closed="left")],
        "min_minority": [Interval(numbers.Integral, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), None],
        "space": [StrOptions(set(SPACES)), HasMethods(["fit_transform"]), None],
        "engine": [str, Approximate, GPU],
        "random_state": ["random_state"],
        "n_jobs": [numbers.Integral, None],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        n_neighbors: Any = 15,
        alpha: float = 0.3,
        beta: float = 0.7,
        gamma: float = 0.1,
        metric: Any = "auto",
        metric_threshold: int = 100,
        epsilon: float = 1e-8,
        min_minority: int = 10,
        class_weight: str | None = None,
        space: Any = None,
        engine: str | Approximate | GPU = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.metric = metric
        self.metric_threshold = metric_threshold
        self.epsilon = epsilon
        self.min_minority = min_minority
        self.class_weight = class_weight
        self.space = space
        self.engine = engine
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> "GMR":
        """Check the data, without cleaning it.

        You should use ``fit_resample`` in all cases.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Data array.

        y : array-like of shape (n_samples,)
            Target array.

        **params : dict
            Not supported: see `fit_resample`.

        Returns
        -------
        self : GMR
            Return the instance itself.
        """
        check_no_metadata(params)
        settings = settings_of(self)
        target = self._check(X, y, settings)
        _, self.space_ = pipeline.embed_samples(X, target, settings)
        return self

    # imbalanced-learn's own method converts containers and accepts numbers only.
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_resample(self, X: Any, y: Any, *, sample_weight: Any = None) -> tuple[Any, ...]:
        """Clean the data.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix, tensor} of shape (n_samples, n_features)
            Data array: NumPy, SciPy sparse (CSR, CSC), pandas, polars, or lists. Or an
            array on a GPU (of PyTorch, CuPy, or any library that supports DLPack), which
            stays there.

        y : array-like of shape (n_samples,)
            Target array.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights to return for the samples that are kept. They do not weight votes.
            Pipelines of imbalanced-learn can't pass them on: use
            :class:`rectifold.RectifiedClassifier`, or the weights that are returned.

        Returns
        -------
        X_resampled : same type as X, of shape (n_samples_new, n_features)
            The samples that were kept, unchanged and in the same order.

        y_resampled : same type as y, of shape (n_samples_new,)
            Their labels.

        sample_weight_resampled : same type as sample_weight, of shape (n_samples_new,)
            Their weights. Only returned if `sample_weight` is passed.
        """
        if sample_weight is None:
            return self._fit_resample(X, y)
        check_consistent_length(X, sample_weight)
        kept = self._fit_resample(X, y)
        return *kept, _select(sample_weight, self.sample_indices_)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        settings = settings_of(self)
        target = self._check(X, y, settings)
        seconds: dict[str, float] = {}
        with timed(seconds, "space"):
            prepared = pipeline.prepare(X, target, settings)
        with timed(seconds, "search"):
            found = pipeline.find_neighbours(prepared, target, settings, warn=self._suggest)
        record = pipeline.decide(X, target, prepared, found, settings, seconds, keep_trace=True)
        self.rectification_ = record
        self.space_ = prepared.space
        self.metric_ = prepared.points.metric
        self.sample_indices_ = np.flatnonzero(~record.removed)
        accuracy = record.accuracy
        if accuracy is not None and accuracy.met is False:
            warn_recorded(
                4,
                "{} was not reached: {}.",
                Param("recall", accuracy.target),
                in_words(accuracy.to_dict()),
            )
        removed = np.bincount(target.codes[record.removed], minlength=len(target.classes))
        left = target.sizes - removed
        warn_of_classes(target.classes, target.sizes, left, self.min_minority, stacklevel=5)
        if sparse.issparse(X) and X.format in ("bsr", "coo", "dia", "dok"):
            X = X.tocsr()
        kept = _select(X, self.sample_indices_, self.n_jobs)
        if self.metric == "precomputed":
            # The graph among the samples that are kept.
            kept = _safe_indexing(kept, self.sample_indices_, axis=1)
        return kept, _select(y, self.sample_indices_)

    def _check(self, X: Any, y: Any, settings: Settings) -> Target:
        """Check the input before any long work, and return the encoded labels."""
        target = pipeline.check_input(X, y, settings)
        validate_data(self, X, skip_check_array=True)
        self._set_strict_classes(settings, target.classes, target.sizes)
        return target

    def _set_strict_classes(self, settings: Settings, classes: Labels, sizes: Ints) -> None:
        strict, _ = pipeline.roles(settings, classes, sizes)
        least = int(sizes.min())
        self.sampling_strategy_ = {classes[code]: least for code in sorted(strict)}

    def _suggest(self, estimate: TimeEstimate) -> None:
        """Suggest the approximate engine before an exact search that takes minutes."""
        if self.engine != "auto":
            return
        warning = ParameterWarning(
            "the exact search will take about {}; if the data have clusters, {} takes about {} and "
            "measures its error.",
            duration(estimate.exact),
            Param("engine", "approximate"),
            duration(estimate.approximate),
        )
        if not progress.pass_warning(warning):
            warnings.warn(warning, stacklevel=7)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.sampler_tags.sample_indices = True
        messy = self.space in SPACES if isinstance(self.space, str) else False
        tags.input_tags.allow_nan = messy or self.metric == "nan_euclidean"
        tags.input_tags.string = messy
        tags.input_tags.sparse = not messy
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


_SIGNATURE = inspect.signature(GMR)


def settings_of(sampler: GMR) -> Settings:
    """Return the parameters of a sampler as settings of the pipeline."""
    return make_settings(sampler, _SIGNATURE)


def check_no_metadata(params: dict[str, Any]) -> None:
    """Raise an error for arrays that would have to be cleaned with the data."""
    given = sorted(name for name, value in params.items() if value is not None)
    if given:
        raise TypeError(
            f"GMR does not support {', '.join(given)} here: it would no longer match the samples."
        )


def _select(data: Any, indices: Ints, n_jobs: int | None = None) -> Any:
    """Return some samples, in the container of the input."""
    if is_on_device(data):
        return take(data, indices)
    plain = type(data) is np.ndarray and data.ndim < 3 and not data.dtype.hasobject
    if not plain or not data.flags.forc:
        return _safe_indexing(data, indices)
    kept = np.empty_like(data, shape=(len(indices), *data.shape[1:]))

    # No index is out of range; "clip" is the mode that needs no further copy.
    def copy_rows(some: slice) -> None:
        data.take(indices[some], axis=0, out=kept[some], mode="clip")

    def copy_columns(some: slice) -> None:
        for column in range(some.start, some.stop):
            data[:, column].take(indices, out=kept[:, column], mode="clip")

    if data.flags.c_contiguous:
        over(copy_rows, len(indices), ROWS, n_jobs)
    else:
        over(copy_columns, data.shape[1], 1, n_jobs)
    return kept
