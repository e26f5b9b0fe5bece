"""Products of queries with leaves, reduced to one number a query: the nearest, or how many are.

On a CUDA device with Triton they are computed, compared and summed in one pass, by `kernels`;
elsewhere by torch's operations, which write every product to memory.
"""

import importlib.util
import math
import warnings
from functools import cache
from typing import Any

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.gpu.devices import is_full
from rectifold._engines.gpu.products import Blocks, Frame, product


def highest(frame: Frame, queries: Tensor, blocks: Blocks) -> Tensor:
    """Give the largest product of each query with the points it looks at.

    Parameters
    ----------
    frame : Frame
        Points in leaves.
    queries : Tensor
        As `Frame.queries` gives them.
    blocks : Blocks
        Who looks at which leaf.

    Returns
    -------
    Tensor of shape (n_queries + 1,)
        Of nobody, anything.
    """
    result = queries.new_full((len(queries),), -math.inf)
    found = _fused("highest", frame, queries, blocks)
    if found is not None:
        return result.scatter_reduce_(0, blocks.queries.ravel(), found.ravel(), "amax")
    for some, products in frame.look(queries, blocks):
        result.scatter_reduce_(0, some.queries.ravel(), products.amax(dim=2).ravel(), "amax")
    return result


def highest_of_all(frame: Frame, queries: Tensor, leaves: Tensor) -> Tensor:
    """The same where all queries look at all of some leaves: one large product."""
    step = max(1, frame.budget.numbers // (len(queries) * frame.leaves.size))
    parts = [
        product(queries, frame.targets(some).flatten(0, 1)).amax(dim=1)
        for some in torch.split(leaves, step)
    ]
    return torch.stack(parts).amax(dim=0)


def nearer(frame: Frame, queries: Tensor, blocks: Blocks, weights: Tensor | None) -> Tensor:
    """Count for each query the rows that are nearer than its bound, of those it looks at.

    Parameters
    ----------
    frame : Frame
        Points in leaves.
    queries : Tensor
        As `Frame.queries` gives them.
    blocks : Blocks
        Who looks at which leaf.
    weights : Tensor of shape (n_leaves, size of a leaf) or None
        How many rows lie on each point; None where it is one each.

    Returns
    -------
    Tensor of shape (n_queries + 1,)
        Of nobody, anything.
    """
    result = torch.zeros(len(queries), dtype=torch.int64, device=queries.device)
    found = _fused("nearer", frame, queries, blocks, weights)
    if found is not None:
        return result.index_add_(0, blocks.queries.ravel(), found.ravel())
    for some, products in frame.look(queries, blocks):
        mask = products > 0
        if weights is None:
            counts = mask.sum(dim=2)
        else:
            counts = torch.where(mask, weights[some.leaves].unsqueeze(1), 0).sum(dim=2)
        result.index_add_(0, some.queries.ravel(), counts.ravel())
    return result


def _fused(name: str, frame: Frame, queries: Tensor, blocks: Blocks, *more: Any) -> Any:
    """Reduce by a kernel, where there is one; None where there is not."""
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
        # Triton compiles at run time, for which it needs a compiler and a device that it knows.
        _has_triton.cache_clear()
        _give_up(error)
        return None


@cache
def _has_triton() -> bool:
    return not _given_up and importlib.util.find_spec("triton") is not None


_given_up: list[BaseException] = []


def _give_up(error: BaseException) -> None:
    _given_up.append(error)
    warnings.warn(
        f"Triton can't compile for this GPU ({type(error).__name__}), and torch does its part: the "
        "same answer, a little later.",
        RuntimeWarning,
        stacklevel=2,
    )
