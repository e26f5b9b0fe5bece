"""The methods compared: the paper's implementation, EditedNearestNeighbours, and GMR."""

from time import perf_counter

import numpy as np
from imblearn.under_sampling import EditedNearestNeighbours
from sklearn.neighbors import NearestNeighbors

from rectifold import GMR
from rectifold._core.rules import cap

#: The time of a slow peer is extrapolated from one in this number of queries.
PART = 16


def metric_of(X: np.ndarray) -> str:
    """Return the metric that the paper chooses."""
    return "euclidean" if X.shape[1] <= 100 else "cosine"


def paper(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the samples removed by Algorithm 1 as the paper's implementation notes describe it."""
    index = NearestNeighbors(n_neighbors=16, metric=metric_of(X), algorithm="auto", n_jobs=-1)
    distances, neighbours = index.fit(X).kneighbors(X)
    majority = _majority_votes(distances, neighbours, y)
    removed = (y == 0) & (majority < 0.5)
    candidates = np.flatnonzero((y == 1) & (majority > 0.7))
    worst = candidates[np.argsort(-majority[candidates], kind="stable")]
    removed[worst[: cap(0.1, int(y.sum()))]] = True
    return removed


def enn(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the samples removed by EditedNearestNeighbours with its defaults, on all cores."""
    sampler = EditedNearestNeighbours(n_jobs=-1)
    sampler.fit_resample(X, y)
    removed = np.ones(len(y), dtype=bool)
    removed[sampler.sample_indices_] = False
    return removed


def ours(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the samples removed by GMR with its defaults, on all cores."""
    gmr = GMR(n_jobs=-1)
    gmr.fit_resample(X, y)
    return gmr.rectification_.removed


def part_of_paper(X: np.ndarray, y: np.ndarray, part: int = PART) -> float:
    """Extrapolate the seconds of `paper` from one in `part` of its queries."""
    return _extrapolated(X, y, np.arange(len(y)), part, n_neighbors=16, metric=metric_of(X))


def part_of_enn(X: np.ndarray, y: np.ndarray) -> float:
    """Extrapolate the seconds of `enn`, which searches for neighbours of the majority only."""
    return _extrapolated(X, y, np.flatnonzero(y == 0), PART, n_neighbors=4, metric="minkowski")


def _extrapolated(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, part: int, **setting: object
) -> float:
    start = perf_counter()
    index = NearestNeighbors(algorithm="auto", n_jobs=-1, **setting).fit(X)
    built = perf_counter() - start
    some = np.random.default_rng(0).permutation(rows)[: len(rows) // part]
    start = perf_counter()
    distances, neighbours = index.kneighbors(X[some])
    _majority_votes(distances, neighbours, y)
    return built + part * (perf_counter() - start)


def _majority_votes(distances: np.ndarray, neighbours: np.ndarray, y: np.ndarray) -> np.ndarray:
    # The first neighbour is taken for the sample itself.
    weights = 1 / (distances[:, 1:] + 1e-8)
    weights /= weights.sum(axis=1, keepdims=True)
    return (weights * (y[neighbours[:, 1:]] == 0)).sum(axis=1)
