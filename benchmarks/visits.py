"""Measure the tasks of a cluster one by one: the constants of the plan in docs/guide/dask.md.

    python benchmarks/visits.py [N_SAMPLES ...]

Runs on one core, without a cluster, for a block of the table of big_table.py as if the whole table
had so many samples: certificates against all samples of the minority; counting nearer samples in
another block for those without a certificate; searching a block for their neighbours, before and
after another block of the same size was searched. Writes the additional time per sample, and the
additional memory per byte of the block.
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
from rectifold.dask._plan import bytes_per_sample, make_batches
from rectifold.dask._samples import Samples, concatenate
from rectifold.dask._tasks import Geometry

RESULTS = Path(__file__).parents[1] / "results" / "dask"
#: block_size by table size: the default of the command line, and what the plan needs.
BLOCKS = {20_000_000: 64 << 20, 1_000_000_000: 360_000_000}
NEIGHBORS = 15


def block(number: int, count: int) -> Samples:
    """Return a block of the table."""
    X, y = big_table.rows(number, count)
    return Samples(comparable(X, "euclidean"), y, np.arange(number * count, (number + 1) * count))


def minority(total: int) -> Samples:
    """Return all samples of a table of `total` samples that carry the minority label."""
    true, _ = big_table.rows(10**6, round(total * big_table.SHARE), share=1.0)
    wrong, _ = big_table.rows(10**6 + 1, round(total * big_table.WRONG), share=0.0)
    X = np.concatenate([true, wrong])
    return Samples(comparable(X, "euclidean"), np.ones(len(X), int), np.arange(len(X)) + 10**12)


def timed(task: Callable[..., Any], *args: Any) -> tuple[Any, float, int]:
    """Return the result of a task, its time in seconds, and its additional memory in bytes."""
    with Peak() as peak:
        begin = time.perf_counter()
        result = task(*args)
        seconds = time.perf_counter() - begin
    return result, seconds, peak.megabytes * 1_000_000


def measured(total: int, size: int) -> dict[str, float]:
    """Measure the tasks for a table of `total` samples one by one."""
    sample_bytes = bytes_per_sample(big_table.COLUMNS)
    rows = size // sample_bytes
    geometry = Geometry(
        np.array([0, 1]), np.array([1, 1]), 0, "euclidean", NEIGHBORS, None, {"engine": "exact"}
    )
    mine, sample = block(0, rows), block(1, rows)
    around = concatenate([sample.take(np.arange(0, rows, 8)), minority(total)])
    undecided, proved, proof = timed(_tasks.undecided, mine, around, geometry)
    few = min(len(undecided), make_batches([10**9], NEIGHBORS, big_table.COLUMNS, size)[0][0].end)
    queries = mine.take(undecided[:few])
    enemy, near, _ = timed(_tasks.enemies, queries, around, geometry)
    del around, mine
    one = queries.take(np.arange(1))
    _, fixed, _ = timed(_tasks.visit, sample, one, None, geometry)
    _, counted, counting = timed(_tasks.count, sample, queries, enemy, None, geometry)
    nearest, first, search = timed(_tasks.visit, sample, queries, None, geometry)
    del sample
    _, later, bounded = timed(_tasks.visit, block(2, rows), queries, nearest, geometry)
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
        "certificates, bytes by byte of the block": proof / (rows * sample_bytes),
        "visit, bytes by byte of the block": max(counting, search, bounded) / (rows * sample_bytes),
    }


def main(totals: list[int]) -> None:
    """Measure all tasks and write the results."""
    tables = []
    for total in totals:
        tables.append(measured(total, BLOCKS[total]))
        print(tables[-1], flush=True)
        write("visits", RESULTS, tables=tables)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or list(BLOCKS))
