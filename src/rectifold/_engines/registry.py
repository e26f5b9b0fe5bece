"""The table of engines, and the choice of one for given points.

To add an engine, write a module that follows `contract.Engine` and add one entry to `ENGINES`.
"""

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import EXACT_METRICS, Metric, Points
from rectifold._core.utils import did_you_mean
from rectifold._engines import approximate, brute_force, exact, user_neighbors
from rectifold._engines.approximate import nn_descent
from rectifold._engines.contract import Engine
from rectifold._engines.options import GPU, Approximate, EngineLike, engine_name

#: With engine "auto", a GPU is used from this number of values on; from the second one if torch is
#: not imported yet, which takes seconds. Measured: docs/guide/speed.md.
_GPU_PAYS, _GPU_PAYS_TO_IMPORT = 2_000_000, 20_000_000


class Request(NamedTuple):
    """What an engine is loaded for."""

    metric: Metric
    options: Approximate | GPU | None = None
    seed: int = 0


@dataclass(frozen=True)
class EngineSpec:
    """An entry of the table of engines."""

    #: Name in records, and as the parameter `engine` if it is `selectable`.
    name: str
    #: The metrics that it knows; None for any.
    metrics: frozenset[str] | None
    #: Whether it never misses a neighbour.
    exact: bool
    #: Whether it runs on a GPU.
    on_device: bool
    #: Import what the engine needs and return its search function.
    load: Callable[[Request], Engine]
    #: Whether a caller can ask for it by name.
    selectable: bool = True

    def knows(self, metric: Metric) -> bool:
        """Return whether the engine can search with a metric."""
        return self.metrics is None or metric in self.metrics

    def serves(self, name: str) -> bool:
        """Return whether `engine=name` can mean this engine."""
        if name == "auto":
            return self.exact
        # Every metric has an exact engine on the CPU, not always that of the name.
        return self.name == name or (name == "exact" and self.exact and not self.on_device)


class ChosenEngine(NamedTuple):
    """An engine that is ready to search."""

    search: Engine
    name: str
    #: The recall that was asked for; None if the engine is exact.
    recall: float | None = None


def _gpu(request: Request) -> Engine:
    try:
        from rectifold._engines import gpu
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ParameterError(
            "{} needs PyTorch: install rectifold[gpu], or pass {}, which gives the same result on "
            "the CPU.",
            Param("engine", "gpu"),
            Param("engine", "exact"),
        ) from None
    device = request.options.device if isinstance(request.options, GPU) else None
    return partial(gpu.propose, device=gpu.devices.find(device))


def _approximate(request: Request) -> Engine:
    return partial(approximate.propose, options=_options(request), seed=request.seed)


def _nn_descent(request: Request) -> Engine:
    options = _options(request)
    if options.budget is not None:
        raise ParameterError(
            "{} needs estimates of the search time, which exist for the Euclidean and the cosine "
            "metric: leave it out, or change {}.",
            Param("budget"),
            Param("metric", request.metric),
        )
    nn_descent.check_installed(request.metric)
    return partial(nn_descent.propose, recall=options.recall, seed=request.seed)


def _options(request: Request) -> Approximate:
    return request.options if isinstance(request.options, Approximate) else Approximate()


_PRODUCTS, _GRAPH = frozenset(EXACT_METRICS), frozenset({"precomputed"})
#: All engines, with the fields in the order of `EngineSpec`; the first one that fits is chosen.
ENGINES = [
    EngineSpec("gpu", _PRODUCTS, True, True, _gpu),
    EngineSpec("exact", _PRODUCTS, True, False, lambda _: exact.propose),
    EngineSpec("approximate", _PRODUCTS, False, False, _approximate),
    EngineSpec("approximate", frozenset(nn_descent.METRICS), False, False, _nn_descent),
    EngineSpec("direct", brute_force.METRICS, True, False, lambda _: brute_force.propose, False),
    EngineSpec("precomputed", _GRAPH, True, False, lambda _: user_neighbors.from_graph, False),
    EngineSpec("scikit-learn", None, True, False, lambda _: user_neighbors.by_metric, False),
]


def check_engine(engine: EngineLike) -> None:
    """Raise an error for an engine that does not exist, or whose device is not there."""
    name = engine_name(engine)
    names = ["auto", *dict.fromkeys(spec.name for spec in ENGINES if spec.selectable)]
    if name not in names:
        known = did_you_mean(name, names, list_all=True)
        raise ParameterError("{} is not known{}.", Param("engine", name), known)
    if name == "gpu":
        _gpu(Request("euclidean", engine if isinstance(engine, GPU) else None))


def choose(engine: EngineLike, points: Points, seed: int = 0) -> ChosenEngine:
    """Return the engine that searches these points, ready to run."""
    options = None if isinstance(engine, str) else engine
    spec = choose_spec(engine, points)
    if spec.on_device and options is None:
        # Tensors are searched where they are.
        device = getattr(points.values, "device", None)
        options = GPU(device if getattr(device, "type", "cpu") != "cpu" else None)
    request = Request(points.metric, options, seed)
    recall = None if spec.exact else float(_options(request).recall)
    return ChosenEngine(spec.load(request), spec.name, recall)


def choose_spec(engine: EngineLike, points: Points) -> EngineSpec:
    """Return the entry of the table for these points."""
    name = engine_name(engine)
    known = [spec for spec in ENGINES if spec.knows(points.metric)]
    for spec in known:
        if spec.serves(name) and not (name == "auto" and spec.on_device and not gpu_pays(points)):
            return spec
    others = {metric for spec in ENGINES if spec.serves(name) for metric in spec.metrics or ()}
    raise ParameterError(
        "{} can't search with {}, only with {}: pass {}.",
        Param("engine", name),
        Param("metric", points.metric),
        ", ".join(map(repr, sorted(others))),
        Param("engine", "auto"),
    )


def gpu_pays(points: Points) -> bool:
    """Return whether there is a GPU, and enough work for it."""
    if not isinstance(points.values, np.ndarray):
        # Sparse matrices would have to be made dense; a tensor is on its device already.
        return not sparse.issparse(points.values)
    imported = "torch" in sys.modules
    least = _GPU_PAYS if imported else _GPU_PAYS_TO_IMPORT
    if points.values.size < least or importlib.util.find_spec("torch") is None:
        return False
    if not (imported or _has_driver()):
        return False
    try:
        import torch
    except (ImportError, OSError):
        # A broken installation counts as none.
        return False
    return bool(torch.cuda.is_available())


def _has_driver() -> bool:
    """Return whether a driver of a GPU is installed; to import PyTorch takes seconds."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        # The device of AMD's driver.
        return Path("/dev/kfd").exists()
    return True
