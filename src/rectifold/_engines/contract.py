"""What an engine gives, and what becomes of it: proposals, certificates, neighbourhoods."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Candidates for some rows, which provably contain what the canonical order keeps.

    For every row the candidates hold its k nearest rows in the order (distance, row
    index); those of an approximate engine hold k rows, and seldom miss one of these. They may
    hold more, and the row itself: `settle` computes the distances,
    excludes the row by its index and settles the order.
    """

    rows: Ints
    #: Where each row's candidates begin: those of ``rows[i]`` are
    #: ``candidates[offsets[i]:offsets[i + 1]]``.
    offsets: Ints
    candidates: Ints
    #: Where the metric is the caller's own, so that `settle` can't compute it; or where the engine
    #: has computed what `settle` would, to the last bit.
    distances: Floats | None = None

    def only(self, mask: Bools) -> "Proposal":
        """The same for some of its rows."""
        if mask.all():
            return self
        lengths = np.diff(self.offsets)
        kept = np.repeat(mask, lengths)
        return Proposal(
            self.rows[mask],
            np.concatenate(([0], np.cumsum(lengths[mask]))),
            self.candidates[kept],
            None if self.distances is None else self.distances[kept],
        )

    def below(self, limit: int) -> "Proposal":
        """The same without the candidates from row `limit` on."""
        kept = self.candidates < limit
        if kept.all():
            return self
        before = np.concatenate(([0], np.cumsum(kept)))
        return Proposal(
            self.rows,
            before[self.offsets],
            self.candidates[kept],
            None if self.distances is None else self.distances[kept],
        )


def in_order(rows: Ints, indices: Ints, distances: Floats) -> Proposal:
    """Propose neighbours that are settled already, equally many for every row."""
    offsets = np.arange(len(rows) + 1) * indices.shape[1]
    return Proposal(rows, offsets, indices.ravel(), distances.ravel())


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """Rows of which it is proved that their k nearest rows all carry their own label."""

    rows: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """For the record: how many pairs of points were looked at since the last such answer."""

    pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """The true neighbours of a random sample of the rows whose neighbours are approximate."""

    proposal: Proposal
    #: How many rows the sample was drawn from.
    drawn_from: int


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Said before long work: how many seconds are left, exactly and approximately."""

    exact: float
    approximate: float


#: What every engine gives, and what some give besides.
Plain = Proposal | Certified | Looked
Answer = Plain | Checked | Outlook


class Engine(Protocol):
    """A neighbour search. It proposes; it never decides order or weight."""

    def __call__(
        self, points: Points, labels: Ints, k: int, *, n_jobs: int | None
    ) -> Generator[Answer, None, None]:
        """Yield, in any order, a proposal or a certificate for every row exactly once.

        An engine that misses neighbours gives the true ones of a sample besides.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhoods:
    """The k nearest rows of every row that was searched for, in canonical order."""

    #: Rows that hold no certificate, ascending; the arrays below are parallel to them.
    rows: Ints
    indices: Ints
    distances: Floats
    #: For all rows of the data: whether the row holds a certificate instead.
    certified: Bools
    #: Pairs of points that the engine looked at, where it counts them.
    pairs: int = 0
    #: The true neighbourhoods of some of the rows, where those above may miss a neighbour.
    truth: "Neighbourhoods | None" = None
    #: How many rows those were drawn from.
    drawn_from: int = 0

    @property
    def k(self) -> int:
        """How many neighbours each row has."""
        return int(self.indices.shape[1])

    def nearest(self, k: int) -> "Neighbourhoods":
        """Cut to the first `k` neighbours: what a search for fewer would have found.

        A certificate for more neighbours is one for fewer, so nothing is searched again.
        """
        if not 1 <= k <= self.k:
            raise ValueError(f"k={k} neighbours asked for, where {self.k} were searched for.")
        return replace(
            self,
            indices=self.indices[:, :k],
            distances=self.distances[:, :k],
            truth=None if self.truth is None else self.truth.nearest(k),
        )
