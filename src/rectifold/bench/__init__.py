"""Experiments: a grid of fits, the store of their results, and a report on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rectifold.bench._data import Source, paper_sources
    from rectifold.bench._grid import SEEDS, Grid
    from rectifold.bench._protocols import PROTOCOLS
    from rectifold.bench._runner import Progress, run
    from rectifold.bench._store import Store
    from rectifold.model_selection._registry import (
        CLASSIFIERS,
        EXTRA_CLASSIFIERS,
        EXTRA_METHODS,
        METHODS,
        BenchError,
        Entry,
        classifier,
        method,
    )

# Modules are imported with the first use of their names: only some need the extra "bench".
_MODULES = {
    "bench._data": ("Source", "paper_sources"),
    "bench._grid": ("SEEDS", "Grid"),
    "bench._protocols": ("PROTOCOLS",),
    "model_selection._registry": (
        *("CLASSIFIERS", "EXTRA_CLASSIFIERS", "METHODS", "EXTRA_METHODS"),
        *("BenchError", "Entry", "classifier", "method"),
    ),
    "bench._runner": ("Progress", "run"),
    "bench._store": ("Store",),
}

__all__ = [
    "CLASSIFIERS",
    "EXTRA_CLASSIFIERS",
    "EXTRA_METHODS",
    "METHODS",
    "PROTOCOLS",
    "SEEDS",
    "BenchError",
    "Entry",
    "Grid",
    "Progress",
    "Source",
    "Store",
    "classifier",
    "method",
    "paper_sources",
    "run",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(f"rectifold.{module}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f'experiments need {error.name}: install it with pip install "rectifold[bench]"'
        ) from error
    globals()[name] = value
    return value
