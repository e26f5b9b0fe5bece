"""Memory that a thread uses again and again, for results that are gone before the next."""

import threading
from typing import Any

import numpy as np

from rectifold._core.utils import Bools, Floats

_mine = threading.local()
#: What threads that have ended used, for those that come next.
_left: list[dict[str, Any]] = []
#: So many of those are kept; each holds a few megabytes.
_KEPT = 4


def scratch(name: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """Give an array of any content, good until this thread asks for `name` again.

    An array of its own for every block of products would be handed back to the system and
    asked for anew each time, which takes as long as the products.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not hasattr(_mine, "held"):
        _mine.held = take_over()
    held = _mine.held.get(name)
    if held is None or held.size < size:
        held = _mine.held[name] = np.empty(size, dtype=np.uint8)
    return held[:size].view(dtype).reshape(shape)


def take_over(register: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Begin a thread with the memory of one that has ended, noted in a register."""
    try:
        held = _left.pop()
    except IndexError:
        held = {}
    _mine.held = held
    if register is not None:
        register.append(held)
    return held


def leave(register: list[dict[str, Any]]) -> None:
    """Leave the memory of threads that have ended to those that come next."""
    _left.extend(register[: max(0, _KEPT - len(_left))])


def positive(block: Floats) -> Bools:
    """Tell where a block is above zero; good until the next call."""
    mask: Bools = np.greater(block, 0, out=scratch("mask", block.shape, np.bool_))
    return mask
