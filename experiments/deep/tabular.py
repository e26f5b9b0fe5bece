"""The experiment with TabDDPM: do classifiers learn more from synthetic samples of cleaned data?

For every data set and seed: split, clean the training part or not, fit `TabDDPM` on it and draw
samples; then train one classifier on the synthetic samples, one on synthetic and real samples, and
one on the real ones alone, and test them on the real test part.
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
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from experiments.deep.records import BOTH, CLASSIFIER, KEY, REAL, SYNTHETIC, TABDDPM, failed, row
from experiments.deep.sets import Parts, Table, split
from rectifold import GMR, progress
from rectifold._core.utils import Ints
from rectifold.bench._grid import SEEDS

#: Without and with cleaning.
METHODS = ("None", "GMR")
#: Synthetic data sets drawn from one model.
SAMPLES = 3
#: The parameters of the classifier that are not defaults. On the real samples of every set it comes
#: close to a tuned one, unlike scikit-learn's histogram gradient boosting with its early stopping:
#: see `experiments.deep.ceiling`.
XGBOOST = {
    "n_estimators": 300,
    "learning_rate": 0.1,
    "max_depth": 8,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
}
#: Classifiers that are trained at the same time, beside the next model.
_AT_A_TIME = 2


@dataclass(frozen=True)
class Cleaned:
    """The training part, cleaned or not."""

    X: pd.DataFrame
    y: Ints
    facts: Mapping[str, Any]


def clean(parts: Parts, table: Table, method: str, engine: str = "auto") -> Cleaned:
    """Clean the training part with GMR's defaults, or return it unchanged for the method "None".

    Distances are computed on standardised numbers and one-hot encoded categories.
    """
    X, y = parts.X_train, parts.y_train
    facts: dict[str, Any] = {"rows_before": len(y), "rows_after": len(y), "removed": [0, 0]}
    if method == "GMR":
        categorical = list(table.categorical)
        space = make_column_transformer(
            (StandardScaler(), [name for name in X.columns if name not in categorical]),
            (OneHotEncoder(sparse_output=False), categorical),
        )
        gmr = GMR(space=space, engine=engine, n_jobs=-1)
        begin = perf_counter()
        # Progress counts classifiers.
        with progress.muted():
            gmr.fit_resample(X, y)
        facts["clean_seconds"] = perf_counter() - begin
        kept = gmr.sample_indices_
        removed = np.bincount(y, minlength=2) - np.bincount(y[kept], minlength=2)
        facts |= {"rows_after": len(kept), "removed": removed.tolist(), "metric": str(gmr.metric_)}
        X, y = X.iloc[kept].reset_index(drop=True), y[kept]
    return Cleaned(X, y, facts)


def score_classifier(X: pd.DataFrame, y: Ints, parts: Parts, seed: int) -> dict[str, Any]:
    """Train XGBoost on codes of categories, and return its scores on the test part."""
    classifier = XGBClassifier(**XGBOOST, random_state=seed)
    begin = perf_counter()
    if len(np.unique(y)) > 1:
        classifier.fit(X, y)
        ranking = classifier.predict_proba(parts.X_test)[:, 1]
    else:
        # Synthetic samples of one class only.
        ranking = np.zeros(len(parts.y_test))
    return {
        "fit_seconds": perf_counter() - begin,
        "auprc": float(average_precision_score(parts.y_test, ranking)),
        "roc_auc": float(roc_auc_score(parts.y_test, ranking)),
        "balanced_accuracy": float(balanced_accuracy_score(parts.y_test, ranking >= 0.5)),
        "train_rows": len(y),
    }


def cells(sets: Sequence[str], seeds: Sequence[int], samples: int) -> list[tuple[Any, ...]]:
    """Return the store keys of all rows of an experiment."""
    keys = (
        (TABDDPM, name, method, trained_on, sample, seed)
        for seed in seeds
        for name in sets
        for method in METHODS
        for trained_on, draws in _draws(samples)
        for sample in draws
    )
    # A seed may be given twice.
    return list(dict.fromkeys(keys))


def settings_of(model: Any) -> dict[str, Any]:
    """Return the parameters of a model that its samples depend on, without the seed.

    A fitted model adds the width of its embedding, which may depend on the table.
    """
    params = sorted(model.get_params().items())
    settings = {name: value for name, value in params if name not in ("device", "random_state")}
    if hasattr(model, "embedding_"):
        settings["embedding_"] = model.embedding_
    return settings


def _draws(samples: int) -> list[tuple[str, Sequence[int]]]:
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
    """Run the experiment, and pass each row of the store to `record` as soon as it is computed.

    A clone of `model` is fitted for every table, seed and method, and `samples` data sets of the
    size of its training part are drawn from it. Rows whose keys are in `done` are skipped. A fit
    that fails is recorded with its error.
    """
    # Imported here, so that the rest works without torch.
    from experiments.deep.devices import find_device

    find_device(model.device)
    by_name = {table.name: table for table in tables}
    todo = [cell for cell in cells(list(by_name), seeds, samples) if cell not in done]
    lock, n_done = threading.Lock(), 0

    def note(task: Callable[[], dict[str, Any]]) -> None:
        nonlocal n_done
        result = task()
        with lock:
            record(result)
            n_done += 1

    progress.report(0, len(todo))
    # Only OpenMP's threads: those of BLAS are a setting of the whole process.
    n_threads = max(1, cpu_count() // _AT_A_TIME)
    pool = ThreadPoolExecutor(
        _AT_A_TIME, initializer=lambda: threadpool_limits(n_threads, user_api="openmp")
    )
    waiting: set[Future[None]] = set()
    try:
        for name, seed, method in dict.fromkeys((key[1], key[5], key[2]) for key in todo):
            keys = [key for key in todo if (key[1], key[5], key[2]) == (name, seed, method)]
            for task in _tasks(by_name[name], seed, method, keys, model):
                waiting.add(pool.submit(note, task))
                # At most a few training sets are held in memory.
                waiting = _fewer(waiting, 2 * _AT_A_TIME)
                progress.report(n_done, len(todo))
        _fewer(waiting, 0)
        progress.report(n_done, len(todo))
    finally:
        # Tasks that are under way are finished and recorded.
        pool.shutdown(cancel_futures=True)


def _fewer(waiting: set[Future[None]], most: int) -> set[Future[None]]:
    """Wait until at most `most` are left; an error in one of them is raised here."""
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
    """Yield the functions that each train one classifier and return its row."""
    from experiments.deep.devices import device_name, find_device

    parts = split(table, seed)
    cleaned = clean(parts, table, method)
    facts: dict[str, Any] = {
        "target": table.target,
        "classifier": CLASSIFIER,
        "columns": parts.X_train.shape[1],
        "test_rows": len(parts.y_test),
        "data_fingerprint": table.fingerprint,
        **cleaned.facts,
    }

    def task(X: pd.DataFrame, y: Ints, key: tuple[Any, ...], more: Mapping[str, Any]) -> Any:
        columns = {**dict(zip(KEY, key, strict=True)), **facts, **more}

        def do() -> dict[str, Any]:
            try:
                return row(**columns, **score_classifier(X, y, parts, seed))
            except Exception as error:
                return failed(error, **columns)

        return do

    for key in keys:
        if key[3] == REAL:
            yield task(cleaned.X, cleaned.y, key, {})
    synthetic = [key for key in keys if key[3] != REAL]
    if not synthetic:
        return
    fitted = clone(model).set_params(random_state=seed)
    more: dict[str, Any] = {
        "device": device_name(find_device(model.device)),
        "settings": settings_of(model),
    }
    begin = perf_counter()
    try:
        with progress.muted():
            fitted.fit(cleaned.X, cleaned.y, categorical=list(table.categorical))
    except (RuntimeError, ValueError) as error:
        # One model that can't be fitted does not end the experiment.
        for key in synthetic:
            columns = {**dict(zip(KEY, key, strict=True)), **facts, **more}
            yield partial(failed, error, **columns)
        return
    more |= {"settings": settings_of(fitted), "train_seconds": perf_counter() - begin}
    for draw in sorted({key[4] for key in synthetic}):
        begin = perf_counter()
        X, y = fitted.sample(len(cleaned.y), random_state=1000 * draw + seed)
        drawn = {**more, "sample_seconds": perf_counter() - begin}
        for key in synthetic:
            if key[3:5] == (SYNTHETIC, draw):
                yield task(X, y, key, drawn)
            if key[3:5] == (BOTH, draw):
                both = pd.concat([cleaned.X, X], ignore_index=True)
                yield task(both, np.concatenate([cleaned.y, y]), key, drawn)
