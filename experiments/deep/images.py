"""The experiment on long-tailed images, as rows of a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.deep.longtail import METHODS, LongTailed, Recipe
from experiments.deep.longtail import run as train_and_score
from experiments.deep.records import LONGTAIL, loss_of, row
from rectifold.datasets import fingerprint

#: The input of each method's classifier.
_TRAINED_ON = {name: "images" if name == loss else "features" for name, loss in METHODS.items()}


def cells(
    data: LongTailed, methods: Sequence[str], seeds: Sequence[int]
) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return the store keys of all rows of an experiment, by method and seed."""
    return {
        (name, seed): (LONGTAIL, data.name, name, _TRAINED_ON[name], 0, seed)
        for seed in seeds
        for name in methods
    }


def fingerprint_of(data: LongTailed) -> str:
    """Return a hash of the training images and labels."""
    return fingerprint(data.train_images.tobytes(), data.train_labels)


def run(
    data: LongTailed,
    methods: Sequence[str],
    seeds: Sequence[int],
    *,
    done: frozenset[tuple[Any, ...]] | set[tuple[Any, ...]] = frozenset(),
    **settings: Any,
) -> Iterator[dict[str, Any]]:
    """Run the experiment, and yield each row of the store as soon as it is computed.

    Rows whose keys are in `done` are skipped; `settings` go to `experiments.deep.longtail.run`.
    """
    keys = cells(data, methods, seeds)
    missing: dict[int, tuple[str, ...]] = {
        seed: tuple(name for name in methods if keys[name, seed] not in done) for seed in seeds
    }
    hash_of_data = fingerprint_of(data)
    for names in dict.fromkeys(missing.values()):
        alike = [seed for seed in seeds if missing[seed] == names]
        if names:
            for result in train_and_score(data, names, alike, **settings):
                yield _row(result, data, hash_of_data)


def _row(result: dict[str, Any], data: LongTailed, fingerprint: str) -> dict[str, Any]:
    n_samples = len(data.train_labels)
    removed = result["removed"]
    kept = n_samples if removed is None else n_samples - sum(removed)
    scores = {
        name: result[name] for name in ("balanced_accuracy", "many", "medium", "few", "device")
    }
    setting = [*Recipe.__dataclass_fields__, "ratio", "epochs", "strategy", "trained_together"]
    trained_on = _TRAINED_ON[result["method"]]
    return row(
        experiment=LONGTAIL,
        dataset=data.name,
        method=result["method"],
        trained_on=trained_on,
        sample=0,
        seed=result["seed"],
        target=f"{len(data.names)} classes, imbalance ratio {data.ratio:g}",
        classifier=_network(result) if trained_on == "images" else "LogisticRegression",
        # JSON has no NaN: the accuracy of a group without classes.
        **{name: None if value != value else value for name, value in scores.items()},
        class_accuracies=result["per_class"],
        rows_before=n_samples,
        rows_after=kept,
        removed=removed,
        metric=result["metric"],
        train_rows=kept,
        test_rows=len(data.test_labels),
        # The last two stages double the width.
        columns=4 * result["width"] if trained_on == "features" else 32 * 32 * 3,
        clean_seconds=result["seconds_cleaning"] if removed is not None else None,
        train_seconds=result["seconds_training"],
        fit_seconds=result["seconds_linear"],
        settings={name: result[name] for name in setting} | loss_of(result["method"]),
        data_fingerprint=fingerprint,
    )


def _network(result: dict[str, Any]) -> str:
    # Three stages of blocks of two layers, plus the first and the last layer.
    return f"ResNet-{6 * result['blocks'] + 2}"
