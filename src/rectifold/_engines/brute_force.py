"""Exact search by all pairs, for metrics that no product or tree computes: HEOM, missing values."""

from collections.abc import Generator

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from rectifold._core.space import Points
from rectifold._core.utils import Floats, Ints
from rectifold._engines.contract import Proposal

#: The metrics computed here.
METRICS = frozenset({"heom", "nan_euclidean"})
#: Maximum number of distances in memory per core.
_PAIRS = 1 << 20
#: Distance of samples without a common feature: finite, so that they can still vote.
_NOTHING_IN_COMMON = 1e300


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Generator[Proposal, None, None]:
    """Yield the k nearest samples of every sample, and all that tie with the last.

    This takes n x n x d operations, in blocks of bounded size, by direct subtraction feature by
    feature. `labels` is not used, since there are no certificates.
    """
    columns = np.ascontiguousarray(points.values.T)
    step = max(1, _PAIRS // points.n)
    blocks = [np.arange(at, min(at + step, points.n)) for at in range(0, points.n, step)]
    run = Parallel(n_jobs=effective_n_jobs(n_jobs), prefer="threads", return_as="generator")
    yield from run(delayed(_nearest)(points, columns, rows, k) for rows in blocks)


def _nearest(points: Points, columns: Floats, rows: Ints, k: int) -> Proposal:
    distances = (_heom if points.metric == "heom" else _nan_euclidean)(points, columns, rows)
    distances[np.arange(len(rows)), rows] = np.inf
    last = np.partition(distances, k - 1, axis=1)[:, k - 1]
    owner, candidates = np.nonzero(distances <= last[:, None])
    counts = np.bincount(owner, minlength=len(rows))
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return Proposal(rows, offsets, candidates, distances[owner, candidates])


def _heom(points: Points, columns: Floats, rows: Ints) -> Floats:
    """Return Wilson and Martinez' distances: a missing value or another category counts as 1."""
    assert points.categorical is not None
    squares = np.zeros((len(rows), points.n))
    for column, categorical in zip(columns, points.categorical, strict=True):
        difference = column[rows][:, None] - column
        if categorical:
            difference = (difference != 0).astype(np.float64)  # NaN differs from all
        else:
            np.nan_to_num(difference, copy=False, nan=1.0)
        difference *= difference
        squares += difference
    return np.sqrt(squares)


def _nan_euclidean(points: Points, columns: Floats, rows: Ints) -> Floats:
    """Return scikit-learn's distances: over the common features, scaled up to all features."""
    squares = np.zeros((len(rows), points.n))
    shared = np.zeros((len(rows), points.n))
    for column in columns:
        difference = column[rows][:, None] - column
        present = ~np.isnan(difference)
        shared += present
        difference[~present] = 0
        difference *= difference
        squares += difference
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.sqrt(squares * (len(columns) / shared))
    distances[shared == 0] = _NOTHING_IN_COMMON
    return distances
