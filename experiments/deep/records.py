"""The columns of the store of the deep experiments: one row per fitted classifier."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pyarrow as pa

from rectifold._core.utils import versions
from rectifold.bench._store import FAILED, MARK, OK, Layout, Store
from rectifold.model_selection._registry import BenchError

#: The two experiments.
TABDDPM, LONGTAIL = "tabddpm", "longtail"
#: The training data of a classifier in the experiment with TabDDPM.
REAL, SYNTHETIC, BOTH = "real", "synthetic", "synthetic and real"
LIBRARIES = ("rectifold", "torch", "scikit-learn", "numpy", "pandas")

#: The classifier of the experiment with TabDDPM.
CLASSIFIER = "XGBClassifier"

KEY = ("experiment", "dataset", "method", "trained_on", "sample", "seed")

DEEP = Layout(
    pa.schema(
        [
            ("experiment", pa.string()),
            ("dataset", pa.string()),
            ("method", pa.string()),
            # Real or synthetic samples, or both; for images, pixels or features.
            ("trained_on", pa.string()),
            # Number of the draw from one model, from 1; 0 if nothing is drawn.
            ("sample", pa.int64()),
            ("seed", pa.int64()),
            ("target", pa.string()),
            ("classifier", pa.string()),
            ("status", pa.string()),
            ("error", pa.string()),
            ("auprc", pa.float64()),
            ("roc_auc", pa.float64()),
            ("balanced_accuracy", pa.float64()),
            # Accuracy over the classes with many, medium and few training images.
            ("many", pa.float64()),
            ("medium", pa.float64()),
            ("few", pa.float64()),
            ("class_accuracies", pa.string()),
            ("rows_before", pa.int64()),
            ("rows_after", pa.int64()),
            # Samples of each class that GMR removed.
            ("removed", pa.string()),
            ("metric", pa.string()),
            ("train_rows", pa.int64()),
            ("test_rows", pa.int64()),
            ("columns", pa.int64()),
            ("clean_seconds", pa.float64()),
            ("train_seconds", pa.float64()),
            ("sample_seconds", pa.float64()),
            ("fit_seconds", pa.float64()),
            ("device", pa.string()),
            ("settings", pa.string()),
            ("data_fingerprint", pa.string()),
            ("versions", pa.string()),
            ("finished", pa.string()),
        ],
        metadata={MARK: b"deep 1"},
    ),
    KEY,
)


def loss_of(method: str) -> dict[str, str]:
    """Return the settings of a loss that an earlier one of the same name did not have."""
    return {"weighted_sum_over": "images"} if method == "CB" else {}


def outdated(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows were made with another classifier or loss than the present one.

    They are run again, and until then the report says so.
    """
    tables = (frame["experiment"] == TABDDPM) & (frame["classifier"] != CLASSIFIER)
    named = frame["settings"].fillna("").str.contains("weighted_sum_over")
    return tables | ((frame["experiment"] == LONGTAIL) & (frame["method"] == "CB") & ~named)


def check_mixture(
    store: Store,
    experiment: str,
    settings: Mapping[str, Any],
    fingerprints: Mapping[str, str],
) -> None:
    """Raise an error for results of other settings, or of other data of the same name.

    `settings` and `fingerprints` are those of the experiment to run, `fingerprints` by data set.
    """
    frame = store.read()
    frame = frame[(frame["experiment"] == experiment) & frame["dataset"].isin(list(fingerprints))]
    for dataset, known, fingerprint in frame[
        ["dataset", "settings", "data_fingerprint"]
    ].itertuples(index=False):
        if isinstance(fingerprint, str) and fingerprint != fingerprints[dataset]:
            raise BenchError(
                f"the store {str(store.folder)!r} has results on other values of {dataset!r}: use "
                "another folder"
            )
        before = json.loads(known) if isinstance(known, str) else {}
        for name, setting in settings.items():
            # In JSON a tuple is a list.
            expected = json.loads(json.dumps(setting))
            if name in before and before[name] != expected:
                has, would = (_described(name, value) for value in (before[name], expected))
                raise BenchError(
                    f"the store {str(store.folder)!r} has results with {has}, and these would have "
                    f"{would}: use another folder"
                )


def _described(name: str, value: Any) -> str:
    return f"the default {name}" if value is None else f"{name} {value}"


def row(**facts: Any) -> dict[str, Any]:
    """Return a complete row: lists and dicts as JSON, with versions and the time."""
    plain = {
        name: json.dumps(value) if isinstance(value, dict | list | tuple) else value
        for name, value in facts.items()
    }
    return {
        "status": OK,
        **plain,
        "versions": json.dumps(versions(*LIBRARIES)),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def failed(error: Exception, **facts: Any) -> dict[str, Any]:
    """Return the row of a fit that failed."""
    return row(**facts, status=FAILED, error=f"{type(error).__name__}: {error}")
