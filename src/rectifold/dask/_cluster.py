"""Run tasks on the current scheduler of Dask, report progress, and explain failures."""

import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any

import dask
import distributed
from dask.base import get_scheduler
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from rectifold import progress

#: Seconds between two reports of progress.
_POLL = 0.2
#: Topic of the events by which workers report progress.
_TOPIC = "rectifold"


class Cluster:
    """The current client of Dask, or without one the scheduler of this process."""

    def __init__(self) -> None:
        self.client: Any = None
        try:
            client = distributed.get_client()
        except ValueError:
            client = None
        # A scheduler chosen by name takes precedence over a client, as everywhere in Dask.
        if client is not None and get_scheduler() == client.get:
            self.client = client
        with self._explained_errors():
            #: Number of tasks that run at the same time.
            self.threads = (
                (os.cpu_count() or 1)
                if self.client is None
                else max(1, sum(self.client.nthreads().values()))
            )
        #: Identifies this run in the events of workers; None if there are none.
        self.run_id = None if self.client is None else uuid.uuid4().hex
        self._lock = threading.Lock()
        self._reported_by_workers, self._done, self._total = 0, 0, 1

    def set_progress(self, done: int, total: int) -> None:
        """Report how many samples are decided."""
        with self._lock:
            self._done, self._total, self._reported_by_workers = done, total, 0
        progress.report(done, total)

    def persist(self, tasks: Sequence[Any], *, n_samples: int = 0) -> list[Any]:
        """Compute tasks, and return futures (or computed Delayed objects) for other tasks.

        The results remain on the workers while these exist. `n_samples` is the number of samples
        that the tasks decide, of which workers report each part.
        """
        if not tasks or self.client is None:
            return list(dask.persist(*tasks))
        with self._explained_errors(), self._listening() if n_samples else nullcontext():
            # Not `persist`: a graph that is made of its results does not keep them alive.
            futures: list[Any] = self.client.compute(list(tasks))
            self._wait(futures, n_samples)
        return futures

    def release(self, results: Sequence[Any]) -> None:
        """Free results at once, even if graphs that are no longer needed refer to them."""
        if self.client is not None:
            for result in results:
                result.release()

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Compute tasks, and return their results."""
        persisted = self.persist(tasks)
        if self.client is None:
            return list(dask.compute(*persisted))
        with self._explained_errors():
            return list(self.client.gather(persisted))

    def _wait(self, futures: list[Any], n_samples: int) -> None:
        while True:
            failed = next((future for future in futures if future.status == "error"), None)
            if failed is not None:
                failed.result()
            try:
                distributed.wait(futures, timeout=_POLL)
            except TimeoutError:
                pass
            else:
                for future in futures:
                    if future.status != "finished":
                        future.result()
                return
            with self._lock:
                done = self._done + min(self._reported_by_workers, n_samples)
            progress.report(min(done, self._total), self._total)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        def receive(event: tuple[float, dict[str, Any]]) -> None:
            if event[1]["run_id"] == self.run_id:
                with self._lock:
                    self._reported_by_workers += event[1]["n_samples"]

        self.client.subscribe_topic(_TOPIC, receive)
        try:
            yield
        finally:
            if self.client.status == "running":
                self.client.unsubscribe_topic(_TOPIC)

    @contextmanager
    def _explained_errors(self) -> Iterator[None]:
        address = "" if self.client is None else self.client.scheduler.address
        try:
            yield
        except KilledWorker as error:
            raise RuntimeError(
                "several workers died at the same task, most likely because they ran out of "
                "memory: lower block_size, or give workers more memory or fewer threads."
            ) from error
        except (CommClosedError, CancelledError) as error:
            raise ConnectionError(
                f"the connection to the scheduler of Dask at {address} was lost, and all results "
                "with it: start the scheduler and run this again."
            ) from error


def task(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return a lazy call of a function, whose arguments may be results of other tasks."""
    # Without pure=False, Dask would hash all arguments to find equal calls.
    return dask.delayed(function, pure=False)(*args, **kwargs)


def check_available(results: Sequence[Any]) -> None:
    """Raise an error if results were lost because their cluster was closed."""
    for result in results:
        if isinstance(result, distributed.Future) and result.status in ("cancelled", "lost"):
            raise RuntimeError(
                "the votes of this record were stored on a cluster of Dask that was closed: clean "
                "again, and call rectification_.compute() before the client is closed."
            )


def report_progress(run_id: str | None, n_samples: int) -> None:
    """Report from inside a task that more samples are decided."""
    if run_id is None:
        return
    try:
        worker = distributed.get_worker()
    except ValueError:
        return
    worker.log_event(_TOPIC, {"run_id": run_id, "n_samples": n_samples})
