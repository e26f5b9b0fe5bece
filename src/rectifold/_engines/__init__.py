"""Neighbour search: one contract (`contract`), one table of engines (`registry`)."""

from rectifold._engines.options import GPU, Approximate
from rectifold._engines.registry import ENGINES, EngineSpec, check_engine, choose
from rectifold._engines.search import search

__all__ = ["ENGINES", "GPU", "Approximate", "EngineSpec", "check_engine", "choose", "search"]
