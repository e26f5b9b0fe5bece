"""Threads that share the work of an engine, and memory that each of them reuses."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from rectifold._core.utils import Bools, Floats

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The buffers of this thread, by name.
_local = threading.local()
#: Buffers of threads that have ended, for threads to come; each holds a few megabytes.
_released: list[dict[str, Any]] = []
_MAX_RELEASED = 4
#: The limit of BLAS threads holds for the whole process: it is set by the first of the pools in
#: use, in whatever thread, and restored by the last.
_limits: list[Any] = []
_lock = threading.Lock()
_in_use = 0


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: it takes milliseconds, and NumPy has loaded its own."""
    return ThreadpoolController()


class Workers:
    """A pool of `n_jobs` threads, each with one BLAS thread; NumPy releases the GIL."""

    def __init__(self, n_jobs: int | None) -> None:
        self.jobs = effective_n_jobs(n_jobs)
        self._memory: list[dict[str, Any]] = []
        self._pool = None
        if self.jobs > 1:
            self._pool = ThreadPoolExecutor(
                self.jobs, initializer=_adopt_memory, initargs=(self._memory,)
            )

    def __enter__(self) -> "Workers":
        global _in_use
        with _lock:
            if _in_use == 0:
                _limits.append(_controller().limit(limits=1, user_api="blas"))
            _in_use += 1
        return self

    def __exit__(self, *_: object) -> None:
        global _in_use
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            _released.extend(self._memory[: max(0, _MAX_RELEASED - len(_released))])
        with _lock:
            _in_use -= 1
            if _in_use == 0:
                _limits.pop().restore_original_limits()

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in the order of the items, with few of them in memory at once."""
        if self._pool is None:
            yield from map(work, items)
            return
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self._pool.submit(work, item))
            if len(waiting) > 2 * self.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def scratch(name: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an uninitialised array, valid until this thread asks for `name` again.

    Allocating a new array for every block of products would take as long as the products.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not hasattr(_local, "buffers"):
        _adopt_memory()
    buffer = _local.buffers.get(name)
    if buffer is None or buffer.size < size:
        buffer = _local.buffers[name] = np.empty(size, dtype=np.uint8)
    return buffer[:size].view(dtype).reshape(shape)


def positive(block: Floats) -> Bools:
    """Return where a block is above zero; valid until the next call in this thread."""
    mask: Bools = np.greater(block, 0, out=scratch("mask", block.shape, np.bool_))
    return mask


def _adopt_memory(register: list[dict[str, Any]] | None = None) -> None:
    """Start a thread with the buffers of one that has ended; append them to `register`."""
    try:
        _local.buffers = _released.pop()
    except IndexError:
        _local.buffers = {}
    if register is not None:
        register.append(_local.buffers)
