"""What an approximate search is to reach, and the rows on which that is measured."""

from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Ints

#: If the error shows in none of so many rows, then it does in less than 0.2 % of all, with 95 %
#: confidence (1 - 0.025 ** (1 / 2000) = 0.0018).
CHECKED = 2000
#: Rows, others, on which the effort is tuned.
TUNED = 1000
#: Sets the random numbers of the sample apart from those of a search with the same seed.
_STREAM = 0x5A3F1E


@dataclass(frozen=True, slots=True)
class Approximation:
    """What an approximate search is to reach.

    Parameters
    ----------
    target_recall : float
        The share of true neighbours that shall be found.
    seed : int
        For the choice of rows: the same seed gives the same answer.
    budget : float or None
        Seconds. A search that would take longer looks at less.
    prefer_exact : bool
        Whether an exact search is preferred if it takes no longer than the budget, though an
        approximate one would be sooner.
    """

    target_recall: float = 0.99
    seed: int = 0
    budget: float | None = None
    prefer_exact: bool = False


def sample_rows(rows: Ints, seed: int, more: int = 0) -> Ints:
    """Draw rows at random, each at most once: `CHECKED` of them and `more`, in random order."""
    # A stream of its own: what is searched with the same seed must know nothing of the sample.
    rng = np.random.default_rng([_STREAM, seed])
    return rng.permutation(rows)[: CHECKED + more]
