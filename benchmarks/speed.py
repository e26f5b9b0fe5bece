"""The exact engine beside the paper's own way and EditedNearestNeighbours, in one run.

    python benchmarks/speed.py [NAME ...] [--data-home FOLDER]

On standardised data, in one process, in turns. The paper's way: scikit-learn's
NearestNeighbors(algorithm="auto", n_jobs=-1), k + 1 neighbours, the first taken for the row
itself, votes in NumPy. Ours: GMR(n_jobs=-1). Times are medians of three where a turn is short; only
their ratio is meant to be read: above 1 ours is faster.

The paper's way takes the first neighbour for the row itself, orders ties at random and takes
distances from expanded products, so that it decides some rows otherwise where rows are duplicates
or equally far. The votes of all those rows are counted once more, plainly, in float64 and in the
canonical order, and compared with ours.

Results go to results/speed/exact_engine.json after every data set, and as a table to
docs/guide/speed.md at the end; sets that are not named stay as they were.
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

#: Here a peer's time is extrapolated from a part of its queries.
EXTRAPOLATED = ("covtype_4", "cidds001_attacker")
#: Turns of more than so many seconds are not repeated, others so many times.
SHORT = 5.0
TURNS = 5
#: Rows decided otherwise of which the votes are counted once more, at most.
RECOUNTED = 300
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "speed.md"
MARK = "<!-- written by benchmarks/speed.py -->"


def facts(X: np.ndarray, y: np.ndarray) -> tuple[dict[str, object], np.ndarray]:
    """What the engine looked at, and the vote of every row for its own class."""
    points = to_points(X, metric_of(X))
    engine, _ = choose("auto", points)
    found = search(engine, points, y, 15, n_jobs=-1)
    n = len(y)
    told = {
        "pairs": round(found.pairs / n**2, 5),
        "certified": round(float(found.certified.mean()), 4),
    }
    return told, count_votes(found, y, np.bincount(y)).confidence


def recount(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The vote of some rows for their own class, from all distances, by direct subtraction."""
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


def in_turns(X: np.ndarray, y: np.ndarray, part: bool) -> dict[str, dict[str, object]]:
    """Seconds, memory and answer of every contestant."""
    runs = {"paper": paper, "enn": enn, "ours": ours}
    if part:
        runs |= {"paper": part_of_paper, "enn": part_of_enn}
    # The first turn pays for what is loaded and allocated then, and has its memory watched: it
    # counts only where a turn is long.
    first = {}
    for who, run in runs.items():
        with Peak() as peak:
            start = perf_counter()
            answer = run(X, y)
            taken = perf_counter() - start
        taken = answer if part and who != "ours" else taken
        first[who] = {"seconds": taken, "memory": peak.megabytes, "removed": answer, "runs": 1}
    short = [who for who in runs if first[who]["seconds"] < SHORT]
    times: dict[str, list[float]] = {who: [] for who in short}
    for _ in range(TURNS):
        for who in short:
            # Threads of OpenMP spin for a while after their work, at the cost of who comes next.
            sleep(0.05)
            start = perf_counter()
            runs[who](X, y)
            times[who].append(perf_counter() - start)
    for who in short:
        first[who] |= {"seconds": median(times[who]), "runs": TURNS}
    return first


def compare(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """One row of the table."""
    part = name in EXTRAPOLATED
    run = in_turns(X, y, part)
    mine, theirs = run["ours"]["seconds"], run["paper"]["seconds"]
    told, confidence = facts(X, y)
    row = {
        "data": name,
        "rows": len(y),
        "columns": X.shape[1],
        "ratio_to_paper": round(theirs / mine, 2),
        "ratio_to_enn": round(run["enn"]["seconds"] / mine, 2),
        "milliseconds_more": round(1000 * (mine - theirs), 1),
        "extrapolated": part,
        "runs": {who: facts["runs"] for who, facts in run.items()},
        "memory_mb": run["ours"]["memory"],
        "memory_paper_mb": None if part else run["paper"]["memory"],
        **told,
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
    """What the issue of speed asks about all sets together."""
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
    """The rows in Markdown."""
    lines = [
        "| data | rows x columns | paper's way / ours | ENN / ours | pairs looked at | certified "
        "| memory, MB (paper's way) | decided otherwise |",
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
    """Run the comparison and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="all sets, if none is named")
    parser.add_argument("--data-home", type=Path, default=DATA)
    options = parser.parse_args()
    every = (*PAPER_DATASETS, *LARGE)
    # Sets that are named are measured again, and the others stay as they were.
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
