"""GMR for Dask collections."""

import numbers
import warnings
from typing import Any

import numpy as np
from dask.utils import format_bytes
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import validate_data

from rectifold import sampler
from rectifold._core.errors import Param, ParameterError, ParameterWarning
from rectifold._core.pipeline import Settings, check_enough, describe, warn_of_classes
from rectifold._core.rules import REMOVED
from rectifold._core.space import EXACT_METRICS, resolve_metric
from rectifold._core.target import Labels, join
from rectifold._core.utils import Ints, timed
from rectifold._core.votes import size_order
from rectifold._engines import GPU
from rectifold._engines.options import engine_name
from rectifold.dask._cluster import Cluster, task
from rectifold.dask._partitions import (
    Partitions,
    PartitionSummary,
    check_same_columns,
    split,
    summarise,
    to_indices,
)
from rectifold.dask._plan import parse_block_size
from rectifold.dask._rectification import Rectification, decide, kept_positions
from rectifold.dask._search import BlockSearch
from rectifold.dask._spaces import FittedSpace, check_space, fit_scaler, fit_task, needs_moments
from rectifold.dask._tasks import Geometry, Rules
from rectifold.sampler import check_no_metadata, settings_of

#: The engines and metrics that search one part of a table at a time.
_ENGINES = ("auto", "exact", "gpu")
_METRICS = ("auto", *EXACT_METRICS, "l2", "minkowski", "p")


