"""What every search on the CPU starts from: the distinct points of a table, in leaves."""

from dataclasses import dataclass

import numpy as np

from rectifold._typing import Ints, Matrix
from rectifold.engines.exact import costs
from rectifold.engines.exact.certificates import Standing
from rectifold.engines.exact.coordinates import stays_sparse
from rectifold.engines.exact.groups import Groups, group
from rectifold.engines.exact.leaves import EMPTY
from rectifold.engines.exact.products import Frame, build
from rectifold.engines.exact.workers import Workers


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
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
    whole: bool

    def standing(self) -> Standing:
        """Nothing is known of any point yet."""
        order = self.frame.leaves.order
        return Standing(np.full(len(order), np.inf), order == EMPTY)

    def places(self) -> Ints:
        """The place of each point."""
        order = self.frame.leaves.order
        real = np.flatnonzero(order != EMPTY)
        places = np.empty(len(real), dtype=np.intp)
        places[order[real]] = real
        return places


def lay(
    values: Matrix,
    labels: Ints,
    k: int,
    workers: Workers,
    *,
    unit_length: bool,
    ceiling: float,
) -> Ground:
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
    Ground
    """
    groups = group(values)
    size = costs.leaf_size(len(groups.counts), k, sparse=stays_sparse(groups.values))
    # A class that would leave most slots of its leaf empty is not worth one.
    classes = groups.classes(labels, least=1 if size is None else size // 8)
    frame = build(groups.values, classes, size, workers, unit_length=unit_length)
    # Where single precision proves nothing, as with very many columns, all is in double.
    frame = frame if frame.usable else frame.finer()
    if unit_length:
        ceiling *= frame.coordinates.factor**2
    order = frame.leaves.order
    weights = np.where(order == EMPTY, 0, groups.counts[order])
    return Ground(groups, frame, classes, weights, ceiling, whole=size is None)
