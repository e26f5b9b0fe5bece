"""Devices of PyTorch: selection, free memory, and the precision of matrix products."""

from __future__ import annotations

import contextlib
import numbers
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

import numpy as np
import torch
from scipy import sparse

from rectifold._core.errors import Param, ParameterError

Result = TypeVar("Result")
Answer = TypeVar("Answer")
#: Maximum number of values that one operation holds, and the divisor of the free memory that
#: limits it too.
_MOST, _PART = 1 << 29, 32
#: Minimum number of values that one operation holds.
_LEAST = 1 << 12
#: Fraction of the free memory of a device that points may take.
_FILLED = 0.5
#: Bytes that are copied to a device at once.
_STAGE = 1 << 24


def find(name: Any = None) -> torch.device:
    """Return the device that `device=name` means: a name of torch, or None for any accelerator."""
    if name is None:
        found = find_accelerator()
        if found is None:
            raise ParameterError(
                "{} found no GPU that torch can use: pass {}, which gives the same result on the "
                "CPU.",
                Param("engine", "gpu"),
                Param("engine", "exact"),
            )
        return found
    try:
        device = torch.device(int(name) if isinstance(name, numbers.Integral) else name)
        # Devices such as "meta" hold no data.
        torch.ones(1, device=device).cpu()
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        raise ParameterError(
            "{} is not a device that torch can use here: it sees {}.",
            Param("device", name),
            _visible(),
        ) from None
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def find_accelerator() -> torch.device | None:
    """Return the current accelerator of torch, or None if there is none."""
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return None


