"""Compare the exact engine with the paper's implementation and EditedNearestNeighbours.

    python benchmarks/speed.py [NAME ...] [--data-home FOLDER]

On standardised data, in one process, alternating. The paper's implementation: scikit-learn's
NearestNeighbors(algorithm="auto", n_jobs=-1), k + 1 neighbours, the first taken for the sample
itself, votes in NumPy. Ours: GMR(n_jobs=-1). Times are medians if a run is short; only their ratio
matters: above 1 ours is faster.

The paper's implementation takes the first neighbour for the sample itself, orders ties arbitrarily
and computes distances from expanded products, so that it decides differently for some samples that
are duplicates or equally far. The votes of these samples are counted again, by brute force, in
float64 and in the canonical order, and compared with ours.

Results go to results/speed/exact_engine.json after every data set, and as a table to
docs/guide/speed.md at the end; results of data sets that are not named are kept.
"""

import argparse
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter, sleep

import numpy as np

from cases import DATA, LARGE, load
from contestants import enn, metric_of, ours, paper, part_of_enn, part_of_paper
from recording import Peak, fill, read, write
from rectifold._core.space import to_points
from rectifold._core.votes import count_votes
from rectifold._engines import choose, search
from rectifold.datasets import PAPER_DATASETS

#: Data sets for which the time of a peer is extrapolated from a part of its queries.
EXTRAPOLATED = ("covtype_4", "cidds001_attacker")
#: Runs of more than this number of seconds are not repeated; and repetitions of shorter ones.
SHORT = 5.0
TURNS = 5
#: Maximum number of samples with another decision whose votes are counted again.
RECOUNTED = 300
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "speed.md"
MARK = "<!-- written by benchmarks/speed.py -->"


def facts(X: np.ndarray, y: np.ndarray) -> tuple[dict[str, object], np.ndarray]:
    """Return figures of the search, and the confidence of every sample."""
    points = to_points(X, metric_of(X))
    engine = choose("auto", points).search
    found = search(engine, points, y, 15, n_jobs=-1)
    n = len(y)
    figures = {
        "pairs": round(found.pairs / n**2, 5),
        "certified": round(float(found.certified.mean()), 4),
    }
    return figures, count_votes(found, y, np.bincount(y)).confidence


def recount(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the confidence of some samples, from all distances, by direct subtraction."""
    votes = np.empty(len(rows))
    if metric_of(X) == "cosine":
        X = to_points(X, "cosine").values
    for place, row in enumerate(rows):
        squares = np.zeros(len(y))
        for column in X.T:
            squares += (column - column[row]) ** 2
        distances = squares / 2 if metric_of(X) == "cosine" else np.sqrt(squares)
        distances[row] = np.inf
        nearest = np.lexsort((np.arange(len(y)), distances))[:15]
        weights = 1 / (distances[nearest] + 1e-8)
        votes[place] = (weights / weights.sum())[y[nearest] == y[row]].sum()
    return votes


def alternate(X: np.ndarray, y: np.ndarray, part: bool) -> dict[str, dict[str, object]]:
    """Return the seconds, the memory and the result of every contestant."""
    runs = {"paper": paper, "enn": enn, "ours": ours}
    if part:
        runs |= {"paper": part_of_paper, "enn": part_of_enn}
    # The first run includes imports and allocation, and its memory is measured: its time counts
    # only if runs are long.
    first = {}
    for name, run in runs.items():
        with Peak() as peak:
            start = perf_counter()
            result = run(X, y)
            seconds = perf_counter() - start
        seconds = result if part and name != "ours" else seconds
        first[name] = {"seconds": seconds, "memory": peak.megabytes, "removed": result, "runs": 1}
    short = [name for name in runs if first[name]["seconds"] < SHORT]
    times: dict[str, list[float]] = {name: [] for name in short}
    for _ in range(TURNS):
        for name in short:
            # OpenMP threads spin for a while after their work, which would slow the next run.
            sleep(0.05)
            start = perf_counter()
            runs[name](X, y)
            times[name].append(perf_counter() - start)
    for name in short:
        first[name] |= {"seconds": median(times[name]), "runs": TURNS}
    return first


def compare(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Return one row of the table."""
    part = name in EXTRAPOLATED
    run = alternate(X, y, part)
    mine, theirs = run["ours"]["seconds"], run["paper"]["seconds"]
    figures, confidence = facts(X, y)
    row = {
        "data": name,
        "rows": len(y),
        "columns": X.shape[1],
        "ratio_to_paper": round(theirs / mine, 2),
        "ratio_to_enn": round(run["enn"]["seconds"] / mine, 2),
        "milliseconds_more": round(1000 * (mine - theirs), 1),
        "extrapolated": part,
        "runs": {name: result["runs"] for name, result in run.items()},
        "memory_mb": run["ours"]["memory"],
        "memory_paper_mb": None if part else run["paper"]["memory"],
        **figures,
    }
    if not part:
        otherwise = np.flatnonzero(run["paper"]["removed"] != run["ours"]["removed"])
        some = otherwise[:RECOUNTED]
        equal = np.abs(recount(X, y, some) - confidence[some]) < 1e-12
        row |= {
            "decided_otherwise": len(otherwise),
            "recounted": len(some),
            "recount_agrees": int(equal.sum()),
        }
    return row


def summary(rows: list[dict[str, object]]) -> dict[str, object]:
    """Return the extreme and the mean ratios over all data sets."""
    mine = [row for row in rows if row["data"] in PAPER_DATASETS]
    large = [row["ratio_to_paper"] for row in mine if row["rows"] >= 5000]
    slower = [row["milliseconds_more"] for row in mine if row["rows"] < 2000]
    return {
        "geometric_mean_of_those_with_5000_rows": round(geometric_mean(large), 2)
        if large
        else None,
        "lowest_ratio_of_those_with_2000_rows": min(
            (row["ratio_to_paper"] for row in mine if row["rows"] >= 2000), default=None
        ),
        "most_milliseconds_more_of_the_others": max(slower, default=None),
    }


def table(rows: list[dict[str, object]]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| data | samples x features | paper's way / ours | ENN / ours | pairs looked at "
        "| certified | memory, MB (paper's way) | decided otherwise |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        star = "*" if row["extrapolated"] else ""
        theirs = "" if row["memory_paper_mb"] is None else f" ({row['memory_paper_mb']})"
        lines.append(
            f"| {row['data']} | {row['rows']:,} x {row['columns']} | {row['ratio_to_paper']}{star} "
            f"| {row['ratio_to_enn']}{star} | {row['pairs']:.2%} | {row['certified']:.1%} "
            f"| {row['memory_mb']}{theirs} | {row.get('decided_otherwise', '')} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the comparison and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="all data sets by default")
    parser.add_argument("--data-home", type=Path, default=DATA)
    options = parser.parse_args()
    every = (*PAPER_DATASETS, *LARGE)
    # Data sets that are not named keep their results.
    kept = {row["data"]: row for row in read("exact_engine").get("rows", [])}
    rows: list[dict[str, object]] = []
    for name in options.names or every:
        kept[name] = compare(name, *load(name, options.data_home))
        print(table([kept[name]]).splitlines()[-1], flush=True)
        rows = [kept[name] for name in every if name in kept]
        write("exact_engine", summary=summary(rows), rows=rows)
    print(summary(rows))
    fill(PAGE, MARK, table(rows))


if __name__ == "__main__":
    main()
