"""GMR for Dask collections."""

import numbers
import warnings
from typing import Any

import numpy as np
from dask import delayed
from dask.utils import format_bytes
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from rectifold import sampler
from rectifold._core.pipeline import (
    Settings,
    check_enough,
    describe,
    warn_of_classes,
)
from rectifold._core.rules import REMOVED
from rectifold._core.space import EXACT_METRICS, resolve_metric
from rectifold._core.target import Labels, join
from rectifold._core.utils import Ints, timed
from rectifold._core.votes import size_order
from rectifold._engines import GPU
from rectifold._engines.options import engine_name
from rectifold.dask import _spaces
from rectifold.dask._cluster import Cluster
from rectifold.dask._partitions import Parts, Seen, look, positions, refuse_odd_ones, split
from rectifold.dask._pipeline import Line
from rectifold.dask._plan import bytes_of
from rectifold.dask._rectification import Rectification, decide
from rectifold.dask._spaces import Fitted
from rectifold.dask._tasks import Geometry
from rectifold.sampler import check_no_metadata, settings_of


class GMR(sampler.GMR):
    """Clean imbalanced data by Geometric Manifold Rectification, on a Dask cluster.

    Kept samples, votes and decisions are those of :class:`rectifold.GMR`, bit for bit,
    whatever the partitions. The work is done by the current :class:`distributed.Client`,
    or without one by the scheduler of this process. No stage needs the table in one
    place: the small classes are sent to every worker, most samples are decided in their
    own partition, and only the others are searched for in all partitions.

    Parameters
    ----------
    sampling_strategy, alpha, beta, gamma, metric_threshold, epsilon, min_minority, class_weight
        As for :class:`rectifold.GMR`.

    n_neighbors : int, default=15
        Number of neighbours that vote.

    metric : {"auto", "euclidean", "sqeuclidean", "cosine"}, default="auto"
        "auto" is the Euclidean distance up to `metric_threshold` features and the
        cosine distance above.

    space : {None, "auto"} or transformer, default=None
        Transformer applied to a copy of the samples before distances are computed, as
        for :class:`rectifold.GMR`. ``StandardScaler()`` is fitted by exact means and
        variances in one pass, whatever the partitions; another transformer with
        ``partial_fit`` on one partition after the other; any other, and "auto", on a
        random sample of `space_sample` samples. See Notes.

    engine : {"auto", "exact", "gpu"} or GPU, default="auto"
        The neighbour search of a worker within a block. All give the same result. "auto"
        uses a GPU if PyTorch sees one on the worker and there is enough work for it.

    random_state : int, RandomState instance or None, default=0
        Controls the choice of the samples that a space is fitted on.

    n_jobs : int, default=None
        Number of threads of one task. None means 1, for clusters whose workers have a
        thread for each core.

    space_sample : int, default=100_000
        See `space`. A table with no more samples is used as a whole.

    block_size : int or str, default="64 MiB"
        Maximum size of a piece of work: partitions that are searched together (a larger
        partition is searched as it is), the samples of all classes but the largest,
        which are sent to every worker, and undecided samples that are searched for
        together. A thread of a worker needs about twelve times as much memory, in
        addition to what Python and its libraries take.

    Attributes
    ----------
    sampling_strategy_ : dict
        The strict classes, in the form of imbalanced-learn.

    sample_indices_ : dask.array.Array of shape (n_samples_new,)
        Indices of the samples that were kept, ascending.

    rectification_ : rectifold.dask.Rectification
        The record of the run: for every sample its votes, the decision and the reason.

    metric_ : str
        The metric that was used.

    space_ : transformer or None
        The fitted space.

    space_rows_ : int
        Number of samples that it was fitted on; 0 without a space.

    n_features_in_ : int
        Number of features seen during `fit_resample`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit_resample`. Defined only if `X` has feature
        names that are all strings.

    See Also
    --------
    rectifold.GMR : The same on one machine.

    Notes
    -----
    `X` is read once for every stage: to count, to collect the small classes, to find
    certificates, for every batch of undecided samples, and when the result is computed.
    Call ``X.persist()`` before if computing it takes long and the cluster can hold it.

    Besides counts, the following is held in one place. On a worker: the samples of the
    small classes, at most `block_size`, with a sample of the large class of an eighth of
    that; and for each of the two chains of searches that a thread runs, a batch of
    undecided samples and their results, at most `block_size` each. In this process: 24
    bytes for each candidate of a class with more candidates than may be removed. If the
    small classes take more than `block_size`, nothing can be proved and all samples are
    searched for, with a warning.

    The result is that of :class:`rectifold.GMR` on the points ``space_.transform(X)``.
    These are the points of one machine if there is no space, or one that does the same
    to every number there: ``MinMaxScaler()``, or one that is fitted on all samples. Exact
    means differ from those of scikit-learn in the last bits, which can decide between
    neighbours at equal distances, as on a grid.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from rectifold.dask import GMR
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(da.from_array(X, chunks=(300, 4)),
    ...                                     da.from_array(y, chunks=300))
    >>> X_clean.chunks[0]
    (297, 295, 291, 97)
    >>> gmr.rectification_
    Rectification: 20 of 1000 samples removed, 13 spared
      class  role       before  after  intrusion  ambiguity  deep noise  spared
          0  strict        828    825          3          0           0       0
          1  protected     172    155          0          0          17      13
    imbalance ratio 4.81 -> 5.32, euclidean, k = 15, engine dask, ... certificates
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **sampler.GMR._parameter_constraints,
        "n_neighbors": [Interval(numbers.Integral, 1, None, closed="left")],
        "metric": [StrOptions({"auto", "l2", "minkowski", "p", *EXACT_METRICS})],
        "engine": [StrOptions({"auto", "exact", "gpu"}), GPU],
        "space_sample": [Interval(numbers.Integral, 1, None, closed="left")],
        "block_size": [Interval(numbers.Integral, 1, None, closed="left"), str],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        n_neighbors: int = 15,
        alpha: float = 0.3,
        beta: float = 0.7,
        gamma: float = 0.1,
        metric: str = "auto",
        metric_threshold: int = 100,
        epsilon: float = 1e-8,
        min_minority: int = 10,
        class_weight: str | None = None,
        space: Any = None,
        engine: str | GPU = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
        space_sample: int = 100_000,
        block_size: int | str = "64 MiB",
    ) -> None:
        super().__init__(
            sampling_strategy=sampling_strategy,
            n_neighbors=n_neighbors,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            metric=metric,
            metric_threshold=metric_threshold,
            epsilon=epsilon,
            min_minority=min_minority,
            class_weight=class_weight,
            space=space,
            engine=engine,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.space_sample = space_sample
        self.block_size = block_size

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> "GMR":
        """Check the data and fit the space, without cleaning.

        You should use ``fit_resample`` in all cases.

        Parameters
        ----------
        X, y
            As for `fit_resample`.

        **params : dict
            Not supported: see `fit_resample`.

        Returns
        -------
        self : GMR
            Return the instance itself.
        """
        check_no_metadata(params)
        self._first_pass(Cluster(), self._split(X, y), settings_of(self), {})
        return self

    def fit_resample(self, X: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        """Clean the data.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array of shape (n_samples, n_features)
            Data collection.

        y : dask.dataframe.Series or dask.array.Array of shape (n_samples,)
            Target, in the same partitions.

        **params : dict
            Not supported: see :meth:`rectifold.GMR.fit_resample`.

        Returns
        -------
        X_resampled : same type as X, of shape (n_samples_new, n_features)
            The samples that were kept, unchanged, in their order and partitions: read
            and selected when it is computed.

        y_resampled : same type as y, of shape (n_samples_new,)
            Their labels.
        """
        return super().fit_resample(X, y, **params)  # type: ignore[no-any-return]

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        settings = settings_of(self)
        parts = self._split(X, y)
        cluster = Cluster()
        seconds: dict[str, float] = {}
        seen, classes, sizes, fitted = self._first_pass(cluster, parts, settings, seconds)
        counts = [one.rows for one in seen]
        self.metric_ = str(resolve_metric(self.metric, fitted.columns, self.metric_threshold))
        k = int(self.n_neighbors)
        geometry = Geometry(
            classes,
            sizes,
            int(size_order(sizes)[0]),
            self.metric_,
            k,
            fitted.space,
            engine_name(self.engine),
            self.engine.device if isinstance(self.engine, GPU) else None,
            self.n_jobs,
        )
        line = Line(cluster, parts, counts, geometry, fitted.columns, bytes_of(self.block_size))
        self._warn_if_all_are_searched(line)
        found = line.run(settings.seed, float(self.epsilon), self.class_weight, seconds)
        setting = describe(settings, classes, sizes, self.metric_, k, "dask", seconds)
        with timed(seconds, "rules"):
            outcomes, fates = decide(cluster, found.outcomes, sizes, settings.thresholds, setting)
        self.rectification_: Any = Rectification(
            classes,
            sizes,
            settings.thresholds,
            setting,
            parts,
            tuple(counts),
            outcomes,
            found.edges,
            found.certified,
            fates,
        )
        left_of_class = sizes - fates[:, REMOVED].sum(axis=1)
        warn_of_classes(classes, sizes, left_of_class, self.min_minority, stacklevel=6)
        kept, left = self.rectification_.kept(cluster)
        self.sample_indices_ = positions(kept, left, counts)
        return parts.selected(kept, left)

    def _split(self, X: Any, y: Any) -> Parts:
        """Check what can be checked without reading the data, and return its partitions."""
        _spaces.check(self.space)
        bytes_of(self.block_size)
        parts = split(X, y)
        validate_data(self, parts.empty, skip_check_array=True)
        return parts

    def _first_pass(
        self, cluster: Cluster, parts: Parts, settings: Settings, seconds: dict[str, float]
    ) -> tuple[list[Seen], Labels, Ints, Fitted]:
        """Read all partitions for the first time, check them, and fit the space."""
        with timed(seconds, "count"):
            seen, classes, sizes = self._look(cluster, parts)
        self._set_strict_classes(settings, classes, sizes)
        with timed(seconds, "space"):
            fitted = self._fitted(cluster, parts, seen, settings.seed)
        return seen, classes, sizes, fitted

    def _look(self, cluster: Cluster, parts: Parts) -> tuple[list[Seen], Labels, Ints]:
        """Return what the first pass finds in each partition, the classes and their sizes."""
        scale = _spaces.scales(self.space)
        seen: list[Seen] = cluster.gather(
            [
                delayed(look, pure=False)(rows, labels, number, scale=scale)
                for number, (rows, labels) in enumerate(zip(parts.rows, parts.labels, strict=True))
            ]
        )
        refuse_odd_ones(seen)
        classes, sizes = join([(one.labels, one.counts) for one in seen])
        check_enough(int(self.n_neighbors), int(sizes.sum()))
        return seen, classes, sizes

    def _fitted(self, cluster: Cluster, parts: Parts, seen: list[Seen], seed: int) -> Fitted:
        """Fit the space."""
        n = sum(one.rows for one in seen)
        if self.space is None:
            fitted = Fitted(None, self.n_features_in_, 0)
        elif _spaces.scales(self.space):
            fitted = _spaces.scaled(self.space, seen, parts.empty)
        else:
            rng = np.random.default_rng(seed)
            sample = np.sort(rng.choice(n, min(n, self.space_sample), replace=False, shuffle=False))
            task = _spaces.fitting(self.space, parts, [one.rows for one in seen], sample)
            (fitted,) = cluster.gather([task])
        self.space_, self.space_rows_ = fitted.space, fitted.rows
        return fitted

    def _warn_if_all_are_searched(self, line: Line) -> None:
        if line.small > bytes_of(self.block_size):
            warnings.warn(
                f"the samples of all classes but the largest take {format_bytes(line.small)}, more "
                f"than block_size={self.block_size!r}, so that nothing can be proved and every "
                "sample is searched for in every block: raise block_size if workers have the "
                "memory.",
                UserWarning,
                stacklevel=6,
            )
