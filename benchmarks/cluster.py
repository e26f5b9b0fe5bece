"""Measure the overhead of a cluster over one machine, and the speed-up with more workers.

    python benchmarks/cluster.py [DATASET ...] [--rounds 5]

Every round cleans a table with rectifold.GMR on one and two threads, and with rectifold.dask.GMR on
one and two worker processes of one thread, in turn; the table is in the memory of the workers
already, as it is on one machine. Writes ratios of medians, and checks that the results are equal.
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
    """Clean on this machine; return the seconds and the mask of removed samples."""
    gmr = rectifold.GMR(engine="exact", n_jobs=cores)
    begin = time.perf_counter()
    gmr.fit_resample(X, y)
    return time.perf_counter() - begin, gmr.rectification_.removed


def on_cluster(client: Client, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Clean on the workers of a client; return the seconds and the mask of removed samples."""
    rows = -(-len(y) // PARTITIONS)
    parts = da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)
    with client.as_current():
        persisted = dask.persist(*parts)
        wait(persisted)
        gmr = GMR(engine="exact")
        begin = time.perf_counter()
        gmr.fit_resample(*persisted)
        seconds = time.perf_counter() - begin
        return seconds, gmr.rectification_.removed.compute()


def main() -> None:
    """Measure, compare and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=["creditcard"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    results = {}
    for name in options.datasets:
        X, y = cases.load(name)
        seconds: dict[str, list[float]] = {}
        for round_ in range(options.rounds + 1):
            masks = []
            for cores in (1, 2):
                took, removed = on_one_machine(X, y, cores)
                masks.append(removed)
                if round_:
                    seconds.setdefault(f"one machine, {cores}", []).append(took)
            for workers in (1, 2):
                with (
                    LocalCluster(
                        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                    ) as cluster,
                    Client(cluster) as client,
                ):
                    # The first run also imports modules.
                    on_cluster(client, X[:20_000], y[:20_000])
                    took, removed = on_cluster(client, X, y)
                masks.append(removed)
                if round_:
                    seconds.setdefault(f"workers, {workers}", []).append(took)
            assert all((masks[0] == other).all() for other in masks)
        medians = {case: median(times) for case, times in seconds.items()}
        results[name] = {
            "rows": len(y),
            "columns": X.shape[1],
            "partitions": PARTITIONS,
            "rounds": options.rounds,
            "cluster over one machine, one core": medians["workers, 1"] / medians["one machine, 1"],
            "cluster over one machine, two cores": medians["workers, 2"]
            / medians["one machine, 2"],
            "one worker over two": medians["workers, 1"] / medians["workers, 2"],
            "one thread over two": medians["one machine, 1"] / medians["one machine, 2"],
            "seconds": {case: [round(one, 3) for one in times] for case, times in seconds.items()},
        }
        print(name, {key: one for key, one in results[name].items() if key != "seconds"})
        write("overhead", RESULTS, more=("dask", "distributed"), results=results)


if __name__ == "__main__":
    main()
