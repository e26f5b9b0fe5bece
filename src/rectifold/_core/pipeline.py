"""The stages of GMR in their order: prepare, find neighbours, vote, decide.

`rectifold.GMR`, the search over many settings and `rectifold.dask.GMR` call these functions.
"""

import inspect
import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from imblearn.utils import check_sampling_strategy
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from rectifold._core.accuracy import check
from rectifold._core.device_arrays import is_on_device, to_device_points, to_host
from rectifold._core.errors import Param, ParameterError
from rectifold._core.rectification import RecordedWarning, Rectification, rectify
from rectifold._core.rules import Thresholds, guarded
from rectifold._core.space import (
    Metric,
    Points,
    as_numbers,
    embed,
    refuse_repeated,
    resolve_metric,
    to_points,
)
from rectifold._core.summary import Setting
from rectifold._core.target import Labels, Target, encode, named, refuse_none
from rectifold._core.trace import Trace, keep_neighbours
from rectifold._core.utils import Ints, timed
from rectifold._core.votes import count_votes, size_order
from rectifold._engines import check_engine, choose, search
from rectifold._engines.contract import Neighbourhoods, TimeEstimate
from rectifold._engines.options import EngineLike, engine_name
from rectifold._engines.registry import ChosenEngine
from rectifold._engines.user_neighbors import FromObject, as_graph, metric_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """All parameters that decide the result of a run, as documented at `rectifold.GMR`."""

    sampling_strategy: str | list[Any] = "auto"
    n_neighbors: Any = 15
    thresholds: Thresholds = field(default_factory=Thresholds)
    metric: Metric = "auto"
    metric_threshold: int = 100
    epsilon: float = 1e-8
    class_weight: str | None = None
    space: Any = None
    engine: EngineLike = "auto"
    seed: int = 0
    n_jobs: int | None = None
    #: Arguments that differ from the defaults, as written in Python; for the record.
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def searches_itself(self) -> bool:
        """Whether `n_neighbors` is an object that finds the neighbours."""
        return not isinstance(self.n_neighbors, numbers.Integral)


