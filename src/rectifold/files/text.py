"""Tables in text files (CSV, TSV): the rows that stay come through character for character."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from rectifold.files import FileProblem, Format, compressed

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_BOM = "\ufeff"


class Record(NamedTuple):
    """One record of a text table.

    Attributes
    ----------
    cells : list of str
        The cells without their quotes; none for a blank line.
    raw : str
        The text of the record with its line ending, as it stands in the file.
    """

    cells: list[str]
    raw: str


class TextTable:
    """A table in a text file.

    The file is read twice by one and the same parser: once for the values, once to copy the
    rows that stay. So the two cannot disagree on what a record is.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    form : Format
        Its format. A ``.csv`` file whose header holds no comma, but semicolons or tabs, is
        read by these.
    encoding : str
        Its encoding.

    Attributes
    ----------
    columns : list of str
        The names in the header.
    index_columns : list of str
        Empty: text has no columns that only name the rows.
    """

    def __init__(self, path: Path, form: Format, encoding: str) -> None:
        self.path = path
        self.form = form
        self.encoding = encoding
        self.index_columns: list[str] = []
        self._name = repr(str(path))
        self._frame: pd.DataFrame | None = None
        try:
            "".encode(encoding)
        except (LookupError, ValueError):
            raise FileProblem(f"there is no encoding {encoding!r}") from None
        self._state = self._stat()
        self._delimiter = self._find_delimiter()
        with self._records() as records:
            filled = (record.cells for record in records if record.cells)
            self.columns = next(filled, [])
            if not self.columns:
                raise FileProblem(f"{self._name} is empty")
            if next(filled, None) is None:
                raise FileProblem(f"{self._name} holds a header but no rows")

    def frame(self) -> pd.DataFrame:
        """Read the values, with their types inferred.

        Returns
        -------
        pandas.DataFrame
            One row for each record that is not blank.
        """
        import pandas as pd

        with self._records() as records:
            filled = (record.cells for record in records if record.cells)
            next(filled)
            self._frame = pd.read_csv(
                _Requoted(filled),
                header=None,
                names=self.columns,
                index_col=False,
                low_memory=False,  # one type a column, however long the file
            )
        return self._frame

    def write(
        self,
        file: IO[bytes],
        form: Format,
        rows: NDArray[np.bool_],
        *,
        drop: Sequence[str] = (),
        added: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        """Write the chosen rows.

        Parameters
        ----------
        file : binary file
            Open for writing.
        form : Format
            How to write. Text of the same kind is copied as it stands; where columns go or
            come, or the delimiter changes, cells go through as text. Other formats get the
            parsed values.
        rows : array of bool
            Which rows to write.
        drop : sequence of str
            Columns to leave out.
        added : mapping of str to sequence, optional
            Columns to add, with one value for each row that is written.
        """
        if form.kind != "text":
            from rectifold.files.arrow import ArrowTable

            frame = self.frame() if self._frame is None else self._frame
            ArrowTable.from_frame(frame).write(file, form, rows, drop=drop, added=added)
            return
        now = self._stat()
        if (now.st_size, now.st_mtime_ns) != (self._state.st_size, self._state.st_mtime_ns):
            raise FileProblem(f"{self._name} was changed by somebody while it was read")
        same_kind = form.delimiter == self.form.delimiter
        with compressed(file, form) as binary, self._records() as records:
            text = io.TextIOWrapper(binary, encoding=self.encoding, newline="")
            if same_kind and not drop and not added:
                self._copy(text, records, rows)
            else:
                delimiter = self._delimiter if same_kind else form.delimiter
                self._rewrite(text, records, rows, delimiter, drop, added or {})
            text.flush()
            text.detach()  # the file belongs to the caller

    def _copy(self, text: IO[str], records: Iterator[Record], rows: NDArray[np.bool_]) -> None:
        wanted = _header_and(rows)
        for record in records:
            # Blank lines are no rows; they stay, so that a diff shows the removed rows alone.
            if not record.cells or next(wanted):
                text.write(record.raw)

    def _rewrite(
        self,
        text: IO[str],
        records: Iterator[Record],
        rows: NDArray[np.bool_],
        delimiter: str,
        drop: Sequence[str],
        added: Mapping[str, Sequence[Any]],
    ) -> None:
        kept = [i for i, name in enumerate(self.columns) if name not in drop]
        extra = zip(*added.values(), strict=True) if added else None
        wanted = _header_and(rows)
        header = True
        for cells, raw in records:
            if not cells or not next(wanted):
                continue
            if header:
                if raw.startswith(_BOM):
                    text.write(_BOM)
                writer = csv.writer(
                    _Lines(text, _line_ending(raw)), delimiter=delimiter, lineterminator="\r\n"
                )
            new = added if header else () if extra is None else next(extra)
            writer.writerow([cells[i] for i in kept] + [_as_text(value) for value in new])
            header = False

    def _find_delimiter(self) -> str:
        header = next((line for line in self._lines() if line.strip()), "")
        if self.form.delimiter == "," and "," not in header:
            return next((mark for mark in ";\t" if mark in header), ",")
        return self.form.delimiter

    def _stat(self) -> Any:
        return self.path.stat()

    def _lines(self) -> Iterator[str]:
        # Only what reading raises is caught here, never what the one who asked for lines does.
        try:
            opened = gzip.open if self.form.gzipped else open
            # newline="": line endings stay as they are.
            with opened(self.path, "rt", encoding=self.encoding, newline="") as lines:
                yield from lines
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise FileProblem(f"{self._name} is not a whole gzip file, as its name says") from None
        except UnicodeError:
            raise FileProblem(
                f"{self._name} is not {self.encoding} text{self._undecodable_line()}; "
                "name its encoding with --encoding, for example --encoding latin-1"
            ) from None
        except OSError as problem:
            raise FileProblem(f"{self._name} cannot be read: {problem.strerror}") from None

    def _undecodable_line(self) -> str:
        # Text is decoded in blocks, so the error itself cannot tell the line.
        opened = gzip.open if self.form.gzipped else open
        with opened(self.path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    line.decode(self.encoding)
                except UnicodeError:
                    return f" (line {number})"
        return ""

    @contextmanager
    def _records(self) -> Iterator[Iterator[Record]]:
        # The csv module refuses cells over 128 KiB unless told otherwise, and only globally.
        before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        try:
            yield self._parsed()
        finally:
            csv.field_size_limit(before)

    def _parsed(self) -> Iterator[Record]:
        raw: list[str] = []
        ended = False

        def remembered() -> Iterator[str]:
            nonlocal ended
            for line in self._lines():
                raw.append(line)
                yield line if reader.line_num else line.removeprefix(_BOM)
            ended = True
            # The csv module closes an open quote at the end of the file without a word. One
            # blank line more comes back as a blank record, unless a quote swallows it.
            yield "\n"

        reader = csv.reader(remembered(), delimiter=self._delimiter)
        width = 0
        line = 1
        try:
            for cells in reader:
                if ended and raw:
                    raise FileProblem(
                        f"{self._name}: a quote in the record at line {line} is never closed"
                    )
                if ended:
                    return
                if width != 1 and len(cells) == 1 and not cells[0].strip():
                    cells = []  # a line of spaces is as blank as an empty one
                width = width or len(cells)
                if cells and len(cells) != width:
                    cell = "cell" if len(cells) == 1 else "cells"
                    raise FileProblem(
                        f"{self._name}: line {line} has {len(cells)} {cell}, the header {width}"
                    )
                yield Record(cells, "".join(raw))
                raw.clear()
                line = reader.line_num + 1
        except csv.Error as problem:
            raise FileProblem(f"{self._name}: line {line} cannot be read: {problem}") from None


class _Requoted(io.TextIOBase):
    """Records as text that every CSV parser splits in the same way, for pandas to read."""

    def __init__(self, records: Iterator[list[str]]) -> None:
        self._records = records
        self._block = io.StringIO(newline="")
        self._writer = csv.writer(self._block, quoting=csv.QUOTE_ALL, lineterminator="\n")

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        self._block.seek(0)
        self._block.truncate()
        for cells in self._records:
            self._writer.writerow(cells)
            if size is not None and 0 <= size <= self._block.tell():
                break
        return self._block.getvalue()


class _Lines:
    """A file whose lines end as the input's do.

    Told to end lines with carriage return and newline, the csv module quotes cells that hold
    either; told otherwise it would leave a lone carriage return bare (until Python 3.13).
    """

    def __init__(self, text: IO[str], ending: str) -> None:
        self._text = text
        self._ending = ending

    def write(self, line: str) -> int:
        return self._text.write(line.removesuffix("\r\n") + self._ending)


def _header_and(rows: NDArray[np.bool_]) -> Iterator[bool]:
    yield True
    yield from rows.tolist()


def _line_ending(raw: str) -> str:
    return next((ending for ending in ("\r\n", "\n", "\r") if raw.endswith(ending)), "\n")


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)
