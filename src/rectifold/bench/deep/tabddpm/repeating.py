"""A step that is done thousands of times: seeded, and on a GPU recorded once and replayed."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from rectifold.bench.deep.devices import recorded

#: Steps that are done before one is recorded: libraries set themselves up in the first.
_WARM = 3


@contextlib.contextmanager
def working(device: torch.device, seed: int) -> Iterator[None]:
    """Work on a device with random numbers from a seed, and TF32 for products of float32.

    What the program around has chosen, and its random numbers, are put back.

    Parameters
    ----------
    device : torch.device
        The CPU or a CUDA device.
    seed : int
        For torch's own generators of that device, which networks and dropout use.
    """
    if device.type == "cpu":
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            yield
        return
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    with torch.cuda.device(device), torch.random.fork_rng(devices=[device.index]):
        torch.default_generator.manual_seed(seed)
        torch.cuda.manual_seed(seed)
        matmul.fp32_precision = "tf32"
        try:
            yield
        finally:
            # What was taken over from a wider setting is taken over again.
            matmul.fp32_precision = "none"
            if matmul.fp32_precision != before:
                matmul.fp32_precision = before


class Repeated:
    """A step without arguments that works on buffers; on CUDA a graph of it is replayed.

    Where no graph can be made, the step is called as it is.

    Parameters
    ----------
    step : callable
        Changes tensors in place, and asks nothing of them.
    device : torch.device
        Where they are.
    """

    def __init__(self, step: Callable[[], None], device: torch.device) -> None:
        self.step, self.device = step, device
        self._left = _WARM
        self._graph: Any = None
        self._records = device.type == "cuda"
        self._stream: Any = torch.cuda.Stream(device) if self._records else None

    def __call__(self) -> None:
        """Do the step once."""
        if self._records and self._left == 0 and self._graph is None:
            self._record()
        if self._graph is not None:
            self._graph.replay()
        elif self._records:
            self._left -= 1
            self._aside()
        else:
            self.step()

    def _aside(self) -> None:
        """Do the step on another stream, as before recording it."""
        here = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream):
            self.step()
        here.wait_stream(self._stream)

    def _record(self) -> None:
        try:
            self._graph = recorded(self.step, self.device, self._stream)
        except RuntimeError as problem:
            self._records = False
            warnings.warn(
                f"steps are done one by one, since none could be recorded: {_first_line(problem)}",
                RuntimeWarning,
                stacklevel=2,
            )


def _first_line(problem: Exception) -> str:
    return next(iter(str(problem).splitlines()), type(problem).__name__)
