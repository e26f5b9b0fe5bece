"""Arrays that are on a GPU, of PyTorch, CuPy or what else speaks DLPack: taken where they are."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from rectifold._core.space import LARGEST, Metric, Points
from rectifold._core.summation import add_columns, roots
from rectifold._core.utils import Ints

#: DLPack's number for the CPU's memory.
_CPU = 1


def is_on_device(X: Any) -> bool:
    """Tell whether an array is in the memory of a device other than the CPU."""
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
    """Put rows on a device into the form in which a metric is computed, there.

    The same, to the last bit, as `rectifold._core.space.to_points` on the CPU.

    Parameters
    ----------
    X : array on a device, of shape (n_rows, n_columns)
        Rows.
    metric : str or callable
        As `rectifold._core.space.resolve_metric` gives it.

    Returns
    -------
    Points
        With a tensor of float64 as values; on the CPU where the device has no float64 or no room,
        and where there are rows without a direction.
    """
    if metric not in ("euclidean", "sqeuclidean", "cosine"):
        raise ValueError(
            f"X is on a GPU, where metric={metric!r} is not known: pass 'euclidean' or 'cosine', "
            "or bring X to the host."
        )
    tensor = _tensor(X, "X")
    from rectifold._engines.gpu.devices import is_full

    try:
        return _points(tensor, metric)
    except RuntimeError as error:
        if not is_full(error):
            raise
    # The device has no room for another copy.
    return _points(tensor.cpu(), metric)


def _points(tensor: Any, metric: Metric) -> Points:
    import torch

    values = _numbers(tensor)
    if bool((values == values[0]).all()):
        raise ValueError(
            "every column of X is constant, so no row is nearer than another: "
            "X needs at least one column that varies."
        )
    largest = values.abs().amax(dim=1)
    if metric != "cosine":
        if float(largest.max()) > LARGEST:
            raise ValueError(
                f"X holds values beyond {LARGEST:g}, whose squares can't be represented: rescale X."
            )
        return Points(values, metric)
    zero = largest == 0
    # Dividing by a power of two first is exact, and keeps squares in range; in two steps, each of
    # which is in the range of float64.
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
    """Give a tensor of finite float64 rows, on the same device if that has float64."""
    import torch

    if values.layout != torch.strided:
        raise ValueError("X is a sparse tensor: pass a dense one, or a SciPy sparse matrix.")
    if values.ndim != 2:
        raise ValueError(
            f"X must be a table of rows and columns, and has {values.ndim} dimensions."
        )
    if values.is_complex():
        raise ValueError("X holds complex numbers, and distances need real ones.")
    if 0 in values.shape:
        raise ValueError(
            f"X has {len(values)} samples and {values.shape[1]} columns: both are needed."
        )
    values = (values.cpu() if values.device.type == "mps" else values).to(torch.float64)
    finite = torch.isfinite(values).all(dim=0)
    if not bool(finite.all()):
        column = int((~finite).byte().argmax())
        raise ValueError(
            f"column {column} of X holds missing or infinite values (NaN or inf), and distances "
            "need finite numbers: fill them, or leave those rows out."
        )
    return values.contiguous()


def _tensor(X: Any, name: str) -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise ValueError(
            f"{name} is on a GPU, and to take it from there needs PyTorch: install rectifold[gpu], "
            f"or bring {name} to the host."
        ) from None
    if isinstance(X, torch.Tensor):
        return X.detach()
    if hasattr(X, "__dlpack__"):
        return torch.from_dlpack(X)
    return torch.as_tensor(X)


def to_host(y: Any) -> Any:
    """Bring labels to the host, if they are on a device."""
    return _tensor(y, "y").cpu().numpy() if is_on_device(y) else y


def take(X: Any, rows: Ints) -> Any:
    """Some rows of an array on a device, in an array of the same library."""
    import torch

    tensor = _tensor(X, "X")
    some = tensor[torch.from_numpy(rows).to(tensor.device)]
    if isinstance(X, torch.Tensor):
        return some
    library = sys.modules[type(X).__module__.partition(".")[0]]
    if hasattr(X, "__array_namespace__"):
        library = X.__array_namespace__()
    # A library that takes nothing over gets a tensor, which it may know how to read.
    return library.from_dlpack(some) if hasattr(library, "from_dlpack") else some
