"""The commands of the deep experiments: `python -m experiments.deep tabddpm`, `longtail`, ..."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from experiments.deep.longtail import LongTailed
    from rectifold.bench import Source, Store

#: Without Rich's markup an error is one line, whatever the width of the terminal.
app = typer.Typer(
    help="The paper's experiments with deep networks.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)

StoreOption = Annotated[
    Path, typer.Option("--store", "-s", metavar="FOLDER", help="Folder of the results.")
]
HomeOption = Annotated[
    Path, typer.Option("--data-home", metavar="FOLDER", help="Folder of the data files.")
]
SeedOption = Annotated[
    list[str] | None,
    typer.Option("--seed", metavar="NUMBERS", help="Default: 42, 0, 1, 2, 3."),
]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data", "-d", metavar="NAMES", help="Data sets of the paper; default: all. Repeatable."
    ),
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="Default: a GPU, if there is one.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Run failed fits again.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]
_STORE, _HERE = Path("rectifold-deep"), Path()
#: NumPy's largest seed.
_MAX_SEED = 2**32 - 1


@app.command()
def tabddpm(
    store: StoreOption = _STORE,
    data: DataOption = None,
    data_home: HomeOption = _HERE,
    csv: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="A table of your own: CSV, Parquet. Repeatable."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Target column of your tables."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS", help="Categorical columns of numbers in your tables. Repeatable."
        ),
    ] = None,
    seed: SeedOption = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Synthetic data sets drawn from every model.")
    ] = 3,
    iterations: Annotated[int, typer.Option(min=1, help="Training steps of a model.")] = 10_000,
    timesteps: Annotated[int, typer.Option(min=2, help="Diffusion steps.")] = 1000,
    embedding: Annotated[
        int | None,
        typer.Option(min=2, help="Width of the embedding; default: 128, and more for wide tables."),
    ] = None,
    device: DeviceOption = None,
    retry: RetryOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train TabDDPM on raw and on cleaned tables, and classifiers on its synthetic samples.

    Interrupted runs resume when the command is called again.
    """
    _check_libraries()
    from experiments.deep import tabular
    from experiments.deep.devices import find_device
    from experiments.deep.own_table import load_own
    from experiments.deep.records import TABDDPM
    from experiments.deep.sets import SETS, load
    from experiments.deep.tabddpm import TabDDPM

    if embedding is not None and embedding % 2:
        raise typer.BadParameter(f"--embedding must be even, not {embedding}")
    if categorical and not csv:
        raise typer.BadParameter("--categorical needs --csv, a table of your own")
    model = TabDDPM(iterations=iterations, timesteps=timesteps, embedding=embedding, device=device)
    seeds = _seeds(seed)
    with _errors_as_usage():
        find_device(device)
        tables = [
            load_own(source, _split(categorical)) for source in _own_sources(csv or [], target)
        ]
        names = _split(data) or ([] if csv else list(SETS))
        tables += [load(name, data_home) for name in dict.fromkeys(names)]
    _run(
        store,
        set(tabular.cells([table.name for table in tables], seeds, samples)),
        lambda done, record: tabular.run(
            tables, seeds, model=model, record=record, samples=samples, done=done
        ),
        (TABDDPM, tabular.settings_of(model), {table.name: table.fingerprint for table in tables}),
        retry=retry,
        quiet=quiet,
    )


@app.command()
def ceiling(
    store: StoreOption = _STORE,
    data: DataOption = None,
    data_home: HomeOption = _HERE,
    seed: Annotated[
        list[str] | None, typer.Option("--seed", metavar="NUMBERS", help="Default: 42.")
    ] = None,
    n_jobs: Annotated[int, typer.Option("--n-jobs", help="Threads of a classifier.")] = -1,
) -> None:
    """Compare the classifier of the tables with a tuned XGBoost, on real samples; needs no GPU.

    Interrupted runs resume when the command is called again.
    """
    from experiments.deep import ceiling as ceilings
    from experiments.deep.sets import SETS, load

    seeds = _seeds(seed) if seed else [42]
    with _errors_as_usage():
        tables = (load(name, data_home) for name in dict.fromkeys(_split(data) or SETS))
        for row in ceilings.run(tables, seeds, store, n_jobs):
            print(*(row[name] for name in ceilings.COLUMNS[:4]))


