"""The experiment with a diffusion model: does it learn more from cleaned rows?

For every set and seed: split, clean the training part or not, train `TabDDPM` on it, draw rows from
that; then train one classifier on made-up rows, on these and the real ones together, and on the
real ones alone, and test it on the real rows that nobody has seen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from joblib import cpu_count
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from experiments.deep.records import BOTH, KEY, REAL, SYNTHETIC, TABDDPM, failed, row
from experiments.deep.sets import Parts, Table, split
from rectifold import GMR, progress
from rectifold._core.utils import Ints
from rectifold.bench._grid import SEEDS

#: Whether the training part is cleaned.
METHODS = ("None", "GMR")
#: Draws from one model.
SAMPLES = 3
#: Classifiers that are trained at a time, while the next model is.
_AT_A_TIME = 2


@dataclass(frozen=True)
class Cleaned:
    """The training part, cleaned or not."""

    X: pd.DataFrame
    y: Ints
    facts: Mapping[str, Any]


def clean(parts: Parts, table: Table, method: str, engine: str = "auto") -> Cleaned:
    """Clean the training part by the paper's settings, or leave it as it is.

    Parameters
    ----------
    parts : Parts
        Both parts; the rows that are tested on are not looked at.
    table : Table
        What the columns are.
    method : {"None", "GMR"}
        Whether to.
    engine : str
        As for `rectifold.GMR`.

    Returns
    -------
    Cleaned
        The geometry is that of standardised numbers, and of a column of 0 and 1 for each name.
    """
    X, y = parts.X_train, parts.y_train
    facts: dict[str, Any] = {"rows_before": len(y), "rows_after": len(y), "removed": [0, 0]}
    if method == "GMR":
        named = list(table.categorical)
        space = make_column_transformer(
            (StandardScaler(), [name for name in X.columns if name not in named]),
            (OneHotEncoder(sparse_output=False), named),
        )
        gmr = GMR(space=space, engine=engine, n_jobs=-1)
        begin = perf_counter()
        # What is reported outside is classifiers.
        with progress.muted():
            gmr.fit_resample(X, y)
        facts["clean_seconds"] = perf_counter() - begin
        kept = gmr.sample_indices_
        gone = np.bincount(y, minlength=2) - np.bincount(y[kept], minlength=2)
        facts |= {"rows_after": len(kept), "removed": gone.tolist(), "metric": str(gmr.metric_)}
        X, y = X.iloc[kept].reset_index(drop=True), y[kept]
    return Cleaned(X, y, facts)


def tested(X: pd.DataFrame, y: Ints, parts: Parts, table: Table, seed: int) -> dict[str, Any]:
    """Train the classifier on some rows, and test it on the real ones that were set aside.

    Parameters
    ----------
    X, y
        What to train on.
    parts : Parts
        What to test on.
    table : Table
        What the columns are.
    seed : int
        Of the classifier.

    Returns
    -------
    dict
        Scores and seconds. The classifier is scikit-learn's histogram-based gradient boosting with
        its defaults.
    """
    classifier = HistGradientBoostingClassifier(
        categorical_features=list(table.categorical) or None, random_state=seed
    )
    begin = perf_counter()
    if len(np.unique(y)) > 1:
        classifier.fit(X, y)
        ranking = classifier.predict_proba(parts.X_test)[:, 1]
    else:
        # A model that makes up one class teaches nothing.
        ranking = np.zeros(len(parts.y_test))
    return {
        "fit_seconds": perf_counter() - begin,
        "auprc": float(average_precision_score(parts.y_test, ranking)),
        "roc_auc": float(roc_auc_score(parts.y_test, ranking)),
        "balanced_accuracy": float(balanced_accuracy_score(parts.y_test, ranking >= 0.5)),
        "train_rows": len(y),
    }


def cells(sets: Sequence[str], seeds: Sequence[int], samples: int) -> list[tuple[Any, ...]]:
    """List the keys of all rows of an experiment.

    Parameters
    ----------
    sets : sequence of str
        Names of sets.
    seeds : sequence of int
        Of the splits.
    samples : int
        Draws from every model.

    Returns
    -------
    list of tuple
        As in the store.
    """
    every = (
        (TABDDPM, name, method, trained_on, sample, seed)
        for seed in seeds
        for name in sets
        for method in METHODS
        for trained_on, draws in _wanted(samples)
        for sample in draws
    )
    # A seed that is named twice is one.
    return list(dict.fromkeys(every))


def settings_of(model: Any) -> dict[str, Any]:
    """Give the settings of a model that its rows depend on, besides the seed.

    Once it was fitted, also the width of its embedding, which may come from the table.
    """
    given = sorted(model.get_params().items())
    settings = {name: value for name, value in given if name not in ("device", "random_state")}
    if hasattr(model, "embedding_"):
        settings["embedding_"] = model.embedding_
    return settings


def _wanted(samples: int) -> list[tuple[str, Sequence[int]]]:
    drawn = range(1, samples + 1)
    return [(REAL, (0,)), (SYNTHETIC, drawn), (BOTH, drawn)]


def run(
    tables: Sequence[Table],
    seeds: Sequence[int] = SEEDS,
    *,
    model: Any,
    record: Callable[[dict[str, Any]], None],
    samples: int = SAMPLES,
    done: frozenset[tuple[Any, ...]] | set[tuple[Any, ...]] = frozenset(),
) -> None:
    """Do the experiment.

    Parameters
    ----------
    tables : sequence of Table
        The sets.
    seeds : sequence of int
        Of the splits, the models and the classifiers.
    model : TabDDPM
        Its settings; a clone is trained for every set, seed and method.
    record : callable
        Called with a row of the store as soon as it is known, one at a time. What fails has a row
        too, that says so.
    samples : int
        Draws from every model, each of as many rows as it was trained on.
    done : set of tuple
        Keys of rows that are there already.
    """
    # Only here, so that the rest does without torch. A wrong device is said before any work.
    from experiments.deep.devices import find_device

    find_device(model.device)
    named = {table.name: table for table in tables}
    todo = [cell for cell in cells(list(named), seeds, samples) if cell not in done]
    lock, known = threading.Lock(), 0

    def note(task: Callable[[], dict[str, Any]]) -> None:
        nonlocal known
        found = task()
        with lock:
            record(found)
            known += 1

    progress.report(0, len(todo))
    # OpenMP's threads alone: those of BLAS are a setting of the whole process.
    each = max(1, cpu_count() // _AT_A_TIME)
    pool = ThreadPoolExecutor(
        _AT_A_TIME, initializer=lambda: threadpool_limits(each, user_api="openmp")
    )
    waiting: set[Future[None]] = set()
    try:
        for name, seed, method in dict.fromkeys((key[1], key[5], key[2]) for key in todo):
            mine = [key for key in todo if (key[1], key[5], key[2]) == (name, seed, method)]
            for task in _tasks(named[name], seed, method, mine, model):
                waiting.add(pool.submit(note, task))
                # No more than a few sets of rows are held for those that are to come.
                waiting = _fewer(waiting, 2 * _AT_A_TIME)
                progress.report(known, len(todo))
        _fewer(waiting, 0)
        progress.report(known, len(todo))
    finally:
        # Those that are under way are waited for, and recorded.
        pool.shutdown(cancel_futures=True)


def _fewer(waiting: set[Future[None]], most: int) -> set[Future[None]]:
    """Wait until no more are left; what went wrong in one goes wrong here."""
    left = waiting
    while True:
        ended, left = wait(
            left, timeout=0 if len(left) <= most else None, return_when=FIRST_COMPLETED
        )
        for future in ended:
            future.result()
        if len(left) <= most:
            return left


def _tasks(
    table: Table, seed: int, method: str, keys: Sequence[tuple[Any, ...]], model: Any
) -> Iterator[Callable[[], dict[str, Any]]]:
    """Make the rows that classifiers are to be trained on; each with what is left to do."""
    from experiments.deep.devices import called, find_device

    parts = split(table, seed)
    cleaned = clean(parts, table, method)
    facts: dict[str, Any] = {
        "target": table.target,
        "classifier": "HistGradientBoostingClassifier",
        "columns": parts.X_train.shape[1],
        "test_rows": len(parts.y_test),
        "data_fingerprint": table.fingerprint,
        **cleaned.facts,
    }

    def task(X: pd.DataFrame, y: Ints, key: tuple[Any, ...], more: Mapping[str, Any]) -> Any:
        told = {**dict(zip(KEY, key, strict=True)), **facts, **more}

        def do() -> dict[str, Any]:
            try:
                return row(**told, **tested(X, y, parts, table, seed))
            except Exception as problem:
                return failed(problem, **told)

        return do

    for key in keys:
        if key[3] == REAL:
            yield task(cleaned.X, cleaned.y, key, {})
    made_up = [key for key in keys if key[3] != REAL]
    if not made_up:
        return
    fitted = clone(model).set_params(random_state=seed)
    more: dict[str, Any] = {
        "device": called(find_device(model.device)),
        "settings": settings_of(model),
    }
    begin = perf_counter()
    try:
        with progress.muted():
            fitted.fit(cleaned.X, cleaned.y, categorical=list(table.categorical))
    except (RuntimeError, ValueError) as problem:
        # One model that can't be trained does not end the experiment.
        for key in made_up:
            told = {**dict(zip(KEY, key, strict=True)), **facts, **more}
            yield partial(failed, problem, **told)
        return
    more |= {"settings": settings_of(fitted), "train_seconds": perf_counter() - begin}
    for draw in sorted({key[4] for key in made_up}):
        begin = perf_counter()
        X, y = fitted.sample(len(cleaned.y), random_state=1000 * draw + seed)
        drawn = {**more, "sample_seconds": perf_counter() - begin}
        for key in made_up:
            if key[3:5] == (SYNTHETIC, draw):
                yield task(X, y, key, drawn)
            if key[3:5] == (BOTH, draw):
                both = pd.concat([cleaned.X, X], ignore_index=True)
                yield task(both, np.concatenate([cleaned.y, y]), key, drawn)
