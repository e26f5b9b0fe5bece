"""Check outputs before any work, and write them so that they appear whole or not at all."""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rectifold._core.errors import Param
from rectifold._io.formats import FileError, format_of
from rectifold._io.output_set import renamed_together


def check_outputs(
    outputs: Iterable[tuple[str, Path]], source: Path | None = None, *, tables: bool = True
) -> None:
    """Raise an error if outputs can't be written.

    `outputs` are pairs of the parameter that names an output and its path. `source` is the input,
    which must not be replaced. The names of `tables` must have a known ending.
    """
    seen: list[tuple[str, str]] = []
    for name, path in outputs:
        output = Param(name, str(path))
        real = _resolve(output, path)
        if os.path.isdir(real):
            raise FileError("{} is a directory, not a file", output)
        if tables:
            try:
                format_of(path)
            except FileError as problem:
                raise FileError("{}: {}", Param(name), str(problem)) from None
        if os.path.exists(real) and not os.path.isfile(real):
            raise FileError("{} exists and is not a regular file", output)
        check_parent(output, path, real)
        if source is not None and _is_same(real, os.path.realpath(source)):
            raise FileError("{} is the input itself; name another file", output)
        for other, resolved in seen:
            if _is_same(real, resolved):
                raise FileError(
                    "{} and {} are the same file, {}", Param(other), Param(name), repr(str(path))
                )
        seen.append((name, real))
        try:
            _create_and_remove(real)
        except OSError as problem:
            # Some folders, such as /proc, refuse what their permissions allow.
            raise FileError(
                "{}: its folder cannot be written to ({})", output, str(problem.strerror)
            ) from None


def check_parent(output: Param, path: Path, real: str) -> None:
    """Raise an error if nothing can be created in the folder of an output."""
    folder = os.path.dirname(real)
    if not os.path.isdir(folder):
        raise FileError("{}: there is no folder {}", output, repr(str(path.parent)))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError("{}: its folder cannot be written to", output)


def _resolve(output: Param, path: Path) -> str:
    try:
        real = os.path.realpath(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            os.stat(real)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError("{} cannot be written: {}", output, str(reason)) from None
    return real


def _create(name: str) -> None:
    # Files of tempfile can be read by the owner only, also after they are renamed.
    open(name, "xb").close()


def _create_and_remove(target: str) -> None:
    name = os.path.join(os.path.dirname(target), f".rectifold-{secrets.token_hex(8)}.tmp")
    try:
        _create(name)
    finally:
        with suppress(OSError):
            os.remove(name)


def _is_same(one: str, other: str) -> bool:
    # Hard links too, and names that differ in case on a file system that ignores it.
    with suppress(OSError):
        return os.path.samefile(one, other)
    return one == other


@contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[IO[bytes]]]:
    """Open files that get their names all together at the end, or never; see `renamed_together`.

    Until the block ends, they have temporary names in the same folders; an exception (Ctrl-C too)
    removes them. Existing files are replaced. The first path is the main output.
    """
    targets = [os.path.realpath(path) for path in paths]
    files: list[IO[bytes]] = []
    with renamed_together(paths, _create) as names:
        try:
            for name in names:
                files.append(open(name, "wb"))  # noqa: SIM115
            yield files
            for file, target in zip(files, targets, strict=True):
                file.flush()
                os.fsync(file.fileno())
                file.close()
                if os.path.exists(target):
                    os.chmod(file.name, stat.S_IMODE(os.stat(target).st_mode))
        finally:
            for file in files:
                with suppress(OSError):
                    file.close()


def write_whole(path: Path, content: bytes) -> None:
    """Write one file, which appears whole or not at all; an existing one is replaced."""
    with whole_files([path]) as (file,):
        file.write(content)
