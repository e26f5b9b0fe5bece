"""The commands `clean` and `demo`, and the app that all commands belong to."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rectifold.cli import options
from rectifold.cli.bench import app as bench_app
from rectifold.cli.compare import compare
from rectifold.cli.errors import UsageError, stoppable
from rectifold.cli.predict import predict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_app, name="bench")
app.command()(compare)
app.command()(predict)

MissingTarget = StrEnum("MissingTarget", ["error", "drop", "keep"])
ClassWeight = StrEnum("ClassWeight", ["none", "balanced"])
Space = StrEnum("Space", ["auto", "heom", "none"])


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


# A test holds the defaults of the parameters of `rectifold.GMR` equal to those of GMR.
@app.command()
def clean(
    source: options.Input,
    target: options.Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="File for the kept rows.")
    ] = None,
    removed: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="File for the removed rows, with the reasons."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Report on every removed row: a page (.html) or its data (.json)."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing, only show what would be removed.")
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    drop: Annotated[
        list[str] | None,
        options.repeatable("COLUMN", "Leave out of distances and of the output, such as a leak."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        options.repeatable(
            "COLUMN", "Keep in the output but exclude from distances, such as an identifier."
        ),
    ] = None,
    missing_target: Annotated[
        MissingTarget, typer.Option(help="What to do with rows without a label.")
    ] = MissingTarget.error,
    missing_label: options.MissingLabels = None,
    only: Annotated[
        list[str] | None,
        options.repeatable("CLASS", "Clean this class without a cap, and no other."),
    ] = None,
    n_neighbors: Annotated[
        int, typer.Option("--n-neighbors", "-k", metavar="K", min=1, help="Number of neighbours.")
    ] = 15,
    alpha: Annotated[
        float,
        options.fraction("Strict classes: samples with an own vote below this are removed."),
    ] = 0.3,
    beta: Annotated[
        float,
        options.fraction(
            "Protected classes: samples are removed only above this vote for larger classes."
        ),
    ] = 0.7,
    gamma: Annotated[
        float, options.fraction("Largest fraction of a protected class to remove.")
    ] = 0.1,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="auto, or a metric of scikit-learn.")
    ] = "auto",
    metric_threshold: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Metric auto: the cosine distance for more features than this."
        ),
    ] = 100,
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            callback=options.above_zero,
            help="Added to distances in the weights 1 / (distance + epsilon).",
        ),
    ] = 1e-8,
    min_minority: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Minimum class size; smaller classes are not cleaned."
        ),
    ] = 10,
    class_weight: Annotated[
        ClassWeight,
        typer.Option(help="balanced weights votes by the inverse frequency of their class."),
    ] = ClassWeight.none,
    space: Annotated[
        Space,
        typer.Option(
            help="Distances on an encoded and imputed copy (auto, or heom with its own metric), "
            "or on the numbers as they are (none)."
        ),
    ] = Space.auto,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Neighbour search: auto, exact, approximate or gpu; dask for a cluster.",
        ),
    ] = "auto",
    recall: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            max=1,
            callback=options.above_zero,
            help="Engine approximate: fraction of the true neighbours to find; by default 0.99.",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=options.above_zero,
            help="Engine approximate: examine fewer candidates if the search would take longer.",
        ),
    ] = None,
    prefer_exact: Annotated[
        bool,
        typer.Option(
            "--prefer-exact",
            help="Engine approximate: search exactly if that fits into the budget.",
        ),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Engine gpu: the device, such as cuda:1."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Engine dask: scheduler of the cluster; by default workers on this machine.",
        ),
    ] = None,
    block_size: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES", help="Engine dask: size of a piece of work; by default 64 MiB."
        ),
    ] = None,
    random_state: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=options.MAX_SEED,
            help="Seed of the approximate search, and of the measurement of its error.",
        ),
    ] = 0,
    n_jobs: options.Jobs = -1,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
) -> None:
    """Remove the rows of a table that blur its smaller classes.

    The kept rows are written unchanged and in order; --removed has the others and the reasons.
    """
    if output is None and report is None and not dry_run:
        raise UsageError(
            "pass -o for the kept rows, --report for a page, or --dry-run to only show what would "
            "be removed"
        )
    engines: dict[str, dict[str, Any]] = {
        "approximate": {"recall": recall, "budget": budget, "prefer_exact": prefer_exact},
        "gpu": {"device": device},
        "dask": {"scheduler": scheduler, "block_size": block_size},
    }
    settings: dict[str, Any] = {
        "n_neighbors": n_neighbors,
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "metric": metric,
        "metric_threshold": metric_threshold,
        "epsilon": epsilon,
        "min_minority": min_minority,
        "class_weight": None if class_weight == "none" else class_weight.value,
        "space": None if space == "none" else space.value,
        "engine": _engine(engine, engines),
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    # Imported here, so that the help does not wait for NumPy, pandas and scikit-learn.
    from rectifold.cli import terminal
    from rectifold.cli.clean import Request, clean_file
    from rectifold.cli.clean_dask import clean_on_cluster

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
        delimiter=delimiter,
    )
    with stoppable():
        with terminal.progress("searching neighbours", not (quiet or as_json)):
            if engine == "dask":
                if block_size is not None:
                    settings["block_size"] = block_size
                result = clean_on_cluster(request, scheduler, n_jobs)
            else:
                result = clean_file(request)
        terminal.show_notes(result["notes"])
        if as_json:
            print(json.dumps(result, indent=2, allow_nan=False))
        elif not quiet:
            terminal.show_summary(result)
            terminal.show_files(result)
        sys.stdout.flush()


def _engine(name: str, engines: dict[str, dict[str, Any]]) -> Any:
    """Return the engine as `GMR` takes it; `engines` has the options that some engines have."""
    from rectifold import GPU, Approximate
    from rectifold._engines import check_engine

    for engine, values in engines.items():
        for option, value in values.items():
            if value not in (None, False) and engine != name:
                raise UsageError(f"--{option.replace('_', '-')} is for --engine {engine}")
    if name == "dask":
        return name
    objects = {"approximate": Approximate, "gpu": GPU}
    given = {option: value for option, value in engines.get(name, {}).items() if value}
    chosen = objects[name](**given) if given else name
    check_engine(chosen)
    return chosen


@app.command()
def demo(
    output_dir: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for two tables and a report.")
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
            result = compare_methods(wines.features.to_numpy(), wines.labels, n_jobs=-1)
        print()
        terminal.show_evaluation(result)
    sys.stdout.flush()
