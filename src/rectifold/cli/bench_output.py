"""Experiments as people see them on a terminal: how far a run is, and what a store has."""

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

from rectifold.cli.escape import visible
from rectifold.cli.terminal import console, plain_table

if TYPE_CHECKING:
    import pandas as pd

    from rectifold.bench import State, Store

#: Errors that are shown in full; the store has the others.
_MOST_ERRORS = 10


class Display:
    """A live view of a run on standard error, if that is a terminal.

    Parameters
    ----------
    wanted : bool
        False shows nothing.
    """

    def __init__(self, wanted: bool) -> None:
        self._live: Live | None = None
        if wanted and sys.stderr.isatty():
            self._live = Live(console=console(sys.stderr), transient=True, refresh_per_second=4)
        self.words = "nothing new was fitted"

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

    def update(self, state: State) -> None:
        """Show a new state.

        Parameters
        ----------
        state : State
            How far the run is.
        """
        self.words = f"{state.done:,} of {state.total:,} fits are recorded"
        if self._live is None:
            return
        left = "" if state.seconds_left is None else f"about {_duration(state.seconds_left)} left"
        bar = Table.grid(padding=(0, 2))
        bar.add_row(
            ProgressBar(total=max(1, state.total), completed=state.done, width=30),
            Text(f"{state.done:,}/{state.total:,} fits"),
            Text(left),
            Text(", ".join(_ended(state)), style="red"),
        )
        self._live.update(Group(bar, *(Text(f"  {visible(one)}") for one in state.running)))


def _ended(state: State) -> list[str]:
    counts = {"failed": state.failed, "timed out": state.timed_out}
    return [f"{count:,} {what}" for what, count in counts.items() if count]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return str(timedelta(minutes=round(seconds / 60))).removesuffix(":00") + " h"


def show_end(state: State, store: Store) -> None:
    """Print how a run ended.

    Parameters
    ----------
    state : State
        Its last state.
    store : Store
        What it wrote to.
    """
    words = f"{state.done:,} of {state.total:,} fits are in {visible(store.folder)}"
    console(sys.stdout).print(Text("; ".join([words, *_ended(state)])), soft_wrap=True)


def show_status(store: Store) -> None:
    """Print what a store has and lacks, data set by data set.

    Parameters
    ----------
    store : Store
        One that exists.
    """
    out = console(sys.stdout)
    frame = store.read()
    _show_fits(out, frame)
    failed = frame.loc[frame["error"].notna(), ["dataset", "method", "error"]]
    errors = failed.value_counts().rename("fits").reset_index()
    for one in errors.head(_MOST_ERRORS).itertuples():
        where = f"{visible(one.dataset)}, {visible(one.method)}"
        fits = "1 fit" if one.fits == 1 else f"{one.fits:,} fits"
        out.print(Text(f"{where}, {fits}: {visible(one.error, 200)}"), soft_wrap=True)
    if len(errors) > _MOST_ERRORS:
        out.print(Text(f"and {len(errors) - _MOST_ERRORS} more kinds of failure"))
    if store.busy():
        out.print(Text("A run is adding to it."))


def _show_fits(out: Console, frame: pd.DataFrame) -> None:
    """Print what there is of samplers with classifiers, under each protocol."""
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
        whole = counts["method"] * counts["classifier"] * counts["seed"]
        numbers = ["done", "failed", "timed out", "missing", "hours\nspent", "hours\nto do"]
        table = plain_table(["data set"], numbers)
        for name, part in rows.groupby("dataset", sort=True):
            ended = part["status"].value_counts()
            spent = part["fit_seconds"].sum() + (
                part.groupby(["method", "seed"])["resample_seconds"].first().sum()
            )
            cells = (ended.get(OK, 0), ended.get(FAILED, 0), ended.get(TIMED_OUT, 0))
            missing = whole - len(part.drop_duplicates(["method", "classifier", "seed"]))
            table.add_row(
                Text(visible(name, 24)),
                *(f"{count:,}" for count in (*cells, missing)),
                f"{spent / 3600:.2f}",
                f"{spent / len(part) * missing / 3600:.2f}",
            )
        out.print("", table, "", sep="\n")
