"""Threads that share the work of an engine, each with one thread of BLAS."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from rectifold._engines.scratch import leave, take_over

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: it takes milliseconds, and NumPy has loaded its own."""
    return ThreadpoolController()


class Workers:
    """As many threads as `n_jobs` asks for; NumPy lets go of the interpreter while it works.

    BLAS would start threads of its own in each of them, so it is held to one.

    Parameters
    ----------
    n_jobs : int or None
        Cores, as in scikit-learn.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.jobs = effective_n_jobs(n_jobs)
        self._memory: list[dict[str, Any]] = []
        self._pool = None
        if self.jobs > 1:
            self._pool = ThreadPoolExecutor(
                self.jobs, initializer=take_over, initargs=(self._memory,)
            )

    def __enter__(self) -> "Workers":
        self._limit = _controller().limit(limits=1, user_api="blas")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            leave(self._memory)
        self._limit.restore_original_limits()

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Do some work on each item; give the results in order, few of them held at once."""
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
