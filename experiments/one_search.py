"""Fit methods that choose from the same fits with one search, which gives the same results.

GMR-adaptive, GMR-ensemble and Vote are RectifiedClassifier with other parameters: the search of
GMR-adaptive has the fits that all choose from.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from rectifold.bench._data import load, measure
from rectifold.bench._grid import Grid, Task
from rectifold.bench._protocols import prepare
from rectifold.bench._store import OK, Store
from rectifold.bench._worker import row_of, scores_of, sizes_of
from rectifold.model_selection._registry import EXTRA_METHODS, Entry
from rectifold.model_selection._search import explore

#: The methods that one search serves.
TOGETHER = ("GMR-adaptive", "GMR-ensemble", "Vote")


def run_together(grid: Grid, store: Store, *, n_jobs: int = -1) -> None:
    """Run the fits of a grid that have no result yet: seed by seed, small data sets first."""
    with store.writing():
        done = store.keys()
        cells: dict[tuple, dict[str, Task]] = {}
        entries = {classifier.name: classifier for classifier in grid.classifiers}
        for task in grid.tasks(measure(grid.sources)):
            for classifier in task.classifiers:
                if task.key(classifier) not in done:
                    cell = cells.setdefault((task.source.name, task.seed, classifier.name), {})
                    cell[task.method.name] = task
        order = sorted(cells, key=lambda key: grid.seeds.index(key[1]))
        jobs = (delayed(fit_together)(cells[key], entries[key[2]]) for key in order)
        for rows in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
            for row in rows:
                store.add(row)
            print(rows[0]["dataset"], rows[0]["classifier"], rows[0]["seed"], flush=True)


def fit_together(tasks: Mapping[str, Task], classifier: Entry) -> list[dict]:
    """Fit a classifier on one split with all methods, and return the rows for the store."""
    warnings.simplefilter("ignore")
    task = next(iter(tasks.values()))
    prepared = prepare(load(task.source), None, task.seed, task.protocol)
    X, y = prepared.X_train, prepared.y_train

    def wrap(name: str) -> Any:
        model = classifier.make(task.seed)
        if name == "None":
            return model
        entry = tasks[name].method if name in tasks else EXTRA_METHODS[name]
        return entry.wrap(model, task.seed)

    with threadpool_limits(limits=1):
        models = {name: wrap(name) for name in tasks}
        if any(name in models for name in TOGETHER):
            search = explore(wrap("GMR-adaptive"), X, y, {})
            without = replace(
                search,
                candidates=search.candidates[:1],
                trials=[row[:1] for row in search.trials],
            )
            for name, one in zip(TOGETHER, (search, search, without), strict=True):
                if name in models:
                    models[name]._select(one)
        rows = []
        for name, model in models.items():
            if not hasattr(model, "classes_"):
                model.fit(X, y)
            facts = sizes_of(prepared) | scores_of(model, prepared)
            rows.append(row_of(tasks[name], classifier, OK, **facts))
    return rows
