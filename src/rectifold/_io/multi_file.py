"""Parquet files as one table in pieces, none of which has to be at hand while another is read."""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from rectifold._io.arrow import ArrowTable, without_views
from rectifold._io.formats import FileError, Format
from rectifold._io.outputs import uninterrupted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: How often it is tried to remove a folder into which somebody writes, and seconds in between.
_TRIES, _PAUSE = 50, 0.1
#: Endings of the files of a folder that belong to its table.
_ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a file."""

    path: str
    #: Row groups of the file.
    groups: tuple[int, ...]
    #: The number of the first row, in the whole table.
    first: int
    rows: int

    def read(self, columns: Sequence[str] | None = None) -> ArrowTable:
        """Read the piece, or some of its columns."""
        with pa.parquet.ParquetFile(self.path) as file:
            names = None if columns is None else list(columns)
            table = file.read_row_groups(list(self.groups), columns=names)
        return ArrowTable(without_views(table))


@dataclass(frozen=True)
class Pieces:
    """A table in Parquet files.

    Attributes
    ----------
    columns : list of str
        The names of all columns.
    index_columns : list of str
        The columns that were the index of a pandas table: they name rows, and describe none.
    pieces : list of Piece
        All rows, in their order.
    gaps : frozenset of str
        Columns in which values are missing, or can be.
    empty : ArrowTable
        The columns, without rows.
    """

    columns: list[str]
    index_columns: list[str]
    pieces: list[Piece]
    gaps: frozenset[str]
    empty: ArrowTable

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(piece.rows for piece in self.pieces)

    def none(self, columns: Sequence[str]) -> pd.DataFrame:
        """Give columns without rows, of the types that all pieces have."""
        return _typed(self.empty, columns, self.gaps)


def frame_of(piece: Piece, columns: Sequence[str], gaps: frozenset[str]) -> pd.DataFrame:
    """Give columns of a piece as pandas does, of the same types for all pieces.

    Parameters
    ----------
    piece : Piece
        Which.
    columns : sequence of str
        Which of its columns.
    gaps : frozenset of str
        See `Pieces`.

    Returns
    -------
    pandas.DataFrame
    """
    return _typed(piece.read(columns), columns, gaps)


def _typed(table: ArrowTable, columns: Sequence[str], gaps: frozenset[str]) -> pd.DataFrame:
    frame = table.frame(columns)
    for name in columns:
        if name in gaps and frame[name].dtype.kind in "iu":
            # As pandas reads whole numbers where one is missing.
            frame[name] = frame[name].astype(np.float64)
        elif name in gaps and frame[name].dtype.kind == "b":
            frame[name] = frame[name].astype(object)
    return frame


def open_pieces(pattern: str, size: int) -> Pieces:
    """Find the files of a table, and how it is cut into pieces; no row is read.

    Parameters
    ----------
    pattern : str
        A file, a folder of files, or a pattern such as ``data/*.parquet``. Files are taken in the
        order of their names, numbers in them as such.
    size : int
        Bytes that a piece takes at most, unless a single row group takes more.

    Returns
    -------
    Pieces
    """
    paths = _find(pattern)
    schema: Any = None
    pieces: list[Piece] = []
    gaps: set[str] = set()
    first = 0
    for path in paths:
        try:
            with pa.parquet.ParquetFile(path) as file:
                mine, metadata = file.schema_arrow, file.metadata
        except (pa.ArrowException, OSError, ValueError):
            raise FileError(f"{path!r} cannot be read as a Parquet file") from None
        if schema is None:
            schema = mine
        _refuse_other_columns(schema, mine, paths[0], path)
        for groups, rows in _cut(metadata, size):
            pieces.append(Piece(os.path.abspath(path), groups, first, rows))
            first += rows
        gaps |= _gaps(metadata, mine)
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise FileError(f"{paths[0]!r} has more than one column named {twice[0]!r}")
    if not first:
        raise FileError(f"{pattern!r} holds no rows")
    empty = ArrowTable(without_views(schema.empty_table()))
    return Pieces(empty.columns, empty.index_columns, pieces, frozenset(gaps), empty)


def _find(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        found = [
            os.path.join(pattern, name)
            for name in os.listdir(pattern)
            if name.endswith(_ENDINGS) and not name.startswith((".", "_"))
        ]
    elif os.path.exists(pattern):
        found = [pattern]
    else:
        found = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
    if not found and os.path.isdir(pattern):
        raise FileError(
            f"there is no Parquet file in the folder {pattern!r} itself; for folders in it, name "
            f"{os.path.join(pattern, '**', '*.parquet')!r}"
        )
    if not found:
        raise FileError(f"there is no Parquet file {pattern!r}")
    for path in found:
        if not path.endswith(_ENDINGS):
            raise FileError(
                f"{path!r} is no Parquet file by its name: the engine dask reads files that end in "
                f"{' or '.join(_ENDINGS)}"
            )
    return sorted(found, key=_natural)


def _natural(path: str) -> list[tuple[bool, int, str]]:
    # part-10 comes after part-9. What is split by stands at the odd places.
    return [
        (bool(at % 2), int(text) if at % 2 else 0, text)
        for at, text in enumerate(re.split(r"([0-9]+)", path))
    ]


def _refuse_other_columns(schema: Any, mine: Any, first: str, path: str) -> None:
    if mine.equals(schema):
        return
    lacking = [name for name in schema.names if name not in mine.names]
    if lacking:
        raise FileError(f"{path!r} lacks the column {lacking[0]!r}, which {first!r} has")
    more = [name for name in mine.names if name not in schema.names]
    if more:
        raise FileError(f"{path!r} has the column {more[0]!r}, which {first!r} lacks")
    if mine.names != schema.names:
        raise FileError(f"{path!r} has its columns in another order than {first!r}")
    for field, other in zip(mine, schema, strict=True):
        if field.type != other.type:
            raise FileError(
                f"column {field.name!r} is {field.type} in {path!r} and {other.type} in {first!r}; "
                "give it one type"
            )


def _cut(metadata: Any, size: int) -> Iterator[tuple[tuple[int, ...], int]]:
    groups: list[int] = []
    rows = held = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        # Repeated values take no room in a file, and eight bytes each in memory.
        takes = max(group.total_byte_size, 8 * group.num_rows * metadata.num_columns)
        if groups and held + takes > size:
            yield tuple(groups), rows
            groups, rows, held = [], 0, 0
        groups.append(number)
        rows += group.num_rows
        held += takes
    if groups:
        yield tuple(groups), rows


def _gaps(metadata: Any, schema: Any) -> set[str]:
    """Find the columns in which values can be missing; of those without statistics, all can."""
    found = set()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        known = {}
        for at in range(group.num_columns):
            column = group.column(at)
            counts = column.statistics
            if counts is not None and counts.has_null_count:
                known[column.path_in_schema] = counts.null_count
        found |= {name for name in schema.names if known.get(name, 1)}
    return found


@contextmanager
def whole_folders(folders: Sequence[Path]) -> Iterator[list[Path]]:
    """Make folders that appear under their names all together at the end, or never.

    Parameters
    ----------
    folders : sequence of pathlib.Path
        Where they will be; see `check_folders`.

    Yields
    ------
    list of pathlib.Path
        An empty folder for each, under a temporary name beside it. Leaving the block renames
        them; leaving it by an exception (Ctrl-C too) removes them and what is in them.
    """
    targets = [Path(os.path.realpath(folder)) for folder in folders]
    drafts = [target.parent / f".rectifold-{secrets.token_hex(8)}.tmp" for target in targets]
    try:
        for draft in drafts:
            draft.mkdir()
        yield drafts
        with uninterrupted():
            _rename_all(drafts, targets)
    finally:
        for draft in drafts:
            _remove(draft)


def _rename_all(drafts: Sequence[Path], targets: Sequence[Path]) -> None:
    done: list[tuple[Path, Path]] = []
    try:
        for draft, target in zip(drafts, targets, strict=True):
            # An empty folder that stands there is replaced.
            os.replace(draft, target)
            done.append((draft, target))
    except OSError:
        for draft, target in done:
            os.replace(target, draft)
        raise


def _remove(folder: Path) -> None:
    # Whoever was told to stop may still be writing a file.
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_PAUSE)


def check_folders(folders: Mapping[str, Path], pieces: Pieces) -> None:
    """Find whatever would keep folders from being written, before any work is done.

    Parameters
    ----------
    folders : mapping of str to pathlib.Path
        What the caller calls each (such as ``--removed``), and where it goes.
    pieces : Pieces
        The table that is read.
    """
    sources = {os.path.realpath(piece.path) for piece in pieces.pieces}
    seen: dict[str, str] = {}
    for name, path in folders.items():
        real = os.path.realpath(path)
        if real in sources:
            raise FileError(f"{name} {str(path)!r} is a file of the input; name a new folder")
        if os.path.lexists(real) and not os.path.isdir(real):
            raise FileError(f"{name} {str(path)!r} is a file; the engine dask writes a folder")
        if os.path.isdir(real) and os.listdir(real):
            raise FileError(f"{name} {str(path)!r} is a folder that is not empty; name a new one")
        parent = os.path.dirname(real)
        if not os.path.isdir(parent):
            raise FileError(f"{name} {str(path)!r}: there is no folder {str(path.parent)!r}")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise FileError(f"{name} {str(path)!r}: its folder cannot be written to")
        for other, where in seen.items():
            if real == where:
                raise FileError(f"{other} and {name} are the same folder, {str(path)!r}")
            if os.path.commonpath((real, where)) in (real, where):
                raise FileError(f"{other} and {name} are folders one in the other; name others")
        seen[name] = real


def write_piece(
    piece: Piece,
    rows: NDArray[np.bool_],
    path: Path,
    *,
    drop: Sequence[str] = (),
    added: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Write some rows of a piece to a file, which appears whole or not at all.

    Parameters
    ----------
    piece : Piece
        Where they are read from.
    rows : ndarray of bool
        Which rows.
    path : pathlib.Path
        The file.
    drop : sequence of str
        Columns to leave out.
    added : mapping of str to sequence, optional
        Columns to add, with one value for each row that is written.
    """
    # A task may be done twice, at the same time too, where a worker seemed to be lost.
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
