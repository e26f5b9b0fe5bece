"""What every search on the CPU starts from: the distinct points of a table, in leaves."""

from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Bools, Ints, Matrix
from rectifold._engines.exact import costs
from rectifold._engines.exact.certificates import SearchState
from rectifold._engines.exact.coordinates import stays_sparse
from rectifold._engines.exact.duplicates import Groups, group
from rectifold._engines.exact.leaves import EMPTY
from rectifold._engines.exact.products import Frame, build
from rectifold._engines.threads import Workers

#: Classes of points, where some are to be found and others are not.
TARGET, OTHER = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class LeafIndex:
    """Distinct points in leaves, their classes, and the rows that lie on them."""

    groups: Groups
    frame: Frame
    #: The class of each point.
    classes: Ints
    #: How many rows lie on the point at each place.
    weights: Ints
    #: A squared distance at which rows of other classes lie that are not among the points.
    ceiling: float
    #: Whether all points are in one leaf, because they are few.
    single_leaf: bool

    def initial_state(self) -> SearchState:
        """Nothing is known of any point yet."""
        order = self.frame.leaves.order
        return SearchState(np.full(len(order), np.inf), order == EMPTY)

    def places(self) -> Ints:
        """The place of each point."""
        order = self.frame.leaves.order
        real = np.flatnonzero(order != EMPTY)
        places = np.empty(len(real), dtype=np.intp)
        places[order[real]] = real
        return places

    def counts(self) -> Ints:
        """How many rows that count lie on each point."""
        return self.weights[self.places()]


def build_index(
    values: Matrix,
    labels: Ints,
    k: int,
    workers: Workers,
    *,
    unit_length: bool,
    ceiling: float,
) -> LeafIndex:
    """Group rows that all have a direction, and bring their points into leaves.

    Parameters
    ----------
    values : {ndarray, csr_array} of shape (n_rows, n_columns)
        Float64 rows.
    labels : ndarray of shape (n_rows,)
        Class codes.
    k : int
        Neighbours per row.
    workers : Workers
        Share the work.
    unit_length : bool
        Whether all rows have length one.
    ceiling : float
        A squared distance at which rows of other classes lie that are not among these.

    Returns
    -------
    LeafIndex
    """
    groups = group(values)
    size = costs.leaf_size(len(groups.counts), k, sparse=stays_sparse(groups.values))
    # A class that would leave most slots of its leaf empty is not worth one.
    classes = groups.classes(labels, least=1 if size is None else size // 8)
    frame = _frame(groups, classes, size, workers, unit_length=unit_length)
    if unit_length:
        ceiling *= frame.coordinates.factor**2
    weights = _by_place(groups.counts, frame)
    return LeafIndex(groups, frame, classes, weights, ceiling, single_leaf=size is None)


def build_target_index(
    values: Matrix, targets: Bools, k: int, workers: Workers, *, unit_length: bool
) -> LeafIndex:
    """Bring the points of some rows into leaves, and those that only others lie on into others.

    Parameters
    ----------
    values : {ndarray, csr_array} of shape (n_rows, n_columns)
        Float64 rows that all have a direction.
    targets : ndarray of bool of shape (n_rows,)
        Which rows shall be found, one at least.
    k, workers, unit_length
        As for `lay`.

    Returns
    -------
    LeafIndex
        Always in leaves, those with something to be found of class `TARGET`; weights count such
        rows alone.
    """
    groups = group(values)
    counts = np.add.reduceat(targets[groups.members].astype(np.intp), groups.starts)
    classes = np.where(counts > 0, TARGET, OTHER)
    size = costs.slots(len(groups.counts), k, sparse=stays_sparse(groups.values))
    frame = _frame(groups, classes, size, workers, unit_length=unit_length)
    return LeafIndex(groups, frame, classes, _by_place(counts, frame), np.inf, single_leaf=False)


def _frame(
    groups: Groups, classes: Ints, size: int | None, workers: Workers, *, unit_length: bool
) -> Frame:
    frame = build(groups.values, classes, size, workers, unit_length=unit_length)
    # Where single precision proves nothing, as with very many columns, all is in double.
    return frame if frame.usable else frame.finer()


def _by_place(counts: Ints, frame: Frame) -> Ints:
    order = frame.leaves.order
    return np.where(order == EMPTY, 0, counts[order])
