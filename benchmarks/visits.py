"""What a cluster does, timed piece by piece: the constants of the plan in docs/scaling.md.

    python benchmarks/visits.py [ROWS ...]

On one core, without a cluster, and for blocks of so many rows of the table of big_table.py: to make
a certificate, for each row; to search for an undecided row among the rows of a block, where nothing
is known of its neighbours, and where another block of the same size has been seen.
"""

import sys
import time
from pathlib import Path

import numpy as np

import big_table
from recording import write
from rectifold.dask import stages
from rectifold.dask.rows import Rows, joined
from rectifold.dask.stages import Geometry
from rectifold.space import comparable

RESULTS = Path(__file__).parents[1] / "results" / "dask"
#: Undecided rows that are searched for.
ASKED = 10_000


def block(number: int, rows: int) -> Rows:
    """Some rows of the table."""
    X, y = big_table.rows(number, rows)
    return Rows(comparable(X, "euclidean"), y, np.arange(number * rows, (number + 1) * rows))


def main(sizes: list[int]) -> None:
    """Time the stages, and write them down."""
    geometry = Geometry(
        np.array([0, 1]), np.array([1, 1]), 0, "euclidean", 15, None, "exact", None, None
    )
    found = []
    for rows in sizes:
        one, other = block(0, rows), block(1, rows)
        small = joined([some.take(np.flatnonzero(some.codes == 1)) for some in (one, other)])
        begin = time.perf_counter()
        undecided = stages.undecided(one, small, geometry)
        proved = time.perf_counter() - begin
        few = np.random.default_rng(0).choice(undecided, min(ASKED, len(undecided)), replace=False)
        asked = one.take(np.sort(few))
        begin = time.perf_counter()
        # The share of the set-up, whoever asks.
        stages.visit(other, asked.take(np.arange(1)), None, geometry)
        fixed = time.perf_counter() - begin
        begin = time.perf_counter()
        best = stages.visit(one, asked, None, geometry)
        first = time.perf_counter() - begin
        begin = time.perf_counter()
        stages.visit(other, asked, best, geometry)
        second = time.perf_counter() - begin
        found.append(
            {
                "rows of a block": rows,
                "undecided": len(undecided) / rows,
                "certificate, microseconds a row": proved / rows * 1e6,
                "set-up of a visit, microseconds a row of the block": fixed / rows * 1e6,
                "first visit, microseconds a query": (first - fixed) / len(asked) * 1e6,
                "later visit, microseconds a query": (second - fixed) / len(asked) * 1e6,
            }
        )
        print(found[-1], flush=True)
        write("visits", RESULTS, asked=ASKED, blocks=found)


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:]] or [125_000, 500_000, 2_000_000])
