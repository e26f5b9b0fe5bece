"""GMR for collections of Dask: the sampler, with the parameters of `rectifold.GMR`."""

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
from rectifold._core.rules import REMOVED
from rectifold._core.space import EXACT_METRICS, resolve_metric
from rectifold._core.target import Labels, join
from rectifold._core.utils import Ints, timed
from rectifold._core.votes import size_order
from rectifold._engines import check_device
from rectifold.dask import _spaces
from rectifold.dask._cluster import Cluster
from rectifold.dask._partitions import Parts, Seen, look, positions, refuse_odd_ones, split
from rectifold.dask._pipeline import Line
from rectifold.dask._plan import bytes_of
from rectifold.dask._rectification import Rectification, decide
from rectifold.dask._spaces import Fitted
from rectifold.dask._tasks import Geometry


class GMR(sampler.GMR):
    """Clean imbalanced data by Geometric Manifold Rectification, on a Dask cluster.

    Rows, votes and decisions are those of :class:`rectifold.GMR`, bit for bit, whatever the
    partitions. The work is done by the current :class:`distributed.Client`, or without one by
    the scheduler of this process. No stage needs the table in one place: the small classes are
    sent to every worker, most rows are decided where they lie, and only the others are searched
    for in all partitions.

    Parameters
    ----------
    sampling_strategy, alpha, beta, gamma, metric_threshold, epsilon, min_minority, class_weight
        As for :class:`rectifold.GMR`.

    n_neighbors : int, default=15
        How many neighbours vote.

    metric : {"auto", "euclidean", "sqeuclidean", "cosine"}, default="auto"
        "auto" takes the Euclidean distance up to `metric_threshold` columns and the
        cosine distance above.

    space : {None, "auto"} or transformer, default=None
        Where the geometry is computed, as for :class:`rectifold.GMR`. A ``StandardScaler()`` is
        fitted by exact means and variances, in one pass, whatever the partitions; another
        transformer that has ``partial_fit`` by one partition after the other; any other, and
        "auto", on a random sample of `space_sample` rows. See Notes.

    engine : {"auto", "exact", "gpu"}, default="auto"
        How a worker searches a block. All give the same answer. "auto" takes a GPU where
        PyTorch sees one on the worker, and there is enough to do for it.

    target_recall, time_budget
        For approximate neighbours, which there are none of here: leave them out.

    random_state : int, RandomState instance or None, default=0
        For the rows that a space is fitted on.

    device : str or int, default=None
        Which device "gpu" uses on a worker.

    n_jobs : int, default=None
        Cores that one task uses: None means 1, for clusters whose workers have a thread a core.

    space_sample : int, default=100_000
        See `space`. Where the table has no more rows, the sample is the table.

    block_size : int or str, default="64 MiB"
        The most that any piece of the work takes: partitions that are looked at together (a
        larger partition is looked at as it is), the rows of all classes but the largest, which
        every worker is sent, and undecided rows that are searched for together. A thread of a
        worker needs some twelve times as much memory, besides what Python and its libraries take.

    Attributes
    ----------
    sampling_strategy_ : dict
        The strict classes, as imbalanced-learn gives them.

    sample_indices_ : dask.array.Array of shape (n_rows_kept,)
        Positions of the rows that were kept, ascending.

    rectification_ : rectifold.dask.Rectification
        The record: for every row its votes, what happened to it and why.

    metric_ : str
        The metric that was used.

    space_ : transformer or None
        The fitted space.

    space_rows_ : int
        How many rows it was fitted on; 0 if there is none.

    n_features_in_ : int
        Number of features seen during `fit_resample`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where `X` has names that are all strings.

    See Also
    --------
    rectifold.GMR : The same on one machine.

    Notes
    -----
    `X` is read once for every stage: to count, to gather the small classes, to look for
    certificates, for every batch of undecided rows, and when the result is computed. Call
    ``X.persist()`` before, if making it takes long and the cluster can hold it.

    Brought together in one place are, besides counts: on a worker, the rows of the small classes,
    of at most `block_size`, with a sample of the large one, of an eighth of that; also there, for
    each of the two chains of visits that a thread is at, a batch of undecided rows and what is
    found for them, of at most `block_size` each; and here, 24 bytes for each suspect of a class of
    which more would go than may. Where the small classes take more than
    `block_size`, nothing can be proved and all rows are searched for; a warning says so.

    The answer is that of :class:`rectifold.GMR` on the points that the space gives,
    ``space_.transform(X)``. These are the points of one machine where there is no space, and where
    it does to every number what it would do there: ``MinMaxScaler()``, or one that is fitted on all
    rows. Exact means are not quite those of scikit-learn, which are rounded; where distances are
    equal, as on a grid, the last bit may settle who is nearer.

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
    Rectification: 20 of 1000 rows removed, 13 spared
      class  role       before  after  intrusion  ambiguity  deep noise  spared
          0  strict        828    825          3          0           0       0
          1  protected     172    155          0          0          17      13
    imbalance ratio 4.81 -> 5.32, euclidean, k = 15, engine dask, ... certificates
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **sampler.GMR._parameter_constraints,
        "n_neighbors": [Interval(numbers.Integral, 1, None, closed="left")],
        "metric": [StrOptions({"auto", "l2", "minkowski", "p", *EXACT_METRICS})],
        "engine": [StrOptions({"auto", "exact", "gpu"})],
        "time_budget": [None],
        "space_sample": [Interval(numbers.Integral, 1, None, closed="left")],
        "block_size": [Interval(numbers.Integral, 1, None, closed="left"), str],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "majority",
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
        engine: str = "auto",
        target_recall: float = 0.99,
        time_budget: float | None = None,
        random_state: Any = 0,
        device: str | int | None = None,
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
            target_recall=target_recall,
            time_budget=time_budget,
            random_state=random_state,
            device=device,
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
            Refused: see `fit_resample`.

        Returns
        -------
        self : GMR
            The instance itself.
        """
        parts = self._parts(X, y, params)
        cluster = Cluster()
        seen, classes, sizes = self._look(cluster, parts)
        self._choose_strict(classes, sizes)
        self._fitted(cluster, parts, seen)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_resample(self, X: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        """Clean the data.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array of shape (n_rows, n_features)
            The rows.

        y : dask.dataframe.Series or dask.array.Array of shape (n_rows,)
            Their labels, in the same partitions.

        **params : dict
            Refused: an array with one entry per row, such as ``sample_weight``, would
            no longer match the rows. Select from it with ``sample_indices_``.

        Returns
        -------
        X_resampled : same type as X, of shape (n_rows_kept, n_features)
            The rows that were kept, untouched, in their order and their partitions: read
            and selected when it is computed.

        y_resampled : same type as y, of shape (n_rows_kept,)
            Their labels.
        """
        parts = self._parts(X, y, params)
        cluster = Cluster()
        seconds: dict[str, float] = {}
        with timed(seconds, "count"):
            seen, classes, sizes = self._look(cluster, parts)
        self._choose_strict(classes, sizes)
        with timed(seconds, "space"):
            fitted = self._fitted(cluster, parts, seen)
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
            self.engine,
            self.device,
            self.n_jobs,
        )
        line = Line(cluster, parts, counts, geometry, fitted.columns, bytes_of(self.block_size))
        self._warn_if_all_are_searched(line)
        found = line.run(self._seed(), float(self.epsilon), self.class_weight, seconds)
        setting = self._setting(classes, sizes, self.metric_, k, "dask", seconds)
        with timed(seconds, "rules"):
            outcomes, fates = decide(cluster, found.outcomes, sizes, self._thresholds(), setting)
        self.rectification_: Any = Rectification(
            classes,
            sizes,
            self._thresholds(),
            setting,
            parts,
            tuple(counts),
            outcomes,
            found.edges,
            found.certified,
            fates,
        )
        self._warn_if_guarded(classes, sizes, stacklevel=4)
        self._warn_if_emptied(classes, sizes - fates[:, REMOVED].sum(axis=1), stacklevel=4)
        kept, left = self.rectification_.kept(cluster)
        self.sample_indices_ = positions(kept, left, counts)
        return parts.selected(kept, left)

    def _parts(self, X: Any, y: Any, params: dict[str, Any]) -> Parts:
        """Refuse what can't be cleaned, as far as that is known without reading it."""
        self._refuse_metadata(params)
        if self.engine == "exact":
            check_device(self.engine, self.device)
        _spaces.check(self.space)
        bytes_of(self.block_size)
        parts = split(X, y)
        validate_data(self, parts.empty, skip_check_array=True)
        return parts

    def _look(self, cluster: Cluster, parts: Parts) -> tuple[list[Seen], Labels, Ints]:
        """Look at all partitions for the first time: rows, columns and labels."""
        scale = _spaces.scales(self.space)
        seen: list[Seen] = cluster.gather(
            [
                delayed(look, pure=False)(rows, labels, number, scale=scale)
                for number, (rows, labels) in enumerate(zip(parts.rows, parts.labels, strict=True))
            ]
        )
        refuse_odd_ones(seen)
        classes, sizes = join([(one.labels, one.counts) for one in seen])
        n, k = int(sizes.sum()), int(self.n_neighbors)
        if n < k + 1:
            raise ValueError(
                f"n_neighbors={k} needs at least {k + 1} rows, and X has {n} samples: "
                "lower n_neighbors or add rows."
            )
        return seen, classes, sizes

    def _fitted(self, cluster: Cluster, parts: Parts, seen: list[Seen]) -> Fitted:
        """Fit the space."""
        n = sum(one.rows for one in seen)
        if self.space is None:
            fitted = Fitted(None, self.n_features_in_, 0)
        elif _spaces.scales(self.space):
            fitted = _spaces.scaled(self.space, seen, parts.empty)
        else:
            rng = np.random.default_rng(self._seed())
            sample = np.sort(rng.choice(n, min(n, self.space_sample), replace=False, shuffle=False))
            task = _spaces.fitting(self.space, parts, [one.rows for one in seen], sample)
            (fitted,) = cluster.gather([task])
        self.space_, self.space_rows_ = fitted.space, fitted.rows
        return fitted

    def _warn_if_all_are_searched(self, line: Line) -> None:
        if line.small > bytes_of(self.block_size):
            warnings.warn(
                f"the rows of all classes but the largest take {format_bytes(line.small)}, more "
                f"than block_size={self.block_size!r}, so that nothing can be proved and every row "
                "is searched for in every block: raise block_size, if workers have the memory.",
                UserWarning,
                stacklevel=4,
            )
