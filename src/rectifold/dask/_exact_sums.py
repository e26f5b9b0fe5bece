"""Sums of floats without any rounding, so that parts of a table can be added in any order."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from rectifold._core.utils import Floats, Matrix

#: Every float64 is a whole multiple of two to minus this.
_UNIT = 1074
#: Bits of the lower half of a mantissa; halves of so many rows add up within 53 bits.
_HALF, _ROWS = 27, 1 << 20
#: Splits a float into two of half the length, by a product (Veltkamp).
_SPLITTER = 2.0**27 + 1


@dataclass(frozen=True, slots=True)
class Moments:
    """How many numbers there were, their sum and the sum of their squares, column by column."""

    count: int
    #: In multiples of two to minus 1074.
    sums: tuple[int, ...]
    squares: tuple[int, ...]

    def __add__(self, other: "Moments") -> "Moments":
        """Join two parts of a table."""
        return Moments(
            self.count + other.count,
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            tuple(a + b for a, b in zip(self.squares, other.squares, strict=True)),
        )

    def means(self) -> Floats:
        """The mean of every column, correctly rounded."""
        return np.array([float(Fraction(one, self.count << _UNIT)) for one in self.sums])

    def variances(self) -> Floats:
        """The variance of every column (that of a population), correctly rounded."""
        return np.array(
            [
                float(Fraction(self.count * (two << _UNIT) - one * one, self.count**2 << 2 * _UNIT))
                for one, two in zip(self.sums, self.squares, strict=True)
            ]
        )


def moments(values: Matrix) -> Moments:
    """Add up the columns of some rows, and their squares.

    Parameters
    ----------
    values : {ndarray, csr_array} of shape (n_rows, n_columns)
        Finite numbers below 1e150.

    Returns
    -------
    Moments
        The same in total for all ways to part a table. (Squares are those of floats that, where
        they underflow, may have lost what is below 1e-308.)
    """
    n, d = values.shape
    sums, squares = [0] * d, [0] * d
    by_column = sparse.csc_array(values) if sparse.issparse(values) else None
    for column in range(d):
        if by_column is None:
            numbers = values[:, column]
        else:
            # What is not stored adds nothing.
            begin, end = by_column.indptr[column : column + 2]
            numbers = by_column.data[begin:end]
        for at in range(0, len(numbers), _ROWS):
            some = np.ascontiguousarray(numbers[at : at + _ROWS])
            rounded, rest = _squared(some)
            sums[column] += exact_sum(some)
            squares[column] += exact_sum(rounded) + exact_sum(rest)
    return Moments(n, tuple(sums), tuple(squares))


def exact_sum(numbers: Floats) -> int:
    """Add up at most 2^20 finite floats, in multiples of two to minus 1074."""
    if not len(numbers):
        return 0
    mantissa, exponent = np.frexp(numbers)
    lowest = int(exponent.min())
    # A number is (high * 2^27 + low) * 2^(exponent - 53), with whole high and low.
    high = np.floor(np.ldexp(mantissa, 53 - _HALF))
    low = np.ldexp(mantissa, 53) - np.ldexp(high, _HALF)
    bins = exponent - lowest
    highs, lows = (np.bincount(bins, weights=half).tolist() for half in (high, low))
    total = 0
    for place, (upper, lower) in enumerate(zip(highs, lows, strict=True)):
        whole = (int(upper) << _HALF) + int(lower)
        shift = lowest + place - 53 + _UNIT
        # Small numbers end in zeros as far as their unit is out of range.
        total += whole << shift if shift >= 0 else whole >> -shift
    return total


def _squared(numbers: Floats) -> tuple[Floats, Floats]:
    """Squares as the sum of two floats, without rounding (Dekker's product)."""
    rounded = numbers * numbers
    large = _SPLITTER * numbers
    high = large - (large - numbers)
    low = numbers - high
    return rounded, ((high * high - rounded) + 2 * high * low) + low * low
