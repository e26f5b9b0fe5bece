"""Results as people see them on a terminal: tables, notes and progress."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rectifold._core.accuracy import in_words
from rectifold.cli.errors import in_words_of_the_command_line
from rectifold.cli.escape import visible
from rectifold.model_selection._comparison import BASE
from rectifold.progress import listening, reading

if TYPE_CHECKING:
    from pathlib import Path

    from rectifold import Evaluation
    from rectifold.cli.demo import Wines

#: Characters of a label or a column name that a table shows.
_WIDTH = 24
#: Characters for the name of a fact.
_NAMES = 17
#: Columns of the demonstration's table that are shown besides its target.
N_COLUMNS = 3


def console(stream: TextIO) -> Console:
    """Make the console for a stream.

    Parameters
    ----------
    stream : text file
        Standard output or standard error.

    Returns
    -------
    rich.console.Console
        It reads no markup in what it prints. Where no person looks (a pipe, a file), lines are
        as long as they are.
    """
    width = None if stream.isatty() else 10_000
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def show_notes(notes: list[str]) -> None:
    """Print what the user should know besides the result.

    Parameters
    ----------
    notes : list of str
        One sentence each.
    """
    for note in notes:
        print(f"note: {visible(note)}", file=sys.stderr)


def show_summary(summary: dict[str, Any]) -> None:
    """Print what cleaning did, class by class.

    Parameters
    ----------
    summary : dict
        As `Rectification.summary` gives it.
    """
    classes = summary["classes"]
    shown = ("before", "intrusion", "ambiguity", "deep_noise", "spared", "after")
    table = plain_table(
        ["class"],
        ["rows", "intrusion", "ambiguity", "deep\nnoise", "spared", "kept", "removed"],
    )
    total: dict[str, Any] = {key: sum(one[key] for one in classes) for key in (*shown, "removed")}
    for one in [*classes, {"label": "all", **total}]:
        table.add_row(
            Text(visible(one["label"], _WIDTH)),
            *(f"{one[key]:,}" for key in shown),
            f"{100 * one['removed'] / one['before']:.1f} %",
        )
    out = console(sys.stdout)
    out.print("", table, "", sep="\n")
    strict = [visible(one["label"], _WIDTH) for one in classes if one["role"] == "strict"]
    _fact(out, "strict", f"{', '.join(strict)} (cleaned without a cap)")
    untouched = [visible(one["label"], _WIDTH) for one in classes if one["role"] == "untouched"]
    if untouched:
        _fact(out, "untouched", f"{', '.join(untouched)} (not cleaned)")
    ratio = summary["imbalance_ratio_after"]
    after = "none: a class is empty" if ratio is None else f"{ratio:.2f}"
    _fact(out, "imbalance ratio", f"{summary['imbalance_ratio_before']:.2f} -> {after}")
    proved = summary["certified"]
    _fact(
        out,
        "neighbours",
        f"{summary['n_neighbors']} by {visible(summary['metric'], _WIDTH)} distance, engine "
        f"{summary['engine']}, {f'{proved:,} rows by' if proved else 'no'} certificate",
    )
    if summary["accuracy"] is not None:
        _fact(out, "accuracy", in_words(summary["accuracy"]))
    stages = ", ".join(f"{name} {value:.2f}" for name, value in summary["seconds"].items())
    _fact(out, "seconds", stages)


def show_files(result: dict[str, Any]) -> None:
    """Print where the rows went.

    Parameters
    ----------
    result : dict
        As `rectifold.cli.clean.clean_file` gives it.
    """
    out = console(sys.stdout)
    missing = result["missing_target"]
    if missing["rows"]:
        became = "left out" if missing["action"] == "drop" else "kept as they are"
        _fact(out, "no label", f"{missing['rows']:,} rows, {became}")
    gone = result["rows_in"] - result["rows_out"]
    written = {
        "output": f"{result['rows_out']:,} rows to",
        "removed_file": f"{gone:,} removed rows to",
        "report": "the report to",
    }
    shown = [f"{what} {visible(result[key])}" for key, what in written.items() if result[key]]
    for place, words in enumerate(shown or ["nothing (--dry-run)"]):
        _fact(out, "" if place else "written", words, whole=True)


def show_wines(wines: Wines) -> None:
    """Print what the demonstration cleaned, what went, and where it was written.

    Parameters
    ----------
    wines : Wines
        The table and what became of it.
    """
    out = console(sys.stdout)
    counts = ", ".join(f"{n:,} {visible(name)}" for name, n in wines.labels.value_counts().items())
    out.print(Text(f"{len(wines.labels):,} rows, {wines.features.shape[1]} features: {counts}."))
    out.print(Text(wines.description))
    show_summary(wines.summary)
    rows = wines.contradicted
    out.print(Text(f"\nThe {len(rows)} removed rows that their neighbours contradict most:"))
    columns = [*wines.features.columns[:N_COLUMNS], wines.labels.name]
    table = plain_table(
        [], ["row", *(visible(column, _WIDTH).replace("_", "\n") for column in columns)]
    )
    for name in ("neighbours\nsay", "own\nvote", "reason"):
        table.add_column(name, vertical="bottom", no_wrap=True)
    for row in rows.to_dict("records"):
        table.add_row(
            str(row["rectifold_row"]),
            *(Text(visible(row[column], _WIDTH)) for column in columns),
            Text(visible(row["rectifold_predicted"], _WIDTH)),
            f"{row['rectifold_confidence']:.3f}",
            row["rectifold_reason"],
        )
    out.print("", table, "", sep="\n")
    _fact(out, "written", f"{wines.summary['kept']:,} rows to {visible(wines.cleaned)}", whole=True)
    _fact(
        out,
        "",
        f"{wines.summary['removed']:,} removed rows to {visible(wines.removed)}",
        whole=True,
    )
    _fact(out, "", f"the report to {visible(wines.report)}: open it in a browser", whole=True)


def show_evaluation(found: Evaluation, page: Path | None = None) -> None:
    """Print whether cleaning helped, with the numbers that say so.

    Parameters
    ----------
    found : Evaluation
        As `rectifold.compare` gives it.
    page : pathlib.Path or None
        Where a page with the same was written.
    """
    out = console(sys.stdout)
    out.print(
        Text(
            f"Does it help to find {visible(found.positive, _WIDTH)}? AUPRC by cross-validation, "
            f"{found.n_folds} folds; scaling, cleaning and the choice of settings see the training "
            "part of each alone, and copies of a row are on one side. Differences against no "
            "cleaning on the same folds, with intervals of 95 % for training parts that overlap:"
        )
    )
    table = plain_table(["classifier", "method"], ["AUPRC", "difference", "from", "to"])
    table.add_column("verdict", vertical="bottom", overflow="fold")
    for line in found.lines:
        figures = (line.difference, line.low, line.high)
        compared = line.method != BASE
        table.add_row(
            Text(visible(line.classifier, _WIDTH)),
            Text(visible(line.method, _WIDTH)),
            f"{line.scores['auprc']:.4f}",
            *(f"{figure:+.4f}" if compared else "" for figure in figures),
            line.verdict if compared else "",
        )
    out.print("", table, "", sep="\n")
    out.print(Text(visible(found.verdict)))
    if page is not None:
        _fact(out, "written", visible(page), whole=True)


@contextmanager
def progress(what: str, wanted: bool) -> Iterator[None]:
    """Show on standard error how far long work is, if that is a terminal.

    Parameters
    ----------
    what : str
        What is being done.
    wanted : bool
        False shows nothing.
    """
    if not wanted or not sys.stderr.isatty():
        with reading(lambda sentence: show_notes([in_words_of_the_command_line(sentence)])):
            yield
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console(sys.stderr),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        def say(sentence: str) -> None:
            bar.console.print(Text(f"note: {visible(in_words_of_the_command_line(sentence))}"))

        with listening(show), reading(say):
            yield


def plain_table(words: list[str], numbers: list[str]) -> Table:
    """Make a table without lines.

    Parameters
    ----------
    words, numbers : list of str
        The headings of columns that hold words, and of those that hold numbers.

    Returns
    -------
    rich.table.Table
        Still without rows.
    """
    # Words fold where the terminal is narrow; numbers never do.
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in words:
        table.add_column(Text(name), vertical="bottom", overflow="fold")
    for name in numbers:
        table.add_column(Text(name), vertical="bottom", justify="right", no_wrap=True)
    return table


def _fact(out: Console, name: str, words: str, *, whole: bool = False) -> None:
    # A path is there to be copied: it stays whole, however narrow the terminal.
    room = max(20, out.width - _NAMES)
    lines = [words] if whole else textwrap.wrap(words, room, break_on_hyphens=False)
    for i, line in enumerate(lines):
        out.print(Text(f"{'' if i else name:<{_NAMES}}{line}"), soft_wrap=True)
