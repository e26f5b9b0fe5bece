"""The index of a search on the CPU: the distinct points of a table, in leaves."""

from dataclasses import dataclass

import numpy as np

from rectifold._core.space import Points
from rectifold._core.threads import Workers
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.exact import costs
from rectifold._engines.exact.coordinates import stays_sparse
from rectifold._engines.exact.duplicates import Groups, group
from rectifold._engines.exact.leaves import EMPTY, by_place
from rectifold._engines.exact.products import Frame, build

#: Classes of points that can be neighbours, and of points that are queries only.
TARGET, OTHER = 0, 1


@dataclass(slots=True, eq=False)
class SearchState:
    """What is known about every point, by place."""

    #: Upper bound of the squared distance of the k-th nearest sample.
    bounds: Floats
    #: Whether the point holds a certificate.
    certified: Bools
    #: Number of pairs of points that were compared.
    pairs: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class LeafIndex:
    """Distinct points in leaves, their classes, and the samples that lie on them."""

    #: The samples, in one of `EXACT_METRICS`.
    samples: Points
    groups: Groups
    frame: Frame
    #: The class of each point.
    classes: Ints
    #: Number of samples on the point at each place, of target samples in a target index.
    weights: Ints
    #: The squared distance of samples of other classes that are not in the index, such as zero
    #: vectors under the cosine metric.
    ceiling: float
    #: Whether all points are in one leaf, since they are few.
    single_leaf: bool

    def initial_state(self) -> SearchState:
        """Return the state before any point was searched."""
        order = self.frame.leaves.order
        return SearchState(np.full(len(order), np.inf), order == EMPTY)

    def places(self) -> Ints:
        """Return the place of each point."""
        order = self.frame.leaves.order
        real = np.flatnonzero(order != EMPTY)
        places = np.empty(len(real), dtype=np.intp)
        places[order[real]] = real
        return places


def build_index(
    samples: Points,
    labels: Ints,
    k: int,
    workers: Workers,
    *,
    ceiling: float,
    farthest: float = 0.0,
) -> LeafIndex:
    """Group samples, none of them a zero vector under cosine, and put their points into leaves.

    See `LeafIndex.ceiling` and, for `farthest`, `products.build`.
    """
    groups = group(samples.values, workers)
    size = costs.leaf_size(len(groups.counts), k, sparse=stays_sparse(groups.values))
    # A class that would leave most slots of its leaf empty gets none.
    classes = groups.classes(labels, least=1 if size is None else size // 8)
    unit_length = samples.metric == "cosine"
    frame = _frame(groups, classes, size, workers, unit_length=unit_length, farthest=farthest)
    if unit_length:
        ceiling *= frame.coordinates.factor**2
    weights = by_place(groups.counts, frame.leaves.order, workers)
    return LeafIndex(samples, groups, frame, classes, weights, ceiling, single_leaf=size is None)


def build_target_index(samples: Points, targets: Bools, k: int, workers: Workers) -> LeafIndex:
    """Put the points of the samples that `targets` marks, one at least, into leaves of their own.

    These leaves are of class `TARGET`, and weights count target samples only. Even the points of
    small tables are partitioned.
    """
    groups = group(samples.values, workers)
    counts = np.add.reduceat(targets[groups.members].astype(np.intp), groups.starts)
    classes = np.where(counts > 0, TARGET, OTHER)
    size = costs.slots(len(groups.counts), k, sparse=stays_sparse(groups.values))
    frame = _frame(groups, classes, size, workers, unit_length=samples.metric == "cosine")
    weights = by_place(counts, frame.leaves.order, workers)
    return LeafIndex(samples, groups, frame, classes, weights, np.inf, single_leaf=False)


def _frame(
    groups: Groups,
    classes: Ints,
    size: int | None,
    workers: Workers,
    *,
    unit_length: bool,
    farthest: float = 0.0,
) -> Frame:
    frame = build(groups.values, classes, size, workers, unit_length=unit_length, farthest=farthest)
    # With very many columns, single precision proves nothing.
    return frame if frame.usable else frame.finer()
