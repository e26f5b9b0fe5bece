"""The data that benchmarks run on: the paper's 27 sets and three large ones, standardised."""

from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from rectifold.bench.data import Source
from rectifold.bench.data import load as load_set

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
        data = load_set(Source(name, home=str(home)))
        X, y = data.X, data.y
    return StandardScaler().fit_transform(X), y.astype(np.intp)