class GMR(sampler.GMR):
    """Clean imbalanced data by Geometric Manifold Rectification, on a Dask cluster.

    Kept samples, votes and decisions are those of :class:`rectifold.GMR`, bit for bit,
    whatever the partitions. The current :class:`distributed.Client` does the work, or
    without one the scheduler of this process. No stage needs the whole table in one
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
        uses a GPU if PyTorch sees one on the worker and there is enough work for it. The
        approximate search is not offered.

    random_state : int, RandomState instance or None, default=0
        Controls the choice of the samples that a space is fitted on.

    n_jobs : int, default=None
        Number of threads of one task. None means 1, for clusters whose workers have a
        thread for each core.

    space_sample : int, default=100_000
        See `space`. All samples of a table that has no more are used.

    block_size : int or str, default="64 MiB"
        Maximum size of a piece of work: of partitions that are searched together (a
        larger partition is searched as it is), of the samples of all classes but the
        largest, which are sent to every worker, and of undecided samples that are
        searched for together. A thread of a worker needs about twelve times as much
        memory, in addition to that of Python and its libraries.

    Attributes
    ----------
    sampling_strategy_, metric_, space_, n_features_in_, feature_names_in_
        As for :class:`rectifold.GMR`.

    sample_indices_ : dask.array.Array of shape (n_samples_new,)
        Indices of the samples that were kept, ascending.

    rectification_ : rectifold.dask.Rectification
        The record of the run: for every sample its votes, the decision and the reason.

    space_n_samples_ : int
        Number of samples that `space_` was fitted on; 0 without a space.

    See Also
    --------
    rectifold.GMR : The same on one machine.

    Notes
    -----
    `X` is read once for every stage: to count, to gather the small classes, to find
    certificates, for every batch of undecided samples, and when the result is computed.
    Call ``X.persist()`` before if computing it takes long and the cluster can hold it.
    A collection that gives different values each time it is computed, which checksums of
    its partitions show, raises an error.

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
    imbalance ratio 4.81 -> 5.32, euclidean, k = 15, engine dask
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **sampler.GMR._parameter_constraints,
        "n_neighbors": [Interval(numbers.Integral, 1, None, closed="left")],
        "metric": [str],
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
            Not supported: an array with one entry per sample, such as
            ``sample_weight``, would no longer match the samples.

        Returns
        -------
        X_resampled : same type as X, of shape (n_samples_new, n_features)
            The samples that were kept, unchanged, in their order and partitions: read
            and selected when it is computed.

        y_resampled : same type as y, of shape (n_samples_new,)
            Their labels.
        """
        check_no_metadata(params)
        kept: tuple[Any, Any] = super().fit_resample(X, y)
        return kept

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        settings = settings_of(self)
        partitions = self._split(X, y)
        cluster = Cluster()
        seconds: dict[str, float] = {}
        partitions, counts, classes, sizes, fitted = self._first_pass(
            cluster, partitions, settings, seconds
        )
        self.metric_ = str(resolve_metric(self.metric, fitted.n_features, self.metric_threshold))
        k = int(self.n_neighbors)
        large = int(size_order(sizes)[0])
        options = {
            "engine": engine_name(self.engine),
            "device": self.engine.device if isinstance(self.engine, GPU) else None,
            "n_jobs": self.n_jobs,
        }
        geometry = Geometry(classes, sizes, large, self.metric_, k, fitted.space, options)
        size = parse_block_size(self.block_size)
        search = BlockSearch(cluster, partitions, counts, geometry, fitted.n_features, size)
        self._warn_if_nothing_can_be_proved(search)
        searched = search.run(settings, seconds)
        setting = describe(settings, classes, sizes, self.metric_, k, "dask", seconds)
        rules = Rules(classes, sizes, settings.thresholds, setting)
        with timed(seconds, "rules"):
            searched, fates = decide(cluster, searched, rules)
        record = Rectification(rules, partitions, tuple(counts), searched, fates)
        self.rectification_: Any = record
        left = sizes - fates[:, REMOVED].sum(axis=1)
        warn_of_classes(classes, sizes, left, self.min_minority, stacklevel=6)
        kept, n_kept = kept_positions(record, cluster)
        self.sample_indices_ = to_indices(kept, n_kept, counts)
        return partitions.select(kept, n_kept)

    def _split(self, X: Any, y: Any) -> Partitions:
        """Check what can be checked without reading the data, and return its partitions."""
        self._check_settings()
        partitions = split(X, y)
        validate_data(self, partitions.empty, skip_check_array=True)
        return partitions

    def _check_settings(self) -> int:
        """Check what is not offered on a cluster, and return `block_size` in bytes."""
        for name, known in (("engine", _ENGINES), ("metric", _METRICS)):
            value = getattr(self, name)
            if (engine_name(value) if name == "engine" else value) not in known:
                raise ParameterError(
                    "{} is not offered on a cluster: it must be one of {}.",
                    Param(name, value),
                    ", ".join(map(repr, known)),
                )
        check_space(self.space)
        return parse_block_size(self.block_size)

    def _first_pass(
        self,
        cluster: Cluster,
        partitions: Partitions,
        settings: Settings,
        seconds: dict[str, float],
    ) -> tuple[Partitions, list[int], Labels, Ints, FittedSpace]:
        """Read all partitions for the first time, check them, and fit the space.

        Return the partitions, which are compared with the first time whenever they are read, their
        sizes, the classes, their sizes, and the space.
        """
        with timed(seconds, "count"):
            pairs = zip(partitions.samples, partitions.labels, strict=True)
            with_moments = needs_moments(self.space)
            summaries: list[PartitionSummary] = cluster.compute(
                [
                    task(summarise, samples, labels, i, with_moments=with_moments)
                    for i, (samples, labels) in enumerate(pairs)
                ]
            )
            check_same_columns(summaries)
            classes, sizes = join([(part.labels, part.counts) for part in summaries])
            check_enough(int(self.n_neighbors), int(sizes.sum()))
        self._set_strict_classes(settings, classes, sizes)
        counts = [part.n_samples for part in summaries]
        partitions = partitions.checked(summaries)
        with timed(seconds, "space"):
            if self.space is None:
                fitted = FittedSpace(None, self.n_features_in_, 0)
            elif with_moments:
                fitted = fit_scaler(self.space, summaries, partitions.empty)
            else:
                n = sum(counts)
                rng = np.random.default_rng(settings.seed)
                sample = rng.choice(n, min(n, self.space_sample), replace=False, shuffle=False)
                fitting = fit_task(self.space, partitions, counts, np.sort(sample))
                (fitted,) = cluster.compute([fitting])
        self.space_, self.space_n_samples_ = fitted.space, fitted.n_samples
        return partitions, counts, classes, sizes, fitted

    def _warn_if_nothing_can_be_proved(self, search: BlockSearch) -> None:
        if search.small > search.size:
            warning = ParameterWarning(
                "the samples of all classes but the largest take {}, more than {}, so nothing can "
                "be proved and every sample is searched for in every block: raise {} if workers "
                "have the memory.",
                format_bytes(search.small),
                Param("block_size", self.block_size),
                Param("block_size"),
            )
            warnings.warn(warning, stacklevel=6)
