"""The commands on the paper's deep experiments: `rectifold bench deep tabddpm` and `longtail`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectifold.cli import options
from rectifold.cli.errors import UsageError
from rectifold.cli.escape import visible
from rectifold.cli.interrupt import Stopped
from rectifold.cli.terminal import console, progress

if TYPE_CHECKING:
    from experiments.deep.longtail import LongTailed
    from rectifold.bench import Store

app = typer.Typer(help="The paper's experiments with deep networks.")

HomeOption = Annotated[
    Path, typer.Option("--data-home", metavar="FOLDER", help="Where the files of the data are.")
]
SeedOption = Annotated[
    list[str] | None,
    typer.Option("--seed", metavar="NUMBERS", help="By default 42, 0, 1, 2, 3."),
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="By default a GPU, if there is one.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Do again what failed.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]
_STORE, _HERE = Path("rectifold-deep"), Path()


@app.command()
def tabddpm(
    store: options.StoreOption = _STORE,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", "-d", metavar="NAMES", help="Of the paper's; by default all. Repeatable."
        ),
    ] = None,
    data_home: HomeOption = _HERE,
    csv: options.OwnTablesOption = None,
    target: options.OwnTargetOption = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS", help="Of your own tables: numbers that name something. Repeatable."
        ),
    ] = None,
    seed: SeedOption = None,
    samples: Annotated[
        str, typer.Option(metavar="N", help="Sets of rows drawn from every model.")
    ] = "3",
    iterations: Annotated[
        str, typer.Option(metavar="N", help="Steps in which a model is trained.")
    ] = "10000",
    timesteps: Annotated[
        str, typer.Option(metavar="N", help="Steps from noise to a row.")
    ] = "1000",
    embedding: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Width of its embedding; by default 128, and more for wide tables."
        ),
    ] = None,
    device: DeviceOption = None,
    retry: RetryOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a diffusion model on raw and on cleaned rows; see what classifiers learn from its rows.

    Stop it whenever you like, however you like: the same command goes on where it was.
    """
    _refuse_without_extra()
    from experiments.deep import tabular
    from experiments.deep.devices import find_device
    from experiments.deep.own_table import own
    from experiments.deep.records import TABDDPM
    from experiments.deep.sets import SETS, load
    from experiments.deep.tabddpm import TabDDPM
    from rectifold.model_selection._registry import refuse_twice

    drawn = options.whole("--samples", samples, 1) or 1
    model = TabDDPM(
        iterations=options.whole("--iterations", iterations, 1) or 1,
        timesteps=options.whole("--timesteps", timesteps, 2) or 2,
        embedding=_embedding(embedding),
        device=device,
    )
    seeds = _seeds(seed)
    if categorical and not csv:
        raise UsageError("--categorical is for tables of your own, and no --csv names one")
    with _in_words():
        sources = options.own_tables(csv or [], target)
        refuse_twice("data set", [source.name for source in sources])
    named = options.names(data) or (() if sources else tuple(SETS))
    with _in_words():
        find_device(device)
        tables = [own(source, options.names(categorical)) for source in sources]
        tables += [load(name, data_home) for name in dict.fromkeys(named)]
    _run(
        store,
        set(tabular.cells([table.name for table in tables], seeds, drawn)),
        lambda done, record: tabular.run(
            tables, seeds, model=model, record=record, samples=drawn, done=done
        ),
        (TABDDPM, tabular.settings_of(model), {one.name: one.fingerprint for one in tables}),
        retry=retry,
        quiet=quiet,
    )


