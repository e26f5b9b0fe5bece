"""The data of the benchmarks: the paper's 27 data sets and some large ones, standardised.

    python benchmarks/cases.py FOLDER

writes the paper's data sets into a folder for ``--data-home``, so that benchmarks can read them on
a machine without the extras of rectifold.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from rectifold.datasets import PAPER_DATASETS, fetch_paper_datasets, paper_data_home

ROOT = Path(__file__).parents[1]
#: In RECTIFOLD_DATA, which the Makefile sets.
DATA = paper_data_home()

#: Large data sets: the file, and the labels of the minority.
LARGE: dict[str, tuple[str, list[object]]] = {
    "creditcard": ("creditcard.npz", [1]),
    "covtype_4": ("covtype.npz", [4]),
    "cidds001_attacker": ("cidds001_1p1M_numeric.npz", ["attacker"]),
}
#: Data sets on which an exact search is slow: classes overlap, or there are many features.
OVERLAPPING: dict[str, tuple[str, list[object]]] = {
    "ecg_mitbih": ("ecg_mitbih.npz", [1, 2, 3, 4]),
    "covtype_1": ("covtype.npz", [1]),
    "cidds001_attacker": LARGE["cidds001_attacker"],
}
#: Synthetic: number of Gaussian clusters, dimensions, and the share of wrong labels.
GAUSSIANS = "gaussians_1m"
_CLUSTERS, _COLUMNS, _NOISE = 1000, 128, 0.2


def load(name: str, home: Path = DATA) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised samples, and labels that are 1 for the minority."""
    if name == GAUSSIANS:
        return gaussians(1_000_000)
    if name in LARGE or name in OVERLAPPING:
        file, minority = {**LARGE, **OVERLAPPING}[name]
        with np.load(home / "large" / file, allow_pickle=False) as data:
            X, y = data["X"].astype(np.float64), np.isin(data["y"], minority)
    else:
        X, y = _paper_set(name, home)
    return StandardScaler().fit_transform(X), y.astype(np.intp)


def gaussians(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of Gaussian clusters, one in 20 of the minority, and noisy labels."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((_CLUSTERS, _COLUMNS))
    cluster = rng.integers(_CLUSTERS, size=n)
    X = centres[cluster] + rng.standard_normal((n, _COLUMNS))
    y = (cluster < _CLUSTERS // 20) ^ (rng.random(n) < _NOISE)
    return X, y.astype(np.intp)


def _paper_set(name: str, home: Path) -> tuple[np.ndarray, np.ndarray]:
    packed = home / f"{name}.npz"
    if packed.exists():
        with np.load(packed, allow_pickle=False) as data:
            return data["X"].astype(np.float64), data["y"]
    found = fetch_paper_datasets(home, names=[name], download_if_missing=False)[name]
    return found.data, found.target == 1


if __name__ == "__main__":
    for one in PAPER_DATASETS:
        X, y = _paper_set(one, DATA)
        short = X.astype(np.float32)
        np.savez_compressed(
            Path(sys.argv[1]) / f"{one}.npz", X=short if (short == X).all() else X, y=y
        )
