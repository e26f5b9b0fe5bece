"""The commands on experiments: `rectifold bench run`, `status` and `report`."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rectifold.cli import options
from rectifold.cli.errors import Stopped, UsageError, stoppable

if TYPE_CHECKING:
    from rectifold.bench import Grid, Source, Store

#: Modules of the extra `bench`.
EXTRA = ("filelock", "jinja2", "matplotlib", "scikit_posthocs")

app = typer.Typer(help="Compare samplers on many data sets, without data leakage.")

StoreFolder = Annotated[
    Path, typer.Option("--store", "-s", metavar="FOLDER", help="Folder of the results.")
]
_STORE = Path("rectifold-bench")


@app.command()
def run(
    store: StoreFolder = _STORE,
    dataset: Annotated[
        list[str] | None,
        options.repeatable(
            "NAMES",
            "Data sets of the paper; by default all 27, or none with --csv.",
            "--dataset",
            "-d",
        ),
    ] = None,
    csv: Annotated[
        list[Path] | None,
        options.repeatable("PATH", "Your own table: CSV, Parquet.", "--csv"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Column of labels of your tables."),
    ] = None,
    method: Annotated[
        list[str] | None,
        options.repeatable(
            "NAMES",
            "Samplers by their names in the paper, or module:Class; by default all 20.",
            "--method",
            "-m",
        ),
    ] = None,
    classifier: Annotated[
        list[str] | None,
        options.repeatable(
            "NAMES",
            "Classifiers by their names in the paper, or module:Class; by default all 7.",
            "--classifier",
            "-c",
        ),
    ] = None,
    seed: Annotated[
        list[str] | None,
        options.repeatable("NUMBERS", "Seeds; by default the paper's: 42, 0, 1, 2, 3."),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="train-only, paper, raw or class-weight; or one with -before-split (before-split "
            "alone is that of train-only), which leaks test data, to measure the leak.",
        ),
    ] = None,
    data_home: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the paper's data; default: RECTIFOLD_DATA."),
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Download missing data.")] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=options.above_zero,
            help="Limit for one resampling or one fit; those over it are recorded as timed out.",
        ),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Repeat fits that failed or timed out.")
    ] = False,
    n_jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
) -> None:
    """Fit every combination that the store does not have yet.

    Interrupted runs resume when the command is called again.
    """
    with _ready():
        from rectifold import bench
        from rectifold.cli import bench_output

        sources = _sources(options.names(dataset), csv or [], target, data_home)
        grid = _grid(sources, method, classifier, seed, protocol)
        opened = bench.Store(store)
        display = bench_output.Display(not quiet)
        try:
            with display:
                state = bench.run(
                    grid,
                    opened,
                    n_jobs=n_jobs,
                    time_limit=time_limit,
                    retry=retry,
                    download=download,
                    callback=display.update,
                )
        except KeyboardInterrupt:
            raise Stopped(f"stopped; {display.counts}; call the command again to resume") from None
        if not quiet:
            bench_output.show_end(state, opened)
    sys.stdout.flush()


@app.command()
def status(store: StoreFolder = _STORE) -> None:
    """Show which results a store has, and which are missing."""
    with _ready():
        from rectifold.cli import bench_output

        bench_output.show_status(_existing(store))
    sys.stdout.flush()


@app.command()
def report(
    store: StoreFolder = _STORE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="By default the folder report in the store."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        options.repeatable("NAMES", "Only these methods.", "--method", "-m"),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Write the tables as LaTeX too.")] = False,
) -> None:
    """Write the results as an HTML page, as Markdown and as figures."""
    with _ready(), stoppable():
        from rectifold.bench.report import write_report
        from rectifold.cli import terminal

        folder = output or store / "report"
        with terminal.progress("writing", False):
            paths = write_report(
                _existing(store), folder, methods=options.names(method), latex=latex
            )
        for path in paths:
            print(path)
    sys.stdout.flush()


@contextmanager
def _ready() -> Iterator[None]:
    """Check the extra, make the working directory importable, and show errors of experiments."""
    # The user's samplers and classifiers may be modules in the working directory.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    if any(importlib.util.find_spec(name) is None for name in EXTRA):
        raise UsageError('experiments need an extra: pip install "rectifold[bench]"')
    from rectifold.bench import BenchError

    try:
        yield
    except BenchError as problem:
        raise UsageError(str(problem)) from problem


def _sources(
    names: list[str], tables: list[Path], target: str | None, home: Path | None
) -> list[Source]:
    from rectifold.bench import Source, paper_sources

    if tables and target is None:
        raise UsageError("--csv needs --target, the column of class labels")
    if target is not None and not tables:
        raise UsageError("--target names a column of your own tables: pass --csv too")
    own = [Source(path.stem, str(path.resolve()), target or "") for path in tables]
    return own + (paper_sources(names, home) if names or not tables else [])


def _grid(
    sources: list[Source],
    method: list[str] | None,
    classifier: list[str] | None,
    seed: list[str] | None,
    protocol: list[str] | None,
) -> Grid:
    from rectifold import bench

    axes: dict[str, list[object]] = {
        "methods": [bench.method(name) for name in options.names(method)],
        "classifiers": [bench.classifier(name) for name in options.names(classifier)],
        "seeds": [*_seeds(options.names(seed))],
        "protocols": [*options.names(protocol)],
    }
    given = {name: values for name, values in axes.items() if values}
    return bench.Grid(sources, **given)  # type: ignore[arg-type]


def _seeds(texts: list[str]) -> list[int]:
    for text in texts:
        if not text.isdecimal() or int(text) > options.MAX_SEED:
            raise UsageError(
                f"--seed must be a whole number from 0 to {options.MAX_SEED}, not {text!r}"
            )
    return [int(text) for text in texts]


def _existing(folder: Path) -> Store:
    from rectifold.bench import Store

    store = Store(folder)
    store.check()
    if not store.exists() or store.read().empty:
        raise UsageError(
            f"there are no results in {str(folder)!r}; `rectifold bench run` writes them"
        )
    return store
