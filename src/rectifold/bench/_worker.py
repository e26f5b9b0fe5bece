"""A worker process: it resamples and fits, one task after another, and reports each fit."""

import json
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_limits

from rectifold._core.utils import versions
from rectifold.bench._data import load
from rectifold.bench._grid import Task
from rectifold.bench._protocols import PROTOCOLS, Split, prepare
from rectifold.bench._store import FAILED, KEY, OK
from rectifold.model_selection._registry import WRAPPER, Entry
from rectifold.model_selection._scores import score

#: Libraries whose versions are recorded with every result.
LIBRARIES = (
    *("rectifold", "numpy", "scipy", "scikit-learn", "imbalanced-learn"),
    *("xgboost-cpu", "xgboost", "lightgbm", "catboost", "pandas"),
)
#: Maximum length of a recorded error.
_MAX_ERROR = 500

#: Messages of a worker: a step begins, a fit has ended, the task is done.
BEGIN, ROW, DONE = "begin", "row", "done"
#: The step that is not a fit.
RESAMPLING = "resampling"


def serve(connection: Connection, spool: str) -> None:
    """Process the tasks that a connection yields, until it yields None.

    Sends ``(BEGIN, step)``, ``(ROW, row)`` and ``(DONE, "")``. Resampled data are kept in the
    folder `spool`, so that a task whose process was ended resumes with them.
    """
    # Ctrl-C reaches all processes of a terminal; the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with threadpool_limits(limits=1):
        while (task := connection.recv()) is not None:
            _process(task, Path(spool), connection)
            connection.send((DONE, ""))


def _exit_with_parent() -> None:
    # An orphan would compete with the run that resumes.
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _process(task: Task, spool: Path, connection: Connection) -> None:
    path = spool / f"{task.file_stem}.npz"
    try:
        if path.exists():
            connection.send((BEGIN, RESAMPLING))
            split = Split.load(path)
        else:
            # Before the step begins: its time limit does not include loading.
            data = _load(task.source)
            connection.send((BEGIN, RESAMPLING))
            if data.fingerprint != task.fingerprint:
                raise RuntimeError(f"{task.source.name} has changed since the run began")
            # A wrapper cleans the training data that it is fitted on by itself.
            sampler = None if task.method.kind == WRAPPER else task.method.make(task.seed)
            with _categories_of_warnings() as categories:
                split = prepare(data, sampler, task.seed, task.protocol)
            split = replace(split, warnings=tuple(categories))
            # It only saves time: a full disk is not a failure of the method.
            with suppress(OSError):
                split.save(path)
    except Exception as error:
        for classifier in task.classifiers:
            row = row_of(task, classifier, FAILED, error=f"{RESAMPLING}: {_sentence(error)}")
            connection.send((ROW, row))
        return
    for classifier in task.classifiers:
        connection.send((BEGIN, classifier.name))
        connection.send((ROW, _fit(task, classifier, split)))
    path.unlink(missing_ok=True)


# Tasks come data set by data set.
_load = lru_cache(maxsize=1)(load)


def _fit(task: Task, classifier: Entry, split: Split) -> dict[str, Any]:
    values = sizes_of(split)
    start = perf_counter()
    try:
        with _categories_of_warnings() as categories:
            estimator = classifier.make(task.seed)
            weighted = PROTOCOLS[task.protocol].class_weight
            if weighted and "class_weight" in estimator.get_params():
                estimator.set_params(class_weight="balanced")
            if task.method.kind == WRAPPER:
                estimator = task.method.wrap(estimator, task.seed)
            estimator.fit(split.X_train, split.y_train)
            values["fit_seconds"] = perf_counter() - start
            values.update(scores_of(estimator, split))
    except Exception as error:
        values["fit_seconds"] = perf_counter() - start
        return row_of(task, classifier, FAILED, error=_sentence(error), **values)
    issued = ", ".join(dict.fromkeys([*split.warnings, *categories]))
    return row_of(task, classifier, OK, warnings=issued or None, **values)


def sizes_of(split: Split) -> dict[str, Any]:
    """Return the columns of a row that describe the split."""
    return {
        "resample_seconds": split.seconds,
        "majority_before": split.before[0],
        "minority_before": split.before[1],
        "majority_after": split.after[0],
        "minority_after": split.after[1],
        "test_rows": len(split.y_test),
        "test_positives": int(split.y_test.sum()),
        "columns": split.X_train.shape[1],
    }


def scores_of(estimator: Any, split: Split) -> dict[str, Any]:
    """Return the columns of a row that describe a fitted classifier: its scores."""
    values: dict[str, Any] = dict(score(estimator, split.X_test, split.y_test))
    if hasattr(estimator, "class_shares_"):
        # Average sizes of the data that members were fitted on; the classes are 0 and 1.
        shares = estimator.class_shares_.mean(axis=0)
        values["majority_after"] = round(split.before[0] * shares[0])
        values["minority_after"] = round(split.before[1] * shares[1])
    return values


def row_of(task: Task, classifier: Entry, status: str, **values: Any) -> dict[str, Any]:
    """Return the row of a fit for `Store.add`, with further columns in `values`."""
    return {
        **dict(zip(KEY, task.key(classifier), strict=True)),
        "status": status,
        "data_fingerprint": task.fingerprint,
        "method_path": task.method.path,
        "classifier_path": classifier.path,
        "versions": _versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **values,
    }


@lru_cache(maxsize=1)
def _versions() -> str:
    return json.dumps(versions(*LIBRARIES))


@contextmanager
def _categories_of_warnings() -> Iterator[list[str]]:
    """Collect the categories of the warnings of a block, and print none of them."""
    categories: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield categories
        finally:
            categories += dict.fromkeys(warning.category.__name__ for warning in caught)


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {text}"[:_MAX_ERROR]
