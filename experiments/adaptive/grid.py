"""Compare settings chosen from the data with no cleaning and with bagging.

    python -m experiments.adaptive.grid run STORE [DATASET ...]
    python -m experiments.adaptive.grid report [STORE] [BASELINES]

`run` fills a store with the results of ``rectifold bench run`` with these methods (``-m
GMR-adaptive,GMR-ensemble,Vote,Bagging``), except for the seconds, in less than half the
time (`experiments.one_search`). Interrupted runs resume when called again.

`report` reads that store and the one of the paper's methods, and prints Markdown: for each method
the average rank among the paper's 18 baselines, no sampling and itself; the mean gain over no
sampling and over bagging with tests over data sets; how often it loses; and the figures of each
data set. `make bench-adaptive` stores it with the results.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from experiments.one_search import run_together
from rectifold.bench._comparison import Comparison, compare, newest
from rectifold.bench._data import paper_sources
from rectifold.bench._grid import SEEDS, Grid
from rectifold.bench._protocols import TRAIN_ONLY
from rectifold.bench._statistics import against
from rectifold.bench._store import Store
from rectifold.model_selection._registry import CLASSIFIERS, EXTRA_METHODS, METHODS
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
STUDIED = ("GMR-adaptive", "GMR-ensemble", "Vote", "Bagging")
#: The protocol with label noise, and its classifiers.
MISLABELLED, QUICK = "mislabelled", ("DT", "SVM", "KNN", "LR", "XGB")
#: Probabilities corrected for the samples removed, with the quick classifiers that have them.
CORRECTED = replace(
    EXTRA_METHODS["GMR-adaptive"],
    name="GMR-corrected",
    short="GMR-co",
    options={"correct_posterior": True},
)
WITH_PROBABILITIES = tuple(name for name in QUICK if name != "SVM")
#: Losses in AUPRC above this are counted.
LOSS = 0.01


def run(store: str, *names: str) -> None:
    """Run the fits that have no result yet: seed by seed, small data sets first."""
    sources, kept = paper_sources(names or SETS), Store(store)
    methods = [EXTRA_METHODS[name] for name in STUDIED]
    run_together(Grid(sources, methods=methods), kept)
    quick = [CLASSIFIERS[name] for name in WITH_PROBABILITIES]
    run_together(Grid(sources, [CORRECTED], quick, SEEDS[:2]), kept)
    noisy = [METHODS["None"], *(EXTRA_METHODS[name] for name in ("GMR-adaptive", "Vote"))]
    quick = [CLASSIFIERS[name] for name in QUICK]
    run_together(Grid(sources, noisy, quick, protocols=[MISLABELLED]), kept)


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
    blocks = comparison.by_block()[[other, *names]]
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
                f"; over {len(blocks)} blocks {test.wins} wins, {test.ties} ties, {test.losses} "
                f"losses, Wilcoxon {equation(test.pvalue)}, with Holm's correction "
                f"{equation(test.holm)}"
            )
        print(sentence + ".")


def brier_scores(frame: pd.DataFrame, names: list[str]) -> None:
    """Print the Brier scores of classifiers that have probabilities by themselves."""
    plain = frame[(frame["method"] == "None") & frame["brier"].notna()]
    frame = frame[frame["classifier"].isin(plain["classifier"].unique())]
    comparison = compare(frame[frame["method"].isin(["None", *names])], "brier")
    values = comparison.values
    fitted = ", ".join(values.index.get_level_values("classifier").unique())
    print(
        f"\nMean Brier score over {len(values)} pairs ({fitted}; "
        f"{int(comparison.seeds.max())} seeds), lower is better:\n"
    )
    print("| method | Brier score | difference | better in |\n|---|---|---|---|")
    for name in ["None", *names]:
        cells = [name, number(values[name].mean(), 4), "", ""]
        if name != "None":
            differences = values[name] - values["None"]
            cells[2:] = [
                number(differences.mean(), 4, sign=True),
                f"{100 * (differences < 0).mean():.0f} %",
            ]
        print(f"| {' | '.join(cells)} |")


def label_noise(frame: pd.DataFrame) -> None:
    """Print gains with and without label noise, on the cells that have both."""
    noisy = frame[frame["protocol"] == MISLABELLED]
    if noisy.empty:
        return
    names = ["None", "GMR-adaptive", "Vote"]
    keys = ["dataset", "classifier", "seed"]
    both = frame[frame["protocol"].isin([TRAIN_ONLY, MISLABELLED]) & frame["method"].isin(names)]
    table = both.pivot(index=keys, columns=["protocol", "method"], values="auprc").dropna()
    means = table.groupby(["dataset", "classifier"]).mean()
    print(
        f"\nWith label noise: a random tenth of the minority samples of the training split has the "
        f"label of the majority. Mean AUPRC over {len(means)} pairs of data set and classifier "
        f"({', '.join(QUICK)}), {table.index.get_level_values('seed').nunique()} seeds:\n"
    )
    print("| labels | None | GMR-adaptive | gain | Vote | its gain |\n|---|---|---|---|---|---|")
    for protocol, title in ((TRAIN_ONLY, "as they are"), (MISLABELLED, "with noise")):
        values = means[protocol].mean()
        cells = [number(values["None"], 4)]
        for name in names[1:]:
            cells += [number(values[name], 4), number(values[name] - values["None"], 4, sign=True)]
        print(f"| {title} | {' | '.join(cells)} |")
    gains = {one: means[one][names[1]] - means[one]["None"] for one in (TRAIN_ONLY, MISLABELLED)}
    falls = (gains[MISLABELLED] - gains[TRAIN_ONLY]).groupby(level="dataset").mean()
    print(
        f"\nThe gain of {names[1]} with noise less that without: "
        f"{number(falls.mean(), 4, sign=True)}, with a standard error of {number(falls.sem(), 4)} "
        f"over {len(falls)} data sets."
    )


def report(store: str = str(RESULTS / "adaptive"), baselines: str = str(RESULTS / "paper")) -> None:
    """Print the comparison of the results of both stores."""
    frame, _ = newest(pd.concat([Store(baselines).read(), Store(store).read()]))
    everything = frame
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
    contrasts(frame, [name for name in names if name != "Bagging"], "Bagging")
    brier_scores(frame, names)
    if CORRECTED.name in set(everything["method"]):
        # With the probabilities corrected for the samples removed.
        brier_scores(everything, ["GMR-adaptive", CORRECTED.name])
    label_noise(frame)
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
