"""The experiment with a diffusion model: does it learn more from cleaned rows?

For every set and seed: split, clean the training part or not, train `TabDDPM` on it, draw rows from
that; then train one classifier on made-up rows, on these and the real ones together, and on the
real ones alone, and test it on the real rows that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
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

from rectifold import GMR, progress
from rectifold._typing import Ints
from rectifold.bench.deep.records import KEY, TABDDPM, row
from rectifold.bench.deep.sets import Parts, Table, load, split

#: What the diffusion model, or the classifier, is trained on.
METHODS = ("None", "GMR")
REAL, SYNTHETIC, BOTH = "real", "synthetic", "synthetic and real"
SEEDS = (42, 0, 1, 2, 3)
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
        with threadpool_limits(max(1, cpu_count() // _AT_A_TIME)):
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
    return [
        (TABDDPM, name, method, trained_on, sample, seed)
        for seed in seeds
        for name in sets
        for method in METHODS
        for trained_on, draws in _wanted(samples)
        for sample in draws
    ]


def settings_of(model: Any) -> dict[str, Any]:
    """Give the settings of a model that its rows depend on, besides the seed."""
    given = sorted(model.get_params().items())
    return {name: value for name, value in given if name not in ("device", "random_state")}


def _wanted(samples: int) -> list[tuple[str, Sequence[int]]]:
    drawn = range(1, samples + 1)
    return [(REAL, (0,)), (SYNTHETIC, drawn), (BOTH, drawn)]


def run(
    sets: Sequence[str],
    seeds: Sequence[int] = SEEDS,
    *,
    home: str | Path,
    model: Any,
    samples: int = SAMPLES,
    done: frozenset[tuple[Any, ...]] | set[tuple[Any, ...]] = frozenset(),
    load: Callable[[str, str | Path], Table] = load,
) -> Iterator[dict[str, Any]]:
    """Do the experiment, a row at a time.

    Parameters
    ----------
    sets : sequence of str
        Names of sets.
    seeds : sequence of int
        Of the splits, the models and the classifiers.
    home : path-like
        The folder with the files of the sets.
    model : TabDDPM
        Its settings; a clone is trained for every set, seed and method.
    samples : int
        Draws from every model, each of as many rows as it was trained on.
    done : set of tuple
        Keys of rows that are there already.
    load : callable
        How a set is read.

    Yields
    ------
    dict
        A row of the store, as soon as it is known.
    """
    # Only here, so that the rest does without torch. A wrong device is said before any work.
    from rectifold.bench.deep.devices import find_device

    find_device(model.device)
    tables = {name: load(name, home) for name in sets}
    todo = [cell for cell in cells(sets, seeds, samples) if cell not in done]
    finished, waiting = 0, list[Future[dict[str, Any]]]()

    def first() -> dict[str, Any]:
        nonlocal finished
        finished += 1
        progress.report(finished, len(todo))
        return waiting.pop(0).result()

    progress.report(0, len(todo))
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        try:
            for name, seed, method in dict.fromkeys((key[1], key[5], key[2]) for key in todo):
                mine = [key for key in todo if (key[1], key[5], key[2]) == (name, seed, method)]
                for task in _tasks(tables[name], seed, method, mine, model):
                    waiting.append(pool.submit(task))
                    # No more than a few sets of rows are held for those that are to come.
                    while len(waiting) > 2 * _AT_A_TIME or (waiting and waiting[0].done()):
                        yield first()
        except KeyboardInterrupt:
            waiting = [future for future in waiting if not future.cancel()]
            while waiting:
                yield first()
            raise
        while waiting:
            yield first()


def _tasks(
    table: Table, seed: int, method: str, keys: Sequence[tuple[Any, ...]], model: Any
) -> Iterator[Callable[[], dict[str, Any]]]:
    """Make the rows that classifiers are to be trained on; each with what is left to do."""
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

    def task(X: pd.DataFrame, y: Ints, key: tuple[Any, ...], **more: Any) -> Any:
        named = dict(zip(KEY, key, strict=True))
        return lambda: row(**named, **facts, **more, **tested(X, y, parts, table, seed))

    for key in keys:
        if key[3] == REAL:
            yield task(cleaned.X, cleaned.y, key)
    draws = sorted({key[4] for key in keys if key[3] != REAL})
    if not draws:
        return
    from rectifold.bench.deep.devices import called, find_device

    fitted = clone(model).set_params(random_state=seed)
    begin = perf_counter()
    with progress.muted():
        fitted.fit(cleaned.X, cleaned.y, categorical=list(table.categorical))
    facts |= {
        "train_seconds": perf_counter() - begin,
        "device": called(find_device(model.device)),
        "settings": settings_of(model),
    }
    for draw in draws:
        begin = perf_counter()
        X, y = fitted.sample(len(cleaned.y), random_state=1000 * draw + seed)
        seconds = perf_counter() - begin
        for key in keys:
            if key[3:5] == (SYNTHETIC, draw):
                yield task(X, y, key, sample_seconds=seconds)
            if key[3:5] == (BOTH, draw):
                both = pd.concat([cleaned.X, X], ignore_index=True)
                yield task(both, np.concatenate([cleaned.y, y]), key, sample_seconds=seconds)
