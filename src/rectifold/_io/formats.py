"""Formats of files, by the endings of their names, and the error of all files."""

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rectifold._core.errors import ParameterError


class FileError(ParameterError):
    """A file that can't be read or written; the message is one sentence."""


@dataclass(frozen=True)
class Format:
    """How a table is stored."""

    #: "text", "parquet" or "feather".
    kind: str
    #: Only for text.
    delimiter: str = ""
    gzipped: bool = False


_ENDINGS = {
    ".csv": Format("text", ","),
    ".tsv": Format("text", "\t"),
    ".tab": Format("text", "\t"),
    ".csv.gz": Format("text", ",", gzipped=True),
    ".tsv.gz": Format("text", "\t", gzipped=True),
    ".tab.gz": Format("text", "\t", gzipped=True),
    ".parquet": Format("parquet"),
    ".pq": Format("parquet"),
    ".feather": Format("feather"),
    ".arrow": Format("feather"),
}
KNOWN_ENDINGS = ", ".join(_ENDINGS)


def format_of(path: Path) -> Format:
    """Return the format of a file, which need not exist, by the ending of its name."""
    name = path.name.lower()
    for ending, form in _ENDINGS.items():
        if name.endswith(ending):
            return form
    raise FileError(f"the name of {str(path)!r} has none of the known endings {KNOWN_ENDINGS}")


#: Text that a spreadsheet would run as a formula, also if apostrophes precede it.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\0]")
#: Numbers match too, but are harmless.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def as_text_cell(value: Any) -> Any:
    """Return a value for a text file, with an apostrophe before text that could be a formula.

    Text that has one already gets one more, so that removing the first returns the text. Numbers
    such as -1 are left as they are.

    Examples
    --------
    >>> [as_text_cell(value) for value in ("=1+1", "'=1+1", "-x", "-1", "it's", 7, None)]
    ["'=1+1", "''=1+1", "'-x", '-1', "it's", 7, None]
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


@contextmanager
def compressed(file: IO[bytes], form: Format) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which compresses if the format does."""
    if not form.gzipped:
        yield file
        return
    # Without a name and a time the same rows give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as zipped:
        yield zipped  # type: ignore[misc]
