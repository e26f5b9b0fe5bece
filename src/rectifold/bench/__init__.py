"""The paper's experiments: a grid of fits, the store of their results, what they show."""

try:
    from rectifold.bench.data import Source, paper_sources
    from rectifold.bench.grid import SEEDS, Grid
    from rectifold.bench.protocols import PROTOCOLS
    from rectifold.bench.registry import (
        CLASSIFIERS,
        METHODS,
        WRAPPERS,
        BenchProblem,
        Entry,
        classifier,
        method,
    )
    from rectifold.bench.run import State, run
    from rectifold.bench.store import Store
except ModuleNotFoundError as problem:
    raise ImportError(
        f'experiments need {problem.name}: pip install "rectifold[bench]" brings it'
    ) from problem

__all__ = [
    "CLASSIFIERS",
    "METHODS",
    "PROTOCOLS",
    "SEEDS",
    "WRAPPERS",
    "BenchProblem",
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
