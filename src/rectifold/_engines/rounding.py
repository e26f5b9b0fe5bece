"""Bounds of the rounding error of squared distances that are computed by matrix products.

Engines centre points, scale them by a power of two and append two columns, so that one product of
a query x and a target y is (b - |x - y|^2) / 2 for a bound b of the query:

    [x, (b - |x|^2) / 2, 1] . [y, 1, -|y|^2 / 2]

Its sign says whether y is nearer than the bound, without any other operation.

Error bounds
------------
Let u be the unit roundoff (2^-24 in float32, 2^-53 in float64), s the squared distance in
exact arithmetic, in scaled coordinates, and t = b - 2 (product).

1. Centring and rounding a point changes it by at most 2 u |x|, so that the distance changes by
   at most 2 u (|x| + |y|), and s by at most 4 u (|x| + |y|)^2 + 4 u^2 (|x| + |y|)^2, which is
   less than 9 u (|x|^2 + |y|^2).
2. The two additional columns are rounded once: by at most u (b + |x|^2) / 2 and u |y|^2 / 2. The
   squared lengths in them are sums of d squares in float64, which adds at most d 2^-53 times
   themselves.
3. A product of m = d + 2 terms, added in any order, with or without fused operations, is wrong by
   at most m u / (1 - m u) times the sum of its terms' magnitudes, which is at most
   |x| |y| + (b + |x|^2) / 2 + |y|^2 / 2 <= |x|^2 + |y|^2 + b / 2. Of sparse rows d counts the
   columns in which either has an entry.

Together, and doubled as in t, |s - t| <= (2 d + 16) u (|x|^2 + |y|^2 + b), and d u more of that in
float64. `settle` decides by sums of d squares in float64, which adds less than (d + 3) 2^-53 s, and
s is at most 2 (|x|^2 + |y|^2). So with c = (4 d + 32) u in float32 and (6 d + 40) u in float64,

    |s - t| <= c (|x|^2 + |y|^2 + b)  holds for the distances that `settle` compares.

The triangle inequality removes y: |y|^2 <= 2 |x|^2 + 2 s, so |s - t| <= c (3 |x|^2 + 2 s + b).
Hence, for c < 1 / 64 (above that nothing is concluded):

- if t < b for the bound b = (1 - 4 c) B - 4 c |x|^2, then s < B: y is provably nearer;
- if t >= b for the bound b = (1 + 4 c) B + 4 c |x|^2, then s > B: y is provably farther;
- without a bound (b = 0), t (1 - 4 c) - 4 c |x|^2 <= s <= t (1 + 4 c) + 4 c |x|^2.

(First: s (1 - 2 c) < b (1 + c) + 3 c |x|^2 <= B (1 - 4 c) (1 + c) <= B (1 - 2 c). Second:
s (1 + 2 c) >= b (1 - c) - 3 c |x|^2 >= B (1 + 4 c) (1 - c) > B (1 + 2 c). Third:
the same with b = 0.) What underflows is covered by an absolute term: at most d + 2 products of
float32, each less than 2^-126 wrong, and the d squares that `settle` adds in the units of the data,
each less than 2^-1074 wrong.

Differences
-----------
Compiled searches of points of few columns add squares of differences instead, in float32. By 1.
the distance of the rounded points differs from that of the points by at most E = 2 u (|x| + |y|),
and t, the computed square of it, is wrong by at most (d + 4) u times itself. As
2 E sqrt(t) <= q t + E^2 / q for any q > 0, with q = 2^-12

    |s - t| <= (q + (d + 6) u) t + (1 + 1 / q) E^2,  and  E^2 <= u^2 (32 |x|^2 + 8 s).

So all of the bounds above hold with 2 q + 2 (d + 8) u in place of 4 c as the factor of distances,
and 2^17.1 u^2 as that of |x|^2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Maximum c of useful bounds.
_USELESS = 1 / 64


@dataclass(frozen=True, slots=True)
class Rounding:
    """The bounds above for one precision, in float64, for NumPy arrays and tensors."""

    #: The c of the bounds.
    relative: float
    #: Term that covers underflow.
    absolute: float
    #: Upper bound of all squared distances.
    reach: float

    @property
    def usable(self) -> bool:
        """Whether the bounds prove anything."""
        return self.relative < _USELESS

    def below(self, bounds: Any, squares: Any) -> Any:
        """Return bounds of products that prove points nearer than `bounds`.

        `squares` are the squared lengths of the queries.
        """
        return (1 - 4 * self.relative) * bounds - self.margin(squares)

    def above(self, bounds: Any, squares: Any) -> Any:
        """Return bounds of products that prove other points farther than `bounds`."""
        return ((1 + 4 * self.relative) * bounds + self.margin(squares)).clip(max=self.reach)

    def at_most(self, products: Any, squares: Any) -> Any:
        """Return upper bounds of squared distances, from products without a bound."""
        return (1 + 4 * self.relative) * (-2.0 * products).clip(min=0) + self.margin(squares)

    def at_least(self, products: Any, squares: Any) -> Any:
        """Return lower bounds of squared distances, from products without a bound."""
        return self.below((-2.0 * products).clip(min=0), squares)

    def is_empty(self, products: Any) -> Any:
        """Return which products without a bound are those of empty slots, beyond all points."""
        return -2.0 * products > self.reach

    def clipped(self, bounds: Any) -> Any:
        """Return bounds within the range of float32; beyond it, all or no points are nearer."""
        return bounds.clip(-self.reach, self.reach)

    def resolves(self, bounds: Any, squares: Any) -> Any:
        """Return for which queries rounding is small compared with the bounds."""
        return self.margin(squares) < 0.05 * bounds

    def margin(self, squares: Any) -> Any:
        """Return the error for queries of these squared lengths, whatever the distance."""
        return 4 * self.relative * squares + self.absolute


def rounding(terms: int, double: bool, absolute: float, largest: float) -> Rounding:
    """Return the bounds for products of `terms` = d columns, in float64 if `double`, else float32.

    `absolute` comes from `underflow`; `largest` is the largest squared length of a point.
    """
    # The reach exceeds (|x| + |y|)^2 and its rounding.
    return Rounding(relative_error(terms, double), absolute, 4.5 * largest + 1e-30)


def relative_error(terms: int, double: bool) -> float:
    """Return the c of the bounds."""
    times, dtype = (6 * terms + 40, np.float64) if double else (4 * terms + 32, np.float32)
    return times * float(np.finfo(dtype).eps) / 2


def of_differences(columns: int) -> tuple[float, float]:
    """Return the factors of squared distances and of squared lengths in bounds of differences."""
    return 2.0**-11 + (columns + 8) * float(np.finfo(np.float32).eps), 2.0 ** (17.1 - 48)


def underflow(columns: int, exponent: int) -> float:
    """Return the term that covers underflow, for points scaled by a power of two."""
    # `settle` loses this if squares of differences leave the range of float64.
    settled = float(np.ldexp(columns + 3.0, min(2 * exponent - 1074, 1000)))
    return settled + (columns + 3) * 2.0**-125


def ball_margin(columns: int) -> float:
    """Return the rounding error of `exact.leaves.Leaves.near`, relative to a radius."""
    return (8 * columns + 64) * float(np.finfo(np.float32).eps) / 2
