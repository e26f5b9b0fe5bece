"""Approximate neighbours under other metrics, by pynndescent's graph of all points' neighbours.

Cells rest on products, and so on the Euclidean distance. NN-descent needs nothing of a metric but
its values: it improves a graph until neighbours of neighbours are no nearer.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from rectifold._core.space import Points
from rectifold._core.utils import Ints
from rectifold._engines.contract import (
    N_CHECKED,
    N_TUNED,
    Answer,
    Approximation,
    CheckSample,
    EngineUsed,
    Proposal,
    sample_rows,
    sorted_proposal,
)
from rectifold._engines.settle import settle
from rectifold._engines.user_neighbors import FromMetric

#: Metrics by their names in scikit-learn: those in pynndescent and in SciPy.
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
#: Neighbours in the graph, as multiples of those that vote: more make it better, and slower.
_SIZES = (1.5, 3, 6)
_ROWS = 4096


def check_installed(metric: Any) -> None:
    """Refuse where pynndescent is not there, before any work."""
    try:
        import pynndescent  # noqa: F401
    except ImportError:
        raise ValueError(
            f"engine='approximate' needs pynndescent for metric={metric!r}: install "
            "rectifold[ann], or leave engine='auto', which is exact."
        ) from None


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None, wanted: Approximation
) -> Generator[Answer, None, None]:
    """Propose what a graph of neighbours holds, and the true neighbours of a sample.

    Parameters
    ----------
    points : Points
        Dense points with one of `METRICS`.
    labels : ndarray of shape (n_rows,)
        Not used.
    k : int
        Neighbours per row.
    n_jobs : int or None
        Cores for the sample. The graph of several threads depends on their number, so it is made
        by one.
    wanted : Approximation
        What is to be reached.

    Yields
    ------
    Answer
    """
    if sparse.issparse(points.values):
        raise ValueError(
            f"engine='approximate' with metric={points.metric!r} takes dense rows: pass "
            "X.toarray(), or leave engine='auto'."
        )
    if points.n <= 2 * (N_CHECKED + N_TUNED):
        # The truth of a sample would be nearly all of it.
        yield EngineUsed("exact")
        yield from FromMetric()(points, labels, k, n_jobs=n_jobs)
        return
    some = sample_rows(np.arange(points.n), wanted.seed, N_TUNED)
    truth = _truth(points, np.sort(some), k, n_jobs)
    checked = np.isin(truth.rows, some[:N_CHECKED])
    found = _graph(points, k, truth.only(~checked), wanted)
    yield CheckSample(truth.only(checked), points.n)
    first = np.arange(k + 1)
    for at in range(0, points.n, _ROWS):
        rows = np.arange(at, min(at + _ROWS, points.n))
        near = found[rows]
        # A row that was not found enough gets the first rows of the table instead.
        near = np.where((near >= 0).sum(axis=1, keepdims=True) > k, near, -1)
        short = np.flatnonzero(near[:, 0] < 0)
        near[short, : k + 1] = first
        keep = near >= 0
        offsets = np.concatenate(([0], np.cumsum(keep.sum(axis=1))))
        yield _measured(points, Proposal(rows, offsets, near[keep]))


def _truth(points: Points, rows: Ints, k: int, n_jobs: int | None) -> Proposal:
    """The true neighbours of a sample, in order."""
    parts = [
        (proposal.rows, *settle(points, _measured(points, proposal), k))
        for proposal in FromMetric().of(points, rows, k, n_jobs=n_jobs)
    ]
    found, indices, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sorted_proposal(found, indices, distances)


def _graph(points: Points, k: int, truth: Proposal, wanted: Approximation) -> Ints:
    """Make graphs, each larger than the last, until one holds enough of the true neighbours."""
    from pynndescent import NNDescent

    metric, _ = METRICS[points.metric]
    true = truth.candidates.reshape(-1, k)
    for size in _SIZES:
        count = int(size * k) + 1
        graph = NNDescent(
            points.values.astype(np.float32),
            metric=metric,
            n_neighbors=count,
            random_state=wanted.seed,
            n_jobs=1,
        ).neighbor_graph[0]
        near = graph[truth.rows]
        hits = np.array([np.isin(a, b).mean() for a, b in zip(true, near, strict=True)])
        if hits.mean() >= wanted.target_recall:
            break
    found: Ints = graph.astype(np.intp)
    return found


def _measured(points: Points, proposal: Proposal) -> Proposal:
    """The same with distances, in float64."""
    _, metric = METRICS[points.metric]
    values = points.values
    bounds = zip(proposal.rows, proposal.offsets[:-1], proposal.offsets[1:], strict=True)
    distances = [
        cdist(values[row : row + 1], values[proposal.candidates[begin:end]], metric)[0]
        for row, begin, end in bounds
    ]
    return replace(proposal, distances=np.concatenate(distances))
