"""An experiment is run: worker processes, time limits, and going on where a run was stopped."""

from __future__ import annotations

import multiprocessing
import shutil
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from joblib import effective_n_jobs

from rectifold.bench._costs import Forecast
from rectifold.bench._data import Shape, fetch, measure
from rectifold.bench._grid import Grid, Key, Task
from rectifold.bench._store import FAILED, OK, TIMED_OUT, Store
from rectifold.bench._worker import BEGIN, RESAMPLING, ROW, row_of, serve
from rectifold.model_selection._registry import WRAPPER, BenchError

#: Seconds between two looks at the clock.
_TICK = 0.5


@dataclass(frozen=True)
class State:
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Fits that are recorded, those of earlier runs too, and all fits of the grid.
    failed, timed_out : int
        Fits of this run that ended so.
    seconds_left : float or None
        An estimate; None before there is one.
    running : tuple of str
        What the workers are at.

    Examples
    --------
    Whatever one gives to `run` as `watcher` is told of it:

    >>> from rectifold.bench import State
    >>> def watcher(state):
    ...     print(f"{state.done} of {state.total} fits, {state.failed} failed")
    >>> watcher(State(done=12, total=60, failed=1))
    12 of 60 fits, 1 failed
    """

    done: int
    total: int
    failed: int = 0
    timed_out: int = 0
    seconds_left: float | None = None
    running: tuple[str, ...] = ()


Watcher = Callable[[State], None]


def run(
    grid: Grid,
    store: Store,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    retry: bool = False,
    download: bool = False,
    watcher: Watcher | None = None,
) -> State:
    """Do all fits of a grid that a store does not have.

    Parameters
    ----------
    grid : Grid
        The experiment.
    store : Store
        Where results are kept. A run that was stopped, however it was, is gone on with by running
        it again.
    n_jobs : int, optional
        Processes, each with one thread; by default, and with -1, one for each core.
    time_limit : float, optional
        Seconds for a resampling or a fit; what takes longer is ended and recorded as timed out.
    retry : bool, default=False
        Do fits again that failed or timed out.
    download : bool, default=False
        Whether data sets that are missing may be fetched from the network.
    watcher : callable, optional
        Is told the `State` whenever it changes. An exception that it raises ends the run.

    Returns
    -------
    State
        How it ended.

    Notes
    -----
    A script calls it under ``if __name__ == "__main__":``, since worker processes import the
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
    >>> state = run(grid, store, n_jobs=1)
    >>> state.done, state.total, state.failed
    (2, 2, 0)
    >>> store.read()[["dataset", "method", "classifier", "seed", "status", "auprc"]].round(2)
      dataset method classifier  seed status  auprc
    0   loans    GMR         LR    42     ok   0.81
    1   loans   None         LR    42     ok   0.82
    """
    if time_limit is not None and not time_limit > 0:
        raise BenchError(f"the time limit must be a number of seconds above 0, not {time_limit}")
    if n_jobs == 0:
        raise BenchError("n_jobs must be a whole number other than 0")
    for entry in (*grid.methods, *grid.classifiers):
        # Whatever can't be made is refused now; a wrapper needs something to wrap.
        _ = entry.wrap(None, 0) if entry.kind == WRAPPER else entry.make(0)
    fetch(grid.sources, download=download)
    store.check()
    shapes = measure(grid.sources)
    _refuse_other_meanings(store, grid, shapes)
    with store.writing():
        done = store.keys([OK] if retry else [OK, FAILED, TIMED_OUT])
        tasks = [task for task in _left(grid.tasks(shapes), done) if task.classifiers]
        forecast = Forecast(shapes, tasks)
        left = sum(len(task.classifiers) for task in tasks)
        crew = _Crew(store, forecast, time_limit, State(len(grid) - left, len(grid)), watcher)
        crew.work(tasks, min(effective_n_jobs(n_jobs or -1), max(1, len(tasks))))
        shutil.rmtree(store.spool, ignore_errors=True)
    return crew.state


def _refuse_other_meanings(store: Store, grid: Grid, shapes: dict[str, Shape]) -> None:
    rows = store.read()
    known = rows[["dataset", "data_fingerprint"]].drop_duplicates()
    for name, fingerprint in known.itertuples(index=False):
        if name in shapes and shapes[name].fingerprint != fingerprint:
            raise BenchError(
                f"the store {str(store.folder)!r} has results on other data of the name {name!r}: "
                "name another store, or rename the data set"
            )
    for what, entries in (("method", grid.methods), ("classifier", grid.classifiers)):
        paths = {entry.name: entry.path for entry in entries}
        for name, path in rows[[what, f"{what}_path"]].drop_duplicates().itertuples(index=False):
            if paths.get(name, path) != path:
                raise BenchError(
                    f"the store {str(store.folder)!r} has results of another {what} of the name "
                    f"{name!r}, {path}: give this one another name"
                )


def _left(tasks: Iterable[Task], done: set[Key]) -> list[Task]:
    return [
        task.without(one.name for one in task.classifiers if task.key(one) in done)
        for task in tasks
    ]


@dataclass
class _Worker:
    """A process, and what it is at."""

    process: Any
    connection: Connection
    task: Task | None = None
    cell: str = RESAMPLING
    since: float = inf
    spoke: bool = False
    ended: set[str] = field(default_factory=set)


class _Crew:
    """The workers of a run, and what becomes of what they say."""

    def __init__(
        self,
        store: Store,
        forecast: Forecast,
        time_limit: float | None,
        state: State,
        watcher: Watcher | None,
    ) -> None:
        self.state = state
        self._store = store
        self._forecast = forecast
        self._limit = time_limit
        self._watcher = watcher
        self._workers: list[_Worker] = []
        self._queue: deque[Task] = deque()
        # Fork would copy threads' locks, and the lock of the store.
        self._context = multiprocessing.get_context("spawn")

    def work(self, tasks: list[Task], n_workers: int) -> None:
        self._queue.extend(tasks)
        self._store.spool.mkdir(exist_ok=True)
        try:
            self._tell()
            for _ in range(n_workers if tasks else 0):
                self._start()
            while any(worker.task for worker in self._workers):
                self._listen()
                self._watch_the_clock()
                self._tell()
            for worker in self._workers:
                with suppress(OSError):
                    worker.connection.send(None)
                worker.process.join(timeout=5)
        finally:
            for worker in self._workers:
                self._end(worker)

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        arguments = (theirs, str(self._store.spool))
        process = self._context.Process(target=serve, args=arguments, daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        worker.task = self._queue.popleft() if self._queue else None
        worker.cell, worker.since, worker.ended = RESAMPLING, inf, set()
        if worker.task is not None:
            # A process that has died meanwhile is noticed where it is listened to.
            with suppress(OSError):
                worker.connection.send(worker.task)

    def _listen(self) -> None:
        ready = wait([worker.connection for worker in self._workers], timeout=_TICK)
        for worker in [one for one in self._workers if one.connection in ready]:
            try:
                what, content = worker.connection.recv()
            except (EOFError, OSError):
                worker.process.join(timeout=5)
                code = worker.process.exitcode
                if not worker.spoke:
                    raise BenchError(
                        f"a worker process ended with exit code {code} before it could begin; a "
                        "script that calls run() must do so under if __name__ == '__main__'"
                    ) from None
                self._lost(worker, FAILED, f"the process ended by itself with exit code {code}")
                continue
            worker.spoke = True
            if what == BEGIN:
                worker.cell, worker.since = content, monotonic()
            elif what == ROW:
                self._record(worker, content)
            else:
                self._give(worker)

    def _watch_the_clock(self) -> None:
        if self._limit is None:
            return
        for worker in list(self._workers):
            # Loading modules and data is not the cell's doing: the clock starts after it.
            over = worker.task and monotonic() - worker.since > self._limit
            # What it has to say is heard first: it may have ended just in time.
            if over and not worker.connection.poll():
                self._lost(worker, TIMED_OUT, f"ended after {self._limit:g} seconds")

    def _lost(self, worker: _Worker, status: str, why: str) -> None:
        self._end(worker)
        self._workers.remove(worker)
        task = worker.task
        if task is not None:
            if worker.cell == RESAMPLING:
                lost, why = task.classifiers, f"{RESAMPLING}: {why}"
            else:
                lost = tuple(one for one in task.classifiers if one.name == worker.cell)
            for one in lost:
                if one.name not in worker.ended:
                    self._record(worker, row_of(task, one, status, error=why))
            rest = task.without(worker.ended)
            if rest.classifiers:
                self._queue.appendleft(rest)
            else:
                (self._store.spool / f"{task.label}.npz").unlink(missing_ok=True)
        if self._queue:
            self._start()

    def _record(self, worker: _Worker, row: dict[str, Any]) -> None:
        if worker.task is None:
            raise RuntimeError("a worker without a task has sent a row")
        self._store.add(row)
        worker.ended.add(row["classifier"])
        entry = next(one for one in worker.task.classifiers if one.name == row["classifier"])
        share = (row.get("resample_seconds") or 0.0) / len(worker.task.classifiers)
        self._forecast.note(worker.task, entry, max(0.0, monotonic() - worker.since) + share)
        # Until the next cell begins, no clock runs.
        worker.since = inf
        self.state = replace(
            self.state,
            done=self.state.done + 1,
            failed=self.state.failed + (row["status"] == FAILED),
            timed_out=self.state.timed_out + (row["status"] == TIMED_OUT),
        )

    def _tell(self) -> None:
        seconds = self._forecast.seconds()
        self.state = replace(
            self.state,
            seconds_left=None if seconds is None else seconds / max(1, len(self._workers)),
            running=tuple(
                f"{worker.task.source.name}, {worker.task.method.name}, seed {worker.task.seed}"
                f", {worker.cell}"
                for worker in self._workers
                if worker.task
            ),
        )
        if self._watcher is not None:
            self._watcher(self.state)

    @staticmethod
    def _end(worker: _Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
