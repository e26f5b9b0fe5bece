"""Neighbour search: the choice of an engine, and the way from it to neighbourhoods."""

import importlib.util
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from rectifold import progress
from rectifold._core.space import EXACT_METRICS, Points
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines import approximate, brute_force, exact, user_neighbors
from rectifold._engines.approximate import nn_descent
from rectifold._engines.check_sample import Approximation
from rectifold._engines.contract import (
    Certified,
    Checked,
    Engine,
    Looked,
    Neighbourhoods,
    Outlook,
    Proposal,
)
from rectifold._engines.settle import settle

#: Engines by name, for the metrics of the exact one.
ENGINES = ("exact", "approximate", "gpu")
#: "auto" takes a GPU from so many numbers on; from the second where torch is not loaded yet, which
#: takes seconds. Measured: docs/guide/speed.md.
_PAYS, _PAYS_TO_LOAD = 2_000_000, 20_000_000


def choose(
    name: str, points: Points, device: Any = None, wanted: Approximation | None = None
) -> tuple[Engine, str]:
    """Choose the engine that `engine=name` means for these points, and name it.

    Parameters
    ----------
    name : str
        "auto", or one of `ENGINES`.
    points : Points
        The rows to be searched.
    device : str, int or None
        Where engine "gpu" works; None for where the points are, or else what torch sees.
    wanted : Approximation or None
        What engine "approximate" is to reach; None for the default.

    Returns
    -------
    engine : Engine
        Fit for the metric of the points. Metrics that have one engine only get that.
    name : str
        What to call it in a record.
    """
    if points.metric in EXACT_METRICS:
        if on_gpu(name, points, device):
            if device is None:
                # Where the points are, if they are tensors.
                device = getattr(points.values, "device", None)
                device = device if getattr(device, "type", "cpu") != "cpu" else None
            return _on_gpu(device), "gpu"
        wanted = wanted or Approximation()
        if name == "approximate" or (name == "auto" and wanted.budget is not None):
            wanted = replace(wanted, prefer_exact=name == "auto")
            return partial(approximate.propose, wanted=wanted), "approximate"
        return exact.propose, "exact"
    if wanted is not None and wanted.budget is not None:
        raise ValueError(
            "time_budget needs estimates of the time, which there are for the Euclidean and the "
            f"cosine metric, and metric={points.metric!r} is neither: leave time_budget out."
        )
    if name == "approximate":
        if points.metric == "heom":
            raise ValueError(
                "engine='approximate' has no way to search with space='heom': leave "
                "engine='auto', or pass space='auto'."
            )
        if points.metric not in nn_descent.METRICS:
            raise ValueError(
                f"engine='approximate' does not know metric={points.metric!r}: it must be "
                f"'euclidean', 'cosine' or one of {', '.join(map(repr, nn_descent.METRICS))}; or "
                "leave engine='auto', which is exact."
            )
        nn_descent.check_installed(points.metric)
        return partial(nn_descent.propose, wanted=wanted or Approximation()), "approximate"
    if name == "gpu" or device is not None:
        raise ValueError(
            "engine='gpu' knows the Euclidean and the cosine metric, and metric="
            f"{points.metric!r} is neither: leave engine='auto' and device=None."
        )
    if points.metric == "precomputed":
        return user_neighbors.FromGraph(), "precomputed"
    if points.metric in brute_force.METRICS:
        return brute_force.propose, "direct"
    return user_neighbors.FromMetric(), "scikit-learn"


def on_gpu(name: str, points: Points, device: Any) -> bool:
    """Tell whether `engine=name` means the GPU, for points with a metric that it knows."""
    return name == "gpu" or device is not None or (name == "auto" and _gpu_pays(points))


