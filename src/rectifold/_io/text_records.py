"""The records of a text file: the cells of each, and the characters that it is made of."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rectifold._io.formats import FileError, Format

BOM = "\ufeff"


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


class RecordFile:
    """A text file that can be read record by record, as often as needed.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    form : Format
        Its format. A ``.csv`` file whose header holds no comma, but semicolons or tabs, is
        read by these.
    encoding : str
        Its encoding.
    delimiter : str, optional
        What stands between two cells, where the format is not to say.

    Attributes
    ----------
    delimiter : str
        What stands between two cells.
    """

    def __init__(
        self, path: Path, form: Format, encoding: str, delimiter: str | None = None
    ) -> None:
        self._path = path
        self._form = form
        self._encoding = encoding
        self._name = repr(str(path))
        _check_encoding(encoding)
        stat = path.stat()
        self._state = stat.st_size, stat.st_mtime_ns
        self._guessed = delimiter is None
        self.delimiter = self._find_delimiter() if delimiter is None else delimiter

    @contextmanager
    def opened(self) -> Iterator[Iterator[Record]]:
        """Read the file from its beginning.

        Yields
        ------
        iterator of Record
            All records, blank lines among them; the first that is not blank is the header.
        """
        # The csv module refuses cells over 128 KiB unless told otherwise, and only globally.
        before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        try:
            yield self._parsed()
        finally:
            csv.field_size_limit(before)

    def check_unchanged(self) -> None:
        """Refuse a file that is no longer what it was when it was opened first."""
        now = self._path.stat()
        if (now.st_size, now.st_mtime_ns) != self._state:
            raise FileError(f"{self._name} was changed by somebody while it was read")

    def _find_delimiter(self) -> str:
        header = next((line for line in self._lines() if line.strip()), "")
        if self._form.delimiter == "," and "," not in header:
            return next((mark for mark in ";\t" if mark in header), ",")
        return self._form.delimiter

    def _lines(self) -> Iterator[str]:
        # Only what reading raises is caught here, never what the one who asked for lines does.
        try:
            opened = gzip.open if self._form.gzipped else open
            # newline="": line endings stay as they are.
            with opened(self._path, "rt", encoding=self._encoding, newline="") as lines:
                yield from lines
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise FileError(f"{self._name} is not a whole gzip file, as its name says") from None
        except UnicodeError:
            raise FileError(
                f"{self._name} is not {self._encoding} text{self._undecodable_line()}; "
                "name its encoding with --encoding, for example --encoding latin-1"
            ) from None
        except OSError as problem:
            raise FileError(f"{self._name} cannot be read: {problem.strerror}") from None

    def _undecodable_line(self) -> str:
        # Text is decoded in blocks, so the error itself cannot tell the line.
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

        def remembered() -> Iterator[str]:
            nonlocal ended
            for line in self._lines():
                raw.append(line)
                yield line if reader.line_num else line.removeprefix(BOM)
            ended = True
            # The csv module closes an open quote at the end of the file without a word. One
            # blank line more comes back as a blank record, unless a quote swallows it.
            yield "\n"

        reader = csv.reader(remembered(), delimiter=self.delimiter)
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
                    cells = []  # a line of spaces is as blank as an empty one
                header = header or cells
                if cells and len(cells) != len(header):
                    cell = "cell" if len(cells) == 1 else "cells"
                    raise FileError(
                        f"{self._name}: line {line} has {len(cells)} {cell}, the header "
                        f"{len(header)}{self._other_delimiter(header)}"
                    )
                yield Record(cells, "".join(raw))
                raw.clear()
                line = reader.line_num + 1
        except csv.Error as problem:
            raise FileError(f"{self._name}: line {line} cannot be read: {problem}") from None

    def _other_delimiter(self, header: list[str]) -> str:
        # A header like "price, EUR;label" holds a comma, and its file is one by semicolons.
        if not self._guessed:
            return ""
        for mark, word in (";", "';'"), ("\t", "tab"), ("|", "'|'"):
            if any(mark in cell for cell in header):
                return f"; if cells end with {word}, say so with --delimiter {word}"
        return ""


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise FileError(f"there is no encoding {encoding!r}") from None
    # Some encodings of Python are for host names and the like: lines do not come back from them.
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
        raise FileError(f"{encoding!r} is no encoding of text files")
