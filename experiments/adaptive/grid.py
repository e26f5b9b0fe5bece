"""Compare settings chosen from the data with no cleaning and with bagging.

    python -m experiments.adaptive.grid run STORE DATA_HOME [DATASET ...]
    python -m experiments.adaptive.grid report [STORE] [BASELINES]

`run` fills a store with the results of ``rectifold bench run`` with these methods (``-m
GMR-adaptive,GMR-ensemble,Vote,Subsampling,Bagging``), except for the seconds, in less than half the
time: the first four methods choose from the same fits, so one search serves all. Interrupted runs
resume when called again.

`report` reads that store and the one of the paper's methods, and prints Markdown: for each method
the average rank among the paper's 18 baselines, no sampling and itself; the mean gain over no
sampling and over bagging with tests over data sets; how often it loses; and the figures of each
data set. `make bench-adaptive` stores it with the results.
"""

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from rectifold.bench._comparison import Comparison, compare, newest
from rectifold.bench._data import load, measure, paper_sources
from rectifold.bench._grid import Grid, Task
from rectifold.bench._protocols import prepare
from rectifold.bench._statistics import against
from rectifold.bench._store import OK, Store
from rectifold.bench._worker import row_of, scores_of, sizes_of
from rectifold.model_selection._registry import CLASSIFIERS, EXTRA_METHODS, METHODS, Entry
from rectifold.model_selection._search import explore
from rectifold.report._wording import equation, number

RESULTS = Path(__file__).parents[2] / "results"
#: The paper's data sets under 5,000 samples.
SETS = (
    *("ecoli", "car_eval_4", "car_eval_34", "solar_flare_m0", "yeast_me2", "libras_move"),
    *("abalone_19", "sick_euthyroid", "abalone", "spectrometer", "arrhythmia", "oil"),
    *("wine_quality", "thyroid_sick", "us_crime", "ozone_level", "yeast_ml8", "scene"),
)
#: The paper's 18 baselines and no sampling.
OTHERS = [name for name in METHODS if name != "GMR"]
#: What is compared with no sampling.
STUDIED = ("GMR-adaptive", "GMR-ensemble", "Vote", "Subsampling", "Bagging")
#: Losses in AUPRC above this are counted.
LOSS = 0.01


def fit_all(tasks: dict[str, Task], classifier: Entry) -> list[dict]:
    """Fit a classifier on one split with all methods, and return the rows for the store."""
    warnings.simplefilter("ignore")
    task = next(iter(tasks.values()))
    prepared = prepare(load(task.source), None, task.seed, task.protocol)
    X, y = prepared.X_train, prepared.y_train

    def wrap(name: str) -> Any:
        return EXTRA_METHODS[name].wrap(classifier.make(task.seed), task.seed)

    with threadpool_limits(limits=1):
        models = {name: wrap(name) for name in tasks}
        if "GMR-ensemble" in models:
            search = explore(models["GMR-ensemble"], X, y, {})
            without = replace(
                search,
                candidates=search.candidates[:1],
                trials=[row[:1] for row in search.trials],
            )
            alone = replace(without, task=replace(search.task, voter=None, weights=(0.0,)))
            for name, one in {
                "GMR-ensemble": search,
                "GMR-adaptive": search,
                "Vote": without,
                "Subsampling": alone,
            }.items():
                if name in models:
                    models[name]._select(one)
        rows = []
        for name, model in models.items():
            if not hasattr(model, "classes_"):
                model.fit(X, y)
            facts = sizes_of(prepared) | scores_of(model, prepared)
            rows.append(row_of(tasks[name], classifier, OK, **facts))
    return rows


def run(store: str, home: str, *names: str) -> None:
    """Run the fits that have no result yet: seed by seed, small data sets first."""
    sources = paper_sources(names or SETS, home)
    grid = Grid(sources, methods=[EXTRA_METHODS[name] for name in STUDIED])
    kept = Store(store)
    with kept.writing():
        done = kept.keys()
        cells: dict[tuple, dict[str, Task]] = {}
        for task in grid.tasks(measure(sources)):
            for classifier in task.classifiers:
                if task.key(classifier) not in done:
                    cell = cells.setdefault((task.source.name, task.seed, classifier.name), {})
                    cell[task.method.name] = task
        order = sorted(cells, key=lambda key: grid.seeds.index(key[1]))
        jobs = (delayed(fit_all)(cells[key], CLASSIFIERS[key[2]]) for key in order)
        for rows in Parallel(n_jobs=-1, return_as="generator_unordered")(jobs):
            for row in rows:
                kept.add(row)
            print(rows[0]["dataset"], rows[0]["classifier"], rows[0]["seed"], flush=True)


