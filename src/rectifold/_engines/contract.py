"""The contract of engines: what they yield, and the neighbourhoods made of it."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Candidates for some samples, which provably contain their neighbours in the canonical order.

    The candidates of a sample include its k nearest samples in the order (distance, index); those
    of an approximate engine are k samples, and seldom miss one of these. They may include more,
    and the sample itself: `settle` computes the distances, excludes the sample by its index and
    sorts.
    """

    #: The samples.
    rows: Ints
    #: The candidates of ``rows[i]`` are ``candidates[offsets[i]:offsets[i + 1]]``.
    offsets: Ints
    candidates: Ints
    #: Set if `settle` can't compute them, under a user's own metric; or if the engine has computed
    #: the same distances as `settle` would, to the last bit.
    distances: Floats | None = None

    def only(self, mask: Bools) -> "Proposal":
        """Return the proposal for the samples that `mask` selects."""
        if mask.all():
            return self
        lengths = np.diff(self.offsets)
        offsets = np.concatenate(([0], np.cumsum(lengths[mask])))
        return self._reduced(self.rows[mask], offsets, np.repeat(mask, lengths))

    def below(self, limit: int) -> "Proposal":
        """Return the proposal without the candidates whose index is `limit` or higher."""
        kept = self.candidates < limit
        if kept.all():
            return self
        before = np.concatenate(([0], np.cumsum(kept)))
        return self._reduced(self.rows, before[self.offsets], kept)

    def _reduced(self, rows: Ints, offsets: Ints, kept: Bools) -> "Proposal":
        distances = None if self.distances is None else self.distances[kept]
        return Proposal(rows, offsets, self.candidates[kept], distances)


def sorted_proposal(rows: Ints, indices: Ints, distances: Floats) -> Proposal:
    """Return a proposal of settled neighbours, the same number for every sample."""
    offsets = np.arange(len(rows) + 1) * indices.shape[1]
    return Proposal(rows, offsets, indices.ravel(), distances.ravel())


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """Samples whose k nearest samples are proved to carry the sample's own label."""

    rows: Ints


@dataclass(frozen=True, slots=True, eq=False)
class PairCount:
    """The number of pairs of points that were compared since the last such answer."""

    pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class EngineUsed:
    """The engine that does the search, if it is not the one that was called."""

    engine: str


@dataclass(frozen=True, slots=True, eq=False)
class CheckSample:
    """The true neighbours of a random sample of the samples whose neighbours are approximate."""

    proposal: Proposal
    #: Size of the set from which they were drawn.
    drawn_from: int


@dataclass(frozen=True, slots=True, eq=False)
class TimeEstimate:
    """Estimates, before a long search, of the seconds it takes exactly and approximately."""

    exact: float
    approximate: float


#: What every engine yields, and what some yield in addition.
ExactAnswer = Proposal | Certified | PairCount
Answer = ExactAnswer | CheckSample | TimeEstimate | EngineUsed

#: Size of the random sample on which the error of an approximate search is measured. If it shows no
#: error, less than 0.2 % of all have one, with 95 % confidence (1 - 0.025 ** (1 / 2000) = 0.0018).
N_CHECKED = 2000
#: Size of another sample, on which the effort is tuned.
N_TUNED = 1000
#: Separates the random numbers of the sample from those of a search with the same seed.
_STREAM = 0x5A3F1E


def sample_rows(rows: Ints, seed: int, more: int = 0) -> Ints:
    """Draw `N_CHECKED` and `more` of the samples, without replacement, in random order."""
    rng = np.random.default_rng([_STREAM, seed])
    return rng.permutation(rows)[: N_CHECKED + more]


class Engine(Protocol):
    """A neighbour search: it proposes candidates and decides neither their order nor weight."""

    def __call__(
        self, points: Points, labels: Ints, k: int, *, n_jobs: int | None
    ) -> Generator[Answer, None, None]:
        """Yield, in any order, a proposal or a certificate for every sample exactly once.

        An engine that can miss neighbours also yields the true ones of a random sample.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhoods:
    """The k nearest samples of every sample that was searched, in the canonical order."""

    #: Samples without a certificate, ascending; the next two arrays are parallel to them.
    rows: Ints
    indices: Ints
    distances: Floats
    #: For all samples: whether it holds a certificate instead.
    certified: Bools
    #: Pairs of points that were compared, if the engine counts them.
    pairs: int = 0
    #: The true neighbourhoods of some samples, if those above may miss a neighbour.
    truth: "Neighbourhoods | None" = None
    #: Size of the set from which these samples were drawn.
    drawn_from: int = 0
    #: The engine that searched, if it is not the one that was called.
    engine: str | None = None

    @property
    def k(self) -> int:
        """Number of neighbours of each sample."""
        return int(self.indices.shape[1])

    def nearest(self, k: int) -> "Neighbourhoods":
        """Return the first `k` neighbours of every sample, as a search for fewer would find them.

        A certificate for more neighbours is one for fewer, so nothing is searched again.
        """
        if not 1 <= k <= self.k:
            raise ValueError(f"k={k} is out of range: {self.k} neighbours were searched for.")
        return replace(
            self,
            indices=self.indices[:, :k],
            distances=self.distances[:, :k],
            truth=None if self.truth is None else self.truth.nearest(k),
        )
