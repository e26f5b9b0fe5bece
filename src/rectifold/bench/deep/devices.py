"""Where networks are trained: a CUDA device if there is one, or the CPU."""

from __future__ import annotations

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
    return devices.find("cuda" if name is None else name)


def called(device: torch.device) -> str:
    """Give what a device is called: of a GPU the product, else the kind."""
    return str(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)
