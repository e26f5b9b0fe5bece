"""How far squared distances from matrix products can be wrong, and what they prove all the same.

Engines move points to a centre, scale them by a power of two and give them two more columns, so
that one product of a query x and a target y is (b - |x - y|^2) / 2 for a bound b of the query:

    [x, (b - |x|^2) / 2, 1] . [y, 1, -|y|^2 / 2]

Its sign says whether y is nearer than the bound. Nothing is sorted, and nothing but the
product is computed.

How far it can be wrong
-----------------------
Let u be the unit roundoff (2^-24 in float32, 2^-53 in float64), s the squared distance in
exact arithmetic, in scaled coordinates, and t = b - 2 (product).

1. Moving and rounding a point changes it by at most 2 u |x|, so that the distance changes by
   at most 2 u (|x| + |y|), and s by at most 4 u (|x| + |y|)^2 + 4 u^2 (|x| + |y|)^2, which is
   less than 9 u (|x|^2 + |y|^2).
2. The two more columns are rounded once: by at most u (b + |x|^2) / 2 and u |y|^2 / 2. The squared
   lengths in them are sums of d squares in float64, which adds at most d 2^-53 times themselves.
3. A product of m = d + 2 terms, added in any order, with or without fused operations, is wrong by
   at most m u / (1 - m u) times the sum of its terms' magnitudes, which is at most
   |x| |y| + (b + |x|^2) / 2 + |y|^2 / 2 <= |x|^2 + |y|^2 + b / 2. Of sparse rows d counts the
   columns in which either has an entry.

Together, doubled because t is, |s - t| <= (2 d + 16) u (|x|^2 + |y|^2 + b), and d u more of that in
float64. `settle` decides by sums of d squares in float64, which adds less than (d + 3) 2^-53 s, and
s is at most 2 (|x|^2 + |y|^2). So with c = (4 d + 32) u in float32 and (6 d + 40) u in float64,

    |s - t| <= c (|x|^2 + |y|^2 + b)  holds for the distances that `settle` compares.

The triangle inequality removes y: |y|^2 <= 2 |x|^2 + 2 s, so |s - t| <= c (3 |x|^2 + 2 s + b).
Hence, as long as c < 1 / 64, above which nothing is concluded:

- if t < b for the bound b = (1 - 4 c) B - 4 c |x|^2, then s < B: y is provably nearer;
- if t >= b for the bound b = (1 + 4 c) B + 4 c |x|^2, then s > B: y is provably farther;
- without a bound (b = 0), t (1 - 4 c) - 4 c |x|^2 <= s <= t (1 + 4 c) + 4 c |x|^2.

(First: s (1 - 2 c) < b (1 + c) + 3 c |x|^2 <= B (1 - 4 c) (1 + c) <= B (1 - 2 c). Second:
s (1 + 2 c) >= b (1 - c) - 3 c |x|^2 >= B (1 + 4 c) (1 - c) > B (1 + 2 c). Third:
the same with b = 0.) What underflows is covered by an absolute term: at most d + 2 products of
float32, each less than 2^-126 wrong, and the d squares that `settle` adds in the units of the data,
each less than 2^-1074 wrong.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Above this, bounds on rounding say nothing.
_USELESS = 1 / 64


@dataclass(frozen=True, slots=True)
class Rounding:
    """The bounds above for one precision; of NumPy arrays and of tensors alike, in float64."""

    #: The c of the bounds.
    relative: float
    #: What covers underflow.
    absolute: float
    #: No squared distance is larger.
    reach: float

    @property
    def usable(self) -> bool:
        """Whether the bounds prove anything."""
        return self.relative < _USELESS

    def below(self, bounds: Any, squares: Any) -> Any:
        """For each query of a squared length the bound that proves a point nearer than `bounds`."""
        return (1 - 4 * self.relative) * bounds - self.margin(squares)

    def above(self, bounds: Any, squares: Any) -> Any:
        """For each query the bound that proves a point not nearer than `bounds`."""
        return ((1 + 4 * self.relative) * bounds + self.margin(squares)).clip(max=self.reach)

    def at_most(self, found: Any, squares: Any) -> Any:
        """What the squared distance of a product without a bound is at most."""
        return (1 + 4 * self.relative) * (-2.0 * found).clip(min=0) + self.margin(squares)

    def at_least(self, found: Any, squares: Any) -> Any:
        """What the squared distance of a product without a bound is at least."""
        return self.below((-2.0 * found).clip(min=0), squares)

    def is_empty(self, found: Any) -> Any:
        """Whether a product without a bound is with an empty slot: so far is no point."""
        return -2.0 * found > self.reach

    def clipped(self, bounds: Any) -> Any:
        """Bounds within what single precision holds: beyond it, all or nothing is nearer."""
        return bounds.clip(-self.reach, self.reach)

    def resolves(self, bounds: Any, squares: Any) -> Any:
        """Whether rounding is small beside the bounds, query by query."""
        return self.margin(squares) < 0.05 * bounds

    def margin(self, squares: Any) -> Any:
        """What rounding adds for queries of these squared lengths, whatever the distance."""
        return 4 * self.relative * squares + self.absolute


def rounding(terms: int, double: bool, absolute: float, largest: float) -> Rounding:
    """Give the bounds for products of points.

    Parameters
    ----------
    terms : int
        The d of the bounds.
    double : bool
        Whether products are in float64.
    absolute : float
        What covers underflow; see `underflow`.
    largest : float
        The largest squared length of a point.

    Returns
    -------
    Rounding
    """
    times, dtype = (6 * terms + 40, np.float64) if double else (4 * terms + 32, np.float32)
    # More than any squared distance: (|x| + |y|)^2, and its rounding.
    return Rounding(times * float(np.finfo(dtype).eps) / 2, absolute, 4.5 * largest + 1e-30)


def underflow(columns: int, exponent: int) -> float:
    """Cover what underflows, of points that were scaled by a power of two."""
    # The second is what `settle` loses where squares of differences leave the range of float64.
    settled = float(np.ldexp(columns + 3.0, min(2 * exponent - 1074, 1000)))
    return settled + (columns + 3) * 2.0**-125


def ball_margin(columns: int) -> float:
    """Cover the rounding of `exact.leaves.Leaves.near`, as a part of a radius."""
    return (8 * columns + 64) * float(np.finfo(np.float32).eps) / 2
