"""The command `rectifold compare`: does cleaning help this table?"""

from __future__ import annotations

import importlib.util
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectifold.cli import arguments, options
from rectifold.cli.bench import EXTRA
from rectifold.cli.errors import UsageError, in_words_of_the_command_line
from rectifold.cli.interrupt import stoppable
from rectifold.cli.table_input import features_of, read_rows
from rectifold.cli.target_column import classes_named

if TYPE_CHECKING:
    import pandas as pd

    from rectifold import Evaluation


class MissingTarget(StrEnum):
    """What becomes of rows without a label."""

    error = "error"
    drop = "drop"


def compare(
    source: arguments.Input,
    target: arguments.Target,
    classifier: Annotated[
        list[str] | None,
        typer.Option(
            "--classifier",
            "-c",
            metavar="NAMES",
            help="LR, RF, XGB, ... or module:Class. By default logistic regression and gradient "
            "boosting.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAMES",
            help="Beside no cleaning. By default GMR and GMR-adaptive; also GMR-ensemble, Bagging, "
            "SMOTE and the other baselines, or module:Class.",
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="The class to be found; by default the rarer one."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave out: identifiers, leaks. Repeatable."),
    ] = None,
    missing_target: Annotated[
        MissingTarget, typer.Option(help="What becomes of rows without a label.")
    ] = MissingTarget.error,
    missing_label: arguments.MissingLabels = None,
    cv: Annotated[str, typer.Option(metavar="N", help="Folds.")] = "5",
    repeats: Annotated[
        str, typer.Option(metavar="N", help="How often rows are dealt to folds anew.")
    ] = "1",
    seed: Annotated[str, typer.Option(metavar="N", help="For whatever takes one.")] = "0",
    html: Annotated[
        Path | None, typer.Option("--html", metavar="PATH", help="Write a page with the result.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
    n_jobs: arguments.Cores = "-1",
    encoding: arguments.Encoding = "utf-8",
    delimiter: arguments.Delimiter = None,
) -> None:
    """Measure whether cleaning helps classifiers on a table, without leaks."""
    settings: dict[str, Any] = {
        "cv": options.whole("--cv", cv, 2),
        "repeats": options.whole("--repeats", repeats, 1),
        "random_state": options.whole("--seed", seed, 0),
        "n_jobs": options.cores(n_jobs),
    }
    names = {"classifiers": options.names(classifier), "methods": options.names(method)}
    settings |= {name: given for name, given in names.items() if given}
    if html is not None and any(importlib.util.find_spec(name) is None for name in EXTRA):
        raise UsageError('--html needs an extra: pip install "rectifold[bench]"')
    from rectifold._io import check_outputs, open_table, write_whole
    from rectifold.cli import terminal

    if html is not None:
        check_outputs({"--html": html}, source, tables=False)
    sys.path.insert(0, "")
    with stoppable("stopped; nothing is written"):
        table = open_table(source, encoding=encoding, delimiter=options.delimiter(delimiter))
        features = features_of(table, target, {"--drop": drop or []})
        rows = read_rows(
            table,
            source,
            target,
            features,
            missing_target=missing_target.value,
            missing_labels=missing_label or [],
            identifiers="--drop",
        )
        if positive is not None:
            (settings["positive"],) = classes_named("--positive", [positive], rows.labels)
        with terminal.progress("comparing", not (quiet or as_json)):
            found = _compare(_numbers(rows.features), rows.labels, settings)
        if html is not None:
            write_whole(html, found.to_html().encode())
    said = [in_words_of_the_command_line(note) for note in found.notes]
    terminal.show_notes([] if quiet else [*rows.notes, *said])
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    elif not quiet:
        terminal.show_evaluation(found, html)
    sys.stdout.flush()


def _compare(X: Any, y: Any, settings: dict[str, Any]) -> Evaluation:
    from rectifold import compare

    try:
        return compare(X, y, **settings)
    except (ValueError, TypeError, ImportError) as problem:
        raise UsageError(in_words_of_the_command_line(str(problem))) from problem


def _numbers(features: pd.DataFrame) -> Any:
    """Give plain numbers as an array; a table of anything else stays one."""
    import numpy as np

    if all(dtype.kind in "biuf" for dtype in features.dtypes):
        numbers = features.to_numpy(dtype=np.float64)
        if np.isfinite(numbers).all():
            return numbers
    return features
