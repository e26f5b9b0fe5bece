"""GMR: the sampler, at home in imbalanced-learn and scikit-learn."""

import inspect
import numbers
import warnings
from typing import Any

import numpy as np
from imblearn.under_sampling.base import BaseCleaningSampler
from imblearn.utils import check_sampling_strategy
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, validate_data

from rectifold import progress
from rectifold._core.accuracy import check, in_words
from rectifold._core.device_arrays import is_on_device, take, to_device_points, to_host
from rectifold._core.rectification import RecordedWarning, Rectification, Setting, rectify
from rectifold._core.rules import Thresholds, guarded
from rectifold._core.space import (
    HINT,
    SPACES,
    Metric,
    Points,
    as_numbers,
    embed,
    refuse_repeated,
    resolve_metric,
    to_points,
)
from rectifold._core.target import Labels, Target, encode, named, refuse_none
from rectifold._core.trace import Trace, keep_neighbours
from rectifold._core.utils import Ints, timed
from rectifold._core.votes import count_votes, size_order
from rectifold._engines import ENGINES, check_device, choose, search
from rectifold._engines.check_sample import Approximation
from rectifold._engines.contract import Engine, Neighbourhoods, Outlook
from rectifold._engines.user_neighbors import FromObject, as_graph, metric_of


