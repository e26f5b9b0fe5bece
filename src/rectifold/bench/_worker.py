"""A process that resamples and fits, one task after another, and tells how each ended."""

from __future__ import annotations

import json
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rectifold._core.utils import versions
from rectifold.bench._data import Data, Source, load
from rectifold.bench._grid import Task
from rectifold.bench._protocols import Prepared, prepare
from rectifold.bench._store import FAILED, KEY, OK
from rectifold.model_selection._registry import WRAPPER, Entry
from rectifold.model_selection._scores import score

#: The libraries whose versions stand beside every result.
LIBRARIES = (
    *("rectifold", "numpy", "scipy", "scikit-learn", "imbalanced-learn"),
    *("xgboost-cpu", "xgboost", "pandas"),
)
#: Characters of an error that are kept.
_MOST = 500

#: What a worker says: that it begins a cell, that a fit has ended, that the task is done.
BEGIN, ROW, DONE = "begin", "row", "done"
#: The cell that is not a fit.
RESAMPLING = "resampling"


def serve(connection: Connection, spool: str) -> None:
    """Do tasks as they come, until there are no more.

    Parameters
    ----------
    connection : multiprocessing connection
        Gives tasks, and None at the end; takes ``(BEGIN, cell)``, ``(ROW, row)``, ``(DONE, "")``.
    spool : str
        A folder for resampled rows: a task that is taken up again after its process was ended
        goes on with them.
    """
    # Ctrl-C reaches every process of a terminal; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with threadpool_limits(limits=1):
        while (task := connection.recv()) is not None:
            _do(task, Path(spool), connection)
            connection.send((DONE, ""))


def _end_with_parent() -> None:
    # Nobody hears what an orphan finds out, and it would compete with the run that goes on.
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _do(task: Task, spool: Path, connection: Connection) -> None:
    path = spool / f"{task.label}.npz"
    try:
        data = None if path.exists() else _load(task.source)
        connection.send((BEGIN, RESAMPLING))
        prepared = Prepared.load(path) if data is None else _resample(task, data)
        if data is not None:
            prepared.save(path)
    except Exception as problem:
        for classifier in task.classifiers:
            row = row_of(task, classifier, FAILED, error=f"{RESAMPLING}: {_sentence(problem)}")
            connection.send((ROW, row))
        return
    for classifier in task.classifiers:
        connection.send((BEGIN, classifier.name))
        connection.send((ROW, _fit(task, classifier, prepared)))
    path.unlink(missing_ok=True)


def _resample(task: Task, data: Data) -> Prepared:
    if data.fingerprint != task.fingerprint:
        raise RuntimeError(f"{task.source.name} has changed since the run began")
    # What wraps a classifier does its own cleaning, in the training rows it is given.
    sampler = None if task.method.kind == WRAPPER else task.method.make(task.seed)
    with _heard() as said:
        prepared = prepare(data, sampler, task.seed, task.protocol)
    return replace(prepared, warnings=tuple(said))


@lru_cache(maxsize=1)
def _load(source: Source) -> Data:
    # Tasks come data set by data set.
    return load(source)


def _fit(task: Task, classifier: Entry, prepared: Prepared) -> dict[str, Any]:
    facts = sizes_of(prepared)
    start = perf_counter()
    try:
        with _heard() as heard:
            estimator = classifier.make(task.seed)
            if task.method.kind == WRAPPER:
                estimator = task.method.wrap(estimator, task.seed)
            estimator.fit(prepared.X_train, prepared.y_train)
            facts["fit_seconds"] = perf_counter() - start
            facts.update(scores_of(estimator, prepared))
    except Exception as problem:
        facts["fit_seconds"] = perf_counter() - start
        return row_of(task, classifier, FAILED, error=_sentence(problem), **facts)
    noted = ", ".join(dict.fromkeys([*prepared.warnings, *heard]))
    return row_of(task, classifier, OK, warnings=noted or None, **facts)


def sizes_of(prepared: Prepared) -> dict[str, Any]:
    """Tell what a fit began with.

    Parameters
    ----------
    prepared : Prepared
        The rows of both parts.

    Returns
    -------
    dict
        Columns for `row_of`.
    """
    return {
        "resample_seconds": prepared.seconds,
        "majority_before": prepared.before[0],
        "minority_before": prepared.before[1],
        "majority_after": prepared.after[0],
        "minority_after": prepared.after[1],
        "test_rows": len(prepared.y_test),
        "test_positives": int(prepared.y_test.sum()),
        "columns": prepared.X_train.shape[1],
    }


def scores_of(estimator: Any, prepared: Prepared) -> dict[str, Any]:
    """Tell what a fit came to.

    Parameters
    ----------
    estimator : classifier
        Fitted.
    prepared : Prepared
        The rows of both parts.

    Returns
    -------
    dict
        Columns for `row_of`.
    """
    found: dict[str, Any] = dict(score(estimator, prepared.X_test, prepared.y_test))
    if hasattr(estimator, "members_"):
        # What its members were fitted on, on average; the classes are 0 and 1.
        shares = np.mean([member.shares for member in estimator.members_], axis=0)
        found["majority_after"] = round(prepared.before[0] * shares[0])
        found["minority_after"] = round(prepared.before[1] * shares[1])
    return found


def row_of(task: Task, classifier: Entry, status: str, **facts: Any) -> dict[str, Any]:
    """Make the row of a fit.

    Parameters
    ----------
    task : Task
        What the fit belongs to.
    classifier : Entry
        What was fitted, or was to be.
    status : str
        How that ended.
    **facts
        Further columns.

    Returns
    -------
    dict
        For `Store.add`.
    """
    return {
        **dict(zip(KEY, task.key(classifier), strict=True)),
        "status": status,
        "data_fingerprint": task.fingerprint,
        "method_path": task.method.path,
        "classifier_path": classifier.path,
        "versions": _versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
    }


@lru_cache(maxsize=1)
def _versions() -> str:
    return json.dumps(versions(*LIBRARIES))


@contextmanager
def _heard() -> Iterator[list[str]]:
    # Warnings of the block, by category, instead of on the terminal.
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield said
        finally:
            said += dict.fromkeys(one.category.__name__ for one in caught)


def _sentence(problem: Exception) -> str:
    text = " ".join(str(problem).split()) or "no message"
    return f"{type(problem).__name__}: {text}"[:_MOST]
