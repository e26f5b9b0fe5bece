"""Work is handed to whatever scheduler of Dask is current; what can go wrong is said in words."""

import os
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any

import dask
import distributed
from dask.base import get_scheduler
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from rectifold import progress

#: Seconds between two looks at how far the work is.
_POLL = 0.2
#: Where workers tell how far they are.
_TOPIC = "rectifold"


class Cluster:
    """The current client of Dask; or, without one, the scheduler of this process.

    Attributes
    ----------
    threads : int
        How many tasks run at a time.
    run : str or None
        What workers call this run when they tell how far they are; None if nobody listens.
    """

    def __init__(self) -> None:
        self.client: Any = None
        try:
            client = distributed.get_client()
        except ValueError:
            client = None
        # A scheduler that was chosen by name goes before a client, as everywhere in Dask.
        if client is not None and get_scheduler() == client.get:
            self.client = client
        with self._in_words():
            self.threads = (
                (os.cpu_count() or 1)
                if self.client is None
                else max(1, sum(self.client.nthreads().values()))
            )
        self.run = None if self.client is None else uuid.uuid4().hex
        self._told, self._lock = 0, threading.Lock()
        self._done, self._total = 0, 1

    def count(self, done: int, total: int) -> None:
        """Say how many rows are decided, of all."""
        with self._lock:
            self._done, self._total, self._told = done, total, 0
        progress.report(done, total)

    def keep(self, tasks: Sequence[Any], *, worth: int = 0) -> list[Any]:
        """Do some tasks; their results stay where they are.

        Parameters
        ----------
        tasks : sequence of Delayed
            What to do.
        worth : int
            How many rows they decide; the workers tell of each part of them.

        Returns
        -------
        list
            What stands for the results in other tasks: futures, or Delayed that are done. Results
            are there as long as these are.
        """
        if not tasks or self.client is None:
            return list(dask.persist(*tasks))
        with self._in_words(), self._listening() if worth else nullcontext():
            # Futures: a graph made of what `persist` gives does not keep hold of it.
            futures: list[Any] = self.client.compute(list(tasks))
            self._wait(futures, worth)
        return futures

    def drop(self, results: Sequence[Any]) -> None:
        """Let go of results at once; graphs that nobody needs any more may still refer to them."""
        if self.client is not None:
            for result in results:
                result.release()

    def gather(self, tasks: Sequence[Any]) -> list[Any]:
        """Do some tasks, and bring their results here."""
        kept = self.keep(tasks)
        if self.client is None:
            return list(dask.compute(*kept))
        with self._in_words():
            return list(self.client.gather(kept))

    def _wait(self, futures: list[Any], worth: int) -> None:
        while True:
            failed = next((one for one in futures if one.status == "error"), None)
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
                done = self._done + min(self._told, worth)
            progress.report(min(done, self._total), self._total)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        def hear(event: tuple[float, dict[str, Any]]) -> None:
            if event[1]["run"] == self.run:
                with self._lock:
                    self._told += event[1]["rows"]

        self.client.subscribe_topic(_TOPIC, hear)
        try:
            yield
        finally:
            if self.client.status == "running":
                self.client.unsubscribe_topic(_TOPIC)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        address = "" if self.client is None else self.client.scheduler.address
        try:
            yield
        except KilledWorker as problem:
            raise RuntimeError(
                "a worker died again and again at the same piece of work, most likely for want of "
                "memory: lower block_size, or give workers more memory or fewer threads."
            ) from problem
        except (CommClosedError, CancelledError) as problem:
            raise ConnectionError(
                f"the connection to the scheduler of Dask at {address} was lost, and with it what "
                "was done so far: start it, and then this, again."
            ) from problem


def refuse_lost(results: Sequence[Any]) -> None:
    """Refuse to go on with results that went with their cluster."""
    for one in results:
        if isinstance(one, distributed.Future) and one.status in ("cancelled", "lost"):
            raise RuntimeError(
                "the votes of this record were on a cluster of Dask that is gone: clean again, and "
                "call rectification_.compute() before the client is closed."
            )


def tell(run: str | None, rows: int) -> None:
    """Tell, from inside a task, that so many rows more are decided."""
    if run is None:
        return
    try:
        worker = distributed.get_worker()
    except ValueError:
        return
    worker.log_event(_TOPIC, {"run": run, "rows": rows})
