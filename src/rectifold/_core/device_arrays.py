"""Arrays on a GPU, of PyTorch, CuPy or any library that supports DLPack."""

import sys
from typing import Any

import numpy as np

from rectifold._core.errors import Param, ParameterError
from rectifold._core.space import LARGEST, Metric, Points, nothing_varies
from rectifold._core.summation import add_columns, roots
from rectifold._core.utils import Ints

#: The CPU in DLPack's numbering of devices.
_CPU = 1


def is_on_device(X: Any) -> bool:
    """Return whether an array is in the memory of a device other than the CPU."""
    if isinstance(X, np.ndarray):
        return False
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return bool(X.device.type != "cpu")
    if hasattr(X, "__cuda_array_interface__"):
        return True
    where = getattr(X, "__dlpack_device__", None)
    return where is not None and int(where()[0]) != _CPU


def to_device_points(X: Any, metric: Metric) -> Points:
    """Return the points of an array on a device, there, equal to those of `to_points` bit for bit.

    The values are a float64 tensor; on the CPU if the device has no float64 or too little memory,
    or if there are zero samples under the cosine metric.
    """
    if metric not in ("euclidean", "sqeuclidean", "cosine"):
        raise ParameterError(
            "{} is on a GPU, where {} is not known: pass {} or {}, or copy it to the host.",
            Param("X"),
            Param("metric", metric),
            Param("metric", "euclidean"),
            Param("metric", "cosine"),
        )
    tensor = _tensor(X, "X")
    from rectifold._engines.gpu.devices import is_full

    try:
        return _points(tensor, metric)
    except RuntimeError as error:
        if not is_full(error):
            raise
    # The device has too little memory for another copy.
    return _points(tensor.cpu(), metric)


def _points(tensor: Any, metric: Metric) -> Points:
    import torch

    values = _numbers(tensor)
    if bool((values == values[0]).all()):
        raise nothing_varies()
    largest = values.abs().amax(dim=1)
    if metric != "cosine":
        if float(largest.max()) > LARGEST:
            raise ParameterError(
                "{} holds values beyond {}, whose squares overflow: rescale it.",
                Param("X"),
                f"{LARGEST:g}",
            )
        return Points(values, metric)
    zero = largest == 0
    # Dividing by a power of two is exact and prevents overflow of the squares; in two steps, each
    # within the range of float64.
    exponent = torch.where(zero, 0, torch.frexp(largest).exponent).long()
    half = torch.div(exponent, 2, rounding_mode="trunc")
    unit = values
    for part in (half, exponent - half):
        unit = unit * ((1023 - part) << 52).view(torch.float64)[:, None]
    lengths = roots(add_columns(torch.zeros_like(largest), (unit * unit).unbind(dim=1)))
    unit = unit / torch.where(zero, 1.0, lengths)[:, None]
    if not bool(zero.any()):
        return Points(unit, "cosine")
    return Points(unit.cpu().numpy(), "cosine", zero.cpu().numpy())


def _numbers(values: Any) -> Any:
    """Return a tensor of finite float64 values, on the same device if that has float64."""
    import torch

    if values.layout != torch.strided:
        raise ParameterError(
            "{} is a sparse tensor: pass a dense one, or a SciPy sparse matrix.", Param("X")
        )
    if values.ndim != 2:
        raise ParameterError(
            "{} must have two dimensions, and has {}.", Param("X"), str(values.ndim)
        )
    if values.is_complex():
        raise ParameterError("{} holds complex numbers, and distances need real ones.", Param("X"))
    if 0 in values.shape:
        raise ParameterError(
            "{} has the shape {}: it needs samples and features.",
            Param("X"),
            str(tuple(values.shape)),
        )
    values = (values.cpu() if values.device.type == "mps" else values).to(torch.float64)
    finite = torch.isfinite(values).all(dim=0)
    if not bool(finite.all()):
        column = int((~finite).byte().argmax())
        raise ParameterError(
            "column {} of {} holds missing or infinite values (NaN or inf), and distances need "
            "finite numbers: impute them, or leave those samples out.",
            str(column),
            Param("X"),
        )
    return values.contiguous()


def _tensor(X: Any, name: str) -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise ParameterError(
            "{} is on a GPU, and reading it needs PyTorch: install rectifold[gpu], or copy it to "
            "the host.",
            Param(name),
        ) from None
    if isinstance(X, torch.Tensor):
        return X.detach()
    if hasattr(X, "__dlpack__"):
        return torch.from_dlpack(X)
    return torch.as_tensor(X)


def to_host(y: Any) -> Any:
    """Return labels in the memory of the host."""
    return _tensor(y, "y").cpu().numpy() if is_on_device(y) else y


def take(X: Any, rows: Ints) -> Any:
    """Return some samples of an array on a device, in an array of the same library."""
    import torch

    tensor = _tensor(X, "X")
    some = tensor[torch.from_numpy(rows).to(tensor.device)]
    if isinstance(X, torch.Tensor):
        return some
    library = sys.modules[type(X).__module__.partition(".")[0]]
    if hasattr(X, "__array_namespace__"):
        library = X.__array_namespace__()
    # A library without DLPack gets a tensor.
    return library.from_dlpack(some) if hasattr(library, "from_dlpack") else some
