"""What a cluster does, timed piece by piece: the constants of the plan in docs/guide/dask.md.

    python benchmarks/visits.py [ROWS ...]

On one core, without a cluster, for a block of the table of big_table.py as it would be if the whole
table had so many rows: to make certificates against all rows of the minority; to count nearer rows
in another block, for those who hold none; to search for them among the rows of a block, where
nothing is known of their neighbours, and where as large a block has been seen. Of all, what they
take beyond what there was: seconds by row, and memory by byte of the block.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import big_table
from recording import Peak, write
from rectifold._core.space import comparable
from rectifold.dask import _tasks
from rectifold.dask._merge import Rows, joined
from rectifold.dask._plan import batches, row_bytes
from rectifold.dask._tasks import Geometry

RESULTS = Path(__file__).parents[1] / "results" / "dask"
#: block_size for tables of so many rows: of the command line, and as large as the plan needs it.
BLOCKS = {20_000_000: 64 << 20, 1_000_000_000: 360_000_000}
NEIGHBORS = 15


def block(number: int, count: int) -> Rows:
    """Some rows of the table."""
    X, y = big_table.rows(number, count)
    return Rows(comparable(X, "euclidean"), y, np.arange(number * count, (number + 1) * count))


def minority(total: int) -> Rows:
    """Make all rows that a table of so many has of the minority, or that are said to be of it."""
    true, _ = big_table.rows(10**6, round(total * big_table.SHARE), share=1.0)
    wrong, _ = big_table.rows(10**6 + 1, round(total * big_table.WRONG), share=0.0)
    X = np.concatenate([true, wrong])
    return Rows(comparable(X, "euclidean"), np.ones(len(X), int), np.arange(len(X)) + 10**12)


def timed(task: Callable[..., Any], *args: Any) -> tuple[Any, float, int]:
    """Give the result of a task, seconds, and bytes it took beyond what there was."""
    with Peak() as peak:
        begin = time.perf_counter()
        result = task(*args)
        seconds = time.perf_counter() - begin
    return result, seconds, peak.megabytes * 1_000_000


def measured(total: int, size: int) -> dict[str, float]:
    """Take the pieces of the work on a table of so many rows one by one."""
    one_row = row_bytes(big_table.COLUMNS)
    rows = size // one_row
    geometry = Geometry(
        np.array([0, 1]), np.array([1, 1]), 0, "euclidean", NEIGHBORS, None, "exact", None, None
    )
    mine, sample = block(0, rows), block(1, rows)
    around = joined([sample.take(np.arange(0, rows, 8)), minority(total)])
    undecided, proved, proof = timed(_tasks.undecided, mine, around, geometry)
    few = min(len(undecided), batches([10**9], NEIGHBORS, big_table.COLUMNS, size)[0][0].end)
    asked = mine.take(undecided[:few])
    enemy, near, _ = timed(_tasks.enemies, asked, around, geometry)
    del around, mine
    nobody = asked.take(np.arange(1))
    _, fixed, _ = timed(_tasks.visit, sample, nobody, None, geometry)
    _, counted, counting = timed(_tasks.count, sample, asked, enemy, None, geometry)
    best, first, search = timed(_tasks.visit, sample, asked, None, geometry)
    del sample
    _, later, bounded = timed(_tasks.visit, block(2, rows), asked, best, geometry)
    return {
        "rows": total,
        "block_size": size,
        "rows of a block": rows,
        "rows asked for at a time": few,
        "undecided by its own block": len(undecided) / rows,
        "certificate, microseconds a row": proved / rows * 1e6,
        "nearest of another class, microseconds a query": near / few * 1e6,
        "set-up of a visit, microseconds a row of the block": fixed / rows * 1e6,
        "counting visit, microseconds a query": max(0.0, counted - fixed) / few * 1e6,
        "first visit, microseconds a query": max(0.0, first - fixed) / few * 1e6,
        "later visit, microseconds a query": max(0.0, later - fixed) / few * 1e6,
        "certificates, bytes by byte of the block": proof / (rows * one_row),
        "visit, bytes by byte of the block": max(counting, search, bounded) / (rows * one_row),
    }


def main(totals: list[int]) -> None:
    """Time the pieces, and write them down."""
    found = []
    for total in totals:
        found.append(measured(total, BLOCKS[total]))
        print(found[-1], flush=True)
        write("visits", RESULTS, tables=found)


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:]] or list(BLOCKS))