def check_device(name: str, device: Any) -> None:
    """Refuse a device that is not there, or that an engine has no use for."""
    if name in ("exact", "approximate") and device is not None:
        raise ValueError(
            f"engine={name!r} works on the CPU, and device={device!r} is for engine='gpu': pass "
            "that, or leave device=None."
        )
    if name == "gpu" or device is not None:
        _on_gpu(device)


def _gpu_pays(points: Points) -> bool:
    """Tell whether there is a GPU, and enough to do for it."""
    if not isinstance(points.values, np.ndarray):
        # Sparse rows would have to be made dense; a tensor is on its device already.
        return not sparse.issparse(points.values)
    least = _PAYS if "torch" in sys.modules else _PAYS_TO_LOAD
    if points.values.size < least or importlib.util.find_spec("torch") is None:
        return False
    try:
        import torch
    except (ImportError, OSError):
        # One that is broken is as good as none.
        return False
    return bool(torch.cuda.is_available())


def _on_gpu(device: Any) -> Engine:
    """Give the engine on a device, which is looked for at once."""
    try:
        from rectifold._engines import gpu
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ValueError(
            "engine='gpu' needs PyTorch: install rectifold[gpu], or pass engine='exact', which "
            "gives the same answer on the CPU."
        ) from None
    return partial(gpu.propose, device=gpu.devices.find(device))


def search(
    engine: Engine,
    points: Points,
    labels: Ints,
    k: int,
    *,
    n_jobs: int | None = None,
    warn: Callable[[Outlook], None] | None = None,
) -> Neighbourhoods:
    """Run an engine over all rows and settle what it proposes.

    Parameters
    ----------
    engine : callable
        An engine, see `rectifold._engines.contract.Engine`.
    points : Points
        All rows.
    labels : ndarray of shape (n_rows,)
        Class codes.
    k : int
        Neighbours per row, fewer than rows.
    n_jobs : int or None
        Cores, as in scikit-learn.
    warn : callable or None
        Called before work that will take minutes.

    Returns
    -------
    Neighbourhoods
    """
    n = points.n
    certified = np.zeros(n, dtype=bool)
    settled, truth = _Settled(points, k), _Settled(points, k)
    decided = pairs = drawn_from = 0
    # Closed at once if what listens to progress ends the work: an engine holds threads.
    with closing(engine(points, labels, k, n_jobs=n_jobs)) as answers:
        for answer in answers:
            if isinstance(answer, Looked):
                pairs += answer.pairs
            elif isinstance(answer, Outlook):
                if warn is not None:
                    warn(answer)
            elif isinstance(answer, Checked):
                truth.add(answer.proposal)
                drawn_from = answer.drawn_from
            else:
                if isinstance(answer, Certified):
                    certified[answer.rows] = True
                else:
                    settled.add(answer)
                if len(answer.rows):
                    decided += len(answer.rows)
                    progress.report(decided, n)
    checked = truth.neighbourhoods(np.zeros(n, dtype=bool)) if truth.rows else None
    found = settled.neighbourhoods(certified)
    return replace(found, pairs=pairs, truth=checked, drawn_from=drawn_from)


class _Settled:
    """What proposals come to, gathered one by one."""

    def __init__(self, points: Points, k: int) -> None:
        self.points, self.k = points, k
        self.rows: list[Ints] = []
        self.indices: list[Ints] = []
        self.distances: list[Floats] = []

    def add(self, proposal: Proposal) -> None:
        """Settle one more."""
        indices, distances = settle(self.points, proposal, self.k)
        self.rows.append(proposal.rows)
        self.indices.append(indices)
        self.distances.append(distances)

    def neighbourhoods(self, certified: Bools) -> Neighbourhoods:
        """Put all rows in order."""
        every = np.concatenate(self.rows) if self.rows else np.empty(0, dtype=np.intp)
        order = np.argsort(every)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return Neighbourhoods(
            rows=every[order],
            indices=_gathered(self.indices, places, self.k, np.intp),
            distances=_gathered(self.distances, places, self.k, np.float64),
            certified=certified,
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
