"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Input = Annotated[
    Path, typer.Argument(metavar="INPUT", help="CSV, TSV (also .gz), Parquet or Feather.")
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The column of labels.")
]
MissingLabels = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A label that stands for a missing one. Repeatable."),
]
Cores = Annotated[str, typer.Option(metavar="N", help="Cores to use; -1 for all.")]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Of text files.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="Between the cells of a text INPUT, or tab; by default as its name says.",
    ),
]
