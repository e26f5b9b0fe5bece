"""Tables on which careless searches fail, and the comparison with the reference."""

import numpy as np
from scipy import sparse

from rectifold._core.space import as_numbers, to_points
from rectifold._engines import compiled, exact, search
from reference import neighbours

#: Ways through the compiled library, each with the highest level of instructions.
LEVELS = {
    "compiled": 2,
    "compiled products": 1,
    "compiled differences": 0,
    "compiled for AVX2": 1,
    "compiled for all processors": 0,
}
COMPILED = tuple(LEVELS) if compiled.library() is not None else ()


def use_compiled(method, monkeypatch):
    """Use the compiled library in one of `LEVELS`, and NumPy for other methods."""
    monkeypatch.setenv(compiled.SWITCH, "1" if method in LEVELS else "0")
    if method in LEVELS:
        level = min(LEVELS[method], compiled.library().best_level())
        monkeypatch.setattr(compiled, "instructions", lambda: level)
    columns = {"compiled products": 0, "compiled differences": 10**9}
    if method in columns:
        monkeypatch.setattr(compiled, "DIFFERENCES", columns[method])


def read_csv(name, **options):
    """Read a text file with pandas, and every number in it exactly."""
    import pandas as pd

    exact = {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
    return pd.read_csv(name, **exact, **options)


def points_of(X, metric="euclidean"):
    return to_points(as_numbers(X, name="X", hint="-"), metric)


def check(X, k, metric="euclidean", engine=exact.propose, n_jobs=None, labels=None):
    """Compare neighbours bit for bit with the reference, and certificates with the truth."""
    before = X.copy()
    points = points_of(X, metric)
    if labels is None:
        labels = np.random.default_rng(1).integers(0, 2, points.n)
    found = search(engine, points, labels, k, n_jobs=n_jobs)
    dense = X.toarray() if sparse.issparse(X) else X
    np.testing.assert_array_equal(dense, before.toarray() if sparse.issparse(X) else before)
    indices, distances = neighbours(dense, k, metric=metric)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(~found.certified))
    np.testing.assert_array_equal(found.indices, indices[found.rows])
    np.testing.assert_array_equal(found.distances, distances[found.rows])
    same = (labels[indices] == labels[:, None]).all(axis=1)
    assert same[found.certified].all()
    return found


def cloud(n=300, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


HARD = {
    "a cloud": cloud(),
    "one feature": cloud(d=1),
    "one feature with a negative stride": cloud(d=1)[:, ::-1],
    "many features": cloud(d=120),
    "too many features for a tree": cloud(d=16),
    "a grid": np.round(cloud() * 2),
    "a grid of many features": np.round(cloud(d=40)),
    "two values": (cloud(d=30) > 1).astype(float),
    "every sample three times": np.tile(cloud(n=100), (3, 1)),
    "one sample many times, and few others": np.concatenate((np.zeros((250, 20)), cloud(50, 20))),
    "all samples equally far from each other": np.eye(60),
    "far from the origin": cloud(d=20) + 1e9,
    "far from the origin, in few features": cloud(d=3) + 1e12,
    "huge": cloud(d=20) * 1e140,
    "tiny": cloud(d=20) * 1e-140,
    "denormal squares": cloud(d=20) * 1e-158,
    "denormal": cloud(d=3) * 1e-310,
    "two clouds far apart": cloud() + 1e8 * (np.arange(300) % 2)[:, None],
    "two clouds and points between them": cloud(600)
    + 1e8 * np.where(np.arange(600) % 50, np.arange(600) % 2, np.arange(600) / 600)[:, None],
    "clouds of different sizes": cloud() + 1e9 * (np.arange(300)[:, None] ** 2 // 9000),
    "clouds at the corners of a square": cloud(d=2)
    + 1e7 * np.column_stack((np.arange(300) % 2, np.arange(300) % 3 == 0)),
    "clouds of clouds": cloud(d=3)
    + 1e5 * (np.arange(300) % 3)[:, None]
    + 1e11 * (np.arange(300) % 2)[:, None],
    "ties in clouds far apart": np.round(cloud(d=2)) + 1e8 * (np.arange(300) % 3)[:, None],
    "many far points": np.concatenate((cloud(), cloud(n=40) * 1e9)),
    "clouds of one point each": np.concatenate(
        (np.repeat(cloud(4, 3), 60, axis=0) * 1e9, cloud(9, 3))
    ),
    "one outlier": np.concatenate((cloud(d=20), np.full((1, 20), 1e12))),
    "one outlier beyond single precision": np.concatenate((cloud(d=6), np.full((1, 6), 1e60))),
    "features of very different scale": cloud(d=20) * 10.0 ** np.arange(-10, 10),
    "near-ties": np.round(cloud(d=20)) + cloud(d=20, seed=1) * 1e-14,
    "near-ties of single precision": np.round(cloud(d=20)) + cloud(d=20, seed=1) * 1e-7,
    "ties that only rounding breaks": np.round(cloud(n=600, d=12) * 0.7) / 3 + 0.1,
    "nearly equal samples far out": 1e6
    + np.tile(cloud(30, 20), (10, 1))
    + cloud(300, 20, 2) * 1e-9,
    "tight clusters far apart": np.repeat(cloud(10, 8) * 1e5, 30, axis=0) + cloud(300, 8, 2) * 1e-4,
    "a line": np.arange(300.0)[:, None] * np.ones(7),
    "a sphere": cloud(d=9) / np.linalg.norm(cloud(d=9), axis=1, keepdims=True),
}
