"""Tables in files: what a file name says, and outputs that appear whole or not at all."""

from __future__ import annotations

import gzip
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


class FileProblem(ValueError):  # noqa: N818 - it is shown to people, who read no class names
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

    def frame(self) -> pd.DataFrame:
        """Read the values, with their types inferred."""
        ...

    def write(
        self,
        file: IO[bytes],
        form: Format,
        rows: NDArray[np.bool_],
        *,
        drop: Sequence[str] = (),
        added: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        """Write the chosen rows, as untouched as the two formats allow."""
        ...


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
    raise FileProblem(f"the name of {str(path)!r} ends in none of the known {KNOWN_ENDINGS}")


def open_table(path: Path, *, encoding: str = "utf-8") -> Table:
    """Open a table and read its column names; its rows are read later.

    Parameters
    ----------
    path : pathlib.Path
        A file whose name ends in one of `KNOWN_ENDINGS`.
    encoding : str, default="utf-8"
        Of text files.

    Returns
    -------
    Table
        With columns whose names are unique.
    """
    form = format_of(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileProblem(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileProblem(f"{str(path)!r} cannot be read: {reason}") from None
    if stat.S_ISDIR(mode):
        raise FileProblem(f"{str(path)!r} is a directory, not a file")
    if not stat.S_ISREG(mode):
        raise FileProblem(f"{str(path)!r} is no ordinary file (it is read twice)")
    if path.stat().st_size == 0:
        raise FileProblem(f"{str(path)!r} is empty")
    table: Table
    if form.kind == "text":
        from rectifold.files.text import TextTable

        table = TextTable(path, form, encoding)
    else:
        from rectifold.files.arrow import ArrowTable

        table = ArrowTable.read(path, form)
    twice = sorted({name for name in table.columns if table.columns.count(name) > 1})
    if twice:
        raise FileProblem(f"{str(path)!r} has more than one column named {twice[0]!r}")
    return table


def check_outputs(outputs: Mapping[str, Path], source: Path | None = None) -> None:
    """Find whatever would keep outputs from being written, before any work is done.

    Parameters
    ----------
    outputs : mapping of str to pathlib.Path
        What the caller calls each output (such as ``--removed``), and where it goes.
    source : pathlib.Path, optional
        The file that is read; no output may replace it.
    """
    seen: dict[str, str] = {}
    for name, path in outputs.items():
        real = os.path.realpath(path)
        if os.path.isdir(real):
            raise FileProblem(f"{name} {str(path)!r} is a directory, not a file")
        try:
            format_of(path)
        except FileProblem as problem:
            raise FileProblem(f"{name}: {problem}") from None
        folder = os.path.dirname(real)
        if os.path.exists(real) and not os.path.isfile(real):
            raise FileProblem(f"{name} {str(path)!r} exists and is no ordinary file")
        if not os.path.isdir(folder):
            raise FileProblem(f"{name} {str(path)!r}: there is no folder {str(path.parent)!r}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileProblem(f"{name} {str(path)!r}: its folder cannot be written to")
        if source is not None and _same(real, os.path.realpath(source)):
            raise FileProblem(f"{name} {str(path)!r} is the input itself; name another file")
        for other, where in seen.items():
            if _same(real, where):
                raise FileProblem(f"{other} and {name} are the same file, {str(path)!r}")
        seen[name] = real


def _same(one: str, other: str) -> bool:
    # Two names of one file: equal, or hard links, or equal but for case where case is no matter.
    with suppress(OSError):
        return os.path.samefile(one, other)
    return one == other


@contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[IO[bytes]]]:
    """Open files that appear under their names all together at the end, or never.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        Where the files will be; what stands there is replaced.

    Yields
    ------
    list of binary files
        One for each path, under a temporary name in the same folder. Leaving the block renames
        them; leaving it by an exception (Ctrl-C too) removes them.
    """
    # A symbolic link stays one: the file that it names is replaced.
    targets = [os.path.realpath(path) for path in paths]
    made: list[str] = []
    files: list[IO[bytes]] = []
    try:
        for target in targets:
            name = os.path.join(os.path.dirname(target), f".rectifold-{secrets.token_hex(8)}.tmp")
            made.append(name)
            # Not tempfile: its files are for the owner's eyes only, and stay so when renamed.
            files.append(open(name, "xb"))  # noqa: SIM115
        yield files
        for file, target in zip(files, targets, strict=True):
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if os.path.exists(target):
                os.chmod(file.name, stat.S_IMODE(os.stat(target).st_mode))
        with _uninterrupted():
            for name, target in zip(list(made), targets, strict=True):
                os.replace(name, target)
                made.remove(name)
    finally:
        for file in files:
            with suppress(OSError):
                file.close()
        for name in made:
            with suppress(FileNotFoundError):
                os.remove(name)


def write_whole(path: Path, content: bytes) -> None:
    """Write one file that appears whole or not at all.

    Parameters
    ----------
    path : pathlib.Path
        Where; a file that stands there is replaced.
    content : bytes
        What.
    """
    with whole_files([path]) as (file,):
        file.write(content)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    # Ctrl-C between two renames would leave one output without the other. Python runs handlers
    # in the main thread only, so nowhere else is there anything to hold off.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