def _visible() -> str:
    names = [f"'cuda:{number}'" for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("'mps'")
    return ", ".join([*names, "'cpu'"])


def has_float64(device: torch.device) -> bool:
    """Return whether a device computes in float64."""
    return bool(device.type != "mps")


def is_full(error: BaseException) -> bool:
    """Return whether an error means that a device is out of memory."""
    # Not all devices have an exception class for it.
    known = (torch.OutOfMemoryError, MemoryError)
    return isinstance(error, known) or "out of memory" in str(error)


def free_bytes(device: torch.device) -> int:
    """Return the free memory of a device; 16 GiB for the CPU and devices that can't report it."""
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    if device.type != "cuda":
        return 1 << 34
    free, total = torch.cuda.mem_get_info(device)
    reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    fraction = getattr(torch.cuda, "get_per_process_memory_fraction", lambda _: 1.0)(device)
    allowed = int(fraction * total) - torch.cuda.memory_allocated(device)
    return int(max(0, min(free + reserved, allowed)))


def storage_device(device: torch.device, n_bytes: int) -> torch.device:
    """Return where to store `n_bytes` of float64 points: `device` if they fit, else the CPU."""
    if has_float64(device) and n_bytes <= _FILLED * free_bytes(device):
        return device
    return torch.device("cpu")


class PieceTooLargeError(Exception):
    """A piece of work would hold too many values at once."""


class Budget:
    """Number of values that one operation on a device may hold; lowered when memory runs out."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.numbers = min(_MOST, max(_LEAST, free_bytes(device) // _PART))
        if device.type == "cpu":
            # A size that suits the caches of the CPU.
            self.numbers = 1 << 22

    def pieces(
        self, total: int, each: int, work: Callable[[slice], Result]
    ) -> Iterator[tuple[slice, Result]]:
        """Call `work` on consecutive slices of `total` items; yield the slices and the results.

        An item takes about `each` values. If memory runs out, or `work` raises
        `PieceTooLargeError`, it is called again with a smaller slice.
        """
        at, most = 0, total
        while at < total:
            step = min(most, max(1, self.numbers // max(1, each)))
            part = slice(at, min(at + step, total))
            try:
                result = work(part)
            except PieceTooLargeError:
                most = max(1, (part.stop - part.start) // 2)
                continue
            except RuntimeError as error:
                if not is_full(error):
                    raise
            else:
                yield part, result
                at, most = part.stop, total
                continue
            # Outside of the except clause, whose traceback would keep the tensors alive.
            self.shrink()

    def shrink(self) -> None:
        """Lower the budget, or raise an error at its minimum."""
        if self.numbers <= _LEAST:
            raise memory_error(self.device)
        self.numbers = max(_LEAST, self.numbers // 4)
        empty_cache(self.device)


def memory_error(device: torch.device) -> MemoryError:
    """Return the error for a device with too little memory for any search."""
    return MemoryError(
        f"{device} has too little free memory for a search: pass engine='exact', which runs on "
        "the CPU."
    )


def empty_cache(device: torch.device) -> None:
    """Release memory that torch has reserved."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def to_device(values: Any, device: torch.device) -> torch.Tensor:
    """Return an array, a sparse matrix or a tensor as a dense tensor on a device.

    Large arrays are copied through two pinned buffers in turn.
    """
    if isinstance(values, torch.Tensor):
        return values.to(device)
    if sparse.issparse(values):
        values = values.toarray()
    with warnings.catch_warnings():
        # Torch can't protect a read-only array; nothing is written to it here.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        values = np.ascontiguousarray(values)
        # Torch has no negative strides, not even those of one column.
        source = torch.from_numpy(values if min(values.strides) >= 0 else values.copy())
    if device.type != "cuda" or source.nbytes < 2 * _STAGE:
        return source.to(device)
    target = torch.empty_like(source, device=device)
    rows = max(1, _STAGE // max(1, source[0].nbytes))
    buffers = [torch.empty_like(source[:rows], pin_memory=True) for _ in range(2)]
    copied = [torch.cuda.Event() for _ in buffers]
    for number, at in enumerate(range(0, len(source), rows)):
        buffer, event = buffers[number % 2], copied[number % 2]
        part = source[at : at + rows]
        event.synchronize()
        buffer[: len(part)].copy_(part)
        target[at : at + rows].copy_(buffer[: len(part)], non_blocking=True)
        event.record(torch.cuda.current_stream(device))
    for event in copied:
        event.synchronize()
    return target


def to_numpy(tensor: torch.Tensor) -> Any:
    """Return a tensor as an array in host memory."""
    return tensor.cpu().numpy()


@contextlib.contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Compute float32 products on a device in full precision, as the error bounds require.

    The settings of the program are restored afterwards.
    """
    current = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
    with current, torch.autocast(device.type, enabled=False), _process_settings():
        yield


def in_full_precision(
    device: torch.device, answers: Generator[Answer, None, None]
) -> Generator[Answer, None, None]:
    """Yield the answers, and restore torch's precision settings whenever the caller has control."""
    try:
        while True:
            with full_precision(device), torch.inference_mode():
                answer = next(answers, None)
            if answer is None:
                return
            yield answer
    finally:
        answers.close()


#: The number of searches under way in all threads: torch's settings hold for the whole process.
_searches = 0
_lock = threading.Lock()
_saved: dict[str, Any] = {}


@contextlib.contextmanager
def _process_settings() -> Iterator[None]:
    """Change settings with the first search, and restore them with the last."""
    global _searches
    with _lock:
        _searches += 1
        if _searches == 1:
            _save_and_set()
    try:
        yield
    finally:
        with _lock:
            _searches -= 1
            if _searches == 0:
                _restore()


def _backends() -> dict[str, Any]:
    return {"cuda": torch.backends.cuda.matmul, "cpu": torch.backends.mkldnn.matmul}


def _save_and_set() -> None:
    for name, backend in _backends().items():
        _saved[name] = backend.fp32_precision
        backend.fp32_precision = "ieee"
    _saved["deterministic"] = torch.are_deterministic_algorithms_enabled()
    _saved["warn_only"] = torch.is_deterministic_algorithms_warn_only_enabled()
    # The engine only uses operations whose result does not depend on the order of execution. The
    # function imports torch's compiler, which takes seconds, so it is called only if need be.
    if _saved["deterministic"]:
        torch.use_deterministic_algorithms(False)


def _restore() -> None:
    for name, backend in _backends().items():
        # "none" inherits a wider setting, which is kept if that is what was saved.
        backend.fp32_precision = "none"
        if backend.fp32_precision != _saved[name]:
            backend.fp32_precision = _saved[name]
    if _saved["deterministic"]:
        torch.use_deterministic_algorithms(True, warn_only=_saved["warn_only"])
