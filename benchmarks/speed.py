"""The exact engine beside the paper's own way, in one run, on standardised data.

    python benchmarks/speed.py [NAME ...] [--data-home FOLDER]

The paper's way: scikit-learn's NearestNeighbors(algorithm="auto", n_jobs=-1), k + 1
neighbours, the first taken for the row itself, votes in NumPy. Ours: GMR(n_jobs=-1). Times
are medians of three, and only their ratio is meant to be read: above 1 ours is faster. The
last column counts rows that the two decide differently: the paper's way takes the first
neighbour for the row itself, orders ties at random and takes distances from expanded
products, so that some are to be expected where rows are duplicates or equally far.
Results go to results/speed/.
"""

import argparse
import json
import os
import platform
from pathlib import Path
from statistics import median
from time import perf_counter

import imblearn
import numpy as np
import sklearn
from imblearn.datasets import fetch_datasets
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

import rectifold
from rectifold import GMR
from rectifold.rules import cap

ROOT = Path(__file__).parents[1]
DEFAULT = ("satimage", "optical_digits", "pen_digits", "mammography", "coil_2000", "letter_img")


def paper(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Algorithm 1 as the paper's implementation notes describe it."""
    metric = "euclidean" if X.shape[1] <= 100 else "cosine"
    index = NearestNeighbors(n_neighbors=16, metric=metric, algorithm="auto", n_jobs=-1).fit(X)
    distances, neighbours = index.kneighbors(X)
    weights = 1 / (distances[:, 1:] + 1e-8)
    weights /= weights.sum(axis=1, keepdims=True)
    majority = (weights * (y[neighbours[:, 1:]] == 0)).sum(axis=1)
    removed = (y == 0) & (majority < 0.5)
    candidates = np.flatnonzero((y == 1) & (majority > 0.7))
    worst = candidates[np.argsort(-majority[candidates], kind="stable")]
    removed[worst[: cap(0.1, int(y.sum()))]] = True
    return removed


def ours(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """GMR with its defaults, on all cores."""
    gmr = GMR(n_jobs=-1)
    gmr.fit_resample(X, y)
    return gmr.rectification_.removed


def timed(clean, X: np.ndarray, y: np.ndarray, times: int = 3) -> tuple[float, np.ndarray]:
    """Median seconds of a few runs, and the answer."""
    taken = []
    for _ in range(times):
        start = perf_counter()
        removed = clean(X, y)
        taken.append(perf_counter() - start)
    return median(taken), removed


def main() -> None:
    """Run the comparison and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=DEFAULT)
    parser.add_argument("--data-home", default=str(ROOT.parent / "shared" / "data"))
    options = parser.parse_args()
    rows = []
    print(
        "| data | rows x columns | paper's way / ours | rows decided otherwise |\n|---|---|---|---|"
    )
    for name in options.names:
        bunch = fetch_datasets(
            data_home=options.data_home, filter_data=(name,), download_if_missing=False
        )[name]
        X = StandardScaler().fit_transform(bunch.data.astype(np.float64))
        y = (bunch.target == 1).astype(int)
        theirs, removed = timed(paper, X, y)
        mine, cleaned = timed(ours, X, y)
        row = {
            "data": name,
            "rows": len(y),
            "columns": X.shape[1],
            "ratio": round(theirs / mine, 2),
            "decided_otherwise": int((removed != cleaned).sum()),
        }
        rows.append(row)
        print(
            f"| {name} | {len(y):,} x {X.shape[1]} | {row['ratio']} | {row['decided_otherwise']} |"
        )
    versions = {
        "rectifold": rectifold.__version__,
        "scikit-learn": sklearn.__version__,
        "imbalanced-learn": imblearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    folder = ROOT / "results" / "speed"
    folder.mkdir(parents=True, exist_ok=True)
    result = {"cores": os.cpu_count(), "versions": versions, "rows": rows}
    (folder / "exact_engine.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
