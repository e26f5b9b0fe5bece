"""A step that is done thousands of times: seeded, and on a GPU recorded once and replayed."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

#: Steps that are done before one is recorded: libraries set themselves up in the first.
_WARM = 3


def find_device(name: Any) -> torch.device:
    """Find the device that `device=name` means.

    Parameters
    ----------
    name : str, torch.device or None
        None for CUDA if torch sees it, or else the CPU.

    Returns
    -------
    torch.device
    """
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device={name!r} is none of 'cpu', 'cuda', 'cuda:0' and so on.")
    if device.type == "cpu":
        return torch.device("cpu")
    seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not seen:
        raise ValueError(
            f"device={str(name)!r}: torch sees no CUDA device here; pass device='cpu'."
        )
    if device.index is not None and device.index >= seen:
        raise ValueError(f"device={str(name)!r}: torch sees CUDA devices 0 to {seen - 1} only.")
    if device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


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
        graph = torch.cuda.CUDAGraph()
        try:
            # The first puts the stream back should the end of recording fail.
            with (
                torch.cuda.stream(torch.cuda.current_stream(self.device)),
                torch.cuda.graph(graph, stream=self._stream),
            ):
                self.step()
        except RuntimeError as problem:
            self._records = False
            warnings.warn(
                f"steps are done one by one, since none could be recorded: {_first_line(problem)}",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        self._graph = graph


def _first_line(problem: Exception) -> str:
    return next(iter(str(problem).splitlines()), type(problem).__name__)
