"""The records of a text file: the cells of each record, and its characters."""

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rectifold._core.errors import Param
from rectifold._io.formats import FileError, Format

BOM = "\ufeff"


class Record(NamedTuple):
    """One record of a text table."""

    #: Without quotes; empty for a blank line.
    cells: list[str]
    #: The text in the file, with its line ending.
    raw: str


class RecordFile:
    """A text file that can be read record by record, as often as needed.

    A ``.csv`` file whose header has no comma, but semicolons or tabs, is split at these unless a
    delimiter is given.
    """

    def __init__(
        self, path: Path, form: Format, encoding: str, delimiter: str | None = None
    ) -> None:
        self._path = path
        self._form = form
        self._encoding = encoding
        self._name = repr(str(path))
        _check_encoding(encoding)
        self._state = self._size_and_time()
        self._guessed = delimiter is None
        self.delimiter = self._find_delimiter() if delimiter is None else delimiter

    @contextmanager
    def opened(self) -> Iterator[Iterator[Record]]:
        """Yield all records, also blank lines; the first that is not blank is the header."""
        # The csv module refuses cells over 128 KiB; its limit is a global setting.
        before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        try:
            yield self._parsed()
        finally:
            csv.field_size_limit(before)

    def check_unchanged(self) -> None:
        """Raise an error if the file was changed since it was opened first."""
        if self._size_and_time() != self._state:
            raise FileError(f"{self._name} was changed while it was read")

    def _size_and_time(self) -> tuple[int, int]:
        stat = self._path.stat()
        return stat.st_size, stat.st_mtime_ns

    def _find_delimiter(self) -> str:
        header = next((line for line in self._lines() if line.strip()), "")
        if self._form.delimiter == "," and "," not in header:
            return next((mark for mark in ";\t" if mark in header), ",")
        return self._form.delimiter

    def _lines(self) -> Iterator[str]:
        # Catches errors of reading only, not those of the code that consumes the lines.
        try:
            opened = gzip.open if self._form.gzipped else open
            # newline="": line endings are kept.
            with opened(self._path, "rt", encoding=self._encoding, newline="") as lines:
                yield from lines
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise FileError(f"{self._name} is not a complete gzip file") from None
        except UnicodeError:
            raise FileError(
                "{} is not {} text{}; name its encoding with {}, for example {}",
                self._name,
                self._encoding,
                self._undecodable_line(),
                Param("encoding"),
                Param("encoding", "latin-1"),
            ) from None
        except OSError as problem:
            raise FileError(f"{self._name} cannot be read: {problem.strerror}") from None

    def _undecodable_line(self) -> str:
        # Text is decoded in blocks, so the error does not have the number of the line.
        opened = gzip.open if self._form.gzipped else open
        with opened(self._path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    line.decode(self._encoding)
                except UnicodeError:
                    return f" (line {number})"
        return ""

    def _parsed(self) -> Iterator[Record]:
        raw: list[str] = []
        ended = False

        def lines() -> Iterator[str]:
            nonlocal ended
            for line in self._lines():
                raw.append(line)
                yield line if reader.line_num else line.removeprefix(BOM)
            ended = True
            # The csv module silently closes an open quote at the end of the file. One more blank
            # line is read as a blank record, unless it is inside a quote.
            yield "\n"

        reader = csv.reader(lines(), delimiter=self.delimiter)
        header: list[str] = []
        line = 1
        try:
            for cells in reader:
                if ended and raw:
                    raise FileError(
                        f"{self._name}: a quote in the record at line {line} is never closed"
                    )
                if ended:
                    return
                if len(header) != 1 and len(cells) == 1 and not cells[0].strip():
                    cells = []  # a line of spaces is blank too
                header = header or cells
                if cells and len(cells) != len(header):
                    raise self._wrong_length(line, cells, header)
                yield Record(cells, "".join(raw))
                raw.clear()
                line = reader.line_num + 1
        except csv.Error as problem:
            raise FileError(f"{self._name}: line {line} cannot be read: {problem}") from None

    def _wrong_length(self, line: int, cells: list[str], header: list[str]) -> FileError:
        cell = "cell" if len(cells) == 1 else "cells"
        text = f"line {line} has {len(cells)} {cell}, the header {len(header)}"
        # A header like "price, EUR;label" has a comma, though semicolons separate its cells.
        marks = [mark for mark in (";", "\t", "|") if any(mark in name for name in header)]
        if not marks or not self._guessed:
            return FileError(f"{self._name}: {text}")
        return FileError(
            "{}: {}; if cells are separated otherwise, pass {}",
            self._name,
            text,
            Param("delimiter", "tab" if marks[0] == "\t" else marks[0]),
        )


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise FileError(f"there is no encoding {encoding!r}") from None
    # Some encodings of Python are for host names and the like, and lose line endings.
    lines = ["a,b\r\n", "1,2\n"]
    file = io.BytesIO()
    try:
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        text.writelines(lines)
        text.seek(0)
        good = list(text) == lines
    except (OSError, ValueError):
        good = False
    if not good:
        raise FileError(f"{encoding!r} is not an encoding of text files")
