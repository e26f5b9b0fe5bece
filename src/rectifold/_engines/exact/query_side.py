"""Points as queries: the left sides of products, given by their numbers."""

from dataclasses import dataclass, replace

import numpy as np

from rectifold._core.space import ROWS
from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.exact.coordinates import (
    Coordinates,
    Sketch,
    sketch_with,
    squared_lengths,
)
from rectifold._engines.exact.leaves import EMPTY, Leaves, by_place

_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class QuerySide:
    """Queries, in the coordinates of the points that they are compared with.

    Either the queries are these points themselves, and their numbers are places; or they are
    others.
    """

    coordinates: Coordinates
    #: The row of `coordinates` of each query, or `EMPTY`.
    rows: Ints
    #: |x|^2 of each query.
    squares: Floats
    #: See `coordinates.Sketch`.
    plain: bool
    sketch: Floats
    #: Squared lengths of the sketch.
    sketch_squares: Floats
    #: Whether every query is among the points, and so the nearest to itself.
    itself: bool

    def points(self, numbers: Ints, dtype: np.dtype[np.floating]) -> Matrix:
        """Return the coordinates of some queries."""
        if self.plain and dtype == np.float32:
            return self.sketch.take(numbers, axis=0)
        return self.coordinates.of(self.rows[numbers], dtype)

    def finer(self) -> "QuerySide":
        """Return the same queries with squared lengths of float64 coordinates."""
        squares = np.empty(len(self.rows))
        for at in range(0, len(self.rows), ROWS):
            part = slice(at, at + ROWS)
            squares[part] = squared_lengths(self.coordinates.of(self.rows[part], _DOUBLE))
        squares[self.rows == EMPTY] = 0
        return replace(self, squares=squares)


def own_side(
    coordinates: Coordinates, leaves: Leaves, drawn: Sketch, workers: Workers
) -> QuerySide:
    """Return the points in leaves as queries."""
    return QuerySide(
        coordinates,
        leaves.order,
        by_place(drawn.squares, leaves.order, workers),
        drawn.plain,
        leaves.sketch,
        _squares(leaves.sketch, workers),
        itself=True,
    )


def other_side(coordinates: Coordinates, basis: Floats | None, workers: Workers) -> QuerySide:
    """Return points that are not in the leaves as queries; `basis` is that of the leaves."""
    drawn = sketch_with(basis, coordinates, workers)
    rows = np.arange(len(drawn.squares))
    return QuerySide(
        coordinates,
        rows,
        drawn.squares,
        drawn.plain,
        drawn.points,
        _squares(drawn.points, workers),
        itself=False,
    )


def _squares(sketch: Floats, workers: Workers) -> Floats:
    squares = np.empty(len(sketch))

    def fill(rows: slice) -> None:
        some = sketch[rows]
        np.einsum("ij,ij->i", some, some, dtype=np.float64, out=squares[rows])

    workers.over(fill, len(sketch), ROWS)
    return squares