@app.command()
def longtail(
    store: StoreOption = _STORE,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            metavar="NAME",
            help="cifar10-lt100, which is long-tailed; or cifar10, cifar100 as binary files.",
        ),
    ] = "cifar10-lt100",
    data_home: HomeOption = _HERE,
    ratio: Annotated[
        float | None,
        typer.Option(help="Imbalance ratio that cifar10 and cifar100 are cut to; default: 100."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", metavar="NAMES", help="Default: all. Repeatable."),
    ] = None,
    seed: SeedOption = None,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of every training.")] = 200,
    together: Annotated[
        int, typer.Option(min=1, help="Networks trained at the same time on one GPU.")
    ] = 1,
    device: DeviceOption = None,
    retry: RetryOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train networks on long-tailed images; one of the methods cleans their features with GMR.

    Interrupted runs resume when the command is called again.
    """
    _check_libraries()
    from experiments.deep import images
    from experiments.deep.devices import find_device
    from experiments.deep.longtail import METHODS
    from experiments.deep.longtail.methods import find_method
    from experiments.deep.records import LONGTAIL

    seeds = _seeds(seed)
    with _errors_as_usage():
        find_device(device)
        names = [find_method(name) for name in _split(method)] or list(METHODS)
        dataset = _load_images(data, data_home, ratio)

    def run(done: set[tuple[Any, ...]], record: Callable[[dict[str, Any]], None]) -> None:
        for row in images.run(
            dataset, names, seeds, done=done, epochs=epochs, together=together, device=device
        ):
            record(row)

    _run(
        store,
        set(images.cells(dataset, names, seeds).values()),
        run,
        (LONGTAIL, {"epochs": epochs}, {dataset.name: images.fingerprint_of(dataset)}),
        retry=retry,
        quiet=quiet,
    )


@app.command()
def status(store: StoreOption = _STORE) -> None:
    """Show which results a store holds, and how many are missing."""
    from experiments.deep import report as deep_report

    kept = _open(store)
    print("\n\n".join(deep_report.status(kept.read())))
    if kept.busy():
        print("A run is adding to it.")


@app.command()
def report(
    store: StoreOption = _STORE,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Default: report, in the store."),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Store of `rectifold bench` to report on as well."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Write the tables as LaTeX too.")] = False,
) -> None:
    """Write what the results show: an HTML page, the same as Markdown, and the figures."""
    from experiments.deep import ceiling as ceilings
    from experiments.deep import report as deep_report
    from rectifold.bench import Store
    from rectifold.bench.report import write_document, write_report

    frame, folder = _open(store).read(), output or store / "report"
    with _errors_as_usage():
        if beside is None:
            document = deep_report.document(frame, ceilings.read(store))
            paths = write_document(document, folder, latex=latex)
        else:
            sections = deep_report.sections(frame, ceilings.read(store))
            paths = write_report(Store(beside), folder, sections=sections, latex=latex)
    for path in paths:
        print(path)


def main() -> None:
    """Run the command line."""
    # A run that is killed ends as after Ctrl-C: what is under way is still recorded.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app(prog_name="python -m experiments.deep")


def _split(given: list[str] | None) -> list[str]:
    """Return the names from an option that may be repeated and may hold several, with commas."""
    return [part.strip() for text in given or [] for part in text.split(",") if part.strip()]


def _seeds(given: list[str] | None) -> list[int]:
    from rectifold.bench import SEEDS

    texts = _split(given)
    for text in texts:
        if not (text.isdecimal() and int(text) <= _MAX_SEED):
            raise typer.BadParameter(f"--seed must be a whole number below 2^32, not {text!r}")
    return list(dict.fromkeys(map(int, texts))) or list(SEEDS)


def _own_sources(paths: list[Path], target: str | None) -> list[Source]:
    from rectifold.bench import Source

    if bool(paths) != (target is not None):
        raise typer.BadParameter("--csv and --target, its target column, must be given together")
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"two of these tables have the same name: {', '.join(names)}")
    return [Source(path.stem, str(path.resolve()), target or "") for path in paths]


def _load_images(name: str, home: Path, ratio: float | None) -> LongTailed:
    from experiments.deep.longtail import read_cifar, read_npz

    if name == "cifar10-lt100":
        if ratio is not None:
            raise typer.BadParameter("--ratio is for cifar10 and cifar100 only")
        return read_npz(home / "cifar10_lt100.npz", home / "cifar10_test.npz")
    if name in ("cifar10", "cifar100"):
        whole = read_cifar(home, int(name.removeprefix("cifar")))
        return whole.cut(100.0 if ratio is None else ratio, 0)
    raise typer.BadParameter(f"--data must be cifar10-lt100, cifar10 or cifar100, not {name!r}")


def _check_libraries() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "safetensors", "filelock")):
        raise typer.BadParameter(
            "the experiments need more libraries: pip install -r experiments/requirements.txt"
        )


@contextmanager
def _errors_as_usage() -> Iterator[None]:
    """Turn errors about the input into errors of the command line, without a traceback."""
    from rectifold.bench import BenchError

    try:
        yield
    except (BenchError, ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error


def _open(folder: Path) -> Store:
    """Return a store that has results."""
    from experiments.deep.records import DEEP
    from rectifold.bench import Store

    store = Store(folder, DEEP)
    with _errors_as_usage():
        store.check()
    if not store.exists() or store.read().empty:
        raise typer.BadParameter(f"there are no results in {str(folder)!r}")
    return store


def _run(
    folder: Path,
    cells: set[tuple[Any, ...]],
    run: Callable[[set[tuple[Any, ...]], Callable[[dict[str, Any]], None]], None],
    expected: tuple[str, dict[str, Any], dict[str, str]],
    *,
    retry: bool,
    quiet: bool,
) -> None:
    """Add the rows of an experiment to its store, each as soon as it is computed."""
    from experiments.deep.records import DEEP, KEY, check_mixture, outdated
    from rectifold.bench import BenchError, Store
    from rectifold.bench._store import OK
    from rectifold.cli.terminal import progress

    store = Store(folder, DEEP)
    with _errors_as_usage():
        store.check()
        check_mixture(store, *expected)
    try:
        with store.writing(), progress("training", not quiet):
            frame = store.read()
            again = set(frame.loc[outdated(frame), list(KEY)].itertuples(index=False, name=None))
            run((store.keys([OK]) if retry else store.keys()) - again, store.add)
    except KeyboardInterrupt:
        print(f"stopped; {_summary(store, cells)}; call again to resume", file=sys.stderr)
        raise typer.Exit(130) from None
    except BenchError as error:
        raise typer.BadParameter(str(error)) from error
    if not quiet:
        print(_summary(store, cells))


def _summary(store: Store, cells: set[tuple[Any, ...]]) -> str:
    from rectifold.bench._store import OK

    done, succeeded = len(cells & store.keys()), len(cells & store.keys([OK]))
    text = f"{done:,} of {len(cells):,} fits are in {str(store.folder)!r}"
    return text if done == succeeded else f"{text}; {done - succeeded:,} failed"


if __name__ == "__main__":
    main()
