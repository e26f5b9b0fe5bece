"""Neighbour search: the choice of an engine, and the way from it to neighbourhoods."""

import numpy as np

from rectifold import progress
from rectifold._typing import Ints
from rectifold.engines import direct, exact, given
from rectifold.engines.contract import Certified, Engine, Neighbourhoods
from rectifold.engines.settle import settle
from rectifold.space import Points

#: Engines by name, for the metrics of the exact one.
ENGINES: dict[str, Engine] = {"exact": exact.propose}


def choose(name: str, points: Points) -> tuple[Engine, str]:
    """Choose the engine that `engine=name` means for these points, and name it.

    Parameters
    ----------
    name : str
        "auto", or a key of `ENGINES`.
    points : Points
        The rows to be searched.

    Returns
    -------
    engine : Engine
        Fit for the metric of the points. Metrics that have one engine only get that.
    name : str
        What to call it in a record.
    """
    if points.metric == "precomputed":
        return given.FromGraph(), "precomputed"
    if points.metric in direct.METRICS:
        return direct.propose, "direct"
    if points.metric not in exact.METRICS:
        return given.FromMetric(), "scikit-learn"
    name = "exact" if name == "auto" else name
    return ENGINES[name], name


def search(
    engine: Engine, points: Points, labels: Ints, k: int, *, n_jobs: int | None = None
) -> Neighbourhoods:
    """Run an engine over all rows and settle what it proposes.

    Parameters
    ----------
    engine : callable
        An engine, see `rectifold.engines.contract.Engine`.
    points : Points
        All rows.
    labels : ndarray of shape (n_rows,)
        Class codes.
    k : int
        Neighbours per row, fewer than rows.
    n_jobs : int or None
        Cores, as in scikit-learn.

    Returns
    -------
    Neighbourhoods
    """
    n = points.n
    indices = np.empty((n, k), dtype=np.intp)
    distances = np.empty((n, k))
    certified = np.zeros(n, dtype=bool)
    decided = 0
    for answer in engine(points, labels, k, n_jobs=n_jobs):
        if isinstance(answer, Certified):
            certified[answer.rows] = True
        else:
            indices[answer.rows], distances[answer.rows] = settle(points, answer, k)
        if len(answer.rows):
            decided += len(answer.rows)
            progress.report(decided, n)
    rows = np.flatnonzero(~certified)
    if len(rows) < n:
        indices, distances = indices[rows], distances[rows]
    return Neighbourhoods(rows, indices, distances, certified)
