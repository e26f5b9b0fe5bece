"""Selection and counting along the rows of a block of products."""

import numpy as np

from rectifold._core.utils import Bools, Floats, Ints

#: A row is cut into so many times k strides; fewer would find too little, more cost more.
STRIDES = 4


def kth_at_least(block: Floats, k: int) -> Floats:
    """Give for every row a number that its k-th largest entry is at least, and hardly more.

    Of a wide row the largest entry of each of many strides is taken, and the k-th largest of
    those: k entries are as large. Two of the k largest seldom share a stride, so that
    the result has a rank little beyond k; and it takes a tenth of the time of a selection.

    Parameters
    ----------
    block : ndarray of shape (n_rows, n_columns)
        Numbers, at least `k` columns.
    k : int
        From 1 on.

    Returns
    -------
    ndarray of shape (n_rows,)
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
    """Add up, along the last axis, the weights where a mask is true.

    Parameters
    ----------
    mask : ndarray of bool of shape (..., n_rows, n_columns)
        What is counted.
    weights : ndarray of int of shape (..., n_columns)
        How often each counts.

    Returns
    -------
    ndarray of int of shape (..., n_rows)
    """
    if weights.max(initial=1) == 1:
        return np.asarray(np.count_nonzero(mask, axis=-1))
    # PairwiseResult numbers far below 2^53 are exact in a product of float64, and below 2^24 in one
    # of float32, which is twice as fast.
    small = weights.sum(axis=-1).max() < 2**24
    dtype = np.float32 if small else np.float64
    product = mask.astype(dtype) @ weights[..., None].astype(dtype)
    return np.asarray(product[..., 0].astype(np.intp))