class GMR(BaseCleaningSampler):
    """Clean imbalanced data by Geometric Manifold Rectification.

    Every row is scored by a vote of its nearest neighbours, nearer ones with more
    weight. Cleaning is then asymmetric: a row of the majority class goes if its
    neighbours predict the minority or hardly vouch for it; a row of the minority goes
    only if it lies deep in the majority, and at most a fraction `gamma` of them.

    Parameters
    ----------
    sampling_strategy : str or list, default="majority"
        The strict classes: those that are cleaned without a cap.

        - "majority": the largest class;
        - "not minority" or "auto": all classes but the smallest;
        - "not majority": all classes but the largest;
        - "all": all classes;
        - a list of labels.

        With a string, all other classes are protected by `gamma`. With a list they lose
        nothing at all: as everywhere in imbalanced-learn, it names all that may change.

    n_neighbors : int or object, default=15
        How many neighbours vote. Or an object with a `kneighbors` method (of
        scikit-learn, cuML or your own) that does the search; as in imbalanced-learn it
        must find one neighbour more than shall vote, because it finds the row itself.
        Or a transformer that makes a graph of neighbours, such as pynndescent's
        PyNNDescentTransformer, of which all `n_neighbors` vote.

    alpha : float, default=0.3
        A row of a strict class goes if the vote for its own class is below `alpha`.
        While only the largest class is strict this adds nothing to the prediction of the
        neighbours up to 1 / n_classes: a vote below that is not the highest. So the default
        decides nothing with two classes or three.

    beta : float, default=0.7
        A row of a protected class is a candidate if its neighbours predict a larger
        class, with a vote for the larger classes above `beta`.

    gamma : float, default=0.1
        The fraction of a protected class that may go, at most.

    metric : str or callable, default="auto"
        "auto" takes the Euclidean distance up to `metric_threshold` columns and the
        cosine distance above. Or any metric of
        :class:`sklearn.neighbors.NearestNeighbors`; or "precomputed", where `X` is a
        graph of distances such as
        :meth:`sklearn.neighbors.NearestNeighbors.kneighbors_graph` makes.

    metric_threshold : int, default=100
        See `metric`. Columns are counted after `space`.

    epsilon : float, default=1e-8
        A neighbour at distance d has the weight ``1 / (d + epsilon)``.

    min_minority : int, default=10
        With fewer rows in the minority nothing is cleaned. With more than two classes,
        a class with fewer rows loses none.

    class_weight : {None, "balanced"}, default=None
        "balanced" weighs votes by the inverse frequency of their class. The majority
        class then keeps at least as many rows as the largest protected class.

    space : {None, "auto", "heom"} or transformer, default=None
        Where the geometry is computed; the rows that come back are the caller's,
        untouched. None takes `X` as it is and needs finite numbers. "auto" makes sense
        of a messy table: numbers robustly scaled, categories by overlap, dates as
        numbers, missing values filled and marked (:class:`rectifold.TableSpace`).
        "heom" is the heterogeneous Euclidean-overlap metric: numbers by their range, 1
        for different categories and for missing values; all pairs are compared, so it
        is for thousands of rows rather than millions. A transformer, such as
        ``StandardScaler()``, is cloned and fitted on a copy of `X`.

    engine : {"auto", "exact", "approximate", "gpu"}, default="auto"
        How neighbours are searched for. "exact" proves for most rows that their
        neighbours are all of their own class, without finding them, and searches for
        those of the others, on the CPU. "gpu" does the same on a GPU, with PyTorch, and
        gives the same answer. "auto" takes the engine that fits `metric`; for the
        Euclidean and the cosine distance that is "gpu" where PyTorch sees a CUDA device
        and there is enough to do for it, and otherwise "exact". "approximate" may miss a
        neighbour: where classes overlap in many dimensions, it takes seconds for what
        takes the others minutes, and measures how good it is
        (``rectification_.accuracy``). No other engine ever misses one, and "auto" takes
        it only if `time_budget` allows. Under metrics other than the Euclidean and the
        cosine distance it needs pynndescent (``rectifold[ann]``).

    target_recall : float, default=0.99
        The share of true neighbours that engine "approximate" shall find. A warning says
        if it could not.

    time_budget : float, default=None
        Seconds. With engine "auto", neighbours are exact if that takes no longer, and
        approximate otherwise; and an approximate search that would take longer looks at
        less, whatever `target_recall` is. It is an estimate, not a limit. What comes of it
        depends on how fast the machine is; the record says what was done. Where "auto"
        takes a GPU, neighbours are exact and the budget has no say.

    random_state : int, RandomState instance or None, default=0
        For engine "approximate", and for the rows on which its error, or that of a search
        object, is measured. The same number gives the same answer, whatever `n_jobs`.

    device : str or int, default=None
        Which device "gpu" uses, as PyTorch names it: "cuda:1", "mps", "cpu". None takes
        the one that `X` is on, or else the GPU that PyTorch sees.

    n_jobs : int, default=None
        Cores to use: None means 1, -1 all of them. It never changes the answer.

    Attributes
    ----------
    sampling_strategy_ : dict
        The strict classes, as imbalanced-learn gives them.

    sample_indices_ : ndarray of shape (n_rows_kept,)
        Positions of the rows that were kept, ascending.

    rectification_ : Rectification
        The record: for every row its votes, what happened to it and why.

    metric_ : str
        The metric that was used.

    space_ : transformer or None
        The fitted space.

    n_features_in_ : int
        Number of features seen during `fit_resample`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where `X` has names that are all strings.

    See Also
    --------
    imblearn.under_sampling.EditedNearestNeighbours : Cleans without weights or cap.
    imblearn.under_sampling.NeighbourhoodCleaningRule : Cleans more cautiously.

    Notes
    -----
    Two classes are cleaned exactly by Algorithm 1 of [1]_. Neighbours are the k nearest
    rows in the order (distance, row index), the row itself excluded by its index; equal
    votes (within 1e-12) go to the larger class. The answer depends on nothing else:
    not on `device`, not on `n_jobs`, and not on `engine`, unless that is "approximate".

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
            StrOptions({"majority", "not minority", "not majority", "all", "auto"}),
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
        # From here on down 1 / epsilon, and a sum of such weights, would overflow.
        "epsilon": [Interval(numbers.Real, 1e-300, None, closed="left")],
        "min_minority": [Interval(numbers.Integral, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), None],
        "space": [StrOptions(set(SPACES)), HasMethods(["fit_transform"]), None],
        "engine": [StrOptions({"auto", *ENGINES})],
        "target_recall": [Interval(numbers.Real, 0, 1, closed="right")],
        "time_budget": [Interval(numbers.Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "device": [str, numbers.Integral, None],
        "n_jobs": [numbers.Integral, None],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "majority",
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
        engine: str = "auto",
        target_recall: float = 0.99,
        time_budget: float | None = None,
        random_state: Any = 0,
        device: str | int | None = None,
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
        self.target_recall = target_recall
        self.time_budget = time_budget
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> "GMR":
        """Check the data, without cleaning it.

        You should use ``fit_resample`` in all cases.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_features)
            The rows.

        y : array-like of shape (n_rows,)
            Their labels.

        **params : dict
            Refused: see `fit_resample`.

        Returns
        -------
        self : GMR
            The instance itself.
        """
        self._points(X, self._check(X, y, params))
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_resample(self, X: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        """Clean the data.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix, tensor} of shape (n_rows, n_features)
            The rows: NumPy, SciPy sparse (CSR, CSC), pandas, polars, or lists. Or an
            array on a GPU (of PyTorch, CuPy, or what else speaks DLPack), which stays
            there.

        y : array-like of shape (n_rows,)
            Their labels.

        **params : dict
            Refused: an array with one entry per row, such as ``sample_weight``, would
            no longer match the rows. Select from it with ``sample_indices_``.

        Returns
        -------
        X_resampled : same type as X, of shape (n_rows_kept, n_features)
            The rows that were kept, untouched, in their order.

        y_resampled : same type as y, of shape (n_rows_kept,)
            Their labels.
        """
        return self._fit_resample(X, y, self._check(X, y, params))

    def _fit_resample(self, X: Any, y: Any, labels: Target) -> tuple[Any, Any]:
        seconds: dict[str, float] = {}
        with timed(seconds, "space"):
            points = self._points(X, labels)
            engine, name, k = self._engine(points)
        with timed(seconds, "search"):
            neighbourhoods = search(
                engine, points, labels.codes, k, n_jobs=self.n_jobs, warn=self._suggest
            )
        self.rectification_ = self._record(
            X, labels, points, name, neighbourhoods, seconds, exhibit=True
        )
        accuracy = self.rectification_.accuracy
        if accuracy is not None and accuracy.met is False:
            warnings.warn(
                f"target_recall={self.target_recall:g} was not met: "
                f"{in_words(accuracy.to_dict())}.",
                RecordedWarning,
                stacklevel=4,
            )
        self._warn_if_guarded(labels.classes, labels.sizes, stacklevel=5)
        self.metric_ = points.metric
        self.sample_indices_ = np.flatnonzero(~self.rectification_.removed)
        left = np.bincount(labels.codes[self.sample_indices_], minlength=len(labels.classes))
        self._warn_if_emptied(labels.classes, left, stacklevel=5)
        if sparse.issparse(X) and X.format in ("bsr", "coo", "dia", "dok"):
            X = X.tocsr()
        rows = _rows(X, self.sample_indices_)
        if self.metric == "precomputed":
            # Distances to rows that are gone are of no use to what comes next.
            rows = _safe_indexing(rows, self.sample_indices_, axis=1)
        return rows, _rows(y, self.sample_indices_)

    def _record(
        self,
        X: Any,
        labels: Target,
        points: Points,
        engine: str,
        neighbourhoods: Neighbourhoods,
        seconds: dict[str, float],
        *,
        exhibit: bool = False,
    ) -> Rectification:
        """Count votes, apply the rules, and keep the record."""
        voting: dict[str, Any] = {"epsilon": self.epsilon, "class_weight": self.class_weight}
        with timed(seconds, "votes"):
            votes = count_votes(neighbourhoods, labels.codes, labels.sizes, **voting)
            checked = check(
                neighbourhoods,
                labels.codes,
                labels.sizes,
                target=float(self.target_recall) if engine == "approximate" else None,
                **voting,
            )
        if engine == "approximate" and checked is None:
            # It searched exactly, because that took no longer.
            engine = "exact"
        setting = self._setting(
            labels.classes, labels.sizes, points.metric, neighbourhoods.k, engine, seconds
        )
        trace = None
        # A record that lives on must not hold memory of a device.
        if exhibit and not is_on_device(X):
            with timed(seconds, "votes"):
                near = keep_neighbours(neighbourhoods, votes.confidence)
            again = self.space_ is None or hasattr(self.space_, "transform")
            trace = Trace(X, self.space_, near, None if again else points.values)
        with timed(seconds, "rules"):
            return rectify(
                votes,
                labels,
                neighbourhoods.certified,
                self._thresholds(),
                setting,
                index=X.index if hasattr(X, "iloc") else None,
                trace=trace,
                check=checked,
            )

    def _setting(
        self,
        classes: Labels,
        sizes: Ints,
        metric: Metric,
        k: int,
        engine: str,
        seconds: dict[str, float],
    ) -> Setting:
        """Tell how this run was made."""
        strict, protected = self._roles(classes, sizes)
        return Setting(
            metric=metric if isinstance(metric, str) else repr(metric),
            n_neighbors=k,
            engine=engine,
            epsilon=float(self.epsilon),
            class_weight=self.class_weight,
            strict=strict,
            protected=protected,
            # The paper's rule has no floor; what goes beyond the paper has one.
            keep_floor=len(classes) > 2 or self.class_weight is not None,
            seconds=seconds,
            arguments=self._arguments(),
        )

    def _thresholds(self) -> Thresholds:
        # A grid search hands over scalars of NumPy.
        return Thresholds(
            float(self.alpha), float(self.beta), float(self.gamma), int(self.min_minority)
        )

    def _warn_if_guarded(self, classes: Labels, sizes: Ints, stacklevel: int) -> None:
        if guarded(sizes, self.min_minority):
            smallest = sizes.argmin()
            warnings.warn(
                f"class {named(classes[smallest])} has {sizes[smallest]} rows, "
                f"fewer than min_minority={self.min_minority}: nothing is cleaned.",
                RecordedWarning,
                stacklevel=stacklevel,
            )

    def _warn_if_emptied(self, classes: Labels, left: Ints, stacklevel: int) -> None:
        for label in classes[left == 0]:
            warnings.warn(
                f"class {named(label)} has lost all of its rows: protect it by gamma, or leave it "
                "out of sampling_strategy.",
                RecordedWarning,
                stacklevel=stacklevel,
            )

    def _suggest(self, outlook: Outlook) -> None:
        """Tell whoever left the choice to us, before an exact search that takes minutes."""
        if self.engine != "auto" or self.time_budget is not None:
            return
        sentence = (
            f"the exact search will take about {_duration(outlook.exact)}; where data have "
            f"clusters, engine='approximate' takes about {_duration(outlook.approximate)} and "
            "measures its error, and time_budget, in seconds, lets it be chosen."
        )
        if not progress.remark(sentence):
            warnings.warn(sentence, UserWarning, stacklevel=6)

    def _arguments(self) -> dict[str, str]:
        """Tell the arguments that are not the defaults, as one would write them."""
        written = {
            name: (_written(getattr(self, name)), _written(parameter.default))
            for name, parameter in inspect.signature(GMR).parameters.items()
        }
        return {name: given for name, (given, default) in written.items() if given != default}

    def _check(self, X: Any, y: Any, params: dict[str, Any]) -> Target:
        """Refuse what can't be cleaned, before any long work."""
        self._refuse_metadata(params)
        refuse_repeated([*X.columns] if hasattr(X, "iloc") else [])
        refuse_none(y)
        check_device(self.engine, self.device)
        if self.time_budget is not None and self.engine in ("exact", "gpu"):
            raise ValueError(
                f"time_budget lets an approximate search replace an exact one, and engine="
                f"{self.engine!r} is exact whatever it takes: pass engine='auto', or leave "
                "time_budget out."
            )
        validate_data(self, X, skip_check_array=True)
        labels = encode(to_host(y))
        check_consistent_length(X, labels.values)
        self._choose_strict(labels.classes, labels.sizes)
        return labels

    def _refuse_metadata(self, params: dict[str, Any]) -> None:
        given = sorted(name for name, value in params.items() if value is not None)
        if given:
            raise TypeError(
                f"GMR can't carry {', '.join(given)} along: after cleaning it would no "
                "longer match the rows; select from it with sample_indices_ instead."
            )

    def _choose_strict(self, classes: Labels, sizes: Ints) -> None:
        """Settle which classes are strict, or refuse."""
        if isinstance(self.sampling_strategy, list):
            check_sampling_strategy(self.sampling_strategy, classes, self._sampling_type)
        strict, _ = self._roles(classes, sizes)
        if not strict:
            raise ValueError(
                f"sampling_strategy={self.sampling_strategy!r} names no class: give a label of y."
            )
        least = int(sizes.min())
        self.sampling_strategy_ = {classes[code]: least for code in sorted(strict)}

    def _roles(self, classes: Labels, sizes: Ints) -> tuple[frozenset[int], frozenset[int]]:
        """Tell the strict classes and the protected ones, by their codes."""
        order = [int(code) for code in size_order(sizes)]
        if isinstance(self.sampling_strategy, list):
            # In imbalanced-learn a list names all the classes that a sampler may change.
            named = np.isin(classes, self.sampling_strategy)
            return frozenset(np.flatnonzero(named).tolist()), frozenset()
        strict = {
            "majority": order[:1],
            "not minority": order[:-1],
            "auto": order[:-1],
            "not majority": order[1:],
            "all": order,
        }[self.sampling_strategy]
        return frozenset(strict), frozenset(order) - frozenset(strict)

    def _points(self, X: Any, labels: Target) -> Points:
        self.space_: Any = None
        own_search = not isinstance(self.n_neighbors, numbers.Integral)
        if is_on_device(X):
            if self.space is not None or own_search or self.engine in ("exact", "approximate"):
                raise ValueError(
                    "X is on a GPU, and space, a search object and the engines 'exact' and "
                    "'approximate' work on the host: leave them out, or pass X as a NumPy array."
                )
            metric = resolve_metric(self.metric, X.shape[-1], self.metric_threshold)
            return to_device_points(X, metric)
        if self.metric == "precomputed":
            if self.space is not None or own_search:
                raise ValueError(
                    "with metric='precomputed' the distances are given: space must be None and "
                    "n_neighbors an integer."
                )
            return Points(as_graph(X, int(self.n_neighbors)), "precomputed")
        if self.metric != "auto" and (own_search or self.space == "heom"):
            which = "n_neighbors" if own_search else "space"
            raise ValueError(
                f"{which} comes with a metric of its own, and metric={self.metric!r} would be "
                f"ignored: leave metric='auto' (a search object has its metric set on it)."
            )
        if self.space is None:
            values = as_numbers(X, name="X", hint=HINT, allow_nan=self.metric == "nan_euclidean")
        else:
            values, self.space_ = embed(X, labels.values, self.space)
        if own_search:
            return to_points(values, metric_of(self.n_neighbors))
        if self.space == "heom":
            return to_points(values, "heom", self.space_.categorical_)
        metric = resolve_metric(self.metric, values.shape[1], self.metric_threshold)
        return to_points(values, metric)

    def _engine(self, points: Points) -> tuple[Engine, str, int]:
        """Choose who searches: an engine, its name, and how many neighbours vote."""
        if not isinstance(self.n_neighbors, numbers.Integral):
            if self.engine == "approximate" or self.time_budget is not None:
                raise ValueError(
                    "n_neighbors searches by itself, so that engine='approximate' and time_budget "
                    "would be ignored: leave them out, or pass a number of neighbours."
                )
            search_object = FromObject(self.n_neighbors, self._seed())
            return search_object, type(self.n_neighbors).__name__, search_object.k
        k = int(self.n_neighbors)
        if points.n < k + 1:
            raise ValueError(
                f"n_neighbors={k} needs at least {k + 1} rows, and X has {points.n} samples: "
                "lower n_neighbors or add rows."
            )
        budget = None if self.time_budget is None else float(self.time_budget)
        wanted = Approximation(float(self.target_recall), self._seed(), budget)
        return *choose(self.engine, points, self.device, wanted), k

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.sampler_tags.sample_indices = True
        messy = self.space in SPACES if isinstance(self.space, str) else False
        tags.input_tags.allow_nan = messy or self.metric == "nan_euclidean"
        tags.input_tags.string = messy
        tags.input_tags.sparse = not messy
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _written(value: Any) -> str:
    """Write a value as one would in Python."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, BaseEstimator):
        return str(value.__repr__(N_CHAR_MAX=1_000_000))
    return repr(value.item() if isinstance(value, np.generic) else value)


def _duration(seconds: float) -> str:
    """Write a time as one would say it."""
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{round(seconds)} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _rows(data: Any, positions: Ints) -> Any:
    """Select rows, in the container that they came in."""
    if is_on_device(data):
        return take(data, positions)
    return _safe_indexing(data, positions)
