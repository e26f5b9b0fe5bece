"""Tables in files: the same way to read and write them for all formats."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rectifold._core.errors import Param
from rectifold._io.formats import KNOWN_ENDINGS, FileError, Format, compressed, format_of
from rectifold._io.outputs import check_outputs, whole_files, write_whole

if TYPE_CHECKING:
    from rectifold._io.arrow import ArrowTable
    from rectifold._io.delimited import TextTable

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

#: A table in a file: parsed values for distances, and its own rows for the output. pyarrow is
#: imported only if it is needed.
Table: TypeAlias = "ArrowTable | TextTable"


def open_table(path: Path, *, encoding: str = "utf-8", delimiter: str | None = None) -> Table:
    """Open a table, whose column names are unique; its rows are read later.

    The format follows from the ending of the name. `encoding` and `delimiter` are those of text
    files.
    """
    form, name = format_of(path), repr(str(path))
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileError(f"there is no file {name}") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"{name} cannot be read: {reason}") from None
    if stat.S_ISDIR(mode):
        raise FileError(f"{name} is a directory, not a file")
    if not stat.S_ISREG(mode):
        raise FileError(f"{name} is not a regular file (it is read twice)")
    if path.stat().st_size == 0:
        raise FileError(f"{name} is empty")
    table: Table
    if form.kind == "text":
        from rectifold._io.delimited import TextTable

        table = TextTable(path, form, encoding, delimiter)
    elif delimiter is not None:
        raise FileError("{} is for text files, and {} is not one", Param("delimiter"), name)
    else:
        from rectifold._io.arrow import ArrowTable

        table = ArrowTable.read(path, form)
    repeated = sorted({one for one in table.columns if table.columns.count(one) > 1})
    if repeated:
        raise FileError(f"{name} has more than one column named {repeated[0]!r}")
    return table
