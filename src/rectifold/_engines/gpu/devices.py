"""Devices of torch: which one is meant, how much fits on it, and products that are not abridged."""

from __future__ import annotations

import contextlib
import numbers
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import torch

from rectifold._core.utils import Floats

Result = TypeVar("Result")
#: Numbers that one operation holds at once: at most this, and at most such a part of what is free.
_MOST, _PART = 1 << 29, 32
#: With fewer nothing can be done.
_LEAST = 1 << 12
#: The part of a device's free memory that points may fill.
_FILLED = 0.5
#: Bytes of an array that go to a device at once.
_STAGE = 1 << 24


def find(name: Any = None) -> torch.device:
    """Find the device that `device=name` means.

    Parameters
    ----------
    name : str, int, torch.device or None
        None for the accelerator that torch sees; or a name such as "cuda:1", "mps", "cpu".

    Returns
    -------
    torch.device
    """
    if name is None:
        found = best()
        if found is None:
            raise ValueError(
                "engine='gpu' found no GPU that torch can use: pass engine='exact', which gives "
                "the same answer on the CPU."
            )
        return found
    try:
        device = torch.device(int(name) if isinstance(name, numbers.Integral) else name)
        # "meta" and the like hold nothing.
        torch.ones(1, device=device).cpu()
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        raise ValueError(
            f"device={name!r} is none that torch can use here: it sees {_seen()}."
        ) from None
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def best() -> torch.device | None:
    """Give the accelerator that torch sees, if it sees one."""
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return None


def _seen() -> str:
    names = [f"'cuda:{number}'" for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("'mps'")
    return ", ".join([*names, "'cpu'"])


def doubles(device: torch.device) -> bool:
    """Tell whether a device computes in float64."""
    return bool(device.type != "mps")


def is_full(error: BaseException) -> bool:
    """Tell whether an error says that a device has no memory left."""
    # Not all devices have an exception of their own for it.
    known = (torch.OutOfMemoryError, MemoryError)
    return isinstance(error, known) or "out of memory" in str(error)


def free_bytes(device: torch.device) -> int:
    """Tell how much memory a device has left; of the CPU and of what can't tell, plenty."""
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    if device.type != "cuda":
        return 1 << 34
    free, whole = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    share = getattr(torch.cuda, "get_per_process_memory_fraction", lambda _: 1.0)(device)
    allowed = int(share * whole) - torch.cuda.memory_allocated(device)
    return int(max(0, min(free + held, allowed)))


def home_of(device: torch.device, n_bytes: int) -> torch.device:
    """Tell where points of so many bytes are kept: on the device, or else on the host."""
    if doubles(device) and n_bytes <= _FILLED * free_bytes(device):
        return device
    return torch.device("cpu")


class TooMuchError(Exception):
    """Part of the work would hold too many numbers at once."""


class Budget:
    """How much is done at once on a device; less, once that proves too much.

    Parameters
    ----------
    device : torch.device
        Where the work is done.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.numbers = min(_MOST, max(_LEAST, free_bytes(device) // _PART))
        if device.type == "cpu":
            # What a core's cache holds some of; the CPU is here for tests and for want of better.
            self.numbers = 1 << 22

    def pieces(
        self, total: int, each: int, work: Callable[[slice], Result]
    ) -> Iterator[tuple[slice, Result]]:
        """Do some work piece by piece, each as large as memory allows.

        Parameters
        ----------
        total : int
            Items.
        each : int
            Numbers that an item takes, about.
        work : callable
            Is given a slice of the items. It may be called again for a part of it.

        Yields
        ------
        slice, result
            In order.
        """
        at, most = 0, total
        while at < total:
            step = min(most, max(1, self.numbers // max(1, each)))
            part = slice(at, min(at + step, total))
            full = False
            try:
                result = work(part)
            except TooMuchError:
                most = max(1, (part.stop - part.start) // 2)
                continue
            except RuntimeError as error:
                if not is_full(error):
                    raise
                full = True
            if full:
                # Not in the clause above, where what the work held is still there.
                self.shrink()
                continue
            yield part, result
            at, most = part.stop, total

    def shrink(self) -> None:
        """Do less at once from now on."""
        if self.numbers <= _LEAST:
            raise too_little(self.device)
        self.numbers = max(_LEAST, self.numbers // 4)
        release(self.device)


def too_little(device: torch.device) -> MemoryError:
    """Say that a device can't hold even a little of the work."""
    return MemoryError(
        f"{device} has too little free memory for a search: pass engine='exact', which needs none "
        "of it."
    )


def release(device: torch.device) -> None:
    """Give memory back that torch holds for later."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def sent(values: Floats, device: torch.device) -> torch.Tensor:
    """Bring an array to a device, through memory that it can read while more is written there."""
    with warnings.catch_warnings():
        # That torch can't protect an array that is read only; nothing is written to it.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        source = torch.from_numpy(np.ascontiguousarray(values))
    if device.type != "cuda" or source.nbytes < 2 * _STAGE:
        return source.to(device)
    target = torch.empty_like(source, device=device)
    rows = max(1, _STAGE // max(1, source[0].nbytes))
    stages = [torch.empty_like(source[:rows], pin_memory=True) for _ in range(2)]
    done = [torch.cuda.Event() for _ in stages]
    for number, at in enumerate(range(0, len(source), rows)):
        stage, event = stages[number % 2], done[number % 2]
        part = source[at : at + rows]
        event.synchronize()
        stage[: len(part)].copy_(part)
        target[at : at + rows].copy_(stage[: len(part)], non_blocking=True)
        event.record(torch.cuda.current_stream(device))
    for event in done:
        event.synchronize()
    return target


@contextlib.contextmanager
def in_full(device: torch.device) -> Iterator[None]:
    """Work on a device, with float32 products in float32: the bounds hold for nothing less.

    Whatever the program around has chosen for its own products is put back.
    """
    here = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
    with here, torch.autocast(device.type, enabled=False), _precisely():
        yield


#: Searches that are under way, in how many threads: settings of torch hold for the whole process.
_searches = 0
_lock = threading.Lock()
_before: dict[str, Any] = {}


@contextlib.contextmanager
def _precisely() -> Iterator[None]:
    global _searches
    with _lock:
        _searches += 1
        if _searches == 1:
            _hold()
    try:
        yield
    finally:
        with _lock:
            _searches -= 1
            if _searches == 0:
                _put_back()


def _backends() -> dict[str, Any]:
    return {"cuda": torch.backends.cuda.matmul, "cpu": torch.backends.mkldnn.matmul}


def _hold() -> None:
    """Have products in full precision, and operations whose answers don't depend on their order."""
    for name, backend in _backends().items():
        _before[name] = backend.fp32_precision
        backend.fp32_precision = "ieee"
    _before["deterministic"] = torch.are_deterministic_algorithms_enabled()
    _before["warn_only"] = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)


def _put_back() -> None:
    for name, backend in _backends().items():
        # What was taken over from a wider setting is taken over again.
        backend.fp32_precision = "none"
        if backend.fp32_precision != _before[name]:
            backend.fp32_precision = _before[name]
    torch.use_deterministic_algorithms(_before["deterministic"], warn_only=_before["warn_only"])
