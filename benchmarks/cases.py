"""The data that benchmarks run on: the paper's 27 sets and three large ones, standardised.

    python benchmarks/cases.py FOLDER

puts the paper's sets into a folder that a benchmark can read them from, as ``--data-home``, on a
machine without the extras of rectifold.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from rectifold.datasets import PAPER_DATASETS

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"

#: Large sets: their file, and the label that is the minority.
LARGE = {
    "creditcard": ("creditcard.npz", 1),
    "covtype_4": ("covtype.npz", 4),
    "cidds001_attacker": ("cidds001_1p1M_numeric.npz", "attacker"),
}


def load(name: str, home: Path = DATA) -> tuple[np.ndarray, np.ndarray]:
    """Give standardised rows, and 1 for the minority."""
    if name in LARGE:
        file, minority = LARGE[name]
        with np.load(home / "large" / file, allow_pickle=False) as data:
            X, y = data["X"].astype(np.float64), data["y"] == minority
    else:
        X, y = _paper_set(name, home)
    return StandardScaler().fit_transform(X), y.astype(np.intp)


def _paper_set(name: str, home: Path) -> tuple[np.ndarray, np.ndarray]:
    packed = home / f"{name}.npz"
    if packed.exists():
        with np.load(packed, allow_pickle=False) as data:
            return data["X"].astype(np.float64), data["y"]
    from rectifold.bench.data import Source
    from rectifold.bench.data import load as load_set

    data = load_set(Source(name, home=str(home)))
    return data.X, data.y


if __name__ == "__main__":
    for one in PAPER_DATASETS:
        X, y = _paper_set(one, DATA)
        short = X.astype(np.float32)
        np.savez_compressed(
            Path(sys.argv[1]) / f"{one}.npz", X=short if (short == X).all() else X, y=y
        )
