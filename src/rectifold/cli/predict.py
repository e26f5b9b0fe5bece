"""The command `rectifold predict`: fit a classifier on one table, and score another one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from rectifold.cli import options
from rectifold.cli.compare import MissingTarget
from rectifold.cli.errors import UsageError, stoppable


def _read_weight(text: str) -> str | float:
    """Return "auto" or a number from 0 to 1."""
    if text == "auto":
        return text
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise typer.BadParameter(f"{text!r} is neither auto nor a number from 0 to 1.")
    return weight


def predict(
    train: Annotated[
        Path,
        typer.Argument(metavar="TRAIN", help="Table with labels: CSV, TSV, Parquet or Feather."),
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Table to score.")],
    target: options.Target,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="File for the scored table."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Explain the highest scores by past rows: a page (.html) or its data (.json).",
        ),
    ] = None,
    classifier: Annotated[
        str | None,
        typer.Option(
            "--classifier",
            "-c",
            metavar="NAME",
            help="LR, RF, XGB, ... or module:Class. By default gradient boosting.",
        ),
    ] = None,
    ensemble: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Average N classifiers; by default one is fitted."),
    ] = None,
    vote_weight: Annotated[
        str,
        typer.Option(
            metavar="NUMBER",
            callback=lambda text: str(_read_weight(text)),
            help="Weight of the neighbours' vote, from 0 to 1; auto chooses it.",
        ),
    ] = "auto",
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=options.MAX_SEED, help="Seed of the folds and the classifier."
        ),
    ] = 0,
    drop: Annotated[
        list[str] | None,
        options.repeatable("COLUMN", "Column that is no feature, such as an identifier."),
    ] = None,
    missing_target: Annotated[
        MissingTarget, typer.Option(help="Handling of training rows without a label.")
    ] = MissingTarget.error,
    missing_label: options.MissingLabels = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    n_jobs: options.Jobs = -1,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
) -> None:
    """Fit a classifier on a table, and score the rows of another one.

    The scored table is NEW, unchanged, with the columns "prediction" and "probability_CLASS".
    """
    if output is None and report is None:
        raise UsageError("pass -o for the scored table, or --report for a page")
    # Imported here, so that the help does not wait for NumPy, pandas and scikit-learn.
    from rectifold.cli import terminal
    from rectifold.cli.predict_result import show_result
    from rectifold.cli.predict_run import Request, score_file

    request = Request(
        train,
        new,
        target,
        output,
        report,
        classifier,
        drop or [],
        missing_target.value,
        missing_label or [],
        {
            "ensemble": ensemble,
            "vote_weight": _read_weight(vote_weight),
            "random_state": seed,
            "n_jobs": n_jobs,
        },
        encoding,
        delimiter,
    )
    sys.path.insert(0, "")
    with stoppable():
        with terminal.progress("fitting", not (quiet or as_json)):
            result, features = score_file(request)
        terminal.show_notes([] if quiet else result["notes"])
        if as_json:
            print(json.dumps(result, indent=2, allow_nan=False))
        elif not quiet:
            show_result(result, features)
        sys.stdout.flush()
