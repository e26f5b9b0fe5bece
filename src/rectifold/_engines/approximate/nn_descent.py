"""Approximate neighbours under metrics other than Euclidean and cosine, by pynndescent.

Cells need inner products. NN-descent needs only distances: it improves a neighbour graph until
neighbours of neighbours are no nearer.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import Points
from rectifold._core.utils import Ints
from rectifold._engines.contract import (
    N_CHECKED,
    N_TUNED,
    Answer,
    CheckSample,
    EngineUsed,
    Proposal,
    sample_rows,
    sorted_proposal,
)
from rectifold._engines.settle import settle
from rectifold._engines.user_neighbors import by_metric, some_by_metric

#: Names of metrics in scikit-learn, and in pynndescent and SciPy.
METRICS: dict[Any, tuple[str, str]] = {
    "manhattan": ("manhattan", "cityblock"),
    "cityblock": ("manhattan", "cityblock"),
    "l1": ("manhattan", "cityblock"),
    "chebyshev": ("chebyshev", "chebyshev"),
    "canberra": ("canberra", "canberra"),
    "braycurtis": ("braycurtis", "braycurtis"),
    "correlation": ("correlation", "correlation"),
    "hamming": ("hamming", "hamming"),
}
#: Numbers of neighbours in the graph to try, as multiples of k.
_SIZES = (1.5, 3, 6)
_ROWS = 4096


def check_installed(metric: Any) -> None:
    """Raise an error if pynndescent is not installed."""
    try:
        import pynndescent  # noqa: F401
    except ImportError:
        raise ParameterError(
            "{} needs pynndescent for {}: install rectifold[ann], or leave {}, which is exact.",
            Param("engine", "approximate"),
            Param("metric", metric),
            Param("engine", "auto"),
        ) from None


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None, recall: float, seed: int
) -> Generator[Answer, None, None]:
    """Propose the neighbours in a graph of dense points, and the true neighbours of a sample.

    `n_jobs` holds for the sample only: a graph built by several threads depends on their number.
    """
    if sparse.issparse(points.values):
        raise ParameterError(
            "{} with {} needs a dense matrix: pass X.toarray(), or leave {}.",
            Param("engine", "approximate"),
            Param("metric", points.metric),
            Param("engine", "auto"),
        )
    if points.n <= 2 * (N_CHECKED + N_TUNED):
        # The true neighbours of the sample would take as long as those of all samples.
        yield EngineUsed("exact")
        yield from by_metric(points, labels, k, n_jobs=n_jobs)
        return
    some = sample_rows(np.arange(points.n), seed, N_TUNED)
    truth = _truth(points, np.sort(some), k, n_jobs)
    checked = np.isin(truth.rows, some[:N_CHECKED])
    found = _graph(points, k, truth.only(~checked), recall, seed)
    yield CheckSample(truth.only(checked), points.n)
    first = np.arange(k + 1)
    for at in range(0, points.n, _ROWS):
        rows = np.arange(at, min(at + _ROWS, points.n))
        near = found[rows]
        # A sample with too few neighbours gets the first samples of the table instead.
        near = np.where((near >= 0).sum(axis=1, keepdims=True) > k, near, -1)
        short = np.flatnonzero(near[:, 0] < 0)
        near[short, : k + 1] = first
        keep = near >= 0
        offsets = np.concatenate(([0], np.cumsum(keep.sum(axis=1))))
        yield _measured(points, Proposal(rows, offsets, near[keep]))


def _truth(points: Points, rows: Ints, k: int, n_jobs: int | None) -> Proposal:
    """Return the sorted true neighbours of the samples `rows`."""
    parts = [
        (proposal.rows, *settle(points, _measured(points, proposal), k))
        for proposal in some_by_metric(points, rows, k, n_jobs=n_jobs)
    ]
    found, indices, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sorted_proposal(found, indices, distances)


def _graph(points: Points, k: int, truth: Proposal, recall: float, seed: int) -> Ints:
    """Return the smallest graph with enough of the true neighbours, or the largest."""
    from pynndescent import NNDescent

    metric, _ = METRICS[points.metric]
    true = truth.candidates.reshape(-1, k)
    for size in _SIZES:
        count = int(size * k) + 1
        graph = NNDescent(
            points.values.astype(np.float32),
            metric=metric,
            n_neighbors=count,
            random_state=seed,
            n_jobs=1,
        ).neighbor_graph[0]
        near = graph[truth.rows]
        hits = np.array([np.isin(a, b).mean() for a, b in zip(true, near, strict=True)])
        if hits.mean() >= recall:
            break
    found: Ints = graph.astype(np.intp)
    return found


def _measured(points: Points, proposal: Proposal) -> Proposal:
    """Return the proposal with distances, computed in float64."""
    _, metric = METRICS[points.metric]
    values = points.values
    bounds = zip(proposal.rows, proposal.offsets[:-1], proposal.offsets[1:], strict=True)
    distances = [
        cdist(values[row : row + 1], values[proposal.candidates[begin:end]], metric)[0]
        for row, begin, end in bounds
    ]
    return replace(proposal, distances=np.concatenate(distances))
