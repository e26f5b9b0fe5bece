"""Estimate the cost of a billion samples on a hundred workers from measured constants.

    python benchmarks/billion.py

Estimates, for the table of big_table.py with 1,000,000,000 samples, what each stage of
docs/guide/dask.md reads, computes, sends and gathers: from results/dask/visits.json
(benchmarks/visits.py: tasks at that size, on one core) and results/dask/out_of_core.json (the
number of samples that are searched for). Nothing of that size was run.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

import big_table
from recording import read, write
from rectifold.dask._plan import (
    BYTES_PER_NEIGHBOUR,
    Slice,
    bytes_per_sample,
    make_batches,
    make_rounds,
)
from rectifold.dask._search import FIRST, GROWTH

RESULTS = Path(__file__).parents[1] / "results" / "dask"
ROWS, WORKERS, THREADS = 1_000_000_000, 100, 4
#: Bytes per second that a worker sends or receives (10 Gbit/s), and reads (shared file system).
NETWORK, DISK = 1.25e9, 0.5e9
NEIGHBORS = 15


def _undecided(known: dict[float, float]) -> Callable[[float], float]:
    """Return the fraction of undecided samples as a function of the fraction that was searched.

    In a larger table all neighbours are nearer, of the own class and of others, so only the
    fraction matters. It interpolates linearly in logarithms.
    """
    shares = sorted(known)
    at, values = np.log(shares), np.log([known[share] for share in shares])
    return lambda share: float(np.exp(np.interp(np.log(share), at, values)))


def table(stages: list[dict[str, object]]) -> str:
    """Return the stages as a Markdown table."""
    rows = [stages[0], *([str(value) for value in one.values()] for one in stages)]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    numbers = len(stages[0]) - 2
    return "\n".join([lines[0], "|---|" + "---:|" * numbers + "---|", *lines[1:]])


def _largest(number: int, visits: int, threads: int) -> tuple[int, int]:
    """Return the largest number of simultaneous batches, and of chains for each."""
    some, chains = make_rounds([[Slice(0, 0, 1)]] * number, visits, threads)[-1]
    return len(some), chains


def main() -> None:
    """Estimate all stages, write the results and print a table."""
    tables = {one["rows"]: one for one in read("visits", RESULTS)["tables"]}
    cost, small = tables[ROWS], tables[big_table.ROWS]
    measured = read("out_of_core", RESULTS)
    size, columns = cost["block_size"], big_table.COLUMNS
    threads = WORKERS * THREADS
    per_block = cost["rows of a block"]
    blocks = -(-ROWS // per_block)
    whole = ROWS * (8 * columns + 8)
    small_rows = ROWS * (big_table.SHARE + big_table.WRONG)
    sent = round(small_rows + per_block / 8) * bytes_per_sample(columns)
    undecided = _undecided(
        {
            1 / blocks: cost["undecided by its own block"],
            small["rows of a block"] / small["rows"]: small["undecided by its own block"],
            # Its blocks were its files, and the last round searched sixteen of them.
            16 * big_table.PART / measured["rows"]: measured["searched_for"] / measured["rows"],
        }
    )

    stages = []

    def stage(name: str, read: float, core: float, moved: float, busiest: float, here: str) -> None:
        """Add a stage; `moved` are the bytes sent in total, `busiest` those to one worker."""
        seconds = max(core / threads, read / WORKERS / DISK) + busiest / NETWORK
        stages.append(
            {
                "stage": name,
                "read, GB": round(read / 1e9),
                "core hours": round(core / 3600, 1),
                "moved, GB": round(moved / 1e9),
                "seconds": round(seconds),
                "gathered": here,
            }
        )

    stage("count", whole, 0, 0, 0, "client: some hundred bytes a partition")
    # Every worker that has received it sends it on.
    hops = math.ceil(math.log2(WORKERS))
    stage(
        *("broadcast", whole, 0, sent * WORKERS, sent * hops),
        f"every worker: {sent / 1e6:.0f} MB",
    )
    prove = ROWS * cost["certificate, microseconds a row"] / 1e6
    stage("certificates, own block", whole, prove, 0, 0, "workers: 8 bytes an undecided row")

    number, reading, core, moved = FIRST, 0.0, 0.0, 0.0
    asked = ROWS * undecided(1 / blocks)
    core = asked * cost["nearest of another class, microseconds a query"] / 1e6
    while blocks >= 2 * number:
        cut = len(make_batches([round(asked)], 0, columns, size // 2))
        core += (
            cut * number * per_block * cost["set-up of a visit, microseconds a row of the block"]
            + asked * number * cost["counting visit, microseconds a query"]
        ) / 1e6
        _, chains = _largest(cut, number, threads)
        reading += (cut * number / blocks + 1 + (cut - 1) / blocks) * whole
        moved += asked * bytes_per_sample(columns) * min(chains, number, WORKERS)
        asked = ROWS * undecided(number / blocks)
        number *= GROWTH
    stage(
        *("certificates, other blocks", reading, core, moved, moved / WORKERS),
        "workers: 24 bytes a row",
    )

    queries = asked
    cut = len(make_batches([round(queries)], NEIGHBORS, columns, size))
    at_a_time, chains = _largest(cut, blocks, threads)
    core = (
        cut * blocks * per_block * cost["set-up of a visit, microseconds a row of the block"]
        + queries * chains * cost["first visit, microseconds a query"]
        + queries * max(0, blocks - chains) * cost["later visit, microseconds a query"]
    ) / 1e6
    moved = queries * (
        bytes_per_sample(columns) * min(chains, WORKERS) + BYTES_PER_NEIGHBOUR * NEIGHBORS * chains
    )
    stage(
        *("search", (cut + 1 + (cut - 1) / blocks) * whole, core, moved, moved / WORKERS),
        f"a worker: {BYTES_PER_NEIGHBOUR * NEIGHBORS * queries / cut / 1e6:.0f} MB a batch",
    )
    stage("votes and rules", 0, 0, 0, 0, "client: 24 bytes a suspect of a class with a cap")
    stage("write", whole, 0, 0, whole / WORKERS * NETWORK / DISK, "nothing")
    write(
        "billion",
        RESULTS,
        rows=ROWS,
        workers=WORKERS,
        threads_of_a_worker=THREADS,
        network_bytes_a_second=NETWORK,
        disk_bytes_a_second=DISK,
        block_size=size,
        blocks=blocks,
        undecided_by_its_own_block=round(undecided(1 / blocks), 4),
        searched_for=round(queries / ROWS, 4),
        batches=cut,
        batches_at_a_time=at_a_time,
        chains_of_a_batch=chains,
        memory_of_a_worker_in_gigabytes=round(
            THREADS * size * (cost["visit, bytes by byte of the block"] + 4) / 1e9 + sent / 1e9, 1
        ),
        seconds=sum(one["seconds"] for one in stages),
        stages=stages,
    )
    print(table(stages))


if __name__ == "__main__":
    main()