def make_settings(sampler: Any, signature: inspect.Signature) -> Settings:
    """Return the parameters of a `GMR`, whose signature is given; draws from `random_state`."""
    return Settings(
        sampling_strategy=sampler.sampling_strategy,
        n_neighbors=sampler.n_neighbors,
        # A grid search passes scalars of NumPy.
        thresholds=Thresholds(
            float(sampler.alpha),
            float(sampler.beta),
            float(sampler.gamma),
            int(sampler.min_minority),
        ),
        metric=sampler.metric,
        metric_threshold=sampler.metric_threshold,
        epsilon=sampler.epsilon,
        class_weight=sampler.class_weight,
        space=sampler.space,
        engine=sampler.engine,
        seed=int(check_random_state(sampler.random_state).randint(2**31 - 1)),
        n_jobs=sampler.n_jobs,
        arguments=_arguments(sampler, signature),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Points, and the engine that will search them."""

    points: Points
    #: The fitted transformer, if there is one.
    space: Any
    engine: ChosenEngine
    k: int


def check_input(X: Any, y: Any, settings: Settings) -> Target:
    """Return the encoded labels, or raise an error for input that can't be cleaned."""
    refuse_repeated([*X.columns] if hasattr(X, "iloc") else [])
    refuse_none(y)
    check_engine(settings.engine)
    target = encode(to_host(y))
    check_consistent_length(X, target.values)
    roles(settings, target.classes, target.sizes)
    return target


def roles(
    settings: Settings, classes: Labels, sizes: Ints
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the codes of the strict classes and of the protected ones."""
    strategy = settings.sampling_strategy
    order = [int(code) for code in size_order(sizes)]
    if isinstance(strategy, str):
        strict = {
            "auto": order[:1],
            "majority": order[:1],
            "not minority": order[:-1],
            "not majority": order[1:],
            "all": order,
        }[strategy]
    else:
        check_sampling_strategy(strategy, classes, "clean-sampling")
        strict = np.flatnonzero(np.isin(classes, strategy)).tolist()
    if not strict:
        raise ParameterError(
            "{} names no class: pass a label of y.", Param("sampling_strategy", strategy)
        )
    # In imbalanced-learn a strategy names all classes that may change; "auto" is the paper's rule.
    protected = frozenset(order) - frozenset(strict) if strategy == "auto" else frozenset()
    return frozenset(strict), protected


def prepare(X: Any, target: Target, settings: Settings) -> Prepared:
    """Turn samples into points, and choose the engine that searches them."""
    points, space = embed_samples(X, target, settings)
    if settings.searches_itself:
        if engine_name(settings.engine) == "approximate":
            raise ParameterError(
                "{} searches by itself, so {} would be ignored: leave it out, or pass a number "
                "of neighbours.",
                Param("n_neighbors"),
                Param("engine", settings.engine),
            )
        search_object = FromObject(settings.n_neighbors, settings.seed)
        name = type(settings.n_neighbors).__name__
        return Prepared(points, space, ChosenEngine(search_object, name), search_object.k)
    k = int(settings.n_neighbors)
    check_enough(k, points.n)
    return Prepared(points, space, choose(settings.engine, points, settings.seed), k)


def check_enough(k: int, n_samples: int) -> None:
    """Raise an error if there are too few samples to have k neighbours each."""
    if n_samples < k + 1:
        raise ParameterError(
            "{} needs at least {} samples, and {} has {}: lower {} or add samples.",
            Param("n_neighbors", k),
            str(k + 1),
            Param("X"),
            str(n_samples),
            Param("n_neighbors"),
        )


def find_neighbours(
    prepared: Prepared,
    target: Target,
    settings: Settings,
    warn: Callable[[TimeEstimate], None] | None = None,
) -> Neighbourhoods:
    """Return the k nearest samples of every sample, or a certificate; see `search` for `warn`."""
    return search(
        prepared.engine.search,
        prepared.points,
        target.codes,
        prepared.k,
        n_jobs=settings.n_jobs,
        warn=warn,
    )


def decide(
    X: Any,
    target: Target,
    prepared: Prepared,
    found: Neighbourhoods,
    settings: Settings,
    seconds: dict[str, float],
    *,
    keep_trace: bool = False,
) -> Rectification:
    """Count the votes, apply the rules, and return the record of the run.

    With `keep_trace`, the record refers to `X` and keeps neighbours, for a report.
    """
    voting: dict[str, Any] = {"epsilon": settings.epsilon, "class_weight": settings.class_weight}
    with timed(seconds, "votes"):
        votes = count_votes(found, target.codes, target.sizes, **voting, n_jobs=settings.n_jobs)
        checked = check(found, target.codes, target.sizes, target=prepared.engine.recall, **voting)
        trace = None
        # A record that lives on must not hold memory of a device.
        if keep_trace and not is_on_device(X):
            near = keep_neighbours(found, votes.confidence)
            again = prepared.space is None or hasattr(prepared.space, "transform")
            trace = Trace(X, prepared.space, near, None if again else prepared.points.values)
    engine = found.engine or prepared.engine.name
    setting = describe(
        settings, target.classes, target.sizes, prepared.points.metric, found.k, engine, seconds
    )
    with timed(seconds, "rules"):
        return rectify(
            votes,
            target,
            found.certified,
            settings.thresholds,
            setting,
            index=X.index if hasattr(X, "iloc") else None,
            trace=trace,
            check=checked,
        )


def describe(
    settings: Settings,
    classes: Labels,
    sizes: Ints,
    metric: Metric,
    k: int,
    engine: str,
    seconds: dict[str, float],
) -> Setting:
    """Return how a run is made, for its record."""
    strict, protected = roles(settings, classes, sizes)
    return Setting(
        metric=metric if isinstance(metric, str) else repr(metric),
        n_neighbors=k,
        engine=engine,
        epsilon=float(settings.epsilon),
        class_weight=settings.class_weight,
        strict=strict,
        protected=protected,
        # The paper's rule for two classes has no floor.
        keep_floor=len(classes) > 2 or settings.class_weight is not None,
        seconds=seconds,
        arguments=dict(settings.arguments),
    )


def embed_samples(X: Any, target: Target, settings: Settings) -> tuple[Points, Any]:
    """Return the samples as points, and the fitted space, if there is one."""
    metric, own_search = settings.metric, settings.searches_itself
    if is_on_device(X):
        if (
            settings.space is not None
            or own_search
            or engine_name(settings.engine) in ("exact", "approximate")
        ):
            raise ParameterError(
                "{} is on a GPU, and {}, search objects and the engines 'exact' and 'approximate' "
                "work on the host: leave them out, or pass a NumPy array.",
                Param("X"),
                Param("space"),
            )
        return to_device_points(X, _resolved(X.shape[-1], settings)), None
    if metric == "precomputed":
        if settings.space is not None or own_search:
            raise ParameterError(
                "{} takes distances as the input: pass {}, and an integer as {}.",
                Param("metric", metric),
                Param("space", None),
                Param("n_neighbors"),
            )
        return Points(as_graph(X, int(settings.n_neighbors)), "precomputed"), None
    if metric != "auto" and (own_search or settings.space == "heom"):
        raise ParameterError(
            "{} has its own metric, so {} would be ignored: leave {}.",
            Param("n_neighbors") if own_search else Param("space", "heom"),
            Param("metric", metric),
            Param("metric", "auto"),
        )
    space: Any = None
    if settings.space is None:
        values = as_numbers(X, allow_nan=metric == "nan_euclidean", n_jobs=settings.n_jobs)
    else:
        values, space = embed(X, target.values, settings.space)
    if own_search:
        return to_points(values, metric_of(settings.n_neighbors)), space
    if settings.space == "heom":
        return to_points(values, "heom", space.categorical_), space
    resolved = _resolved(values.shape[1], settings)
    return to_points(values, resolved, n_jobs=settings.n_jobs), space


def _resolved(n_features: int, settings: Settings) -> Metric:
    return resolve_metric(settings.metric, n_features, settings.metric_threshold)


def warn_of_classes(
    classes: Labels, sizes: Ints, left: Ints, min_minority: int, stacklevel: int
) -> None:
    """Warn if the minority class is too small to clean, or if a class has lost all samples."""
    if guarded(sizes, min_minority):
        smallest = sizes.argmin()
        warn_recorded(
            stacklevel,
            "class {} has {} samples, fewer than {}: nothing is cleaned.",
            named(classes[smallest]),
            str(sizes[smallest]),
            Param("min_minority", min_minority),
        )
    for label in classes[left == 0]:
        warn_recorded(
            stacklevel,
            "class {} has lost all of its samples: leave it out of {}, or omit {} so that {} "
            "protects it.",
            named(label),
            Param("sampling_strategy"),
            Param("sampling_strategy"),
            Param("gamma"),
        )


def warn_recorded(stacklevel: int, template: str, *parts: Param | str) -> None:
    """Issue a warning whose content is also in the record of the run."""
    warnings.warn(RecordedWarning(template, *parts), stacklevel=stacklevel + 1)


def _arguments(sampler: Any, signature: inspect.Signature) -> dict[str, str]:
    """Return the arguments that are not the defaults, as written in Python."""
    written = {
        name: (_written(getattr(sampler, name)), _written(parameter.default))
        for name, parameter in signature.parameters.items()
    }
    return {name: given for name, (given, default) in written.items() if given != default}


def _written(value: Any) -> str:
    """Return a value as written in Python."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, BaseEstimator):
        return str(value.__repr__(N_CHAR_MAX=1_000_000))
    return repr(value.item() if isinstance(value, np.generic) else value)
