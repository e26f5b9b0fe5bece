"""Options that commands share, and values, checked: a wrong one is told what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rectifold.cli.errors import UsageError

if TYPE_CHECKING:
    from rectifold.bench import Source

StoreOption = Annotated[
    Path, typer.Option("--store", "-s", metavar="FOLDER", help="Where results are kept.")
]
OwnTablesOption = Annotated[
    list[Path] | None,
    typer.Option("--csv", metavar="PATH", help="A table of your own: CSV, Parquet. Repeatable."),
]
OwnTargetOption = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Of your own tables.")
]


def seed(option: str, text: str | None) -> int | None:
    """Read a whole number that NumPy takes for a seed."""
    number = whole(option, text, 0)
    if number is not None and number >= 2**32:
        raise UsageError(f"{option} must be a whole number below 2^32, not {text!r}")
    return number


def share(option: str, text: str | None) -> float | None:
    """Read a number above 0, up to 1."""
    number = _number(text)
    if number is not None and not 0 < number <= 1:
        raise UsageError(f"{option} must be a number above 0 and at most 1, not {text!r}")
    return number


def whole(option: str, text: str | None, least: int) -> int | None:
    """Read a whole number of `least` or more; None where the option was not given."""
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise UsageError(f"{option} must be a whole number of {least} or more, not {text!r}")
    return number


def fraction(option: str, text: str | None) -> float | None:
    """Read a number from 0 to 1."""
    number = _number(text)
    # Written so that nan, which is neither below nor above, is refused too.
    if number is not None and not 0 <= number <= 1:
        raise UsageError(f"{option} must be a number from 0 to 1, not {text!r}")
    return number


def positive(option: str, text: str | None) -> float | None:
    """Read a finite number above 0."""
    number = _number(text)
    if number is not None and not 0 < number < float("inf"):
        raise UsageError(f"{option} must be a number above 0, not {text!r}")
    return number


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return float("nan")


def metric(name: str | None) -> str | None:
    """Refuse the one metric that takes a function."""
    if name == "pyfunc":
        raise UsageError(
            "--metric pyfunc needs a function, which the command line cannot pass on: choose "
            "another metric, or clean with rectifold.GMR in Python"
        )
    return name


def cores(text: str) -> int:
    """Read a number of cores; negative ones count from all, as in joblib."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number == 0:
        raise UsageError(f"--n-jobs must be a whole number other than 0, not {text!r}")
    return number


def delimiter(text: str | None) -> str | None:
    """Read the character between two cells."""
    if text is None:
        return None
    character = "\t" if text.lower() in ("tab", "\\t") else text
    if len(character) != 1 or character in '"\r\n\0':
        raise UsageError(
            f"--delimiter must be one character that is no quote and no line ending, not {text!r}"
        )
    return character


def names(given: list[str] | None) -> list[str]:
    """Read names from an option that may be repeated and may hold several, between commas."""
    return [part.strip() for text in given or [] for part in text.split(",") if part.strip()]


def own_tables(paths: list[Path], target: str | None) -> list[Source]:
    """Name the tables of one's own, which have one column of labels."""
    from rectifold.bench import Source

    if paths and target is None:
        raise UsageError("--csv needs --target, the column of labels")
    if target is not None and not paths:
        raise UsageError("--target is for tables of your own, and no --csv names one")
    return [Source(path.stem, str(path.resolve()), target or "") for path in paths]
