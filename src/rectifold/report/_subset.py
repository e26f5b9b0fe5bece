"""Choose the samples that a page holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rectifold._core.projection import sample_by_class
from rectifold._core.utils import Bools, Ints

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification
    from rectifold.report._thresholds import Removable

#: With more kept samples than this, a smaller page drops those first.
_ENOUGH_DRAWN = 5_000


@dataclass(frozen=True, slots=True)
class Budget:
    """Maximum numbers of samples and cells in a page."""

    #: Samples of all classes that are drawn while they are kept.
    drawn: int = 20_000
    #: Samples that the run removed or spared.
    marked: int = 400_000
    #: Samples that only other thresholds remove; they are drawn when those do.
    next: int = 10_000
    #: Samples with all their columns and neighbours.
    detailed: int = 4_000
    #: Cells of the table.
    cells: int = 250_000
    #: Shares of columns in the distances to neighbours, one per neighbour and column.
    shares: int = 100_000
    #: Columns of a sample.
    columns: int = 40

    def halved(self) -> Budget:
        """Return a smaller budget; samples that the run removed or spared are dropped last."""
        return Budget(
            self.drawn // 2,
            self.marked if self.drawn > _ENOUGH_DRAWN else self.marked // 2,
            self.next // 2,
            self.detailed // 2,
            self.cells // 2,
            self.shares // 2,
            self.columns,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """The samples of a page."""

    #: Indices of the samples, ascending.
    rows: Ints
    #: For each, whether it is drawn while it is kept.
    drawn: Bools
    #: For each, its position among the removable samples of all classes, or -1.
    removable: Ints
    #: Indices of the samples with all their columns and neighbours, the most suspicious first.
    detailed: Ints


def choose_samples(record: Rectification, removable: list[Removable], budget: Budget) -> Subset:
    """Choose samples: removed and spared ones, those that are removed next, and a random sample."""
    n = len(record.certified)
    is_marked = record.removed | record.spared
    marked = np.flatnonzero(is_marked)
    rows = np.concatenate([one.rows for one in removable])
    position = np.full(n, -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    drawn = np.zeros(n, dtype=bool)
    drawn[sample_by_class(record._target.codes, record._target.sizes, budget.drawn)] = True
    rest = rows[~is_marked[rows]]
    upcoming = rest[np.argsort(record.confidence[rest], kind="stable")[: budget.next]]
    held = drawn.copy()
    held[_at_most(marked, budget.marked)] = True
    held[upcoming] = True
    # Removed samples come before spared ones, each by ascending confidence.
    ordered = marked[np.lexsort((marked, record.confidence[marked], ~record.removed[marked]))]
    detailed = np.concatenate((ordered, upcoming))[: budget.detailed]
    held[detailed] = True
    if record._trace is not None:
        # The page shows a sample among its neighbours.
        held[record._trace.neighbours.of(detailed)[1].ravel()] = True
    rows = np.flatnonzero(held)
    return Subset(rows, drawn[rows], position[rows], detailed)


def _at_most(rows: Ints, n: int) -> Ints:
    """Return up to `n` of the samples, at random but always the same."""
    return rows if len(rows) <= n else np.random.default_rng(0).choice(rows, n, replace=False)
