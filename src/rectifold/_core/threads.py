"""Threads that share work, and memory that each of them reuses."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import chain, islice
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
#: use, in whatever thread, and restored by the last, perhaps in another one.
_limits: list[Any] = []
_lock = threading.Lock()
_in_use = 0
#: Searches at once, and the seconds that a search waits at most before it starts all the same.
#: More threads than cores only take the interpreter from each other, at every call of NumPy.
_slots = threading.BoundedSemaphore(os.cpu_count() or 1)
_PATIENCE = 1.0


def _limit_blas() -> None:
    """Set the limit, unless BLAS has one thread: another thread may have limited it meanwhile."""
    libraries = [one for one in _controller().lib_controllers if one.user_api == "blas"]
    if any(one.num_threads != 1 for one in libraries):
        _limits.append(_controller().limit(limits=1, user_api="blas"))
        _let_others_restore()


def _restore_blas() -> None:
    while _limits:
        _limits.pop().restore_original_limits()
        _let_others_restore()


def _let_others_restore() -> None:
    # From 3.7 on, threadpoolctl ignores all threads but the one that has set a limit first.
    for library in _controller().lib_controllers:
        getattr(library, "clear_controlling_thread", lambda: None)()


def _forget_other_threads() -> None:
    """Start a forked process, in which only the thread that forked goes on, without pools."""
    global _lock, _in_use, _slots
    _lock, _in_use = threading.Lock(), 0
    _slots = threading.BoundedSemaphore(os.cpu_count() or 1)
    _local.searching = False
    _restore_blas()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: it takes milliseconds, and NumPy has loaded its own."""
    return ThreadpoolController()


class Workers:
    """A pool of `n_jobs` threads, each with one BLAS thread; NumPy releases the GIL."""

    def __init__(self, n_jobs: int | None) -> None:
        self.jobs = effective_n_jobs(n_jobs)
        self._memory: list[dict[str, Any]] = []
        self._slot: threading.BoundedSemaphore | None = None
        #: That of the process in which the work began.
        self._lock = _lock
        self._pool = None
        if self.jobs > 1:
            self._pool = ThreadPoolExecutor(
                self.jobs, initializer=_adopt_memory, initargs=(self._memory,)
            )

    def __enter__(self) -> "Workers":
        global _in_use
        if not getattr(_local, "searching", False) and _slots.acquire(timeout=_PATIENCE):
            self._slot, _local.searching = _slots, True
        with _lock:
            if _in_use == 0:
                _limit_blas()
            _in_use += 1
        return self

    def __exit__(self, *_: object) -> None:
        global _in_use
        if self._lock is not _lock:
            # A fork during the work: the threads and the limit are those of the parent.
            return
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        with _lock:
            _released.extend(self._memory[: max(0, _MAX_RELEASED - len(_released))])
            _in_use -= 1
            if _in_use == 0:
                _restore_blas()
        if self._slot is not None:
            _local.searching = False
            self._slot.release()

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in the order of the items, with few of them in memory at once."""
        items = iter(items)
        first = list(islice(items, 2))
        items = chain(first, items)
        # To start the threads takes longer than many a piece of work.
        if self._pool is None or len(first) < 2:
            yield from map(work, items)
            return
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self._pool.submit(work, item))
            if len(waiting) > 2 * self.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def over(self, work: Callable[[slice], Result], n: int, step: int) -> list[Result]:
        """Return the results for consecutive slices of n items."""
        return list(self.map(work, (slice(at, min(at + step, n)) for at in range(0, n, step))))


def over(work: Callable[[slice], Result], n: int, step: int, n_jobs: int | None) -> list[Result]:
    """Return the results for consecutive slices of n items, for work without matrix products."""
    parts = [slice(at, min(at + step, n)) for at in range(0, n, step)]
    jobs = 1 if len(parts) < 2 else min(effective_n_jobs(n_jobs), len(parts))
    if jobs < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(work, parts))


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
    with _lock:
        _local.buffers = _released.pop() if _released else {}
    if register is not None:
        register.append(_local.buffers)
        # It works for a search that has a slot.
        _local.searching = True
