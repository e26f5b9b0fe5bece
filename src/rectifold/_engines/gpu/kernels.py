"""Triton kernels that compute and reduce products of points in one pass over their coordinates.

All products are in full single precision ("ieee"), as the error bounds of
`rectifold._engines.rounding` require. The two additional columns are added last.
"""

import torch
import triton
import triton.language as tl

from rectifold._core.utils import Tensor

#: Number of targets, and of columns, that are multiplied at once.
_POINTS, _DEPTH = 128, 16


@triton.jit  # type: ignore[untyped-decorator]
def _reduced(  # type: ignore[no-untyped-def]
    queries,
    who,
    table,
    leaves,
    weights,
    out,
    columns,
    size,
    COUNT: tl.constexpr,
    WEIGHTED: tl.constexpr,
    WIDTH: tl.constexpr,
    POINTS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Reduce the products of a block's queries with the points of its leaf."""
    block = tl.program_id(0).to(tl.int64)
    row = tl.arange(0, WIDTH)
    query = tl.load(who + block * WIDTH + row)
    place = block * WIDTH + row
    leaf = tl.load(leaves + block)
    stride = columns + 2
    first = tl.load(queries + query * stride + columns)
    best = tl.full((WIDTH,), float("-inf"), tl.float32)
    total = tl.zeros((WIDTH,), tl.int64)
    for at in range(0, size, POINTS):
        slot = at + tl.arange(0, POINTS)
        inside = slot < size
        point = leaf * size + slot
        found = tl.zeros((WIDTH, POINTS), tl.float32)
        for column in range(0, columns, DEPTH):
            some = column + tl.arange(0, DEPTH)
            there = some < columns
            left = tl.load(
                queries + query[:, None] * stride + some[None, :],
                mask=there[None, :],
                other=0.0,
            )
            right = tl.load(
                table + point[None, :] * stride + some[:, None],
                mask=there[:, None] & inside[None, :],
                other=0.0,
            )
            found = tl.dot(left, right, found, input_precision="ieee")
        last = tl.load(table + point * stride + columns + 1, mask=inside, other=float("-inf"))
        found = found + first[:, None] + last[None, :]
        if COUNT:
            if WEIGHTED:
                weight = tl.load(weights + point, mask=inside, other=0)
                total += tl.sum(tl.where(found > 0, weight[None, :], 0), axis=1)
            else:
                total += tl.sum((found > 0).to(tl.int64), axis=1)
        else:
            best = tl.maximum(best, tl.max(found, axis=1))
    if COUNT:
        tl.store(out + place, total)
    else:
        tl.store(out + place, best)


def highest(queries: Tensor, who: Tensor, table: Tensor, leaves: Tensor, size: int) -> Tensor:
    """Return the largest product of each query of a block with the points of its leaf."""
    out = torch.empty(who.shape, dtype=torch.float32, device=who.device)
    _launch(queries, who, table, leaves, size, None, out, count=False)
    return out


def nearer(
    queries: Tensor, who: Tensor, table: Tensor, leaves: Tensor, size: int, weights: Tensor | None
) -> Tensor:
    """Count for each query of a block the points of its leaf with a product above zero."""
    out = torch.empty(who.shape, dtype=torch.int64, device=who.device)
    _launch(queries, who, table, leaves, size, weights, out, count=True)
    return out


def _launch(
    queries: Tensor,
    who: Tensor,
    table: Tensor,
    leaves: Tensor,
    size: int,
    weights: Tensor | None,
    out: Tensor,
    *,
    count: bool,
) -> None:
    if not len(who):
        return
    _reduced[(len(who),)](
        queries,
        who,
        table,
        leaves,
        leaves if weights is None else weights,
        out,
        queries.shape[1] - 2,
        size,
        COUNT=count,
        WEIGHTED=weights is not None,
        WIDTH=who.shape[1],
        POINTS=_POINTS,
        DEPTH=_DEPTH,
    )
