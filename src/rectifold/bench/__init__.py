"""Experiments: a grid of fits, the store of their results, and a report on them."""

from typing import TYPE_CHECKING

from rectifold._lazy import attach as _attach

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
__getattr__, __dir__ = _attach(
    "rectifold.bench",
    {
        "rectifold.bench._data": ("Source", "paper_sources"),
        "rectifold.bench._grid": ("SEEDS", "Grid"),
        "rectifold.bench._protocols": ("PROTOCOLS",),
        "rectifold.model_selection._registry": (
            *("CLASSIFIERS", "EXTRA_CLASSIFIERS", "METHODS", "EXTRA_METHODS"),
            *("BenchError", "Entry", "classifier", "method"),
        ),
        "rectifold.bench._runner": ("Progress", "run"),
        "rectifold.bench._store": ("Store",),
    },
    hint='experiments need {}: install it with pip install "rectifold[bench]"',
)

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
