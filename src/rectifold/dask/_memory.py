"""Keep freed memory in a worker while a task runs, and return it to the system afterwards.

Dask makes the C library of Linux return memory at once (MALLOC_TRIM_THRESHOLD_), so that workers do
not seem larger than they are. That slows a search down, which allocates arrays of some megabytes
again and again: the system clears every page anew. So it is suspended while a task runs.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

#: Parameters of mallopt: memory at the end of the heap is returned beyond the first; arrays beyond
#: the second are allocated and returned one by one.
_TRIM, _MAPPED = -1, -3
#: Their values while a task runs, and the C library's default of the second.
_WORKING = {_TRIM: 1 << 27, _MAPPED: 1 << 25}
_DEFAULT = str(1 << 17)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_running, _lock = 0, threading.Lock()


def roomy(task: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a task that keeps freed memory while it runs."""

    @wraps(task)
    def with_room(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        _enter()
        try:
            return task(*args, **kwargs)
        finally:
            _leave()

    return with_room


def _enter() -> None:
    global _running
    with _lock:
        _running += 1
        library = _library()
        if _running == 1 and library is not None:
            for name, value in _WORKING.items():
                library.mallopt(name, value)


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        library = _library()
        if _running == 0 and library is not None:
            for name, value in _usual_options().items():
                library.mallopt(name, value)
            library.malloc_trim(0)


def release() -> None:
    """Return the memory that Arrow keeps after reading: as much as it read, and more."""
    # Another thread may be importing it.
    pool = getattr(sys.modules.get("pyarrow"), "default_memory_pool", None)
    if pool is not None:
        pool().release_unused()


@cache
def _library() -> Any:
    """Return the C library, if it is GNU's and Dask has set its option."""
    if not os.environ.get("MALLOC_TRIM_THRESHOLD_", "").isdecimal():
        return None
    # Cached before the options change.
    _usual_options()
    try:
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    except (AttributeError, OSError, TypeError):
        return None


@cache
def _usual_options() -> dict[int, int]:
    """Return the options that hold between tasks."""
    mapped = os.environ.get("MALLOC_MMAP_THRESHOLD_", _DEFAULT)
    return {
        _TRIM: int(os.environ["MALLOC_TRIM_THRESHOLD_"]),
        _MAPPED: int(mapped if mapped.isdecimal() else _DEFAULT),
    }
