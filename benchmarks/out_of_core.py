"""Clean a table larger than the memory of two workers, from Parquet files to Parquet files.

    python benchmarks/out_of_core.py [--rows 20000000] [--memory 1.5GB] [--folder FOLDER]

Makes the table (see big_table.py), starts two workers of one thread with that memory limit, and
runs ``rectifold clean --engine dask`` on them. Writes the seconds of every stage, the number of
samples that were searched for, the peak memory of the workers (the kernel's high-water mark), and
how often a worker was restarted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

import big_table
from recording import write

RESULTS = Path(__file__).parents[1] / "results" / "dask"


def high_water_mark() -> tuple[int, int]:
    """Return the process id of a worker and its peak memory in bytes."""
    import os

    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return os.getpid(), int(line.split()[1]) * 1024


def main() -> None:
    """Make the table, clean it, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=big_table.ROWS)
    parser.add_argument("--memory", default="1.5GB")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="keep the table in this folder")
    parser.add_argument("--name", default="out_of_core")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "table"
        files = sorted(folder.glob("*.parquet"))
        size = sum(file.stat().st_size for file in files) or big_table.make(folder, options.rows)
        with (
            LocalCluster(
                n_workers=options.workers,
                threads_per_worker=1,
                memory_limit=options.memory,
                dashboard_address="127.0.0.1:0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            first = client.run(high_water_mark)
            command = [
                *(sys.executable, "-m", "rectifold", "clean", f"{folder}/*.parquet"),
                *("--engine", "dask", "--scheduler", cluster.scheduler_address),
                *("--target", "y", "--space", "none", "--json"),
                *("-o", f"{scratch}/cleaned"),
            ]
            begin = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
                peaks: dict[int, int] = {}
                while running.poll() is None:
                    for pid, peak in client.run(high_water_mark, on_error="ignore").values():
                        peaks[pid] = peak
                    time.sleep(1)
                output = running.stdout.read() if running.stdout else ""
            seconds = time.perf_counter() - begin
            if running.returncode:
                raise SystemExit(running.returncode)
        summary = json.loads(output)
        write(
            options.name,
            RESULTS,
            more=("dask", "distributed", "pyarrow"),
            rows=summary["n_samples"],
            gigabytes=round(size / 1e9, 2),
            workers=options.workers,
            memory_limit=options.memory,
            seconds_in_all=round(seconds, 1),
            seconds={stage: round(one, 1) for stage, one in summary["seconds"].items()},
            searched_for=summary["n_samples"] - summary["certified"],
            classes=summary["classes"],
            megabytes_at_most=[round(peak / 1e6) for peak in peaks.values()],
            restarts=len(peaks) - len(first),
        )
        print(json.dumps(json.loads((RESULTS / f"{options.name}.json").read_text()), indent=1))


if __name__ == "__main__":
    main()
