"""Where networks are trained: a CUDA device if there is one, or the CPU; steps recorded there."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch

from rectifold.engines.gpu import devices


def find_device(name: Any = None) -> torch.device:
    """Find the device that is meant.

    Parameters
    ----------
    name : str, torch.device or None
        None takes a CUDA device if torch sees one, and else the CPU.

    Returns
    -------
    torch.device
    """
    if name is None and not torch.cuda.is_available():
        return torch.device("cpu")
    device = devices.find("cuda" if name is None else name)
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device={str(name)!r} is not supported here: pass 'cpu' or 'cuda'.")
    return device


def called(device: torch.device) -> str:
    """Give what a device is called: of a GPU the product, else the kind."""
    return str(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)


def recorded(step: Callable[[], None], device: torch.device, stream: Any) -> Any:
    """Record a step as a CUDA graph, which can be replayed; it is not done yet.

    Parameters
    ----------
    step : callable
        Changes tensors in place, and asks nothing of them.
    device : torch.device
        A CUDA device.
    stream : torch.cuda.Stream
        Where the step was done before.

    Returns
    -------
    torch.cuda.CUDAGraph
        A `RuntimeError` says that it could not be made.
    """
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
