"""Seconds per stage of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Note in `seconds` how long the ``with`` block took, under the name of its stage."""
    start = perf_counter()
    yield
    seconds[stage] = perf_counter() - start
