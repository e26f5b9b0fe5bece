"""The memory of a worker: kept at hand while a task works, and given back after it.

Dask has the C library of Linux give memory back at once (MALLOC_TRIM_THRESHOLD_), so that workers
don't seem larger than they are. For a search, which needs arrays of some megabytes again and again,
that is slow: the system hands out every page anew. So it is suspended while a task runs.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

#: What mallopt calls them: memory at the end of the heap is given back beyond the first; arrays
#: beyond the second are asked for, and given back, one by one.
_TRIM, _MAPPED = -1, -3
#: Their values while a task runs, and the C library's own of the second.
_WORKING = {_TRIM: 1 << 27, _MAPPED: 1 << 25}
_DEFAULT = str(1 << 17)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_running, _lock = 0, threading.Lock()


def roomy(task: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Keep memory at hand while a task runs."""

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
            for name, value in _outside().items():
                library.mallopt(name, value)
            library.malloc_trim(0)


def release() -> None:
    """Give back what Arrow, if it read the rows, keeps at hand: as much as it read, and more."""
    # Another thread may just be importing it.
    pool = getattr(sys.modules.get("pyarrow"), "default_memory_pool", None)
    if pool is not None:
        pool().release_unused()


@cache
def _library() -> Any:
    """The C library, if it is GNU's and Dask has set it so."""
    if not os.environ.get("MALLOC_TRIM_THRESHOLD_", "").isdecimal():
        return None
    # Noted before they change.
    _outside()
    try:
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    except (AttributeError, OSError, TypeError):
        return None


@cache
def _outside() -> dict[int, int]:
    """The values outside of tasks."""
    mapped = os.environ.get("MALLOC_MMAP_THRESHOLD_", _DEFAULT)
    return {
        _TRIM: int(os.environ["MALLOC_TRIM_THRESHOLD_"]),
        _MAPPED: int(mapped if mapped.isdecimal() else _DEFAULT),
    }
