"""Tables in files: the same way to read and write them for all formats."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from rectifold._core.errors import Param
from rectifold._io.formats import (
    KNOWN_ENDINGS,
    FileError,
    Format,
    compressed,
    format_of,
    quoted,
)
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
    """A table in a file: parsed values for distances, and its own rows for the output."""

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        ...

    @property
    def index_columns(self) -> list[str]:
        """Columns that hold the index of a pandas frame, and no features."""
        ...

    def frame(
        self, columns: Sequence[str] | None = None, *, verbatim: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return the parsed values of some columns, by default of all.

        Columns in `verbatim` hold labels, which keep the text of the file.
        """
        ...

    def check(self, form: Format, *, drop: Sequence[str] = ()) -> None:
        """Raise an error if a format can't hold the columns that are not in `drop`."""
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
        """Write the rows that a mask selects, as unchanged as the two formats allow.

        Columns in `drop` are left out. `added` are additional columns, with one value for each row
        that is written. `verbatim` is as for `frame`.
        """
        ...


def open_table(path: Path, *, encoding: str = "utf-8", delimiter: str | None = None) -> Table:
    """Open a table, whose column names are unique; its rows are read later.

    The format follows from the ending of the name. `encoding` and `delimiter` are those of text
    files.
    """
    form = format_of(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileError("there is no file {}", quoted(path)) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError("{} cannot be read: {}", quoted(path), str(reason)) from None
    if stat.S_ISDIR(mode):
        raise FileError("{} is a directory, not a file", quoted(path))
    if not stat.S_ISREG(mode):
        raise FileError("{} is not a regular file (it is read twice)", quoted(path))
    if path.stat().st_size == 0:
        raise FileError("{} is empty", quoted(path))
    table: Table
    if form.kind == "text":
        from rectifold._io.delimited import TextTable

        table = TextTable(path, form, encoding, delimiter)
    elif delimiter is not None:
        raise FileError("{} is for text files, and {} is not one", Param("delimiter"), quoted(path))
    else:
        from rectifold._io.arrow import ArrowTable

        table = ArrowTable.read(path, form)
    repeated = sorted({name for name in table.columns if table.columns.count(name) > 1})
    if repeated:
        raise FileError("{} has more than one column named {}", quoted(path), repr(repeated[0]))
    return table
