"""The ceiling of each table: how well a tuned XGBoost learns from all real samples.

The classifier of the experiment with TabDDPM must come close to it, or the experiment would measure
its weakness rather than the samples that it learns from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from experiments.deep.sets import Parts, Table, split
from experiments.deep.tabular import XGBOOST
from rectifold._core.utils import versions
from rectifold._io import write_whole

FILE = "ceiling.csv"
COLUMNS = ("dataset", "seed", "classifier", "auprc", "settings", "versions")
#: The classifiers that are compared: of the experiment, tuned, and of the experiment before.
PRESENT, TUNED, BEFORE = "XGBoost, fixed", "XGBoost, tuned", "HistGradientBoosting, defaults"
#: The settings that the tuned one chooses from, beside the fixed ones.
CANDIDATES = (
    XGBOOST,
    *(
        XGBOOST | {"n_estimators": trees, "learning_rate": rate, "max_depth": depth}
        for (trees, rate), depth in product([(300, 0.1), (600, 0.05)], [4, 6, 10])
    ),
)
#: Candidates are fitted on at most this number of training samples and of values in them, and
#: compared on half as many samples.
FITTED, VALUES = 100_000, 3_000_000


def run(
    tables: Iterable[Table], seeds: Sequence[int], folder: Path, n_jobs: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield the rows that the folder does not have, each when it is in the file."""
    for table in tables:
        for seed in seeds:
            done = set(read(folder).query("dataset == @table.name and seed == @seed")["classifier"])
            if {PRESENT, TUNED, BEFORE} <= done:
                continue
            parts = split(table, seed)
            categorical = list(table.categorical) or None
            for name in (PRESENT, BEFORE, TUNED):
                if name in done:
                    continue
                settings: dict[str, Any] = XGBOOST
                if name == BEFORE:
                    settings = {}
                    classifier: Any = HistGradientBoostingClassifier(
                        categorical_features=categorical, random_state=seed
                    )
                else:
                    if name == TUNED:
                        settings = chosen(parts, seed, n_jobs)
                    classifier = XGBClassifier(**settings, random_state=seed, n_jobs=n_jobs)
                classifier.fit(parts.X_train, parts.y_train)
                values = (
                    *(table.name, seed, name, _auprc(classifier, parts.X_test, parts.y_test)),
                    *(json.dumps(settings), json.dumps(versions("xgboost-cpu", "scikit-learn"))),
                )
                row = dict(zip(COLUMNS, values, strict=True))
                _add(folder, row)
                yield row


def chosen(parts: Parts, seed: int, n_jobs: int) -> dict[str, Any]:
    """Return the candidate with the highest AUPRC on a part of the training samples."""
    X, X_test, y, y_test = train_test_split(
        parts.X_train, parts.y_train, test_size=0.25, stratify=parts.y_train, random_state=seed
    )
    # Both are shuffled.
    n = min(FITTED, VALUES // X.shape[1])
    X, y, X_test, y_test = X[:n], y[:n], X_test[: n // 2], y_test[: n // 2]
    scores = [
        _auprc(XGBClassifier(**one, random_state=seed, n_jobs=n_jobs).fit(X, y), X_test, y_test)
        for one in CANDIDATES
    ]
    return CANDIDATES[scores.index(max(scores))]


def _auprc(classifier: Any, X: pd.DataFrame, y: Any) -> float:
    return round(float(average_precision_score(y, classifier.predict_proba(X)[:, 1])), 6)


def read(folder: Path) -> pd.DataFrame:
    """Return the rows of a folder, none if it has no file."""
    path = folder / FILE
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(COLUMNS))


def _add(folder: Path, row: dict[str, Any]) -> None:
    frame = pd.DataFrame([*read(folder).to_dict("records"), row])
    folder.mkdir(parents=True, exist_ok=True)
    text = frame.sort_values(["dataset", "seed", "classifier"]).to_csv(
        index=False, lineterminator="\n"
    )
    write_whole(folder / FILE, text.encode())
