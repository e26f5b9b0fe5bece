"""Array types, timing, versions and messages about names, shared by all modules."""

import difflib
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.intp]
Bools: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int8]
#: A dense array, or a SciPy sparse matrix or array in CSR format (SciPy ships no types).
Matrix: TypeAlias = Any
#: A torch tensor; torch is an optional dependency.
Tensor: TypeAlias = Any

#: Number of names listed in an error message; the rest are counted.
_MAX_LISTED = 10


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the duration of the ``with`` block to ``seconds[stage]``."""
    start = perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - start


def duration(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{round(seconds)} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def versions(*names: str) -> dict[str, str]:
    """Return the versions of Python and of the named distributions that are installed."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def did_you_mean(name: str, known: Sequence[str], *, list_all: bool = False) -> str:
    """Return the end of an error message that suggests a known name or lists the known ones.

    Examples
    --------
    >>> did_you_mean("lable", ["label", "price"])
    "; did you mean 'label'?"
    >>> did_you_mean("lable", ["label", "price"], list_all=True)
    "; did you mean 'label'? There are 'label', 'price'"
    """
    # Case is the most frequent slip, and difflib compares cases strictly.
    folded = {other.lower(): other for other in reversed(known)}
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    meant = f"; did you mean {folded[matches[0]]!r}?" if matches else ""
    if meant and not list_all:
        return meant
    shown = ", ".join(repr(other) for other in (known if list_all else known[:_MAX_LISTED]))
    more = "" if list_all or len(known) <= _MAX_LISTED else f" and {len(known) - _MAX_LISTED} more"
    return f"{meant} There are {shown}" if meant else f"; there are {shown}{more}"


def in_unicode(text: str) -> str:
    """Return text that UTF-8 can encode, with lone surrogates written as escape sequences.

    Examples
    --------
    >>> print(in_unicode("caf\\udce9"))
    caf\\udce9
    """
    return text.encode("utf-8", "backslashreplace").decode()
