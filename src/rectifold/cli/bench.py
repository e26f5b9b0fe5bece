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
from rectifold.cli.errors import UsageError
from rectifold.cli.interrupt import Stopped

if TYPE_CHECKING:
    from rectifold.bench import Grid, Source, Store

#: What the commands need besides those of the command line, and the light core.
EXTRA = ("filelock", "jinja2", "matplotlib", "scikit_posthocs")

app = typer.Typer(help="Compare samplers as the paper does, without leaks.")

_STORE = Path("rectifold-bench")


@app.command()
def run(
    store: options.StoreOption = _STORE,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", "-d", metavar="NAMES", help="Of the paper's 27. Repeatable."),
    ] = None,
    csv: options.OwnTablesOption = None,
    target: options.OwnTargetOption = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAMES",
            help="Samplers, as the paper calls them; or module:Class. By default all 20.",
        ),
    ] = None,
    classifier: Annotated[
        list[str] | None,
        typer.Option(
            "--classifier", "-c", metavar="NAMES", help="Or module:Class. By default all 7."
        ),
    ] = None,
    seed: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBERS", help="By default the paper's: 42, 0, 1, 2, 3."),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="train-only; or before-split, a leak, to show what it does.",
        ),
    ] = None,
    data_home: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Of imbalanced-learn's cache of the paper's data."),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch data that is missing from the network.")
    ] = False,
    time_limit: Annotated[
        str | None,
        typer.Option(metavar="SECONDS", help="For one resampling or one fit; recorded if over."),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Do again what failed or timed out.")
    ] = False,
    n_jobs: Annotated[
        str, typer.Option(metavar="N", help="Processes, of one thread each; -1 for all cores.")
    ] = "-1",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Fit every combination that the store does not have yet.

    Stop it whenever you like, however you like: the same command goes on where it was.
    """
    with _ready():
        from rectifold import bench
        from rectifold.cli import bench_output

        sources = _sources(options.names(dataset), csv or [], target, data_home)
        grid = _grid(sources, method, classifier, seed, protocol)
        kept = bench.Store(store)
        display = bench_output.Display(not quiet)
        try:
            with display:
                state = bench.run(
                    grid,
                    kept,
                    n_jobs=options.cores(n_jobs),
                    time_limit=options.positive("--time-limit", time_limit),
                    retry=retry,
                    download=download,
                    watcher=display.update,
                )
        except KeyboardInterrupt:
            raise Stopped(
                f"stopped; {display.words}; the same command goes on from there"
            ) from None
        if not quiet:
            bench_output.show_end(state, kept)
    sys.stdout.flush()


@app.command()
def status(store: options.StoreOption = _STORE) -> None:
    """Show what a store has, and what it lacks."""
    with _ready():
        from rectifold.cli import bench_output

        bench_output.show_status(_existing(store))
    sys.stdout.flush()


@app.command()
def report(
    store: options.StoreOption = _STORE,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="By default report, in the store."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", metavar="NAMES", help="Only these. Repeatable."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Write the tables as LaTeX too.")] = False,
) -> None:
    """Write what the results show: a page, the same as Markdown, and the figures."""
    with _ready():
        from rectifold.bench.report import write_report

        folder = output or store / "report"
        for path in write_report(
            _existing(store), folder, methods=options.names(method), latex=latex
        ):
            print(path)
    sys.stdout.flush()


@contextmanager
def _ready() -> Iterator[None]:
    # One's own samplers and classifiers may lie in the folder that the command is called from.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    if any(importlib.util.find_spec(name) is None for name in EXTRA):
        raise UsageError('experiments need their extra: pip install "rectifold[bench]"')
    from rectifold.bench import BenchError

    try:
        yield
    except BenchError as problem:
        raise UsageError(str(problem)) from problem


def _sources(
    names: list[str], tables: list[Path], target: str | None, home: Path | None
) -> list[Source]:
    from rectifold.bench import paper_sources

    own = options.own_tables(tables, target)
    return own + (paper_sources(names, home) if names or not tables else [])


def _grid(
    sources: list[Source],
    method: list[str] | None,
    classifier: list[str] | None,
    seed: list[str] | None,
    protocol: list[str] | None,
) -> Grid:
    from rectifold import bench

    chosen: dict[str, list[object]] = {
        "methods": [bench.method(name) for name in options.names(method)],
        "classifiers": [bench.classifier(name) for name in options.names(classifier)],
        "seeds": [options.whole("--seed", text, 0) for text in options.names(seed)],
        "protocols": list(options.names(protocol)),
    }
    given = {name: values for name, values in chosen.items() if values}
    return bench.Grid(sources, **given)  # type: ignore[arg-type]


def _existing(folder: Path) -> Store:
    from rectifold.bench import Store

    store = Store(folder)
    store.check()
    if not store.exists() or store.read().empty:
        raise UsageError(
            f"there are no results in {str(folder)!r}; `rectifold bench run` makes them"
        )
    return store
