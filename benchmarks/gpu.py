"""The GPU engine: its results compared with the CPU, and its time with peers and hardware limits.

    python benchmarks/gpu.py check [NAME ...] [--data-home FOLDER]
    python benchmarks/gpu.py time [NAME ...] [--data-home FOLDER]

`check` cleans every data set on the GPU and on the CPU, and compares votes and decisions bit for
bit. `time` does the same and then measures the median of five runs after a warm-up:

- *array to rows*: from the checked array on the host to the removed samples on the host: search,
  votes and rules;
- *whole call*: `GMR(engine="gpu", n_jobs=-1).fit_resample(X, y)`, including the checks of the input
  and the copy of the kept samples;
- *first call*: the same as the first call of a process that has imported torch and rectifold and
  made a tensor on the device, after other processes have compiled the kernels.

Peers, in the same run: brute force in torch on the same GPU (products in blocks, then
`torch.topk`; neighbours only), scikit-learn's NearestNeighbors and the exact engine on all cores.

The floor is the larger of two lower bounds of the time: the array is transferred to the device
once, and every pair of points that the engine compares takes two operations per column. Both use
the peak rates measured in the same run.

Needs a CUDA device. Results are written to results/gpu/engine.json, and as a table to
docs/guide/speed.md. Results of data sets that are not named are kept.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors

from cases import DATA, LARGE, ROOT, load
from contestants import metric_of
from recording import fill, read, write
from rectifold import GMR
from rectifold._core.rectification import Rectification
from rectifold._core.space import to_points
from rectifold._engines import choose, search
from rectifold._engines.gpu import devices
from rectifold.datasets import PAPER_DATASETS

FOLDER = ROOT / "results" / "gpu"
PAGE = ROOT / "docs" / "guide" / "speed.md"
MARK = "<!-- written by benchmarks/gpu.py -->"
#: A data set of ten million samples, which is not cleaned on the CPU.
SYNTHETIC = "synthetic"
#: Number of queries for peers on the CPU, whose time is extrapolated.
QUERIES = 4096
VOTES = ("predicted", "confidence", "majority_confidence", "larger", "depth")
K = 15


def synthetic(rows: int = 10_000_000, columns: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Return 20 clusters with 1 % minority samples, in fractions that differ by cluster."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=4, size=(20, columns))
    share = 0.01 * 20 * rng.dirichlet(np.full(20, 0.5))
    X = rng.standard_normal((rows, columns), dtype=np.float32).astype(np.float64)
    cluster = rng.integers(0, 20, rows)
    y = (rng.random(rows) < share[cluster]).astype(np.intp)
    X *= rng.uniform(0.5, 1.5, 20)[cluster][:, None]
    X += centres[cluster]
    X[y == 1, :4] += 1
    return X, y


def data_of(name: str, home: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples and labels of a data set."""
    X, y = synthetic() if name == SYNTHETIC else load(name, home)
    return np.ascontiguousarray(X), y


def median_seconds(work: Callable[[], object], turns: int = 5) -> float:
    """Return the median time of several calls after a warm-up."""
    work()
    times = []
    for _ in range(turns):
        torch.cuda.synchronize()
        start = perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(perf_counter() - start)
    return median(times)


