"""Repeat one training or sampling step; on a GPU it is recorded as a CUDA graph and replayed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import torch

#: Steps before one is recorded: libraries initialise themselves in the first ones.
_WARM_UP = 3


class Repeated:
    """A step without arguments that changes buffers in place; on CUDA, a graph of it is replayed.

    If no graph can be recorded, the step is called each time.

    Parameters
    ----------
    step : callable
        Changes tensors in place, and never reads a value on the host. A step whose recording
        failed may have left gradients: it must clear them first, not last.
    device : torch.device
        Device of the tensors.
    stream : torch.cuda.Stream, optional
        The stream that is current at each call, if it is not the default stream. A graph can't be
        recorded on the default stream, so without `stream` the first steps run on a side stream.
    records : bool, default=True
        Whether steps are recorded on CUDA.
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
        self._left = _WARM_UP
        self._graph: Any = None
        self._records = records and device.type == "cuda"
        self._on_side = self._records and stream is None
        self._stream = torch.cuda.Stream(device) if self._on_side else stream

    @property
    def recorded(self) -> bool:
        """Whether calls replay a recorded graph."""
        return self._graph is not None

    def __call__(self) -> None:
        """Run the step once."""
        if self._records and self._left == 0 and self._graph is None:
            self._record()
        self._left = max(0, self._left - 1)
        if self._graph is not None:
            self._graph.replay()
        elif self._on_side:
            self._run_on_side_stream()
        else:
            self.step()

    def end(self) -> None:
        """Drop the step and its graph, and with them the memory that they hold."""
        self.step, self._graph, self._records = _ended, None, False

    def _run_on_side_stream(self) -> None:
        current = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            self.step()
        current.wait_stream(self._stream)

    def _record(self) -> None:
        try:
            self._graph = _graph_of(self.step, self.device, self._stream)
        except RuntimeError as error:
            self._records = self._on_side = False
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            warnings.warn(
                f"no CUDA graph could be recorded, so each step is launched anew: {reason}",
                RuntimeWarning,
                stacklevel=3,
            )


def _ended() -> None:
    raise RuntimeError("no step may follow after end().")


def _graph_of(step: Callable[[], None], device: torch.device, stream: Any) -> Any:
    """Record a step on the stream where it ran before; recording does not run it."""
    graph = torch.cuda.CUDAGraph()
    # If another graph were freed during the recording, both would be invalid.
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        # The first restores the stream if the recording fails.
        with (
            torch.cuda.stream(torch.cuda.current_stream(device)),
            torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"),
        ):
            step()
    finally:
        if was_enabled:
            gc.enable()
    return graph
