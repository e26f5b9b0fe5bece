"""The experiment on long-tailed images, a row of the store at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.deep.longtail import METHODS, LongTailed, Recipe
from experiments.deep.longtail import run as train_and_score
from experiments.deep.records import LONGTAIL, row
from rectifold.bench._data import fingerprint

#: What a method's classifier is trained on.
_TRAINED_ON = {name: "images" if name == loss else "features" for name, loss in METHODS.items()}


def cells(
    data: LongTailed, methods: Sequence[str], seeds: Sequence[int]
) -> dict[tuple[str, int], tuple[Any, ...]]:
    """List the keys of all rows of an experiment.

    Parameters
    ----------
    data : LongTailed
        The images.
    methods : sequence of str
        As in `METHODS`.
    seeds : sequence of int
        Of the networks.

    Returns
    -------
    dict
        As in the store, by method and seed.
    """
    return {
        (name, seed): (LONGTAIL, data.name, name, _TRAINED_ON[name], 0, seed)
        for seed in seeds
        for name in methods
    }


def mark_of(data: LongTailed) -> str:
    """Tell images from others under the same name."""
    return fingerprint(data.train_images.tobytes(), data.train_labels)


def run(
    data: LongTailed,
    methods: Sequence[str],
    seeds: Sequence[int],
    *,
    done: frozenset[tuple[Any, ...]] | set[tuple[Any, ...]] = frozenset(),
    **settings: Any,
) -> Iterator[dict[str, Any]]:
    """Do the experiment.

    Parameters
    ----------
    data : LongTailed
        The images.
    methods : sequence of str
        As in `METHODS`.
    seeds : sequence of int
        Of the networks.
    done : set of tuple
        Keys of rows that are there already.
    **settings
        As for `experiments.deep.longtail.run`.

    Yields
    ------
    dict
        A row of the store, as soon as it is known.
    """
    keys = cells(data, methods, seeds)
    missing: dict[int, tuple[str, ...]] = {
        seed: tuple(name for name in methods if keys[name, seed] not in done) for seed in seeds
    }
    mark = mark_of(data)
    for names in dict.fromkeys(missing.values()):
        some = [seed for seed in seeds if missing[seed] == names]
        if names:
            for found in train_and_score(data, names, some, **settings):
                yield _row(found, data, mark)


def _row(found: dict[str, Any], data: LongTailed, mark: str) -> dict[str, Any]:
    rows = len(data.train_labels)
    gone = found["removed"]
    kept = rows if gone is None else rows - sum(gone)
    told = {name: found[name] for name in ("balanced_accuracy", "many", "medium", "few", "device")}
    setting = [*Recipe.__dataclass_fields__, "ratio", "epochs", "strategy", "trained_together"]
    trained_on = _TRAINED_ON[found["method"]]
    return row(
        experiment=LONGTAIL,
        dataset=data.name,
        method=found["method"],
        trained_on=trained_on,
        sample=0,
        seed=found["seed"],
        target=f"{len(data.names)} classes, imbalance ratio {data.ratio:g}",
        classifier=_network(found) if trained_on == "images" else "LogisticRegression",
        # JSON has no NaN, and a group of no classes has no accuracy.
        **{name: None if value != value else value for name, value in told.items()},
        class_accuracies=found["per_class"],
        rows_before=rows,
        rows_after=kept,
        removed=gone,
        metric=found["metric"],
        train_rows=kept,
        test_rows=len(data.test_labels),
        # Each of the last two stages doubles the width of the first.
        columns=4 * found["width"] if trained_on == "features" else 32 * 32 * 3,
        clean_seconds=found["seconds_cleaning"] if gone is not None else None,
        train_seconds=found["seconds_training"],
        fit_seconds=found["seconds_linear"],
        settings={name: found[name] for name in setting},
        data_fingerprint=mark,
    )


def _network(found: dict[str, Any]) -> str:
    # Three stages of blocks of two layers, the first layer and the last.
    return f"ResNet-{6 * found['blocks'] + 2}"
