"""The paper's experiments: a grid of fits, the store of their results, what they show."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rectifold.bench._data import Source, paper_sources
    from rectifold.bench._grid import SEEDS, Grid
    from rectifold.bench._protocols import PROTOCOLS
    from rectifold.bench._runner import State, run
    from rectifold.bench._store import Store
    from rectifold.model_selection._registry import (
        CLASSIFIERS,
        METHODS,
        WRAPPERS,
        BenchError,
        Entry,
        classifier,
        method,
    )

# Modules are imported when their names are asked for: most need the extra "bench", and some, such
# as the registry of methods, do without it.
_HOMES = {
    "bench._data": ("Source", "paper_sources"),
    "bench._grid": ("SEEDS", "Grid"),
    "bench._protocols": ("PROTOCOLS",),
    "model_selection._registry": (
        *("CLASSIFIERS", "METHODS", "WRAPPERS", "BenchError", "Entry", "classifier", "method"),
    ),
    "bench._runner": ("State", "run"),
    "bench._store": ("Store",),
}

__all__ = [
    "CLASSIFIERS",
    "METHODS",
    "PROTOCOLS",
    "SEEDS",
    "WRAPPERS",
    "BenchError",
    "Entry",
    "Grid",
    "Source",
    "State",
    "Store",
    "classifier",
    "method",
    "paper_sources",
    "run",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = getattr(import_module(f"rectifold.{home}"), name)
    except ModuleNotFoundError as problem:
        raise ImportError(
            f'experiments need {problem.name}: pip install "rectifold[bench]" brings it'
        ) from problem
    globals()[name] = found
    return found
