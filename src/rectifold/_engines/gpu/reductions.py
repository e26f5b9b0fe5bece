"""Products of queries with leaves, reduced per query to their maximum, a count or the k-th largest.

On a CUDA device with Triton, `kernels` computes and reduces products in one pass. Elsewhere torch
writes every product to memory.
"""

import importlib.util
import math
import warnings
from functools import cache
from typing import Any

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.top_k import STRIDES
from rectifold._engines.gpu.devices import is_full
from rectifold._engines.gpu.products import Blocks, Frame, product


def highest(frame: Frame, queries: Tensor, blocks: Blocks) -> Tensor:
    """Return the largest product of each query with the points of its leaves.

    The last entry, of the padding of `Frame.queries`, is arbitrary.
    """
    result = queries.new_full((len(queries),), -math.inf)
    found = _fused("highest", frame, queries, blocks)
    if found is not None:
        return result.scatter_reduce_(0, blocks.queries.ravel(), found.ravel(), "amax")
    for some, products in frame.products(queries, blocks):
        result.scatter_reduce_(0, some.queries.ravel(), products.amax(dim=2).ravel(), "amax")
    return result


def highest_of_all(frame: Frame, queries: Tensor, leaves: Tensor) -> Tensor:
    """Return the same if all queries search the same leaves, with one large product."""
    step = max(1, frame.budget.numbers // (len(queries) * frame.leaves.size))
    parts = [
        product(queries, frame.targets(some).flatten(0, 1)).amax(dim=1)
        for some in torch.split(leaves, step)
    ]
    return torch.stack(parts).amax(dim=0)


def nearer(frame: Frame, queries: Tensor, blocks: Blocks, weights: Tensor | None) -> Tensor:
    """Count for each query the samples in its leaves that are nearer than its bound.

    `weights`, of shape (n_leaves, leaf size), is the number of samples on each point; None means
    one. The last entry, of the padding of `Frame.queries`, is arbitrary.
    """
    result = torch.zeros(len(queries), dtype=torch.int64, device=queries.device)
    found = _fused("nearer", frame, queries, blocks, weights)
    if found is not None:
        return result.index_add_(0, blocks.queries.ravel(), found.ravel())
    for some, products in frame.products(queries, blocks):
        mask = products > 0
        if weights is None:
            counts = mask.sum(dim=2)
        else:
            counts = torch.where(mask, weights[some.leaves].unsqueeze(1), 0).sum(dim=2)
        result.index_add_(0, some.queries.ravel(), counts.ravel())
    return result


def kth_at_least(block: Tensor, k: int) -> Tensor:
    """Return a close lower bound of the k-th largest entry along the last axis.

    It equals that of `rectifold._engines.exact.top_k.kth_at_least`.
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


def _fused(name: str, frame: Frame, queries: Tensor, blocks: Blocks, *more: Any) -> Any:
    """Return the result of the kernel of that name, or None if there is none for this device."""
    on_device = frame.device.type == "cuda" and frame.home == frame.device
    if not on_device or frame.table.dtype != torch.float32 or not _has_triton():
        return None
    try:
        from rectifold._engines.gpu import kernels

        reduce = getattr(kernels, name)
        return reduce(queries, blocks.queries, frame.table, blocks.leaves, frame.leaves.size, *more)
    except Exception as error:
        if is_full(error):
            raise
        # Triton compiles at run time, which needs a compiler and a supported device.
        _without_triton(error)
        return None


@cache
def _has_triton() -> bool:
    return not _triton_errors and importlib.util.find_spec("triton") is not None


_triton_errors: list[BaseException] = []


def _without_triton(error: BaseException) -> None:
    _triton_errors.append(error)
    _has_triton.cache_clear()
    warnings.warn(
        f"Triton can't compile for this GPU ({type(error).__name__}), so torch is used instead: "
        "the result is the same, a little slower.",
        RuntimeWarning,
        stacklevel=2,
    )
