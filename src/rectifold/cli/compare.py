"""The command `rectifold compare`: measure whether cleaning and votes help classifiers."""

import importlib.util
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectifold.cli import options
from rectifold.cli.bench import EXTRA
from rectifold.cli.errors import UsageError, sentence_of, stoppable

if TYPE_CHECKING:
    import pandas as pd

    from rectifold import Evaluation


class MissingTarget(StrEnum):
    """Handling of rows without a label."""

    error = "error"
    drop = "drop"


def compare(
    source: options.Input,
    target: options.Target,
    classifier: Annotated[
        list[str] | None,
        typer.Option(
            "--classifier",
            "-c",
            metavar="NAMES",
            help="Classifiers: LR, RF, XGB, ... or module:Class. By default logistic regression "
            "and gradient boosting.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAMES",
            help="Methods to compare with no cleaning: GMR, GMR-adaptive (these two by default), "
            "GMR-ensemble, Bagging, SMOTE and the other baselines, or module:Class.",
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="The positive class; by default the smaller one."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        options.repeatable("COLUMN", "Column to drop, such as an identifier."),
    ] = None,
    missing_target: Annotated[
        MissingTarget, typer.Option(help="Handling of rows without a label.")
    ] = MissingTarget.error,
    missing_label: options.MissingLabels = None,
    cv: Annotated[int, typer.Option(metavar="N", min=2, help="Number of folds.")] = 5,
    n_repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of repeats with other folds.")
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=options.MAX_SEED, help="Seed of the folds and the classifiers."
        ),
    ] = 0,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="PATH", help="Write a page with the result.")
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    n_jobs: options.Jobs = -1,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
) -> None:
    """Measure whether cleaning and votes help classifiers on a table, without data leakage."""
    settings: dict[str, Any] = {
        "cv": cv,
        "n_repeats": n_repeats,
        "random_state": seed,
        "n_jobs": n_jobs,
    }
    names = {"classifiers": options.names(classifier), "methods": options.names(method)}
    settings |= {name: given for name, given in names.items() if given}
    if html is not None and any(importlib.util.find_spec(name) is None for name in EXTRA):
        raise UsageError('--html needs an extra: pip install "rectifold[bench]"')
    from rectifold._io import check_outputs, open_table, write_whole
    from rectifold.cli import terminal
    from rectifold.cli.table_input import feature_columns, read_samples
    from rectifold.cli.target_column import classes_named

    if html is not None:
        check_outputs([("html", html)], source, tables=False)
    sys.path.insert(0, "")
    with stoppable():
        table = open_table(source, encoding=encoding, delimiter=delimiter)
        features = feature_columns(table, target, {"--drop": drop or []})
        rows = read_samples(
            table,
            source,
            target,
            features,
            missing_target=missing_target.value,
            missing_labels=missing_label or [],
            exclude_with="--drop",
        )
        if positive is not None:
            (settings["positive"],) = classes_named("--positive", [positive], rows.labels)
        with terminal.progress("comparing", not (quiet or as_json)):
            evaluation = _compare(_numbers(rows.features), rows.labels, settings)
        if html is not None:
            write_whole(html, evaluation.to_html().encode())
        terminal.show_notes([] if quiet else [*rows.notes, *evaluation.notes])
        if as_json:
            print(json.dumps(evaluation.to_dict(), indent=2, allow_nan=False))
        elif not quiet:
            terminal.show_evaluation(evaluation, html)
        sys.stdout.flush()


def _compare(X: Any, y: Any, settings: dict[str, Any]) -> "Evaluation":
    from rectifold import compare

    try:
        return compare(X, y, **settings)
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(sentence_of(error)) from error


def _numbers(features: "pd.DataFrame") -> Any:
    """Return finite numbers as an array, and any other table as it is."""
    import numpy as np

    if all(dtype.kind in "biuf" for dtype in features.dtypes):
        numbers = features.to_numpy(dtype=np.float64)
        if np.isfinite(numbers).all():
            return numbers
    return features
