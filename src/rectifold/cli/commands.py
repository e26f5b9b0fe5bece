"""The commands and their options: `clean` and `demo`; `bench` and `compare` have their own."""

from __future__ import annotations

import inspect
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rectifold.cli import arguments, options
from rectifold.cli.bench import app as bench_app
from rectifold.cli.clean import Request, clean_file
from rectifold.cli.clean_dask import clean_on_cluster
from rectifold.cli.compare import compare
from rectifold.cli.errors import UsageError
from rectifold.cli.interrupt import stoppable

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_app, name="bench")
app.command()(compare)


class MissingTarget(StrEnum):
    """What becomes of rows without a label."""

    error = "error"
    drop = "drop"
    keep = "keep"


class ClassWeight(StrEnum):
    """How votes are weighed."""

    none = "none"
    balanced = "balanced"


class Space(StrEnum):
    """Where the geometry is computed."""

    auto = "auto"
    heom = "heom"
    none = "none"


class CleanCommand(TyperCommand):
    """A command whose help shows the defaults of GMR, read from GMR when help is asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the defaults, and write the help.

        Parameters
        ----------
        ctx, formatter : object
            As for the parent class.
        """
        from rectifold import GMR

        signature = inspect.signature(GMR).parameters
        for option in self.params:
            if option.default is None and option.name in signature:
                option.default = signature[option.name].default
        super().format_help(ctx, formatter)


def _show_version(wanted: bool) -> None:
    if wanted:
        from rectifold import __version__

        print(f"rectifold {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _rectifold(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Clean imbalanced training data by its geometry."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command(cls=CleanCommand)
def clean(
    source: arguments.Input,
    target: arguments.Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="For the rows that stay.")
    ] = None,
    removed: Annotated[
        Path | None, typer.Option(metavar="PATH", help="For the rows that go, and why they went.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="For a page (.html) that shows why each row went."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing, only show what would go.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no summary and no progress.")
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave out altogether, such as leaks. Repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Keep, but not compare by: identifiers. Repeatable."),
    ] = None,
    missing_target: Annotated[
        MissingTarget, typer.Option(help="What becomes of rows without a label.")
    ] = MissingTarget.error,
    missing_label: arguments.MissingLabels = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS", help="Clean this class without a cap, and no other. Repeatable."
        ),
    ] = None,
    n_neighbors: Annotated[
        str | None, typer.Option("--n-neighbors", "-k", metavar="K", help="How many rows vote.")
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="A strict row goes with a vote below this."),
    ] = None,
    beta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="A protected row may go with a vote against it above this."
        ),
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The most of a protected class that may go."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="auto, or one that scikit-learn knows.")
    ] = None,
    metric_threshold: Annotated[
        str | None, typer.Option(metavar="N", help="With metric auto: cosine above N columns.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Added to distances in weights.")
    ] = None,
    min_minority: Annotated[
        str | None, typer.Option(metavar="N", help="Smaller classes are not cleaned.")
    ] = None,
    class_weight: Annotated[ClassWeight, typer.Option(help="How votes are weighed.")] = (
        ClassWeight.none
    ),
    space: Annotated[
        Space, typer.Option(help="Where distances are measured: none takes numbers as they are.")
    ] = Space.auto,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How neighbours are found: auto, exact, approximate, gpu; or dask, on a cluster.",
        ),
    ] = None,
    target_recall: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="With engine approximate: true neighbours to find."),
    ] = None,
    time_budget: Annotated[
        str | None,
        typer.Option(metavar="SECONDS", help="With engine auto: longer than this, approximate."),
    ] = None,
    random_state: Annotated[
        str | None, typer.Option(metavar="N", help="With engine approximate: the seed.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="With engine gpu: which, such as cuda:1.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="With engine dask: of the cluster; by default this machine."
        ),
    ] = None,
    block_size: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="With engine dask: a piece of work, such as 64MiB."),
    ] = None,
    n_jobs: arguments.Cores = "-1",
    encoding: arguments.Encoding = "utf-8",
    delimiter: arguments.Delimiter = None,
) -> None:
    """Remove the rows of a table that blur its smaller classes.

    The rows that stay are written as they were, in their order; --removed tells why others went.
    """
    if output is None and report is None and not dry_run:
        raise UsageError(
            "-o names the file to write; without one, --report makes a page and --dry-run only "
            "shows what would go"
        )
    given = {
        "n_neighbors": options.whole("--n-neighbors", n_neighbors, 1),
        "alpha": options.fraction("--alpha", alpha),
        "beta": options.fraction("--beta", beta),
        "gamma": options.fraction("--gamma", gamma),
        "metric": options.metric(metric),
        "metric_threshold": options.whole("--metric-threshold", metric_threshold, 0),
        "epsilon": options.positive("--epsilon", epsilon),
        "min_minority": options.whole("--min-minority", min_minority, 0),
        "engine": engine,
        "target_recall": options.share("--target-recall", target_recall),
        "time_budget": options.positive("--time-budget", time_budget),
        "random_state": options.seed("--random-state", random_state),
        "device": device,
    }
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings["class_weight"] = None if class_weight is ClassWeight.none else class_weight.value
    settings["space"] = None if space is Space.none else space.value
    settings["n_jobs"] = options.cores(n_jobs)
    request = Request(
        source=source,
        target=target,
        output=None if dry_run else output,
        removed=None if dry_run else removed,
        report=None if dry_run else report,
        drop=drop or [],
        ignore=ignore or [],
        missing_target=missing_target.value,
        missing_labels=missing_label or [],
        only=only or [],
        settings=settings,
        encoding=encoding,
        delimiter=options.delimiter(delimiter),
    )
    from rectifold.cli import terminal

    with stoppable(), terminal.progress("looking at neighbours", not (quiet or as_json)):
        if engine == "dask":
            if block_size is not None:
                settings["block_size"] = block_size
            result = clean_on_cluster(request, scheduler, options.cores(n_jobs))
        else:
            for option, value in (("--scheduler", scheduler), ("--block-size", block_size)):
                if value is not None:
                    raise UsageError(f"{option} is for --engine dask")
            result = clean_file(request)
    terminal.show_notes(result["notes"])
    if as_json:
        print(json.dumps(result, indent=2, allow_nan=False))
    elif not quiet:
        terminal.show_summary(result)
        terminal.show_files(result)
    sys.stdout.flush()


@app.command()
def demo(
    output_dir: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where two tables and a report are written.")
    ] = Path("rectifold-demo"),
) -> None:
    """Clean a real table, and measure whether that helps."""
    from rectifold import compare as compare_methods
    from rectifold.cli import terminal
    from rectifold.cli.demo import clean_wines

    with stoppable():
        wines = clean_wines(output_dir)
    terminal.show_wines(wines)
    sys.stdout.flush()
    with stoppable("stopped; the cleaned table is written, the comparison is not done"):
        with terminal.progress("comparing", True):
            found = compare_methods(wines.features.to_numpy(), wines.labels, n_jobs=-1)
        print()
        terminal.show_evaluation(found)
    sys.stdout.flush()