def compare_methods(frame: pd.DataFrame, *names: str) -> Comparison:
    """Compare some methods on the cells that all of them have."""
    return compare(frame[frame["method"].isin(names)])


def against_all(frame: pd.DataFrame, name: str) -> list[str]:
    """Return the row of a method: its ranks among the baselines, its gain, and its losses."""
    comparison = compare_methods(frame, *OTHERS, name)
    table = comparison.rank_table()
    gains = comparison.values[name] - comparison.values["None"]
    place = int((table["Avg"] < table.loc[name, "Avg"]).sum()) + 1
    return [
        name,
        f"**{number(table.loc[name, 'Avg'])}** ({place})",
        *(number(table.loc[name, column]) for column in table.columns.drop("Avg")),
        number(gains.mean(), 4, sign=True),
        f"{100 * (gains < -LOSS).mean():.0f} %",
    ]


def contrasts(frame: pd.DataFrame, names: list[str], other: str) -> None:
    """Print comparisons of methods with another one, with Holm's correction for their number."""
    comparison = compare_methods(frame, other, *names)
    blocks = comparison.by_dataset()[[other, *names]]
    tests = against(blocks, other)
    for name in names:
        gains, test = comparison.values[name] - comparison.values[other], tests.get(name)
        sentence = (
            f"- {name} against {other}: mean AUPRC {number(gains.mean(), 4, sign=True)} over "
            f"{len(gains)} pairs of data set and classifier, better in "
            f"{100 * (gains > 0).mean():.0f} %"
        )
        if test is not None:
            sentence += (
                f"; over {len(blocks)} data sets {test.wins} wins, {test.ties} ties, {test.losses} "
                f"losses, Wilcoxon {equation(test.pvalue)}, with Holm's correction "
                f"{equation(test.holm)}"
            )
        print(sentence + ".")


def report(store: str = str(RESULTS / "adaptive"), baselines: str = str(RESULTS / "paper")) -> None:
    """Print the comparison of the results of both stores."""
    frame, _ = newest(pd.concat([Store(baselines).read(), Store(store).read()]))
    names = [name for name in STUDIED if name in set(frame["method"])]
    shared = compare_methods(frame, *OTHERS, *names)
    # The same cells for every method, so that rows of the table are comparable.
    cells = frame.set_index(["dataset", "classifier", "seed"]).index.isin(shared.cells)
    frame = frame[cells]
    classifiers = list(compare_methods(frame, *OTHERS).rank_table().columns.drop("Avg"))
    sets = shared.values.index.get_level_values("dataset").unique()
    seeds = sorted({int(shared.seeds.min()), int(shared.seeds.max())})
    print(f"# Settings chosen from the data: {len(sets)} sets\n")
    print(
        f"{len(sets)} data sets, {len(shared.values)} pairs of data set and classifier, "
        f"{' to '.join(map(str, seeds))} seeds each. Rank among 20: the paper's 18 baselines, no "
        "sampling, and the method of the line.\n"
    )
    head = ["method", "rank (place)", *classifiers, "gain", f"loses > {LOSS}"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in ["None", *names]:
        if name == "None":
            table = compare_methods(frame, *OTHERS, *names[:1]).rank_table().loc["None"]
            line = [name, number(table["Avg"]), *(number(table[one]) for one in classifiers)]
            line += ["", ""]
        else:
            line = against_all(frame, name)
        print(f"| {' | '.join(line)} |")
    print()
    contrasts(frame, names, "None")
    for other in ("Bagging", "Subsampling"):
        contrasts(frame, [name for name in names if name not in ("Bagging", "Subsampling")], other)
    print("\nAUPRC, averaged over classifiers:\n")
    columns = ["None", *names]
    means = (
        compare_methods(frame, *columns).values.groupby(level="dataset", sort=False).mean()[columns]
    )
    print(f"| data set | {' | '.join(columns)} |\n|{'---|' * (1 + len(columns))}")
    for dataset, values in means.iterrows():
        print(f"| {dataset} | {' | '.join(number(value, 4) for value in values)} |")


if __name__ == "__main__":
    {"run": run, "report": report}[sys.argv[1]](*sys.argv[2:])
