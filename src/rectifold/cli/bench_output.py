"""Print the progress of experiments, and the contents of a store, to a terminal."""

from __future__ import annotations

import sys
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rectifold.cli.errors import visible
from rectifold.cli.terminal import console, plain_table

if TYPE_CHECKING:
    import pandas as pd

    from rectifold.bench import Progress, Store

#: Number of errors that `status` shows; the store has all.
_MAX_ERRORS = 10


class Display:
    """If wanted, a live view of a run on standard error, if that is a terminal."""

    def __init__(self, wanted: bool) -> None:
        self._live: Live | None = None
        if wanted and sys.stderr.isatty():
            self._live = Live(console=console(sys.stderr), transient=True, refresh_per_second=4)
        self.counts = "nothing new was fitted"

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
            self._live.update(Text("reading the data sets"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, progress: Progress) -> None:
        """Show a new state of the run."""
        self.counts = f"{progress.done:,} of {progress.total:,} fits are recorded"
        if self._live is None:
            return
        seconds = progress.seconds_left
        left = "" if seconds is None else f"about {_duration(seconds)} left"
        bar = Table.grid(padding=(0, 2))
        bar.add_row(
            ProgressBar(total=max(1, progress.total), completed=progress.done, width=30),
            Text(f"{progress.done:,}/{progress.total:,} fits"),
            Text(left),
            Text(", ".join(_failures(progress)), style="red"),
        )
        self._live.update(Group(bar, *(Text(f"  {visible(fit)}") for fit in progress.running)))


def _failures(progress: Progress) -> list[str]:
    counts = {"failed": progress.failed, "timed out": progress.timed_out}
    return [f"{count:,} {status}" for status, count in counts.items() if count]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return str(timedelta(minutes=round(seconds / 60))).removesuffix(":00") + " h"


def show_end(progress: Progress, store: Store) -> None:
    """Print the last state of a run."""
    counts = f"{progress.done:,} of {progress.total:,} fits are in {visible(store.folder)}"
    console(sys.stdout).print(Text("; ".join([counts, *_failures(progress)])), soft_wrap=True)


def show_status(store: Store) -> None:
    """Print for every data set how many fits a store has and lacks, and the errors."""
    out = console(sys.stdout)
    frame = store.read()
    _show_fits(out, frame)
    failed = frame.loc[frame["error"].notna(), ["dataset", "method", "error"]]
    errors = failed.value_counts().rename("fits").reset_index()
    for row in errors.head(_MAX_ERRORS).itertuples():
        where = f"{visible(row.dataset)}, {visible(row.method)}"
        fits = "1 fit" if row.fits == 1 else f"{row.fits:,} fits"
        out.print(Text(f"{where}, {fits}: {visible(row.error, 200)}"), soft_wrap=True)
    if len(errors) > _MAX_ERRORS:
        out.print(Text(f"and {len(errors) - _MAX_ERRORS} other errors"))
    if store.busy():
        out.print(Text("A run is writing to the store now."))


def _show_fits(out: Console, frame: pd.DataFrame) -> None:
    """Print a table of the data sets under each protocol."""
    from rectifold.bench._store import FAILED, OK, TIMED_OUT

    for protocol, rows in frame.groupby("protocol", sort=True):
        counts = {
            name: rows[name].nunique() for name in ("dataset", "method", "classifier", "seed")
        }
        out.print(
            Text(
                f"{visible(protocol)}: {counts['dataset']} data sets, {counts['method']} methods, "
                f"{counts['classifier']} classifiers, {counts['seed']} seeds"
            )
        )
        n_combinations = counts["method"] * counts["classifier"] * counts["seed"]
        numbers = ["done", "failed", "timed out", "missing", "hours\nspent", "hours\nto do"]
        table = plain_table(["data set"], numbers)
        for name, part in rows.groupby("dataset", sort=True):
            of_status = part["status"].value_counts()
            spent = part["fit_seconds"].sum() + (
                part.groupby(["method", "seed"])["resample_seconds"].first().sum()
            )
            ended = [of_status.get(status, 0) for status in (OK, FAILED, TIMED_OUT)]
            missing = n_combinations - len(part.drop_duplicates(["method", "classifier", "seed"]))
            table.add_row(
                Text(visible(name, 24)),
                *(f"{count:,}" for count in (*ended, missing)),
                f"{spent / 3600:.2f}",
                f"{spent / len(part) * missing / 3600:.2f}",
            )
        out.print("", table, "", sep="\n")
