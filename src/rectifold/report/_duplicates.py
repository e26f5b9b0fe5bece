"""Count samples that are equal in the space of a run, and those whose vote they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.projection import encoder_of
from rectifold._core.threads import Workers
from rectifold._core.utils import Bools, Ints
from rectifold._engines.exact.duplicates import group

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification


def count_duplicates(record: Rectification) -> dict[str, Any] | None:
    """Return counts of duplicates, by class too, or None if the record does not hold the samples.

    A duplicate is a sample that is equal to another one in the space of the run. "removed" and
    "spared" count those that gave more than half of their vote to neighbours at distance zero;
    "unknown" are removed and spared samples whose neighbours the record does not keep.
    """
    encode = None if record._trace is None else encoder_of(record)
    if encode is None:
        return None
    codes, n_classes = record._target.codes, len(record.classes)
    with Workers(1) as workers:
        groups = group(encode(np.arange(len(codes))), workers)
    ordered = codes[groups.members]
    lowest, highest = (which.reduceat(ordered, groups.starts) for which in (np.minimum, np.maximum))
    several, mixed = (
        np.repeat(which, groups.counts) for which in (groups.counts > 1, lowest != highest)
    )
    removed, unknown = _decided(record, record.removed)
    spared, more = _decided(record, record.spared)
    by_class = {
        "samples": ordered[several],
        "conflicting": ordered[mixed],
        "removed": codes[removed],
        "spared": codes[spared],
    }
    counts = {name: np.bincount(some, minlength=n_classes) for name, some in by_class.items()}
    return {
        # Without the first of each group.
        "repeated": len(codes) - len(groups.counts),
        "unknown": unknown + more,
        **{name: int(some.sum()) for name, some in counts.items()},
        "classes": [
            {name: int(some[code]) for name, some in counts.items()} for code in range(n_classes)
        ],
    }


def _decided(record: Rectification, which: Bools) -> tuple[Ints, int]:
    """Return the samples decided by duplicates, and the number of those that are not known."""
    assert record._trace is not None
    rows = np.flatnonzero(which)
    known, indices, distances = record._trace.neighbours.of(rows)
    at_zero = np.where(distances == 0, record._weigh(indices, distances), 0.0).sum(axis=1)
    return rows[known][at_zero > 0.5], int((~known).sum())
