"""Which rows a page holds: all that went or were spared, those that could go next, and a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rectifold._core.projection import sample_rows
from rectifold._core.utils import Bools, Ints

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification
    from rectifold.report._thresholds import Question


#: Kept rows that still make a picture.
_ENOUGH = 5_000


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a page may hold."""

    #: Rows that are drawn while they are kept.
    drawn: int = 20_000
    #: Rows that the run removed or spared: all of them, unless that is beyond all bounds.
    marked: int = 400_000
    #: Rows besides that other thresholds would remove, drawn once they do.
    next: int = 10_000
    #: Rows with all their columns and neighbours.
    told: int = 4_000
    #: Cells in all.
    cells: int = 250_000
    #: Columns of a row.
    columns: int = 40

    def halved(self) -> Budget:
        """Give a smaller one; rows that the run removed or spared give way last."""
        return Budget(
            self.drawn // 2,
            self.marked if self.drawn > _ENOUGH else self.marked // 2,
            self.next // 2,
            self.told // 2,
            self.cells // 2,
            self.columns,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The rows of a page."""

    #: Positions of all rows of the page, ascending.
    rows: Ints
    #: Of these, the rows that are drawn while they are kept.
    drawn: Bools
    #: Positions of the rows that are told about in full, the most suspicious first.
    told: Ints
    #: Where the rows of the page stand among the rows in question, one class after the other; -1
    #: for those that never go.
    question: Ints


def choose_rows(record: Rectification, found: list[Question], budget: Budget) -> Choice:
    """Choose the rows that a page holds.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    found : list of Question
        The rows in question, class by class.
    budget : Budget
        How much the page may hold.

    Returns
    -------
    Choice
    """
    n = len(record.certified)
    marked = np.flatnonzero(record.removed | record.spared)
    question = np.full(n, -1, dtype=np.int64)
    rows = np.concatenate([one.rows for one in found])
    question[rows] = np.arange(len(rows))
    drawn = np.zeros(n, dtype=bool)
    drawn[sample_rows(record._target.codes, record._target.sizes, budget.drawn)] = True
    # Those that went come first, then by how little their neighbours vouch for them.
    rest = rows[~(record.removed | record.spared)[rows]]
    upcoming = rest[np.argsort(record.confidence[rest], kind="stable")[: budget.next]]
    held = drawn.copy()
    held[_some(marked, budget.marked)] = True
    held[upcoming] = True
    went = marked[np.lexsort((marked, record.confidence[marked], ~record.removed[marked]))]
    told = np.concatenate((went, upcoming))[: budget.told]
    held[told] = True
    if record._trace is not None:
        # So that a row can be shown among those that voted on it.
        held[record._trace.neighbours.of(told)[1].ravel()] = True
    kept = np.flatnonzero(held)
    return Choice(kept, drawn[kept], told, question[kept])


def _some(rows: Ints, most: int) -> Ints:
    """Take rows at random, the same each time, where there are too many."""
    if len(rows) <= most:
        return rows
    return np.random.default_rng(0).choice(rows, most, replace=False)
