"""Formats of files: what a file name says, and the one problem that files have."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO


class FileError(ValueError):
    """Something is wrong with a file that the caller named; the message is one sentence."""


@dataclass(frozen=True)
class Format:
    """How a table is stored.

    Attributes
    ----------
    kind : {"text", "parquet", "feather"}
        The family of the format.
    delimiter : str
        What stands between two cells; only for text.
    gzipped : bool
        Whether the text is compressed.
    """

    kind: str
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
    """Tell the format of a file from its name.

    Parameters
    ----------
    path : pathlib.Path
        The file; it need not exist.

    Returns
    -------
    Format
        The format that the name's ending stands for, in either case.
    """
    name = path.name.lower()
    for ending, form in _ENDINGS.items():
        if name.endswith(ending):
            return form
    raise FileError(f"the name of {str(path)!r} ends in none of the known {KNOWN_ENDINGS}")


@contextmanager
def compressed(file: IO[bytes], form: Format) -> Iterator[IO[bytes]]:
    """Put gzip between the writer and the file where the format asks for it.

    Parameters
    ----------
    file : binary file
        Open for writing.
    form : Format
        The format of the file.

    Yields
    ------
    binary file
        What to write to.
    """
    if not form.gzipped:
        yield file
        return
    # No name and no time inside: the same rows give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as zipped:
        yield zipped  # type: ignore[misc]
