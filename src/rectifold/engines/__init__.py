"""Neighbour search: the choice of an engine, and the way from it to neighbourhoods."""

from contextlib import closing
from typing import Any

import numpy as np

from rectifold import progress
from rectifold._typing import Ints
from rectifold.engines import direct, exact, given
from rectifold.engines.contract import Certified, Engine, Looked, Neighbourhoods
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
    certified = np.zeros(n, dtype=bool)
    rows, indices, distances = [], [], []
    decided = pairs = 0
    # Closed at once if what listens to progress ends the work: an engine holds threads.
    with closing(engine(points, labels, k, n_jobs=n_jobs)) as answers:
        for answer in answers:
            if isinstance(answer, Looked):
                pairs += answer.pairs
                continue
            if isinstance(answer, Certified):
                certified[answer.rows] = True
            else:
                found = settle(points, answer, k)
                rows.append(answer.rows)
                indices.append(found[0])
                distances.append(found[1])
            if len(answer.rows):
                decided += len(answer.rows)
                progress.report(decided, n)
    every = np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)
    order = np.argsort(every)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return Neighbourhoods(
        rows=every[order],
        indices=_gathered(indices, places, k, np.intp),
        distances=_gathered(distances, places, k, np.float64),
        certified=certified,
        pairs=pairs,
    )


def _gathered(parts: list[Any], places: Ints, k: int, dtype: type) -> Any:
    """Put the rows of all parts in their places, letting go of each part."""
    whole: Any = np.empty((len(places), k), dtype=dtype)
    parts.reverse()
    at = 0
    while parts:
        part = parts.pop()
        whole[places[at : at + len(part)]] = part
        at += len(part)
    return whole
