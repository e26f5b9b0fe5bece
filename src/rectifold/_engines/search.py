"""Run an engine over all samples, and settle what it proposes."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from rectifold import progress
from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.contract import (
    Certified,
    CheckSample,
    Engine,
    EngineUsed,
    Neighbourhoods,
    PairCount,
    Proposal,
    TimeEstimate,
)
from rectifold._engines.settle import settle


def search(
    engine: Engine,
    points: Points,
    labels: Ints,
    k: int,
    *,
    n_jobs: int | None = None,
    warn: Callable[[TimeEstimate], None] | None = None,
) -> Neighbourhoods:
    """Return the neighbourhoods of all points.

    `warn` is called with estimates of the time before a search that will take minutes.
    """
    n = points.n
    certified = np.zeros(n, dtype=bool)
    settled, truth = _Settled(points, k), _Settled(points, k)
    decided = pairs = drawn_from = 0
    used: str | None = None
    # An engine holds threads: close it at once if a progress listener raises an error.
    with closing(engine(points, labels, k, n_jobs=n_jobs)) as answers:
        for answer in answers:
            match answer:
                case PairCount():
                    pairs += answer.pairs
                case EngineUsed():
                    used = answer.engine
                case TimeEstimate():
                    if warn is not None:
                        warn(answer)
                case CheckSample():
                    truth.add(answer.proposal)
                    drawn_from = answer.drawn_from
                case Certified() | Proposal():
                    if isinstance(answer, Certified):
                        certified[answer.rows] = True
                    else:
                        settled.add(answer)
                    if len(answer.rows):
                        decided += len(answer.rows)
                        progress.report(decided, n)
    checked = truth.neighbourhoods(np.zeros(n, dtype=bool)) if truth.rows else None
    found = settled.neighbourhoods(certified)
    return replace(found, pairs=pairs, truth=checked, drawn_from=drawn_from, engine=used)


class _Settled:
    """Collect settled proposals, in any order of the samples."""

    def __init__(self, points: Points, k: int) -> None:
        self.points, self.k = points, k
        self.rows: list[Ints] = []
        self.indices: list[Ints] = []
        self.distances: list[Floats] = []

    def add(self, proposal: Proposal) -> None:
        """Settle a proposal."""
        indices, distances = settle(self.points, proposal, self.k)
        self.rows.append(proposal.rows)
        self.indices.append(indices)
        self.distances.append(distances)

    def neighbourhoods(self, certified: Bools) -> Neighbourhoods:
        """Return the neighbourhoods of all samples, ascending."""
        every = np.concatenate(self.rows) if self.rows else np.empty(0, dtype=np.intp)
        order = np.argsort(every)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return Neighbourhoods(
            rows=every[order],
            indices=_gather(self.indices, places, self.k, np.intp),
            distances=_gather(self.distances, places, self.k, np.float64),
            certified=certified,
        )


def _gather(parts: list[Any], places: Ints, k: int, dtype: type) -> Any:
    """Return an array with all parts at their places; each part is freed once it is copied."""
    gathered: Any = np.empty((len(places), k), dtype=dtype)
    parts.reverse()
    at = 0
    while parts:
        part = parts.pop()
        gathered[places[at : at + len(part)]] = part
        at += len(part)
    return gathered
