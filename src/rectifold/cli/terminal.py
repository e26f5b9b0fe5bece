"""Print results, notes and progress to a terminal."""

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
from rectifold.cli.errors import sentence_of, visible
from rectifold.model_selection._evaluation import BASELINE
from rectifold.progress import handling_warnings, listening

if TYPE_CHECKING:
    from pathlib import Path

    from rectifold import Evaluation
    from rectifold.cli.demo import Wines

#: Number of characters of a label or a column name in a table.
_WIDTH = 24
#: Number of characters for the name of a fact.
_NAME_WIDTH = 17
#: Number of features in the table of `demo`.
_N_FEATURES = 3


def console(stream: TextIO) -> Console:
    """Return a console that prints markup as text, and to pipes and files does not wrap lines."""
    width = None if stream.isatty() else 10_000
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def show_notes(notes: list[str]) -> None:
    """Print notes to standard error."""
    for note in notes:
        print(f"note: {visible(note)}", file=sys.stderr)


def show_summary(summary: dict[str, Any]) -> None:
    """Print `Rectification.summary`: counts by class and reason, and facts about the run."""
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
    after = "undefined: a class is empty" if ratio is None else f"{ratio:.2f}"
    _fact(out, "imbalance ratio", f"{summary['imbalance_ratio_before']:.2f} -> {after}")
    certified = summary["certified"]
    _fact(
        out,
        "neighbours",
        f"{summary['n_neighbors']} by {visible(summary['metric'], _WIDTH)} distance, engine "
        f"{summary['engine']}, {f'{certified:,} rows' if certified else 'none'} by certificate",
    )
    if summary["accuracy"] is not None:
        _fact(out, "accuracy", in_words(summary["accuracy"]))
    stages = ", ".join(f"{name} {value:.2f}" for name, value in summary["seconds"].items())
    _fact(out, "seconds", stages)


def show_files(result: dict[str, Any]) -> None:
    """Print which files the result of `clean` names."""
    out = console(sys.stdout)
    missing = result["missing_target"]
    if missing["rows"]:
        action = "left out" if missing["action"] == "drop" else "kept as they are"
        _fact(out, "no label", f"{missing['rows']:,} rows, {action}")
    n_removed = result["rows_in"] - result["rows_out"]
    files = {
        "output": f"{result['rows_out']:,} rows to",
        "removed_file": f"{n_removed:,} removed rows to",
        "report": "the report to",
    }
    lines = [f"{what} {visible(result[key])}" for key, what in files.items() if result[key]]
    _written(out, lines or ["nothing (--dry-run)"])


def show_wines(wines: Wines) -> None:
    """Print what `demo` cleaned, some of the removed samples, and the files."""
    out = console(sys.stdout)
    counts = ", ".join(f"{n:,} {visible(name)}" for name, n in wines.labels.value_counts().items())
    out.print(Text(f"{len(wines.labels):,} rows, {wines.features.shape[1]} features: {counts}."))
    out.print(Text(wines.description))
    show_summary(wines.summary)
    rows = wines.contradicted
    out.print(Text(f"\nThe {len(rows)} removed rows with the smallest votes for their own class:"))
    columns = [*wines.features.columns[:_N_FEATURES], wines.labels.name]
    table = plain_table(
        [], ["row", *(visible(column, _WIDTH).replace("_", "\n") for column in columns)]
    )
    for name in ("predicted\nclass", "own\nvote", "reason"):
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
    _written(
        out,
        [
            f"{wines.summary['kept']:,} rows to {visible(wines.cleaned)}",
            f"{wines.summary['removed']:,} removed rows to {visible(wines.removed)}",
            f"the report to {visible(wines.report)}: open it in a browser",
        ],
    )


def show_evaluation(result: Evaluation, page: Path | None = None) -> None:
    """Print the result of `rectifold.compare`, and the path of its page."""
    out = console(sys.stdout)
    out.print(
        Text(
            f"Does cleaning help to find {visible(result.positive, _WIDTH)}? AUPRC by "
            f"cross-validation with {result.n_folds} folds. Scaling, cleaning and the choice of "
            "settings use the training part only, and duplicate rows are in the same fold. "
            "Differences are to no cleaning on the same folds, with 95 % confidence intervals "
            "that allow for overlapping training parts:"
        )
    )
    table = plain_table(["classifier", "method"], ["AUPRC", "difference", "from", "to"])
    table.add_column("verdict", vertical="bottom", overflow="fold")
    for line in result.results:
        figures = (line.difference, line.low, line.high)
        compared = line.method != BASELINE
        table.add_row(
            Text(visible(line.classifier, _WIDTH)),
            Text(visible(line.method, _WIDTH)),
            f"{line.scores['auprc']:.4f}",
            *(f"{figure:+.4f}" if compared else "" for figure in figures),
            line.verdict if compared else "",
        )
    out.print("", table, "", sep="\n")
    out.print(Text(visible(result.verdict)))
    if page is not None:
        _written(out, [visible(page)])


@contextmanager
def progress(what: str, wanted: bool) -> Iterator[None]:
    """Show warnings at once, and, if wanted, a progress bar if standard error is a terminal."""
    if not wanted or not sys.stderr.isatty():
        with handling_warnings(lambda warning: show_notes([sentence_of(warning)])):
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

        def note(warning: Warning) -> None:
            bar.console.print(Text(f"note: {visible(sentence_of(warning))}"))

        with listening(show), handling_warnings(note):
            yield


def plain_table(words: list[str], numbers: list[str]) -> Table:
    """Return an empty table without lines, given the headings of its text and number columns."""
    # In a narrow terminal text wraps, and numbers do not.
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in words:
        table.add_column(Text(name), vertical="bottom", overflow="fold")
    for name in numbers:
        table.add_column(Text(name), vertical="bottom", justify="right", no_wrap=True)
    return table


def _fact(out: Console, name: str, text: str) -> None:
    room = max(20, out.width - _NAME_WIDTH)
    for i, line in enumerate(textwrap.wrap(text, room, break_on_hyphens=False)):
        out.print(Text(f"{'' if i else name:<{_NAME_WIDTH}}{line}"), soft_wrap=True)


def _written(out: Console, lines: list[str]) -> None:
    """Print what was written, without wrapping, so that paths can be copied."""
    for i, line in enumerate(lines):
        out.print(Text(f"{'' if i else 'written':<{_NAME_WIDTH}}{line}"), soft_wrap=True)
