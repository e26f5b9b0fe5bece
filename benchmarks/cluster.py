"""What a cluster costs beside one machine with the same cores, and how it grows with workers.

    python benchmarks/cluster.py [DATASET ...] [--rounds 5]

Every round cleans a table by rectifold.GMR with one and two threads, and by rectifold.dask.GMR on
one and two worker processes of one thread, side by side; the table is in their memory already, as
it is in that of one machine. Written down are ratios of medians. Answers are compared as well.
"""

import argparse
import time
from pathlib import Path
from statistics import median

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import cases
import rectifold
from recording import write
from rectifold.dask import GMR

RESULTS = Path(__file__).parents[1] / "results" / "dask"
PARTITIONS = 8


def on_one_machine(X: np.ndarray, y: np.ndarray, cores: int) -> tuple[float, np.ndarray]:
    """Clean on this machine; give seconds and what went."""
    gmr = rectifold.GMR(engine="exact", n_jobs=cores)
    begin = time.perf_counter()
    gmr.fit_resample(X, y)
    return time.perf_counter() - begin, gmr.rectification_.removed


def on_cluster(client: Client, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Clean on the workers of a client; give seconds and what went."""
    rows = -(-len(y) // PARTITIONS)
    parts = da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)
    with client.as_current():
        held = dask.persist(*parts)
        wait(held)
        gmr = GMR(engine="exact")
        begin = time.perf_counter()
        gmr.fit_resample(*held)
        seconds = time.perf_counter() - begin
        return seconds, gmr.rectification_.removed.compute()


def main() -> None:
    """Measure, compare and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=["creditcard"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    results = {}
    for name in options.datasets:
        X, y = cases.load(name)
        seconds: dict[str, list[float]] = {}
        for round_ in range(options.rounds + 1):
            answers = []
            for cores in (1, 2):
                took, gone = on_one_machine(X, y, cores)
                answers.append(gone)
                if round_:
                    seconds.setdefault(f"one machine, {cores}", []).append(took)
            for workers in (1, 2):
                with (
                    LocalCluster(
                        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                    ) as cluster,
                    Client(cluster) as client,
                ):
                    # The first time a worker loads what it needs.
                    on_cluster(client, X[:20_000], y[:20_000])
                    took, gone = on_cluster(client, X, y)
                answers.append(gone)
                if round_:
                    seconds.setdefault(f"workers, {workers}", []).append(took)
            assert all((answers[0] == other).all() for other in answers)
        middle = {what: median(times) for what, times in seconds.items()}
        results[name] = {
            "rows": len(y),
            "columns": X.shape[1],
            "partitions": PARTITIONS,
            "rounds": options.rounds,
            "cluster over one machine, one core": middle["workers, 1"] / middle["one machine, 1"],
            "cluster over one machine, two cores": middle["workers, 2"] / middle["one machine, 2"],
            "one worker over two": middle["workers, 1"] / middle["workers, 2"],
            "one thread over two": middle["one machine, 1"] / middle["one machine, 2"],
            "seconds": {what: [round(one, 3) for one in times] for what, times in seconds.items()},
        }
        print(name, {what: one for what, one in results[name].items() if what != "seconds"})
        write("overhead", RESULTS, more=("dask", "distributed"), results=results)


if __name__ == "__main__":
    main()
