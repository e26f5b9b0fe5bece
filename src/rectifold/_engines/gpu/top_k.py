"""Selection along the rows of a block of products, on a device."""

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.top_k import STRIDES


def kth_at_least(block: Tensor, k: int) -> Tensor:
    """Give for every row a number that its k-th largest entry is at least, and hardly more.

    The same as `rectifold._engines.exact.top_k.kth_at_least`, along the last axis.
    """
    width = block.shape[-1]
    strides = STRIDES * (k + 1)
    if width >= 2 * strides:
        cut = width // strides * strides
        largest = block[..., :cut].unflatten(-1, (width // strides, strides)).amax(dim=-2)
        if cut < width:
            rest = block[..., cut:]
            largest[..., : width - cut] = torch.maximum(largest[..., : width - cut], rest)
        block = largest
    return block.topk(k, dim=-1, sorted=False).values.amin(dim=-1)
