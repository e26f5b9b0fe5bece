"""The device that networks are trained on, and a context with a seed and TF32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from rectifold._engines.gpu import devices


def find_device(name: Any = None) -> torch.device:
    """Return a torch device; None means CUDA if torch sees a CUDA device, else the CPU."""
    if name is None and not torch.cuda.is_available():
        return torch.device("cpu")
    device = devices.find("cuda" if name is None else name)
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device={str(name)!r} is not supported here: pass 'cpu' or 'cuda'.")
    return device


def device_name(device: torch.device) -> str:
    """Return the product name of a GPU, or "cpu"."""
    return str(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)


@contextlib.contextmanager
def working(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch's generators of a device and use TF32 for products of float32.

    The previous settings and the states of the generators are restored on exit.
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
            # A value inherited from the wider setting must be inherited again.
            matmul.fp32_precision = "none"
            if matmul.fp32_precision != before:
                matmul.fp32_precision = before