@app.command()
def longtail(
    store: options.StoreOption = _STORE,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            metavar="NAME",
            help="cifar10-lt100, cut already; or cifar10, cifar100 in their binary version.",
        ),
    ] = "cifar10-lt100",
    data_home: HomeOption = _HERE,
    ratio: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Of cifar10 and cifar100, once cut; by default 100."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", metavar="NAMES", help="By default all. Repeatable."),
    ] = None,
    seed: SeedOption = None,
    epochs: Annotated[str, typer.Option(metavar="N", help="Of every training.")] = "200",
    together: Annotated[
        str, typer.Option(metavar="N", help="Networks trained at the same time on one GPU.")
    ] = "1",
    device: DeviceOption = None,
    retry: RetryOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train networks on long-tailed images, by four methods, one of which cleans their features.

    Stop it whenever you like, however you like: the same command goes on where it was.
    """
    _refuse_without_extra()
    from experiments.deep import images
    from experiments.deep.devices import find_device
    from experiments.deep.longtail import METHODS
    from experiments.deep.longtail.methods import method as called
    from experiments.deep.records import LONGTAIL

    seeds = _seeds(seed)
    n_epochs = options.whole("--epochs", epochs, 1) or 1
    abreast = options.whole("--together", together, 1) or 1
    with _in_words():
        find_device(device)
        names = [called(name) for name in options.names(method)] or list(METHODS)
        found = _images(data, data_home, ratio)

    def run(done: set[tuple[Any, ...]], record: Callable[[dict[str, Any]], None]) -> None:
        for row in images.run(
            found, names, seeds, done=done, epochs=n_epochs, together=abreast, device=device
        ):
            record(row)

    _run(
        store,
        set(images.cells(found, names, seeds).values()),
        run,
        (LONGTAIL, {"epochs": n_epochs}, {found.name: images.mark_of(found)}),
        retry=retry,
        quiet=quiet,
    )


def _images(name: str, home: Path, ratio: str | None) -> LongTailed:
    """Read the images of a name."""
    from experiments.deep.longtail import read_cifar, read_npz

    if name == "cifar10-lt100":
        if ratio is not None:
            raise UsageError("--ratio is for cifar10 and cifar100: cifar10-lt100 is cut already")
        return read_npz(home / "cifar10_lt100.npz", home / "cifar10_test.npz")
    if name in ("cifar10", "cifar100"):
        whole = read_cifar(home, int(name.removeprefix("cifar")))
        return whole.cut(options.positive("--ratio", ratio) or 100.0, 0)
    raise UsageError(f"--data must be cifar10-lt100, cifar10 or cifar100, not {name!r}")


def _seeds(given: list[str] | None) -> list[int]:
    from rectifold.bench import SEEDS

    named = [options.seed("--seed", text) for text in options.names(given)]
    return list(dict.fromkeys(one for one in named if one is not None)) or list(SEEDS)


def _embedding(given: str | None) -> int | None:
    width = options.whole("--embedding", given, 2)
    if width is not None and width % 2:
        raise UsageError(f"--embedding must be even, not {width}")
    return width


def _refuse_without_extra() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "safetensors", "filelock")):
        raise UsageError('deep experiments need their extra: pip install "rectifold[deep]"')


@contextmanager
def _in_words() -> Iterator[None]:
    from rectifold.bench import BenchError

    try:
        yield
    except (BenchError, ValueError, OSError) as problem:
        raise UsageError(str(problem).rstrip(".")) from problem


def _run(
    folder: Path,
    wanted: set[tuple[Any, ...]],
    run: Callable[[set[tuple[Any, ...]], Callable[[dict[str, Any]], None]], None],
    guard: tuple[str, dict[str, Any], dict[str, str]],
    *,
    retry: bool,
    quiet: bool,
) -> None:
    """Add the rows of an experiment to its store, each as soon as it is known."""
    from experiments.deep.records import DEEP, refuse_mixture
    from rectifold.bench import BenchError, Store
    from rectifold.bench._store import OK

    store = Store(folder, DEEP)
    try:
        store.check()
        refuse_mixture(store, *guard)
        with store.writing(), progress("training", not quiet):
            run(store.keys([OK]) if retry else store.keys(), store.add)
    except KeyboardInterrupt:
        words = _words(store, wanted)
        raise Stopped(f"stopped; {words}; the same command goes on from there") from None
    except BenchError as problem:
        raise UsageError(str(problem)) from problem
    if not quiet:
        console(sys.stdout).print(_words(store, wanted), soft_wrap=True, markup=False)
        sys.stdout.flush()


def _words(store: Store, wanted: set[tuple[Any, ...]]) -> str:
    from rectifold.bench._store import OK

    done, well = len(wanted & store.keys()), len(wanted & store.keys([OK]))
    words = f"{done:,} of {len(wanted):,} classifiers are in {visible(store.folder)}"
    return words if done == well else f"{words}; {done - well:,} failed"
