"""Certificates and neighbours from one part of a table, for tables larger than memory.

`engine` is "auto", "exact" or "gpu"; all give the same result. `device` is that of a GPU.
"""

from functools import partial
from typing import Any

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines import exact
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.options import GPU
from rectifold._engines.registry import choose_spec
from rectifold._engines.settle import NO_NEIGHBOUR, settle_few


def certified(
    points: Points,
    friends: Bools,
    k: int,
    *,
    engine: str = "auto",
    device: Any = None,
    n_jobs: int | None = None,
) -> Bools:
    """Return which samples of a class have k others of it nearer than any sample of another class.

    `points` are some samples of the class, which `friends` marks, and all samples of all other
    classes. The result holds for the whole table: samples of the class that are not among the
    points can only be nearer still.
    """
    held = np.zeros(points.n, dtype=bool)
    if points.n <= k:
        return held
    certify = _function("certify_only", engine, points, device)
    for answer in certify(points, np.where(friends, 0, MIXED), k, n_jobs=n_jobs):
        held[answer.rows] = True
    return held


def nearest(
    points: Points,
    targets: int,
    rows: Ints,
    k: int,
    *,
    within: Floats | None = None,
    engine: str = "auto",
    device: Any = None,
    n_jobs: int | None = None,
) -> tuple[Ints, Floats]:
    """Return up to k neighbours of the samples `rows` among the first `targets` points.

    Indices and distances have the shape (n_rows, k), in the order (distance, index), without the
    sample itself. Missing ones are `NO_NEIGHBOUR`, at an infinite distance; those farther than
    `within`, one distance for each of `rows`, may be missing. `rows` is ascending.
    """
    indices = np.full((len(rows), k), NO_NEIGHBOUR)
    distances = np.full((len(rows), k), np.inf)
    if not targets or not len(rows):
        return indices, distances
    propose = _function("propose_among", engine, points, device)
    for proposal in propose(points, targets, rows, k, within=within, n_jobs=n_jobs):
        at = np.searchsorted(rows, proposal.rows)
        indices[at], distances[at], _ = settle_few(points, proposal, k)
    return indices, distances


def count_nearer(
    points: Points,
    targets: int,
    rows: Ints,
    distances: Floats,
    k: int,
    *,
    engine: str = "auto",
    device: Any = None,
    n_jobs: int | None = None,
) -> Ints:
    """Count the first `targets` points that are nearer to each of `rows` than its distance.

    The counts are lower bounds, without the sample itself. Counting may stop at k.
    """
    if not targets or not len(rows):
        return np.zeros(len(rows), dtype=np.intp)
    if choose_spec(_named(engine, device), points).on_device:
        _, found = nearest(
            points, targets, rows, k, within=distances, engine=engine, device=device, n_jobs=n_jobs
        )
        return np.asarray(np.count_nonzero(found < distances[:, None], axis=1))
    return exact.count_among(points, targets, rows, distances, k, n_jobs=n_jobs)


def _named(engine: str, device: Any) -> str | GPU:
    return engine if device is None else GPU(device)


def _function(name: str, engine: str, points: Points, device: Any) -> Any:
    """Return a function of the engine that searches these points, bound to its device."""
    if not choose_spec(_named(engine, device), points).on_device:
        return getattr(exact, name)
    from rectifold._engines import gpu

    return partial(getattr(gpu, name), device=device)
