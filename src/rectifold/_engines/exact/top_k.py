"""Selection and counting along the rows of a block of products."""

import numpy as np

from rectifold._core.utils import Bools, Floats, Ints

#: A wide row is cut into this multiple of k strides; fewer are less precise, more are slower.
STRIDES = 4


def kth_at_least(block: Floats, k: int) -> Floats:
    """Return for every row a lower bound of its k-th largest entry, and rarely far below it.

    Of a wide row it is the k-th largest of the maxima of many strides. Two of the k largest entries
    seldom share a stride, so that the bound has a rank little beyond k; and it takes a tenth of the
    time of a selection. `block` must have at least k columns.
    """
    n, width = block.shape
    strides = STRIDES * (k + 1)
    if width >= 2 * strides:
        cut = width // strides * strides
        largest = block[:, :cut].reshape(n, width // strides, strides).max(axis=1)
        rest = block[:, cut:]
        np.maximum(largest[:, : width - cut], rest, out=largest[:, : width - cut])
        block = largest
    rank = block.shape[1] - k
    return np.partition(block, rank, axis=1)[:, rank]


def count(mask: Bools, weights: Ints) -> Ints:
    """Return the sums, along the last axis, of the weights where `mask` is true.

    `mask` has the shape (..., n_rows, n_columns), `weights` (..., n_columns).
    """
    if weights.max(initial=1) == 1:
        return np.asarray(np.count_nonzero(mask, axis=-1))
    # Whole numbers far below 2^53 are exact in a product of float64, and below 2^24 in one
    # of float32, which is twice as fast.
    small = weights.sum(axis=-1).max() < 2**24
    dtype = np.float32 if small else np.float64
    product = mask.astype(dtype) @ weights[..., None].astype(dtype)
    return np.asarray(product[..., 0].astype(np.intp))
