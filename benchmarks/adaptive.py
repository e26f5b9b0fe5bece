"""Settings chosen from the data beside no cleaning and beside plain bagging: what the runs show.

    python benchmarks/adaptive.py [STORE] [BASELINES]

Reads the store of ``rectifold bench run -m GMR-adaptive,...`` and that of the paper's methods, and
prints Markdown: for each method the average rank among the paper's 18 baselines, no sampling and
itself; the mean gain over no sampling and over bagging with tests over data sets; how often it
loses; and the same data set by data set. `make bench-adaptive` writes it beside the results.
"""

import sys
from pathlib import Path

import pandas as pd

from rectifold.bench.comparison import Comparison, compare, newest
from rectifold.bench.registry import METHODS, WRAPPERS
from rectifold.bench.report.wording import equation, number
from rectifold.bench.statistics import against
from rectifold.bench.store import Store

RESULTS = Path(__file__).parents[1] / "results"
#: The paper's 18 baselines and no sampling.
OTHERS = [name for name in METHODS if name != "GMR"]
#: A loss that matters.
LOSS = 0.01


def rows_of(frame: pd.DataFrame, *names: str) -> Comparison:
    """Compare these methods on the cells that all of them have."""
    return compare(frame[frame["method"].isin(names)])


def against_all(frame: pd.DataFrame, name: str) -> list[str]:
    """Rank a method among the baselines and none, and weigh its gains; a line of the table."""
    found = rows_of(frame, *OTHERS, name)
    table = found.rank_table()
    gains = found.values[name] - found.values["None"]
    test = against(found.by_dataset()[["None", name]], "None").get(name)
    place = int((table["Avg"] < table.loc[name, "Avg"]).sum()) + 1
    return [
        name,
        f"**{number(table.loc[name, 'Avg'])}** ({place})",
        *(number(table.loc[name, column]) for column in table.columns.drop("Avg")),
        number(gains.mean(), 4, sign=True),
        f"{100 * (gains < -LOSS).mean():.0f} %",
        "" if test is None else f"{equation(test.pvalue)}; {test.wins}/{test.ties}/{test.losses}",
    ]


def pairwise(frame: pd.DataFrame, name: str, other: str) -> str:
    """Compare two methods on all cells that both have, in a sentence."""
    found = rows_of(frame, name, other)
    blocks = found.by_dataset()
    test = against(blocks, other).get(name)
    gains = found.values[name] - found.values[other]
    sentence = (
        f"{name} against {other}: mean AUPRC {number(gains.mean(), 4, sign=True)} over "
        f"{len(gains)} pairs of data set and classifier, better in "
        f"{100 * (gains > 0).mean():.0f} %"
    )
    if test is not None:
        sentence += (
            f"; over {len(blocks)} data sets {test.wins} wins, {test.ties} ties, {test.losses} "
            f"losses, Wilcoxon {equation(test.pvalue)}"
        )
    return sentence + "."


def main(store: str = str(RESULTS / "adaptive"), baselines: str = str(RESULTS / "paper")) -> None:
    """Print what the two stores show together."""
    frame, _ = newest(pd.concat([Store(baselines).read(), Store(store).read()]))
    names = [name for name in WRAPPERS if name in set(frame["method"])]
    shared = rows_of(frame, *OTHERS, *names)
    # The same cells for every method, so that lines of the table may be compared.
    cells = frame.set_index(["dataset", "classifier", "seed"]).index.isin(shared.cells)
    frame = frame[cells]
    classifiers = list(rows_of(frame, *OTHERS).rank_table().columns.drop("Avg"))
    sets = shared.values.index.get_level_values("dataset").unique()
    seeds = shared.seeds
    print(
        f"{len(sets)} data sets, {len(shared.values)} pairs of data set and classifier, "
        f"{seeds.min()} to {seeds.max()} seeds each. Rank among 20: the paper's 18 baselines, no "
        "sampling, and the method of the line.\n"
    )
    head = ["method", "rank (place)", *classifiers, "gain", f"loses > {LOSS}", "against None"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in ["None", *names]:
        if name == "None":
            table = rows_of(frame, *OTHERS, *names[:1]).rank_table().loc["None"]
            line = [name, number(table["Avg"]), *(number(table[one]) for one in classifiers)]
            line += ["", "", ""]
        else:
            line = against_all(frame, name)
        print(f"| {' | '.join(line)} |")
    print()
    for name in names:
        for other in ("None", "Bagging", "Subsampling"):
            if name != other and (other == "None" or name.startswith("GMR")):
                print(f"- {pairwise(frame, name, other)}")
    print("\nAUPRC, averaged over classifiers:\n")
    columns = ["None", *names]
    means = rows_of(frame, *columns).values.groupby(level="dataset", sort=False).mean()[columns]
    print(f"| data set | {' | '.join(columns)} |\n|{'---|' * (1 + len(columns))}")
    for dataset, values in means.iterrows():
        print(f"| {dataset} | {' | '.join(number(value, 4) for value in values)} |")


if __name__ == "__main__":
    main(*sys.argv[1:3])
