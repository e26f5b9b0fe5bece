"""Made-up results of experiments, and a full disk, for the tests of reports and stores."""

import itertools
import json
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from rectifold.bench import CLASSIFIERS, METHODS
from rectifold.bench._protocols import TRAIN_ONLY
from rectifold.bench._store import SCHEMA
from rectifold.datasets import PAPER_DATASETS
from rectifold.model_selection._scores import SCORES


def made_up(
    datasets=PAPER_DATASETS[:6],
    methods=METHODS,
    seeds=(42,),
    protocol=TRAIN_ONLY,
    lift=0,
    level=None,
):
    """Rows of a store: GMR best, NearMiss worst, the other methods in between, and some noise."""
    rng = np.random.default_rng(0)
    level = level or (lambda dataset, method: {"GMR": 0.995, "NearMiss": 0.1}.get(method, 0.5))
    rows = []
    for dataset, method, classifier, seed in itertools.product(
        datasets, methods, CLASSIFIERS, seeds
    ):
        score = level(dataset, method) + rng.normal(scale=0.001) + lift
        score = float(np.clip(score, 0, 1))
        rows.append(
            {
                "dataset": dataset,
                "method": method,
                "classifier": classifier,
                "seed": seed,
                "protocol": protocol,
                "method_version": "1",
                "classifier_options": "",
                "status": "ok",
                **dict.fromkeys(SCORES, score),
                "resample_seconds": 0.5,
                "fit_seconds": 1.0,
                "majority_before": 100,
                "minority_before": 10,
                "majority_after": 90,
                "minority_after": 10,
                "versions": json.dumps({"numpy": "1.2.3"}),
                "finished": "2026-01-01T00:00:00+00:00",
            }
        )
    return pd.DataFrame(rows).reindex(columns=SCHEMA.names)


def of_few_classifiers(frame):
    """The same with three classifiers, whose diagrams are drawn in half the time."""
    return frame[frame["classifier"].isin(["KNN", "LR", "DT"])].reset_index(drop=True)


def table(document, name):
    """Return the table of a document by its name."""
    return next(one for one in document.tables() if one.name == name)


@contextmanager
def no_file_above(size):
    """Make writes beyond a size fail, after the bytes that fit, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
