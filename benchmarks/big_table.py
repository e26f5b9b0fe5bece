"""Write a table larger than memory: Parquet files of Gaussian clusters with a small minority.

    python benchmarks/big_table.py FOLDER [ROWS [COLUMNS]]

20,000,000 x 16 by default, about 2.5 GB, written file by file, each of which fits memory. Every
sample belongs to one of 200 clusters of 6 dimensions, mapped to 16 columns with a little noise.
One in 500 is of the minority, whose ten clusters overlap with ten of the others. Some labels are
wrong: one in 20,000 of the majority, one in 50 of the minority.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

ROWS, COLUMNS = 20_000_000, 16
#: Rows per file.
PART = 500_000
#: The share of the minority, and the share of the majority that is labelled as minority.
SHARE, WRONG = 1 / 500, 1 / 20_000
_CLUSTERS, _MINOR, _LATENT = 200, 10, 6
_NOISE, _SPREAD, _SHIFT = 0.05, 4.0, 2.5
_WRONG_MINOR = 1 / 50


def rows(
    number: int, count: int, columns: int = COLUMNS, share: float = SHARE
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of a file, and labels that are 1 for the minority."""
    fixed = np.random.default_rng(0)
    centres = fixed.standard_normal((_CLUSTERS + _MINOR, columns)) * _SPREAD
    shapes = fixed.standard_normal((_CLUSTERS + _MINOR, _LATENT, columns)) / np.sqrt(_LATENT)
    # Clusters of the minority are shifted by some standard deviations of another cluster.
    shapes[_CLUSTERS:] = shapes[:_MINOR]
    centres[_CLUSTERS:] = centres[:_MINOR] + _SHIFT * shapes[:_MINOR, 0]
    rng = np.random.default_rng([1, number])
    minor = rng.random(count) < share
    cluster = rng.integers(_CLUSTERS, size=count)
    cluster[minor] = _CLUSTERS + rng.integers(_MINOR, size=int(minor.sum()))
    X = rng.standard_normal((count, columns)) * _NOISE + centres[cluster]
    latent = rng.standard_normal((count, _LATENT))
    for number_of_cluster in range(_CLUSTERS + _MINOR):
        members = np.flatnonzero(cluster == number_of_cluster)
        X[members] += latent[members] @ shapes[number_of_cluster]
    y = minor ^ (rng.random(count) < np.where(minor, _WRONG_MINOR, WRONG))
    return X, y.astype(np.int64)


def make(folder: Path, total: int = ROWS, columns: int = COLUMNS) -> int:
    """Write the files, and return their size in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    size = 0
    for number, first in enumerate(range(0, total, PART)):
        X, y = rows(number, min(PART, total - first), columns)
        table = {f"x{column}": np.ascontiguousarray(X[:, column]) for column in range(columns)}
        path = folder / f"part-{number:05}.parquet"
        pa.parquet.write_table(pa.table({**table, "y": y}), path, use_dictionary=["y"])
        size += path.stat().st_size
    return size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", type=int, nargs="?", default=ROWS)
    parser.add_argument("columns", type=int, nargs="?", default=COLUMNS)
    options = parser.parse_args()
    print(f"{make(options.folder, options.rows, options.columns) / 1e9:.2f} GB")
