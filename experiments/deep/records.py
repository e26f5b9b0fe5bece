"""What the store of the deep experiments holds: a row for every classifier that was tested."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from rectifold._core.utils import versions
from rectifold.bench._store import FAILED, MARK, OK, Layout, Store
from rectifold.model_selection._registry import BenchError

#: The two experiments.
TABDDPM, LONGTAIL = "tabddpm", "longtail"
#: What a classifier is trained on, where there is a diffusion model.
REAL, SYNTHETIC, BOTH = "real", "synthetic", "synthetic and real"
LIBRARIES = ("rectifold", "torch", "scikit-learn", "numpy", "pandas")

KEY = ("experiment", "dataset", "method", "trained_on", "sample", "seed")

DEEP = Layout(
    pa.schema(
        [
            ("experiment", pa.string()),
            ("dataset", pa.string()),
            ("method", pa.string()),
            # Real rows, made-up ones, or both; for images, features or pixels.
            ("trained_on", pa.string()),
            # Which of several drawn from one model, from 1; 0 where nothing is drawn.
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
            # How many rows of each class went.
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


def refuse_mixture(
    store: Store,
    experiment: str,
    settings: Mapping[str, Any],
    fingerprints: Mapping[str, str],
) -> None:
    """Refuse to add results to those of other settings, or of other data under the same name.

    Parameters
    ----------
    store : Store
        Of deep experiments.
    experiment : str
        Which one.
    settings : mapping
        Those to come, by the names under which rows have them.
    fingerprints : mapping of str to str
        Of the data sets to come, by their names.
    """
    frame = store.read()
    frame = frame[(frame["experiment"] == experiment) & frame["dataset"].isin(list(fingerprints))]
    for dataset, known, mark in frame[["dataset", "settings", "data_fingerprint"]].itertuples(
        index=False
    ):
        if isinstance(mark, str) and mark != fingerprints[dataset]:
            raise BenchError(
                f"the store {str(store.folder)!r} has results on other values of {dataset!r}: name "
                "another folder"
            )
        before = json.loads(known) if isinstance(known, str) else {}
        for name, value in settings.items():
            # As JSON has it: a tuple is a list there.
            wanted = json.loads(json.dumps(value))
            if name in before and before[name] != wanted:
                has, would = (_called(name, one) for one in (before[name], wanted))
                raise BenchError(
                    f"the store {str(store.folder)!r} has results with {has}, and these would have "
                    f"{would}: name another folder"
                )


def _called(name: str, value: Any) -> str:
    return f"the default {name}" if value is None else f"{name} {value}"


def row(**facts: Any) -> dict[str, Any]:
    """Complete a row: what is not a number or a text becomes JSON, and when and with what is noted.

    Parameters
    ----------
    **facts
        Values by the names of the columns.

    Returns
    -------
    dict
    """
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


def failed(problem: Exception, **facts: Any) -> dict[str, Any]:
    """Complete a row of what could not be done."""
    return row(**facts, status=FAILED, error=f"{type(problem).__name__}: {problem}")
