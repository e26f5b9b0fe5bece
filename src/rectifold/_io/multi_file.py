"""Parquet files as one table in pieces that are read one at a time."""

from __future__ import annotations

import glob
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from rectifold._core.errors import Param
from rectifold._io.arrow import ArrowTable, without_views
from rectifold._io.formats import FileError, Format
from rectifold._io.output_set import renamed_together, warn_of_unfinished
from rectifold._io.outputs import check_parent

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: Endings of the files in a folder that belong to its table.
_ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a file."""

    path: str
    #: Row groups of the file.
    groups: tuple[int, ...]
    #: Index of the first row in the whole table.
    first: int
    n_rows: int

    def read(self, columns: Sequence[str] | None = None) -> ArrowTable:
        """Read some columns, by default all."""
        with pa.parquet.ParquetFile(self.path) as file:
            names = None if columns is None else list(columns)
            table = file.read_row_groups(list(self.groups), columns=names)
        return ArrowTable(without_views(table))


@dataclass(frozen=True)
class Pieces:
    """A table in Parquet files."""

    #: All rows, in order.
    pieces: list[Piece]
    #: Columns in which values are missing, or can be.
    nullable: frozenset[str]
    #: The columns, without rows.
    empty: ArrowTable

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return self.empty.columns

    @property
    def index_columns(self) -> list[str]:
        """Columns that hold the index of a pandas frame, and no features."""
        return self.empty.index_columns

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return sum(piece.n_rows for piece in self.pieces)

    def empty_frame(self, columns: Sequence[str]) -> pd.DataFrame:
        """Return columns without rows, with the types that `read_frame` returns."""
        return _to_frame(self.empty, columns, self.nullable)


def read_frame(piece: Piece, columns: Sequence[str], nullable: frozenset[str]) -> pd.DataFrame:
    """Return columns of a piece as pandas does, with the same types for all pieces."""
    return _to_frame(piece.read(columns), columns, nullable)


def _to_frame(table: ArrowTable, columns: Sequence[str], nullable: frozenset[str]) -> pd.DataFrame:
    frame = table.frame(columns)
    for name in columns:
        if name in nullable and frame[name].dtype.kind in "iu":
            # As pandas reads integers if one is missing.
            frame[name] = frame[name].astype(np.float64)
        elif name in nullable and frame[name].dtype.kind == "b":
            frame[name] = frame[name].astype(object)
    return frame


def open_pieces(pattern: str, size: int) -> Pieces:
    """Find the files of a table and divide it into pieces, without reading rows.

    `pattern` is a file, a folder of files, or a pattern such as ``data/*.parquet``. Files are taken
    in the order of their names, with numbers compared as numbers. A piece takes at most `size`
    bytes, unless a single row group takes more.
    """
    paths = _find(pattern)
    schema: Any = None
    pieces: list[Piece] = []
    nullable: set[str] = set()
    first = 0
    for path in paths:
        try:
            with pa.parquet.ParquetFile(path) as file:
                own_schema, metadata = file.schema_arrow, file.metadata
        except (pa.ArrowException, OSError, ValueError):
            raise FileError(f"{path!r} cannot be read as a Parquet file") from None
        if schema is None:
            schema = own_schema
        _check_same_columns(schema, own_schema, paths[0], path)
        for groups, n_rows in _group(metadata, size):
            pieces.append(Piece(os.path.abspath(path), groups, first, n_rows))
            first += n_rows
        nullable |= _nullable(metadata, own_schema)
    repeated = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if repeated:
        raise FileError(f"{paths[0]!r} has more than one column named {repeated[0]!r}")
    if not first:
        raise FileError(f"{pattern!r} has no rows")
    empty = ArrowTable(without_views(schema.empty_table()))
    return Pieces(pieces, frozenset(nullable), empty)


def _find(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        found = [
            os.path.join(pattern, name)
            for name in os.listdir(pattern)
            if name.endswith(_ENDINGS) and not name.startswith((".", "_"))
        ]
        if not found:
            raise FileError(
                f"there is no Parquet file in the folder {pattern!r} itself; for those in its "
                f"subfolders pass {os.path.join(pattern, '**', '*.parquet')!r}"
            )
    elif os.path.exists(pattern):
        found = [pattern]
    else:
        found = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
        if not found:
            raise FileError(f"there is no Parquet file {pattern!r}")
    for path in found:
        if not path.endswith(_ENDINGS):
            endings = " or ".join(_ENDINGS)
            raise FileError(f"{path!r} is not a Parquet file: its name must end in {endings}")
    return sorted(found, key=_natural)


def _natural(path: str) -> list[tuple[bool, int, str]]:
    # part-10 comes after part-9. The numbers are at odd positions.
    return [
        (bool(at % 2), int(text) if at % 2 else 0, text)
        for at, text in enumerate(re.split(r"([0-9]+)", path))
    ]


def _check_same_columns(schema: Any, other: Any, first: str, path: str) -> None:
    """Raise an error if a file does not have the columns of the first file."""
    if other.equals(schema):
        return
    lacking = [name for name in schema.names if name not in other.names]
    more = [name for name in other.names if name not in schema.names]
    if lacking:
        raise FileError(f"{path!r} lacks the column {lacking[0]!r}, which {first!r} has")
    if more:
        raise FileError(f"{path!r} has the column {more[0]!r}, which {first!r} lacks")
    if other.names != schema.names:
        raise FileError(f"{path!r} has its columns in another order than {first!r}")
    for field, expected in zip(other, schema, strict=True):
        if field.type != expected.type:
            raise FileError(
                f"column {field.name!r} is {field.type} in {path!r} and {expected.type} in "
                f"{first!r}; give it one type"
            )


def _group(metadata: Any, size: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the row groups and the number of rows of each piece of a file."""
    groups: list[int] = []
    n_rows = n_bytes = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        # Repeated values take no space in a file, but eight bytes each in memory.
        more = max(group.total_byte_size, 8 * group.num_rows * metadata.num_columns)
        if groups and n_bytes + more > size:
            yield tuple(groups), n_rows
            groups, n_rows, n_bytes = [], 0, 0
        groups.append(number)
        n_rows += group.num_rows
        n_bytes += more
    if groups:
        yield tuple(groups), n_rows


def _nullable(metadata: Any, schema: Any) -> set[str]:
    """Return the columns in which values are missing, and those without statistics."""
    nullable = set()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        known = {}
        for at in range(group.num_columns):
            column = group.column(at)
            counts = column.statistics
            if counts is not None and counts.has_null_count:
                known[column.path_in_schema] = counts.null_count
        nullable |= {name for name in schema.names if known.get(name, 1)}
    return nullable


@contextmanager
def whole_folders(folders: Sequence[Path]) -> Iterator[list[Path]]:
    """Make empty folders that get their names all together at the end, or never.

    Until the block ends, they have temporary names beside those of `folders` (see
    `check_folders`); an exception (Ctrl-C too) removes them and their files. The first is the main
    output; see `renamed_together`.
    """
    with renamed_together(folders, os.mkdir) as drafts:
        yield [Path(draft) for draft in drafts]


def check_folders(folders: Mapping[str, Path], pieces: Pieces) -> None:
    """Raise an error if folders of output, by the parameter that names each, can't be written."""
    sources = {os.path.realpath(piece.path) for piece in pieces.pieces}
    seen: dict[str, str] = {}
    for name, path in folders.items():
        output = Param(name, str(path))
        real = os.path.realpath(path)
        if real in sources:
            raise FileError("{} is a file of the input; name a new folder", output)
        if os.path.lexists(real) and not os.path.isdir(real):
            raise FileError("{} is a file; name a folder, for several files", output)
        if os.path.isdir(real) and os.listdir(real):
            warn_of_unfinished(next(iter(folders.values())))
            raise FileError("{} is a folder that is not empty; name a new one", output)
        check_parent(output, path, real)
        for other, resolved in seen.items():
            if real == resolved:
                raise FileError(
                    "{} and {} are the same folder, {}", Param(other), Param(name), repr(str(path))
                )
            if os.path.commonpath((real, resolved)) in (real, resolved):
                raise FileError(
                    "{} and {} are folders one inside the other; name others",
                    Param(other),
                    Param(name),
                )
        seen[name] = real


def write_piece(
    piece: Piece,
    rows: NDArray[np.bool_],
    path: Path,
    *,
    drop: Sequence[str] = (),
    added: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Write the rows of a piece that a mask selects to a file, which appears whole or not at all.

    `drop` and `added` are as for `Table.write`.
    """
    # Dask may run a task again, even at the same time, if a worker seemed to be lost.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(draft, "xb") as file:
            piece.read().write(file, Format("parquet"), rows, drop=drop, added=added)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        with suppress(OSError):
            os.remove(draft)
