"""Where networks are trained: a CUDA device if there is one, or the CPU; and work with a seed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from rectifold._engines.gpu import devices


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
