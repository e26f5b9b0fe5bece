"""What a part of a table tells of its rows, and of others: for tables that no machine holds."""

from functools import partial
from typing import Any

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines import exact, on_gpu
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.settle import NOBODY, settle_few


def certified(
    points: Points,
    friends: Bools,
    k: int,
    *,
    engine: str = "auto",
    device: Any = None,
    n_jobs: int | None = None,
) -> Bools:
    """Tell which rows of a class have k others of it nearer than any row of another class.

    Parameters
    ----------
    points : Points
        Some rows of the class, and all rows of all other classes.
    friends : ndarray of bool of shape (n_rows,)
        Which rows are of the class.
    k : int
        Neighbours per row.
    engine, device
        As for `rectifold.GMR`.
    n_jobs : int or None
        Cores, as in scikit-learn.

    Returns
    -------
    ndarray of bool of shape (n_rows,)
        It holds for the whole table: rows of the class that are not among the points can only be
        nearer still.
    """
    held = np.zeros(points.n, dtype=bool)
    if points.n <= k:
        return held
    certify = exact.certify_only
    if on_gpu(engine, points, device):
        from rectifold._engines import gpu

        certify = partial(gpu.certify_only, device=device)
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
    """Find the nearest rows of some rows among the first ones of a table.

    Parameters
    ----------
    points : Points
        The rows to look among, and after them further rows to look for.
    targets : int
        How many rows to look among.
    rows : ndarray of int
        The rows to look for, ascending.
    k : int
        Neighbours per row, at most.
    within : ndarray of shape (n_rows,), default=None
        Farther rows than this, for each of `rows`, are of no use.
    engine, device
        As for `rectifold.GMR`.
    n_jobs : int or None
        Cores, as in scikit-learn.

    Returns
    -------
    indices, distances : ndarray of shape (n_rows, k)
        In the order (distance, row index), the row itself left out. Where there are fewer, the rest
        is `NOBODY`, at an infinite distance. What is farther than `within` may be missing.
    """
    indices = np.full((len(rows), k), NOBODY)
    distances = np.full((len(rows), k), np.inf)
    if not targets or not len(rows):
        return indices, distances
    propose = exact.propose_among
    if on_gpu(engine, points, device):
        from rectifold._engines import gpu

        propose = partial(gpu.propose_among, device=device)
    for proposal in propose(points, targets, rows, k, within=within, n_jobs=n_jobs):
        at = np.searchsorted(rows, proposal.rows)
        indices[at], distances[at], _ = settle_few(points, proposal, k)
    return indices, distances


def nearer(
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
    """Count, among the first rows of a table, those that are nearer to some rows than a distance.

    Parameters
    ----------
    points, targets, rows, engine, device, n_jobs
        As for `nearest`.
    distances : ndarray of shape (n_rows,)
        One for each of `rows`.
    k : int
        Whoever has k has enough.

    Returns
    -------
    ndarray of shape (n_rows,)
        There are so many at least, the row itself not counted; beyond k anything goes.
    """
    if not targets or not len(rows):
        return np.zeros(len(rows), dtype=np.intp)
    if on_gpu(engine, points, device):
        _, found = nearest(
            points, targets, rows, k, within=distances, engine=engine, device=device, n_jobs=n_jobs
        )
        return np.asarray(np.count_nonzero(found < distances[:, None], axis=1))
    return exact.count_among(points, targets, rows, distances, k, n_jobs=n_jobs)