def ceilings() -> dict[str, float]:
    """Measure the peak rates of the device: copies, products, and transfers from the host."""
    size = 1 << 30
    left = torch.empty(size // 4, device="cuda")
    right = torch.empty_like(left)
    copied = 2 * size / median_seconds(lambda: right.copy_(left))
    square = torch.randn(8192, 8192, device="cuda")
    products = 2 * 8192**3 / median_seconds(lambda: square @ square)
    double = square.double()
    doubles = 2 * 8192**3 / median_seconds(lambda: double @ double)
    pinned = torch.empty(size // 4, pin_memory=True)
    transferred = size / median_seconds(lambda: left.copy_(pinned))
    return {
        "copy_tb_per_s": round(copied / 1e12, 2),
        "float32_tflops": round(products / 1e12, 1),
        "float64_tflops": round(doubles / 1e12, 1),
        "transfer_gb_per_s": round(transferred / 1e9, 1),
    }


def cleaned(X: np.ndarray, y: np.ndarray, engine: str) -> Rectification:
    """Clean with an engine on all cores."""
    gmr = GMR(engine=engine, n_jobs=-1)
    gmr.fit_resample(X, y)
    return gmr.rectification_


def differing(mine: Rectification, theirs: Rectification) -> int:
    """Count samples whose decision or votes differ in any bit."""
    different = mine.removed != theirs.removed
    for name in VOTES:
        one, other = getattr(mine._votes, name), getattr(theirs._votes, name)
        different |= (one != other) & ~((one != one) & (other != other))
    return int(different.sum())


def recounted(X: np.ndarray, y: np.ndarray, record: Rectification, rows: np.ndarray) -> int:
    """Count samples for which a plain computation gives another vote for their class."""
    wrong = 0
    for row in rows:
        squares = [
            ((X[at : at + 65536] - X[row]) ** 2).sum(axis=1) for at in range(0, len(X), 65536)
        ]
        distances = np.sqrt(np.concatenate(squares))
        distances[row] = np.inf
        near = np.argpartition(distances, 4 * K)[: 4 * K]
        near = near[np.lexsort((near, distances[near]))][:K]
        weights = 1 / (distances[near] + 1e-8)
        vote = (weights / weights.sum())[y[near] == y[row]].sum()
        wrong += bool(abs(vote - record._votes.confidence[row]) > 1e-12)
    return wrong


def brute_force(X: np.ndarray) -> None:
    """Find the neighbours of all samples by products of all pairs, in torch on the GPU."""
    points = torch.from_numpy(X).cuda().float()
    lengths = points.square().sum(dim=1)
    found = torch.empty((len(points), K + 1), dtype=torch.int64, device="cuda")
    step = max(1, (1 << 30) // len(points))
    for at in range(0, len(points), step):
        some = points[at : at + step]
        squares = torch.addmm(lengths, some, points.T, alpha=-2)
        found[at : at + step] = squares.topk(K + 1, dim=1, largest=False).indices
    found.cpu()


def scikit_learn(X: np.ndarray) -> float:
    """Return the time of scikit-learn on all cores, extrapolated from some queries."""
    start = perf_counter()
    index = NearestNeighbors(n_neighbors=K + 1, metric=metric_of(X), n_jobs=-1).fit(X)
    built = perf_counter() - start
    some = np.random.default_rng(0).choice(len(X), min(len(X), QUERIES), replace=False)
    start = perf_counter()
    index.kneighbors(X[some])
    return built + (perf_counter() - start) * len(X) / len(some)


def compared(X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Count the samples on which the engines differ, and return the ratio of their times."""
    wrong = differing(cleaned(X, y, "gpu"), cleaned(X, y, "exact"))
    gpu, exact = (
        median_seconds(lambda engine=name: cleaned(X, y, engine), 3) for name in ("gpu", "exact")
    )
    return {"differing": wrong, "ratio_to_exact": round(exact / gpu, 2)}


def in_new_process(name: str, home: Path) -> float:
    """Return the time of the first call of a process."""
    command = [sys.executable, __file__, "first", name, "--data-home", str(home)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def first_call(X: np.ndarray, y: np.ndarray) -> float:
    """Return the time of the first call of this process."""
    torch.zeros(1, device="cuda")
    start = perf_counter()
    cleaned(X, y, "gpu")
    return round(perf_counter() - start, 3)


def timed(
    name: str, X: np.ndarray, y: np.ndarray, most: dict[str, float], home: Path
) -> dict[str, object]:
    """Return one row of the table."""
    torch.cuda.reset_peak_memory_stats()
    record = cleaned(X, y, "gpu")
    peak = torch.cuda.max_memory_allocated()
    small = name != SYNTHETIC
    if small:
        start = perf_counter()
        wrong = differing(record, cleaned(X, y, "exact"))
        exact = perf_counter() - start
    else:
        rng = np.random.default_rng(0)
        rows = [np.flatnonzero(record.certified), np.flatnonzero(~record.certified)]
        wrong = sum(recounted(X, y, record, rng.choice(some, 5)) for some in rows)
    stages: list[dict[str, float]] = []

    def run() -> None:
        stages.append(cleaned(X, y, "gpu")._setting.seconds)

    whole = median_seconds(run, 5 if small else 2)
    engine = median(sum(s[name] for name in ("search", "votes", "rules")) for s in stages[1:])
    points = to_points(X, metric_of(X))
    pairs = search(choose("gpu", points).search, points, y, K).pairs
    operations = pairs * 2 * (X.shape[1] + 2)
    transfer = X.nbytes / most["transfer_gb_per_s"] / 1e9
    arithmetic = operations / most["float32_tflops"] / 1e12
    row = {
        "data": name,
        "rows": len(y),
        "columns": X.shape[1],
        "differing": wrong,
        "seconds_array_to_rows": round(engine, 4),
        "seconds_search": round(median(s["search"] for s in stages[1:]), 4),
        "seconds_whole_call": round(whole, 4),
        "certified": round(float(record.certified.mean()), 4),
        "pairs": round(pairs / len(y) ** 2, 6),
        "floor_transfer_s": round(transfer, 4),
        "floor_arithmetic_s": round(arithmetic, 4),
        "times_floor": round(engine / max(transfer, arithmetic), 1),
        "device_memory_gb": round(peak / 1e9, 2),
        "ceilings": most,
    }
    if small:
        row["seconds_first_call"] = in_new_process(name, home)
        brute_force(X[:20000])
        start = perf_counter()
        brute_force(X)
        row["ratio_to_brute_force"] = round((perf_counter() - start) / engine, 1)
        row["ratio_to_scikit_learn"] = round(scikit_learn(X) / engine, 1)
        row["ratio_to_exact"] = round(exact / whole, 1)
    return row


def table(rows: list[dict[str, object]]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [
        "| data | samples x features | array to result | whole call | first call "
        "| brute force / ours | scikit-learn / ours | our CPU engine / ours | floor "
        "| samples that differ |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        floor = max(float(row["floor_transfer_s"]), float(row["floor_arithmetic_s"]))
        ratios = (
            row.get(f"ratio_to_{peer}", "") for peer in ("brute_force", "scikit_learn", "exact")
        )
        first = f"{row['seconds_first_call']:.1f} s" if "seconds_first_call" in row else ""
        lines.append(
            f"| {row['data']} | {row['rows']:,} x {row['columns']} "
            f"| {row['seconds_array_to_rows']:.3f} s | {row['seconds_whole_call']:.3f} s | "
            + " | ".join([first, *(str(ratio) for ratio in ratios)])
            + f" | {floor:.3f} s | {row['differing']} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run `check` or `time`, and write the results after each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["check", "time", "first"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--data-home", type=Path, default=DATA)
    options = parser.parse_args()
    if devices.find_accelerator() is None:
        raise SystemExit("This benchmark needs a GPU that torch can use.")
    if options.what == "first":
        print(first_call(*data_of(options.names[0], options.data_home)))
        return
    before = read("engine", FOLDER)
    checked, rows = before.get("checked", {}), before.get("rows", [])
    most = ceilings() if options.what == "time" else {}
    every = PAPER_DATASETS if options.what == "check" else (*LARGE, SYNTHETIC)
    for name in options.names or every:
        X, y = data_of(name, options.data_home)
        if options.what == "check":
            checked[name] = compared(X, y)
            print(name, X.shape, checked[name], flush=True)
        else:
            row = timed(name, X, y, most, options.data_home)
            rows = [*(other for other in rows if other["data"] != name), row]
            print(row, flush=True)
        write(
            "engine",
            FOLDER,
            ("torch", "triton"),
            device=torch.cuda.get_device_name(),
            rows=rows,
            checked=checked,
        )
    if rows:
        fill(PAGE, MARK, table(rows))


if __name__ == "__main__":
    main()
