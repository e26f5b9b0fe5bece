"""Measure how the exact engine uses the cores of a machine, beside scikit-learn's search.

    python benchmarks/cores.py [NAME ...] [--data-home FOLDER]

Whole calls of GMR(engine="exact") with 1, 2, 4, ... threads, on standardised data; medians of three
after a first call. The paper's way, scikit-learn's NearestNeighbors(n_jobs=-1), is extrapolated
from a part of its queries. `normal` is 1,000,000 samples of a normal distribution in 128 columns
with random labels: hardly a certificate, no clusters, and every pair has to be compared. It is
cleaned once, with all threads, and its peak memory is measured.

Results go to results/speed/cores.json after every data set, and as a table to docs/guide/speed.md;
those of data sets that are not named are kept.
"""

import argparse
import os
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import numpy as np

from cases import DATA, load
from contestants import part_of_paper
from recording import Peak, fill, read, write
from rectifold import GMR

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "speed.md"
MARK = "<!-- written by benchmarks/cores.py -->"
NORMAL = "normal"
#: One in this number of queries of the paper's way is run.
PARTS = {"creditcard": 8, "covtype_4": 64, "cidds001_attacker": 256, NORMAL: 1024}
TURNS = 3
CORES = os.cpu_count() or 1


def normal(rows: int = 1_000_000, columns: int = 128) -> tuple[np.ndarray, np.ndarray]:
    """Return samples without clusters, and random labels, one in ten of the minority."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, columns)), (rng.random(rows) < 0.1).astype(np.intp)


def seconds(X: np.ndarray, y: np.ndarray, threads: int) -> float:
    """Return the time of a whole call."""
    # OpenMP threads of others spin for a while after their work.
    sleep(0.1)
    start = perf_counter()
    GMR(engine="exact", n_jobs=threads).fit_resample(X, y)
    return perf_counter() - start


def compare(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Return one row of the table."""
    row: dict[str, object] = {"data": name, "rows": len(y), "columns": X.shape[1]}
    if name == NORMAL:
        with Peak() as peak:
            ours = seconds(X, y, CORES)
        row |= {"memory_mb": peak.megabytes, "seconds": round(ours, 1)}
    else:
        counts = [2**power for power in range(CORES.bit_length()) if 2**power <= CORES]
        seconds(X, y, CORES)
        times = {count: median(seconds(X, y, count) for _ in range(TURNS)) for count in counts}
        row["gains"] = {count: round(times[1] / times[count], 2) for count in counts}
        ours = times[counts[-1]]
    peer = part_of_paper(X, y, PARTS[name])
    return row | {"ratio_to_paper": round(peer / ours, 1)}


def table(rows: list[dict[str, object]]) -> str:
    """Return the rows as a Markdown table."""
    counts = list(next(row["gains"] for row in rows if "gains" in row))
    lines = [
        f"| data | samples x features | {' | '.join(f'{count} threads' for count in counts[1:])} "
        "| paper's way / ours |",
        f"|---|--:|{'--:|' * len(counts)}",
    ]
    for row in rows:
        gains = row.get("gains", {})
        cells = [f"{gains[count]}" if count in gains else "" for count in counts[1:]]
        lines.append(
            f"| {row['data']} | {row['rows']:,} x {row['columns']} | {' | '.join(cells)} "
            f"| {row['ratio_to_paper']:,} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the comparison and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="all data sets by default")
    parser.add_argument("--data-home", type=Path, default=DATA)
    options = parser.parse_args()
    kept = {row["data"]: row for row in read("cores").get("rows", [])}
    for name in options.names or PARTS:
        kept[name] = compare(name, *(normal() if name == NORMAL else load(name, options.data_home)))
        print(kept[name], flush=True)
        rows = [kept[name] for name in PARTS if name in kept]
        write("cores", rows=rows)
    # As text, since the keys of JSON are.
    fill(PAGE, MARK, table(read("cores")["rows"]))


if __name__ == "__main__":
    main()
