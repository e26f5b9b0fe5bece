"""Tables in files: one way to read and write them, whatever the format."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from rectifold._io.formats import KNOWN_ENDINGS, FileError, Format, compressed, format_of
from rectifold._io.outputs import check_outputs, whole_files, write_whole

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = [
    "KNOWN_ENDINGS",
    "FileError",
    "Format",
    "Table",
    "check_outputs",
    "compressed",
    "format_of",
    "open_table",
    "whole_files",
    "write_whole",
]


class Table(Protocol):
    """A table in a file: its parsed values for the geometry, its own rows for the output."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        ...

    @property
    def index_columns(self) -> list[str]:
        """The columns that only name the rows."""
        ...

    def frame(
        self, columns: Sequence[str] | None = None, *, verbatim: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Read the values of these columns and of no other; see the classes on `verbatim`."""
        ...

    def check(self, form: Format, *, drop: Sequence[str] = ()) -> None:
        """Find out, before any long work, whether a format can hold the columns."""
        ...

    def write(
        self,
        file: IO[bytes],
        form: Format,
        rows: NDArray[np.bool_],
        *,
        drop: Sequence[str] = (),
        added: Mapping[str, Sequence[Any]] | None = None,
        verbatim: Sequence[str] = (),
    ) -> None:
        """Write the chosen rows, as untouched as the two formats allow."""
        ...


def open_table(path: Path, *, encoding: str = "utf-8", delimiter: str | None = None) -> Table:
    """Open a table and read its column names; its rows are read later.

    Parameters
    ----------
    path : pathlib.Path
        A file whose name ends in one of `KNOWN_ENDINGS`.
    encoding : str, default="utf-8"
        Of text files.
    delimiter : str, optional
        What stands between two cells of a text file; by default as its name says.

    Returns
    -------
    Table
        With columns whose names are unique.
    """
    form = format_of(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileError(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"{str(path)!r} cannot be read: {reason}") from None
    if stat.S_ISDIR(mode):
        raise FileError(f"{str(path)!r} is a directory, not a file")
    if not stat.S_ISREG(mode):
        raise FileError(f"{str(path)!r} is no ordinary file (it is read twice)")
    if path.stat().st_size == 0:
        raise FileError(f"{str(path)!r} is empty")
    table: Table
    if form.kind == "text":
        from rectifold._io.delimited import TextTable

        table = TextTable(path, form, encoding, delimiter)
    elif delimiter is not None:
        raise FileError(f"--delimiter is for text files, and {str(path)!r} is none")
    else:
        from rectifold._io.arrow import ArrowTable

        table = ArrowTable.read(path, form)
    twice = sorted({name for name in table.columns if table.columns.count(name) > 1})
    if twice:
        raise FileError(f"{str(path)!r} has more than one column named {twice[0]!r}")
    return table
