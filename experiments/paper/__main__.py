"""The commands of the paper's experiment.

    python -m experiments.paper run [--protocol train-only]
    python -m experiments.paper report [--protocol train-only]

`run` fits the paper's 20 methods with its 7 classifiers on its 27 data sets with its 5 seeds, with
samplers fitted on the training split alone, and then GMR before the split, to show the effect of
this data leakage. Data sets with fewer than 15 minority samples in a test split are then split 15
more times. It takes hours; interrupted runs resume when called again. `report` writes a page, the
same as Markdown, and figures, with the figures that the paper prints beside ours.

The protocol "paper" is what the paper's table was made with: samplers see raw features, which are
standardised after, and LR, DT, SVM and RF have class weights. With "train-only" features are
standardised before, and no classifier has class weights.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.commands import exit_status, run_grids
from experiments.paper import agreement
from experiments.paper.printed import published
from rectifold.bench import (
    CLASSIFIERS,
    METHODS,
    SEEDS,
    Grid,
    Store,
    method,
    paper_sources,
)
from rectifold.bench._protocols import PAPER, TRAIN_ONLY, leaking
from rectifold.bench.report import build_document, write_document
from rectifold.report._document import Document

#: The data sets with fewer than 15 (`agreement.FEW`) minority samples in a test split.
SCARCE = (
    *("ecoli", "car_eval_4", "solar_flare_m0", "yeast_me2", "libras_move", "oil"),
    *("arrhythmia", "spectrometer", "abalone_19"),
)
#: Their further seeds: 20 with the paper's five.
REPEATS = tuple(range(4, 19))


def grids(data_home: str | None, protocol: str = PAPER, data: Sequence[str] = ()) -> list[Grid]:
    """Return the paper's experiment under a protocol, and GMR before the split; then repeats."""
    sources = paper_sources(list(data), data_home)
    scarce = [source for source in sources if source.name in SCARCE]
    classifiers = list(CLASSIFIERS.values())
    return [
        Grid(chosen, methods, classifiers, seeds, [rules])
        for chosen, seeds in ((sources, SEEDS), (scarce, REPEATS))
        for methods, rules in (
            (list(METHODS.values()), protocol),
            ([method("GMR")], leaking(protocol)),
        )
        if chosen
    ]


def report(store: Store, protocol: str = PAPER) -> Document:
    """Return the report on a store, with the paper's figures beside ours."""
    frame, paper = store.read(), published()
    beside = agreement.sections(frame[frame["seed"].isin(SEEDS)], paper, protocol)
    return build_document(
        frame, protocol=protocol, published=paper, sections=beside, repeats=REPEATS
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 2 if its arguments can't be used, and 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m experiments.paper", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "report"):
        command = commands.add_parser(name)
        command.add_argument("--store", type=Path, default=Path("results/paper"))
        command.add_argument("--protocol", choices=(PAPER, TRAIN_ONLY), default=PAPER)
        if name == "run":
            command.add_argument("--data-home", help="folder of the data sets")
            command.add_argument("--data", nargs="*", default=[], help="data sets; by default all")
            command.add_argument("--download", action="store_true", help="download missing data")
            command.add_argument("--retry", action="store_true", help="run failed fits again")
            command.add_argument("--time-limit", type=float, default=1800, help="seconds of a fit")
            command.add_argument("--n-jobs", type=int, default=-1, help="number of processes")
        else:
            command.add_argument(
                "--output", type=Path, help="default: report/PROTOCOL, in the store"
            )
            command.add_argument("--latex", action="store_true", help="write tables as LaTeX too")
    options = parser.parse_args(arguments)
    return exit_status(parser.prog, lambda: _call(options))


def _call(options: argparse.Namespace) -> None:
    store = Store(options.store)
    if options.command == "report":
        folder = options.output or store.folder / "report" / options.protocol
        document = report(store, options.protocol)
        print(*write_document(document, folder, latex=options.latex), sep="\n")
        return
    run_grids(
        grids(options.data_home, options.protocol, options.data),
        store,
        n_jobs=options.n_jobs,
        time_limit=options.time_limit,
        retry=options.retry,
        download=options.download,
    )


if __name__ == "__main__":
    sys.exit(main())
