"""The commands on the paper's deep experiments: `rectifold bench deep tabddpm` and `longtail`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectifold.cli import options
from rectifold.cli.stopping import Stopped
from rectifold.cli.terminal import console, progress
from rectifold.cli.visible import visible
from rectifold.cli.wording import UsageProblem

if TYPE_CHECKING:
    from rectifold.bench import Store
    from rectifold.bench.deep.longtail import LongTailed

app = typer.Typer(help="The paper's experiments with deep networks.")

StoreOption = Annotated[
    Path, typer.Option("--store", "-s", metavar="FOLDER", help="Where results are kept.")
]
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
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]
_STORE, _HERE = Path("rectifold-deep"), Path()


@app.command()
def tabddpm(
    store: StoreOption = _STORE,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", "-d", metavar="NAMES", help="By default all. Repeatable."),
    ] = None,
    data_home: HomeOption = _HERE,
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
    device: DeviceOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train a diffusion model on raw and on cleaned rows; see what classifiers learn from its rows.

    Stop it whenever you like, however you like: the same command goes on where it was.
    """
    _refuse_without_extra()
    from rectifold.bench.deep import tabular
    from rectifold.bench.deep.records import TABDDPM
    from rectifold.bench.deep.sets import SETS
    from rectifold.bench.deep.tabddpm import TabDDPM

    seeds = [options.whole("--seed", text, 0) or 0 for text in options.names(seed)]
    drawn = options.whole("--samples", samples, 1) or 1
    model = TabDDPM(
        iterations=options.whole("--iterations", iterations, 1) or 1,
        timesteps=options.whole("--timesteps", timesteps, 2) or 2,
        device=device,
    )
    names, seeds = options.names(data) or list(SETS), seeds or list(tabular.SEEDS)
    wanted = set(tabular.cells(names, seeds, drawn))
    _run(
        store,
        wanted,
        lambda done: tabular.run(
            names, seeds, home=data_home, model=model, samples=drawn, done=done
        ),
        TABDDPM,
        tabular.settings_of(model),
        quiet,
    )


@app.command()
def longtail(
    store: StoreOption = _STORE,
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
        str, typer.Option(metavar="NUMBER", help="Of the largest to the smallest class, once cut.")
    ] = "100",
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
    quiet: QuietOption = False,
) -> None:
    """Train networks on long-tailed images, by four methods, one of which cleans their features.

    Stop it whenever you like, however you like: the same command goes on where it was.
    """
    _refuse_without_extra()
    from rectifold.bench import BenchProblem
    from rectifold.bench.deep import images
    from rectifold.bench.deep.longtail import METHODS
    from rectifold.bench.deep.longtail.methods import method as called
    from rectifold.bench.deep.records import LONGTAIL
    from rectifold.bench.deep.tabular import SEEDS

    seeds = [options.whole("--seed", text, 0) or 0 for text in options.names(seed)]
    try:
        names = [called(name) for name in options.names(method)] or list(METHODS)
        found = _images(data, data_home, options.positive("--ratio", ratio) or 1.0)
    except BenchProblem as problem:
        raise UsageProblem(str(problem)) from problem
    n_epochs = options.whole("--epochs", epochs, 1) or 1
    keys = images.cells(found, names, seeds or list(SEEDS))
    _run(
        store,
        set(keys.values()),
        lambda done: images.run(
            found,
            names,
            seeds or list(SEEDS),
            done=done,
            epochs=n_epochs,
            together=options.whole("--together", together, 1) or 1,
            device=device,
        ),
        LONGTAIL,
        {"epochs": n_epochs},
        quiet,
    )


def _images(name: str, home: Path, ratio: float) -> LongTailed:
    """Read the images of a name."""
    from rectifold.bench.deep.longtail import read_cifar, read_npz

    if name == "cifar10-lt100":
        return read_npz(home / "cifar10_lt100.npz", home / "cifar10_test.npz")
    if name in ("cifar10", "cifar100"):
        return read_cifar(home, int(name.removeprefix("cifar"))).cut(ratio, 0)
    raise UsageProblem(f"--data must be cifar10-lt100, cifar10 or cifar100, not {name!r}")


def _refuse_without_extra() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "safetensors", "filelock")):
        raise UsageProblem('deep experiments need their extra: pip install "rectifold[deep]"')


def _run(
    folder: Path,
    wanted: set[tuple[Any, ...]],
    rows: Callable[[set[tuple[Any, ...]]], Iterator[dict[str, Any]]],
    experiment: str,
    settings: dict[str, Any],
    quiet: bool,
) -> None:
    """Add the rows of an experiment to its store, each as soon as it is known."""
    from rectifold.bench import BenchProblem, Store
    from rectifold.bench.deep.records import DEEP, refuse_mixture

    store = Store(folder, DEEP)
    try:
        refuse_mixture(store, experiment, settings)
        with store.writing(), progress("training", not quiet):
            for row in rows(store.keys()):
                store.add(row)
    except KeyboardInterrupt:
        words = _words(store, wanted)
        raise Stopped(f"stopped; {words}; the same command goes on from there") from None
    except (BenchProblem, ValueError, RuntimeError) as problem:
        raise UsageProblem(str(problem).rstrip(".")) from problem
    if not quiet:
        console(sys.stdout).print(_words(store, wanted), soft_wrap=True, markup=False)
        sys.stdout.flush()


def _words(store: Store, wanted: set[tuple[Any, ...]]) -> str:
    done = len(wanted & store.keys())
    return f"{done:,} of {len(wanted):,} classifiers are in {visible(store.folder)}"
