"""Seconds per stage of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add to `seconds` how long the ``with`` block took, under the name of its stage."""
    start = perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - start
