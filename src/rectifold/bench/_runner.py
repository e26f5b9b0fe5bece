"""Runs of an experiment: worker processes, time limits, and how interrupted runs resume."""

import multiprocessing
import shutil
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from joblib import effective_n_jobs

from rectifold._core.errors import Param, ParameterError
from rectifold.bench._costs import Forecast
from rectifold.bench._data import Shape, fetch, measure
from rectifold.bench._grid import Grid, Task
from rectifold.bench._store import FAILED, OK, TIMED_OUT, Store
from rectifold.bench._worker import BEGIN, RESAMPLING, ROW, row_of, serve
from rectifold.model_selection._registry import WRAPPER, BenchError

#: Seconds between two checks of the time limit.
_TICK = 0.5


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes
    ----------
    done, total : int
        Recorded fits, with those of earlier runs, and all fits of the grid.
    failed, timed_out : int
        Fits of this run that failed or reached the time limit.
    seconds_left : float or None
        Estimated remaining time; None before there is an estimate.
    running : tuple of str
        What each worker process is doing.

    Examples
    --------
    `run` calls its `callback` with the progress:

    >>> from rectifold.bench import Progress
    >>> def callback(progress):
    ...     print(f"{progress.done} of {progress.total} fits, {progress.failed} failed")
    >>> callback(Progress(done=12, total=60, failed=1))
    12 of 60 fits, 1 failed
    """

    done: int
    total: int
    failed: int = 0
    timed_out: int = 0
    seconds_left: float | None = None
    running: tuple[str, ...] = ()


Callback = Callable[[Progress], None]


def run(
    grid: Grid,
    store: Store,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    retry: bool = False,
    download: bool = False,
    callback: Callback | None = None,
) -> Progress:
    """Run all fits of a grid that a store does not have.

    Interrupted runs resume when called again.

    Parameters
    ----------
    grid : Grid
        The experiment.
    store : Store
        Where results are recorded.
    n_jobs : int, default=None
        Number of processes with one thread each. None and -1 mean using all processors.
    time_limit : float, optional
        Maximum seconds for one resampling or one fit; a longer one is ended and recorded as timed
        out.
    retry : bool, default=False
        Run fits again that failed or timed out.
    download : bool, default=False
        Download data sets of the paper that are missing.
    callback : callable, optional
        Called with the `Progress` whenever it changes. An exception that it raises ends the run.

    Returns
    -------
    Progress
        The progress at the end.

    Notes
    -----
    A script must call it under ``if __name__ == "__main__":``, since worker processes import the
    script.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from sklearn.datasets import make_classification
    >>> from rectifold.bench import Grid, Source, Store, classifier, method, run
    >>> folder = tempfile.TemporaryDirectory()
    >>> X, y = make_classification(n_samples=400, n_features=4, weights=[0.85], random_state=0)
    >>> table = Path(folder.name) / "loans.csv"
    >>> pd.DataFrame(X, columns=list("abcd")).assign(defaulted=y).to_csv(table, index=False)
    >>> grid = Grid(
    ...     sources=[Source("loans", str(table), target="defaulted")],
    ...     methods=[method("None"), method("GMR")],
    ...     classifiers=[classifier("LR")],
    ...     seeds=[42],
    ... )
    >>> store = Store(Path(folder.name) / "results")
    >>> progress = run(grid, store, n_jobs=1)
    >>> progress.done, progress.total, progress.failed
    (2, 2, 0)
    >>> store.read()[["dataset", "method", "classifier", "seed", "status", "auprc"]].round(2)
      dataset method classifier  seed status  auprc
    0   loans    GMR         LR    42     ok   0.81
    1   loans   None         LR    42     ok   0.82
    """
    if time_limit is not None and not time_limit > 0:
        raise ParameterError("{} must be a number above 0.", Param("time_limit", time_limit))
    if n_jobs == 0:
        raise ParameterError("{} must be an integer other than 0.", Param("n_jobs", n_jobs))
    for entry in (*grid.methods, *grid.classifiers):
        # An error in making an estimator is raised now; a wrapper needs something to wrap.
        _ = entry.wrap(None, 0) if entry.kind == WRAPPER else entry.make(0)
    fetch(grid.sources, download=download)
    store.check()
    shapes = measure(grid.sources)
    with store.writing():
        _check_same_meaning(store, grid, shapes)
        recorded = store.keys([OK] if retry else [OK, FAILED, TIMED_OUT])
        tasks = [
            task.without(one.name for one in task.classifiers if task.key(one) in recorded)
            for task in grid.tasks(shapes)
        ]
        tasks = [task for task in tasks if task.classifiers]
        n_left = sum(len(task.classifiers) for task in tasks)
        pool = _WorkerPool(
            store,
            Forecast(shapes, tasks),
            time_limit,
            Progress(len(grid) - n_left, len(grid)),
            callback,
        )
        pool.run(tasks, min(effective_n_jobs(n_jobs or -1), max(1, len(tasks))))
        shutil.rmtree(store.spool, ignore_errors=True)
    return pool.progress


def _check_same_meaning(store: Store, grid: Grid, shapes: dict[str, Shape]) -> None:
    """Raise an error if a name in the store stands for other data or another estimator."""
    rows = store.read()
    known = rows[["dataset", "data_fingerprint"]].drop_duplicates()
    for name, fingerprint in known.itertuples(index=False):
        if name in shapes and shapes[name].fingerprint != fingerprint:
            raise BenchError(
                f"the store {str(store.folder)!r} has results on other data of the name {name!r}: "
                "name another store, or rename the data set"
            )
    for kind, entries in (("method", grid.methods), ("classifier", grid.classifiers)):
        paths = {entry.name: entry.path for entry in entries}
        for name, path in rows[[kind, f"{kind}_path"]].drop_duplicates().itertuples(index=False):
            if paths.get(name, path) != path:
                raise BenchError(
                    f"the store {str(store.folder)!r} has results of another {kind} of the name "
                    f"{name!r}, {path}: choose another name for this one"
                )


@dataclass
class _Worker:
    """A process, its task, and the step of the task that it is in."""

    process: Any
    connection: Connection
    task: Task | None = None
    #: `RESAMPLING`, or the name of a classifier.
    step: str = RESAMPLING
    #: When the step began; infinite between steps, while the time limit does not apply.
    since: float = inf
    #: Whether the process has sent a message.
    started: bool = False
    #: Classifiers of the task whose rows are recorded.
    recorded: set[str] = field(default_factory=set)


class _WorkerPool:
    """The worker processes of a run; records their results, and replaces those that end."""

    def __init__(
        self,
        store: Store,
        forecast: Forecast,
        time_limit: float | None,
        progress: Progress,
        callback: Callback | None,
    ) -> None:
        self.progress = progress
        self._store = store
        self._forecast = forecast
        self._limit = time_limit
        self._callback = callback
        self._workers: list[_Worker] = []
        self._queue: deque[Task] = deque()
        # Fork would copy the locks of threads, and the lock of the store.
        self._context = multiprocessing.get_context("spawn")

    def run(self, tasks: list[Task], n_workers: int) -> None:
        """Process all tasks."""
        self._queue.extend(tasks)
        self._store.spool.mkdir(exist_ok=True)
        try:
            self._report()
            for _ in range(n_workers if tasks else 0):
                self._start_worker()
            while any(worker.task for worker in self._workers):
                self._receive()
                self._end_overdue()
                self._report()
            for worker in self._workers:
                with suppress(OSError):
                    worker.connection.send(None)
                worker.process.join(timeout=5)
        finally:
            for worker in self._workers:
                self._kill(worker)

    def _start_worker(self) -> None:
        ours, theirs = self._context.Pipe()
        arguments = (theirs, str(self._store.spool))
        process = self._context.Process(target=serve, args=arguments, daemon=True)
        # Ctrl-C reaches all processes of a terminal: one that is importing would show a traceback.
        with _blocked_interrupts():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        self._assign(worker)

    def _assign(self, worker: _Worker) -> None:
        worker.task = self._queue.popleft() if self._queue else None
        worker.step, worker.since, worker.recorded = RESAMPLING, inf, set()
        if worker.task is not None:
            # If the process has ended, the next `_receive` notices.
            with suppress(OSError):
                worker.connection.send(worker.task)

    def _receive(self) -> None:
        ready = wait([worker.connection for worker in self._workers], timeout=_TICK)
        for worker in [worker for worker in self._workers if worker.connection in ready]:
            try:
                message, content = worker.connection.recv()
            except (EOFError, OSError):
                worker.process.join(timeout=5)
                code = worker.process.exitcode
                if not worker.started:
                    raise BenchError(
                        f"a worker process ended with exit code {code} before it could begin; a "
                        "script that calls run() must do so under if __name__ == '__main__'"
                    ) from None
                self._remove(worker, FAILED, f"the process ended by itself with exit code {code}")
                continue
            worker.started = True
            if message == BEGIN:
                worker.step, worker.since = content, monotonic()
            elif message == ROW:
                self._record(worker, content)
            else:
                self._assign(worker)

    def _end_overdue(self) -> None:
        if self._limit is None:
            return
        for worker in list(self._workers):
            overdue = worker.task and monotonic() - worker.since > self._limit
            # A message that waits comes first: the step may have ended in time.
            if overdue and not worker.connection.poll():
                self._remove(worker, TIMED_OUT, f"ended after {self._limit:g} seconds")

    def _remove(self, worker: _Worker, status: str, reason: str) -> None:
        """End a worker, record its step, and put the rest of its task back into the queue."""
        self._kill(worker)
        self._workers.remove(worker)
        task = worker.task
        if task is not None:
            if worker.step == RESAMPLING:
                concerned, reason = task.classifiers, f"{RESAMPLING}: {reason}"
            else:
                concerned = tuple(one for one in task.classifiers if one.name == worker.step)
            for classifier in concerned:
                if classifier.name not in worker.recorded:
                    self._record(worker, row_of(task, classifier, status, error=reason))
            rest = task.without(worker.recorded)
            if rest.classifiers:
                self._queue.appendleft(rest)
            else:
                (self._store.spool / f"{task.file_stem}.npz").unlink(missing_ok=True)
        if self._queue:
            self._start_worker()

    def _record(self, worker: _Worker, row: dict[str, Any]) -> None:
        if worker.task is None:
            raise RuntimeError("a worker without a task has sent a row")
        self._store.add(row)
        worker.recorded.add(row["classifier"])
        entry = next(one for one in worker.task.classifiers if one.name == row["classifier"])
        share = (row.get("resample_seconds") or 0.0) / len(worker.task.classifiers)
        self._forecast.note(worker.task, entry, max(0.0, monotonic() - worker.since) + share)
        worker.since = inf
        self.progress = replace(
            self.progress,
            done=self.progress.done + 1,
            failed=self.progress.failed + (row["status"] == FAILED),
            timed_out=self.progress.timed_out + (row["status"] == TIMED_OUT),
        )

    def _report(self) -> None:
        seconds = self._forecast.seconds()
        self.progress = replace(
            self.progress,
            seconds_left=None if seconds is None else seconds / max(1, len(self._workers)),
            running=tuple(
                f"{worker.task.source.name}, {worker.task.method.name}, seed {worker.task.seed}"
                f", {worker.step}"
                for worker in self._workers
                if worker.task
            ),
        )
        if self._callback is not None:
            self._callback(self.progress)

    @staticmethod
    def _kill(worker: _Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Deliver Ctrl-C after the block; processes started in it never receive it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
