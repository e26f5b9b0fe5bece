"""A step that is done thousands of times: on a GPU it is recorded once and replayed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import torch

#: Steps that are done before one is recorded: libraries set themselves up in the first.
_WARM = 3


class Repeated:
    """A step without arguments that works on buffers; on CUDA a graph of it is replayed.

    Where no graph can be made, the step is called as it is.

    Parameters
    ----------
    step : callable
        Changes tensors in place, and asks nothing of them. One that could not be recorded may
        have set gradients: clear them first, not last.
    device : torch.device
        Where they are.
    stream : torch.cuda.Stream, optional
        The one that is current whenever this is called, if it is not the device's own. A graph
        can't be recorded on that: without `stream` the first steps are done on another.
    records : bool, default=True
        Whether steps are recorded, where the device is CUDA.
    """

    def __init__(
        self,
        step: Callable[[], None],
        device: torch.device,
        *,
        stream: Any = None,
        records: bool = True,
    ) -> None:
        self.step, self.device = step, device
        self._left = _WARM
        self._graph: Any = None
        self._records = records and device.type == "cuda"
        self._aside = self._records and stream is None
        self._stream = torch.cuda.Stream(device) if self._aside else stream

    @property
    def recorded(self) -> bool:
        """Whether steps are replays."""
        return self._graph is not None

    def __call__(self) -> None:
        """Do the step once."""
        if self._records and self._left == 0 and self._graph is None:
            self._record()
        self._left = max(0, self._left - 1)
        if self._graph is not None:
            self._graph.replay()
        elif self._aside:
            self._do_aside()
        else:
            self.step()

    def end(self) -> None:
        """Let go of the step and its graph, whose memory is the device's again."""
        self.step, self._graph, self._records = _ended, None, False

    def _do_aside(self) -> None:
        here = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream):
            self.step()
        here.wait_stream(self._stream)

    def _record(self) -> None:
        try:
            self._graph = _graph_of(self.step, self.device, self._stream)
        except RuntimeError as problem:
            self._records = self._aside = False
            reason = next(iter(str(problem).splitlines()), type(problem).__name__)
            warnings.warn(
                f"steps are done one by one, which is slower, since none could be recorded: "
                f"{reason}",
                RuntimeWarning,
                stacklevel=3,
            )


def _ended() -> None:
    raise RuntimeError("no step can follow: they were ended.")


def _graph_of(step: Callable[[], None], device: torch.device, stream: Any) -> Any:
    """Record a step on the stream where it was done before; it is not done by that."""
    graph = torch.cuda.CUDAGraph()
    # Were a graph that nobody needs any more thrown away meanwhile, both would be lost.
    gc.collect()
    collects = gc.isenabled()
    gc.disable()
    try:
        # The first puts the stream back should the end of recording fail.
        with (
            torch.cuda.stream(torch.cuda.current_stream(device)),
            torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"),
        ):
            step()
    finally:
        if collects:
            gc.enable()
    return graph
