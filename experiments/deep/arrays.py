"""Arrays in files of NumPy."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from rectifold.model_selection._registry import BenchError


def read_arrays(path: Path, *names: str) -> tuple[Any, ...]:
    """Return arrays of an ``.npz`` file by name; pickles, which can run any code, are not read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return tuple(file[name] for name in names)
    except FileNotFoundError:
        raise BenchError(f"there is no file {str(path)!r}") from None
    except KeyError as error:
        raise BenchError(f"{str(path)!r} lacks an array: {error.args[0]}") from error
    except (OSError, ValueError, EOFError, AttributeError, TypeError) as error:
        raise BenchError(f"{str(path)!r} can't be read as arrays: {error}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise BenchError(f"{str(path)!r} is damaged: {error}") from error
