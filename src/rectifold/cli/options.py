"""Arguments and options that several commands share, and checks of values that Typer lacks."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

#: The largest seed of NumPy.
MAX_SEED = 2**32 - 1


def finite(value: float | None) -> float | None:
    """Refuse nan, which passes the check of a range, and infinity."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def repeatable(metavar: str, description: str, *names: str) -> Any:
    """Return an option that can be passed several times."""
    return typer.Option(*names, metavar=metavar, help=f"{description} Repeatable.")


def fraction(description: str) -> Any:
    """Return the option for a number from 0 to 1."""
    return typer.Option(metavar="NUMBER", min=0, max=1, callback=finite, help=description)


def above_zero(value: float | None) -> float | None:
    """Refuse numbers that are not above 0; ranges of Typer include their ends."""
    if value is not None and value <= 0:
        raise typer.BadParameter(f"{value:g} is not above 0.")
    return finite(value)


def not_zero(value: int) -> int:
    """Refuse 0 threads or processes."""
    if value == 0:
        raise typer.BadParameter("0 is neither a number of cores nor -1 for all of them.")
    return value


def one_character(text: str | None) -> str | None:
    """Return the character between two cells; "tab" names one."""
    if text is None:
        return None
    character = "\t" if text.lower() in ("tab", "\\t") else text
    if len(character) != 1 or character in '"\r\n\0':
        raise typer.BadParameter(f"{text!r} is not one character, or is a quote or a line ending.")
    return character


Input = Annotated[
    Path, typer.Argument(metavar="INPUT", help="CSV, TSV (also .gz), Parquet or Feather file.")
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="Column of class labels.")
]
MissingLabels = Annotated[
    list[str] | None,
    repeatable("TEXT", "Label to treat as missing."),
]
Jobs = Annotated[
    int,
    typer.Option(metavar="N", callback=not_zero, help="Number of cores; -1 uses all of them."),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Text encoding of the input.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        callback=one_character,
        help="Character between the cells of a text file, or tab; by default as its name says.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no result and no progress.")]


def names(given: Sequence[str] | None) -> list[str]:
    """Return the names in a repeatable option whose values may hold several, between commas."""
    return [part.strip() for text in given or [] for part in text.split(",") if part.strip()]
