"""The approximate engine compared with the exact one and with libraries: time, error, memory.

    python benchmarks/approximate.py [DATA ...]
    python benchmarks/approximate_report.py

Every contestant runs on every data set in a separate process with two cores. Results are written
to results/approximate/runs/ one by one, and existing ones are not run again. The libraries are
those of `pip install "rectifold[ann]" faiss-cpu hnswlib usearch`.

Every contestant finds the neighbours of all samples, with the least effort that finds 99 % of the
true neighbours of 2,000 samples; votes and decisions follow from them. Where the exact engine would
take an hour, its time is extrapolated from some of the samples, and decisions are compared on the
2,000.
"""

import json
import subprocess
import sys
from time import perf_counter
from typing import Any

import numpy as np

from cases import GAUSSIANS, OVERLAPPING, ROOT, load
from contestants import metric_of
from libraries import LIBRARIES, THREADS, Pynndescent
from recording import Peak, write
from rectifold import GMR, Approximate
from rectifold._core.space import to_points
from rectifold._engines import exact
from rectifold._engines.contract import sample_rows
from rectifold._engines.settle import pair_distances, settle

DATA = (*OVERLAPPING, GAUSSIANS)
RESULTS = ROOT / "results" / "approximate"
RUNS = RESULTS / "runs"
#: Samples that the exact engine removes, for the comparison of later runs; not committed.
EXACT = RESULTS / ".exact"
TARGET, K = 0.99, 15
#: Number of samples from which the time of an exact search of an hour is extrapolated.
PART = 5000


class Replayed:
    """Precomputed neighbours as a search object for `GMR`."""

    def __init__(self, found: np.ndarray, metric: str) -> None:
        self.found, self.metric, self.n_neighbors, self.at = found, metric, found.shape[1], 0

    def kneighbors(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return those of the next samples; `GMR` computes the distances itself."""
        some = self.found[self.at : self.at + len(X)]
        self.at += len(X)
        return np.zeros(some.shape), some


def main(names: list[str]) -> None:
    """Run all contestants on all data sets that have no result yet."""
    for name in names or DATA:
        for contestant in ("exact", "approximate", *LIBRARIES):
            if (RUNS / f"{_slug(name, contestant)}.json").exists():
                continue
            command = [sys.executable, __file__, "--one", name, contestant]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            output = done.stdout if not done.returncode else done.stderr[-2000:]
            print(f"{name}, {contestant}: {output}", flush=True)


def _slug(name: str, contestant: str) -> str:
    return f"{name}-{contestant.replace(' ', '-')}"


def run_one(name: str, contestant: str) -> None:
    """Run one contestant on one data set, and write the result."""
    X, y = load(name)
    X = np.ascontiguousarray(X)
    facts: dict[str, Any] = {"data": name, "contestant": contestant, "rows": len(X)}
    with Peak() as peak:
        removed = _run(contestant, X, y, facts)
    facts["megabytes"] = peak.megabytes
    true = EXACT / f"{name}.npy"
    if contestant == "exact" and removed is not None:
        EXACT.mkdir(parents=True, exist_ok=True)
        np.save(true, removed)
    elif true.exists() and removed is not None:
        facts["decisions_changed"] = float((removed != np.load(true)).mean())
    libraries = ("faiss-cpu", "hnswlib", "usearch", "pynndescent")
    write(_slug(name, contestant), RUNS, libraries, **facts)
    print(json.dumps(facts))


def _run(contestant: str, X: np.ndarray, y: np.ndarray, facts: dict[str, Any]) -> np.ndarray | None:
    """Return which samples are removed; None if that would take an hour."""
    if contestant == "exact" and facts["data"] == GAUSSIANS:
        facts |= _part_of_exact(X)
        return None
    if contestant in LIBRARIES:
        return _library(contestant, X, y, facts)
    gmr = GMR(
        engine=Approximate(recall=TARGET) if contestant == "approximate" else contestant,
        n_neighbors=K,
        n_jobs=THREADS,
    )
    start = perf_counter()
    gmr.fit_resample(X, y)
    facts["seconds"] = perf_counter() - start
    record = gmr.rectification_
    facts["certified"] = int(record.certified.sum())
    if record.accuracy is not None:
        facts["accuracy"] = record.accuracy.to_dict()
    return record.removed


def _part_of_exact(X: np.ndarray) -> dict[str, Any]:
    points = to_points(X, metric_of(X))
    rows = np.sort(sample_rows(np.arange(len(X)), 1, PART)[:PART])
    start = perf_counter()
    for proposal in exact.propose_some(points, rows, K, n_jobs=THREADS):
        settle(points, proposal, K)
    # The construction of the index is extrapolated too; it takes a hundredth of the time.
    return {"seconds": (perf_counter() - start) * len(X) / PART, "part": PART}


def _library(contestant: str, X: np.ndarray, y: np.ndarray, facts: dict[str, Any]) -> np.ndarray:
    """Find neighbours with a library, and clean with them."""
    metric = metric_of(X)
    points = to_points(X, metric)
    short = points.values.astype(np.float32)
    library = LIBRARIES[contestant]()
    start = perf_counter()
    library.build(short)
    facts["build_seconds"] = perf_counter() - start
    start = perf_counter()
    if isinstance(library, Pynndescent):
        found = library.graph()
    else:
        effort = facts["effort"] = _effort(library, points, short, facts)
        start = perf_counter()
        found = np.concatenate(
            [library.ask(short[at : at + 65536], K + 1, effort) for at in range(0, len(X), 65536)]
        )
    facts["query_seconds"] = perf_counter() - start
    del library, short
    start = perf_counter()
    gmr = GMR(n_neighbors=Replayed(found, metric), n_jobs=THREADS)
    gmr.fit_resample(X, y)
    seconds = facts["build_seconds"] + facts["query_seconds"] + perf_counter() - start
    record = gmr.rectification_
    facts |= {"seconds": seconds, "accuracy": record.accuracy.to_dict()}
    return record.removed


def _effort(library: Any, points: Any, short: np.ndarray, facts: dict[str, Any]) -> int:
    """Return the least effort that reaches the target on 2,000 samples."""
    rows = np.sort(sample_rows(np.arange(points.n), 2))
    last = np.empty(len(rows))
    for proposal in exact.propose_some(points, rows, K, n_jobs=THREADS):
        last[np.searchsorted(rows, proposal.rows)] = settle(points, proposal, K)[1][:, -1]
    facts["frontier"] = []
    for effort in library.efforts:
        found = library.ask(short[rows], K + 1, effort)
        valid = (found >= 0) & (found < points.n) & (found != rows[:, None])
        owner = np.repeat(np.arange(len(rows)), found.shape[1])
        distances = pair_distances(points, rows[owner], np.where(valid, found, 0).ravel())
        near = (distances.reshape(found.shape) <= last[:, None]) & valid
        recall = float(np.minimum(near.sum(axis=1), K).mean() / K)
        facts["frontier"].append([effort, recall])
        if recall >= TARGET:
            break
    return effort


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        run_one(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
