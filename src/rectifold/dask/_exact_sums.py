"""Sums of floats without rounding, so that parts of a table can be added in any order."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from rectifold._core.utils import Floats, Matrix

#: Every float64 is an integer multiple of 2**-_UNIT.
_UNIT = 1074
#: Bits of the lower half of a mantissa. Sums of up to _ROWS halves fit in 53 bits.
_HALF, _ROWS = 27, 1 << 20
#: Splits a float into two floats of half the length by a product (Veltkamp).
_SPLITTER = 2.0**27 + 1


@dataclass(frozen=True, slots=True)
class Moments:
    """The number of samples, and the sums of every column and of its squares."""

    count: int
    #: In multiples of 2**-1074.
    sums: tuple[int, ...]
    squares: tuple[int, ...]

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of both parts of a table."""
        return Moments(
            self.count + other.count,
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            tuple(a + b for a, b in zip(self.squares, other.squares, strict=True)),
        )

    def means(self) -> Floats:
        """Return the mean of every column, correctly rounded."""
        return np.array([float(Fraction(total, self.count << _UNIT)) for total in self.sums])

    def variances(self) -> Floats:
        """Return the population variance of every column, correctly rounded."""
        n = self.count
        return np.array(
            [
                float(Fraction(n * (square << _UNIT) - total * total, n**2 << 2 * _UNIT))
                for total, square in zip(self.sums, self.squares, strict=True)
            ]
        )


def moments(values: Matrix) -> Moments:
    """Return the moments of a dense or sparse matrix of finite values below 1e150.

    They add up to the same total for all partitions of a table. (A square that underflows may lose
    what is below 1e-308.)
    """
    n, d = values.shape
    sums, squares = [0] * d, [0] * d
    by_column = sparse.csc_array(values) if sparse.issparse(values) else None
    for column in range(d):
        if by_column is None:
            numbers = values[:, column]
        else:
            # Zeros that are not stored add nothing.
            begin, end = by_column.indptr[column : column + 2]
            numbers = by_column.data[begin:end]
        for at in range(0, len(numbers), _ROWS):
            some = np.ascontiguousarray(numbers[at : at + _ROWS])
            rounded, rest = _square(some)
            sums[column] += exact_sum(some)
            squares[column] += exact_sum(rounded) + exact_sum(rest)
    return Moments(n, tuple(sums), tuple(squares))


def exact_sum(numbers: Floats) -> int:
    """Return the sum of at most 2**20 finite floats, in multiples of 2**-1074."""
    if not len(numbers):
        return 0
    mantissa, exponent = np.frexp(numbers)
    lowest = int(exponent.min())
    # A number is (high * 2**27 + low) * 2**(exponent - 53), with integers high and low.
    high = np.floor(np.ldexp(mantissa, 53 - _HALF))
    low = np.ldexp(mantissa, 53) - np.ldexp(high, _HALF)
    bins = exponent - lowest
    highs, lows = (np.bincount(bins, weights=half).tolist() for half in (high, low))
    total = 0
    for place, (upper, lower) in enumerate(zip(highs, lows, strict=True)):
        integer = (int(upper) << _HALF) + int(lower)
        shift = lowest + place - 53 + _UNIT
        # A negative shift only drops zeros: no float has bits below 2**-1074.
        total += integer << shift if shift >= 0 else integer >> -shift
    return total


def _square(numbers: Floats) -> tuple[Floats, Floats]:
    """Return squares as sums of two floats, without rounding (Dekker's product)."""
    rounded = numbers * numbers
    large = _SPLITTER * numbers
    high = large - (large - numbers)
    low = numbers - high
    return rounded, ((high * high - rounded) + 2 * high * low) + low * low
