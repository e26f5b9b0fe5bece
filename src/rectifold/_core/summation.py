"""Sums in a fixed order and square roots, equal bit for bit for any layout, block or device."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rectifold._core.utils import Floats, Ints


def sum_columns(columns: Iterable[Floats], n_rows: int) -> Floats:
    """Return the sum of columns, added from first to last, unlike pairwise or vectorised sums."""
    total: Floats = add_columns(np.zeros(n_rows), columns)
    return total


def add_columns(total: Any, columns: Iterable[Any]) -> Any:
    """Add columns to a total in the same order; also tensors, on any device."""
    for column in columns:
        total += column
    return total


def roots(squares: Any) -> Any:
    """Return correctly rounded square roots of a tensor: torch has them on CUDA, not on the CPU."""
    if squares.device.type == "cpu":
        return squares.new_tensor(np.sqrt(squares.numpy()))
    return squares.sqrt()


def sum_entries(entries: Floats, indptr: Ints) -> Floats:
    """Return the sums of the rows of a CSR matrix, added in the order in which they are stored."""
    n_rows = len(indptr) - 1
    owner = np.repeat(np.arange(n_rows), np.diff(indptr))
    # bincount adds in the order of its input; without entries it returns integers.
    return np.bincount(owner, entries, minlength=n_rows).astype(np.float64, copy=False)
