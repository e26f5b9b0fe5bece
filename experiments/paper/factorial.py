"""Which part of a protocol could make the paper's average rank of GMR: a factorial experiment.

    python -m experiments.paper.factorial run
    python -m experiments.paper.factorial report

Three factors with two levels each: classifiers with or without class weights, samplers that see
raw or standardised features, and sampling before or after the split (the leak). `run` fits, on the
paper's data sets under 5,000 samples, what results/paper lacks of these eight protocols: after the
split all 20 methods, before it GMR and the five samplers that the paper ranks best. A fit that a
factor cannot change is not repeated: class weights change neither KNN nor XGB nor GBM, and without
a sampler nothing but class weights matters. The seeds run one after another; interrupted runs
resume when called again. `report` prints Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from experiments.adaptive.grid import SETS
from experiments.commands import exit_status, run_grids
from experiments.paper.factorial_report import BEST, WEIGHTED, build
from rectifold.bench import CLASSIFIERS, METHODS, SEEDS, Grid, Store, paper_sources
from rectifold.report._document import GMR, NONE
from rectifold.report._document_formats import to_markdown

#: The set that costs as much as half of the others together.
COSTLY = "scene"


def grids(data_home: str | None = None, data: Sequence[str] = SETS) -> Iterator[Grid]:
    """Yield the grids in their order, without fits that are in results/paper or equal to others.

    GMR comes first, then, seed by seed, all others after the split and the five best samplers
    before it. The set scene, a third of the cost, comes last.
    """
    weighted = [CLASSIFIERS[name] for name in WEIGHTED]
    every = list(CLASSIFIERS.values())
    best = [METHODS[name] for name in BEST]
    others = [entry for name, entry in METHODS.items() if name not in (*BEST, GMR, NONE)]
    half = ("raw", "class-weight")
    leaking = tuple(f"{name}-before-split" for name in half)
    cheap, costly = ([name for name in data if (name == COSTLY) == last] for last in (False, True))
    for names in filter(None, (cheap, costly)):
        sources = paper_sources(names, data_home)
        yield Grid(sources, [METHODS[GMR]], weighted, SEEDS, (*half, *leaking))
        for seed in SEEDS:
            yield Grid(sources, [*best, *others], weighted, [seed], half)
            yield Grid(sources, best, weighted, [seed], leaking)
            yield Grid(sources, best, every, [seed], ("paper-before-split", "before-split"))


def rows_of_both(store: Path, paper: Path) -> pd.DataFrame:
    """Return the rows of this experiment and those of the paper's on the same data sets."""
    frame = Store(paper).read()
    return pd.concat([frame[frame["dataset"].isin(SETS)], Store(store).read()], ignore_index=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 2 if its arguments can't be used, and 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m experiments.paper.factorial")
    parser.description, parser.formatter_class = __doc__, argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "report"):
        command = commands.add_parser(name)
        command.add_argument("--store", type=Path, default=Path("results/factorial"))
        if name == "run":
            command.add_argument("--data-home", help="folder of the data sets")
            command.add_argument("--data", nargs="*", default=SETS, help="data sets; default: all")
            command.add_argument("--n-jobs", type=int, default=-1, help="number of processes")
        else:
            command.add_argument("--paper", type=Path, default=Path("results/paper"))
    options = parser.parse_args(arguments)
    return exit_status(parser.prog, lambda: _call(options))


def _call(options: argparse.Namespace) -> None:
    store = Store(options.store)
    if options.command == "report":
        print(to_markdown(build(rows_of_both(options.store, options.paper))), end="")
        return
    every = grids(options.data_home, options.data)
    run_grids(every, store, n_jobs=options.n_jobs, time_limit=1800)


if __name__ == "__main__":
    sys.exit(main())
