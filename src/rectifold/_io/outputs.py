"""Outputs: what stands in their way is found beforehand, and they appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rectifold._io.formats import FileError, format_of


def check_outputs(
    outputs: Mapping[str, Path], source: Path | None = None, *, tables: bool = True
) -> None:
    """Find whatever would keep outputs from being written, before any work is done.

    Parameters
    ----------
    outputs : mapping of str to pathlib.Path
        What the caller calls each output (such as ``--removed``), and where it goes.
    source : pathlib.Path, optional
        The file that is read; no output may replace it.
    tables : bool, default=True
        Whether they are tables, whose names must tell their formats.
    """
    seen: dict[str, str] = {}
    for name, path in outputs.items():
        real = _real(name, path)
        if os.path.isdir(real):
            raise FileError(f"{name} {str(path)!r} is a directory, not a file")
        try:
            _ = format_of(path) if tables else None
        except FileError as problem:
            raise FileError(f"{name}: {problem}") from None
        folder = os.path.dirname(real)
        if os.path.exists(real) and not os.path.isfile(real):
            raise FileError(f"{name} {str(path)!r} exists and is no ordinary file")
        if not os.path.isdir(folder):
            raise FileError(f"{name} {str(path)!r}: there is no folder {str(path.parent)!r}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileError(f"{name} {str(path)!r}: its folder cannot be written to")
        if source is not None and _same(real, os.path.realpath(source)):
            raise FileError(f"{name} {str(path)!r} is the input itself; name another file")
        for other, where in seen.items():
            if _same(real, where):
                raise FileError(f"{other} and {name} are the same file, {str(path)!r}")
        seen[name] = real
        try:
            _try_out(real)
        except OSError as problem:
            # Some folders, such as /proc, refuse what their permissions allow.
            raise FileError(
                f"{name} {str(path)!r}: its folder cannot be written to ({problem.strerror})"
            ) from None


def _real(name: str, path: Path) -> str:
    try:
        real = os.path.realpath(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            os.stat(real)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"{name} {str(path)!r} cannot be written: {reason}") from None
    return real


def _temporary_beside(target: str) -> str:
    return os.path.join(os.path.dirname(target), f".rectifold-{secrets.token_hex(8)}.tmp")


def _try_out(target: str) -> None:
    name = _temporary_beside(target)
    try:
        open(name, "xb").close()
    finally:
        with suppress(OSError):
            os.remove(name)


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
    made: dict[str, Path] = {}
    files: list[IO[bytes]] = []
    try:
        for path, target in zip(paths, targets, strict=True):
            name = _temporary_beside(target)
            made[name] = path
            # Not tempfile: its files are for the owner's eyes only, and stay so when renamed.
            files.append(open(name, "xb"))  # noqa: SIM115
        yield files
        for file, target in zip(files, targets, strict=True):
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if os.path.exists(target):
                os.chmod(file.name, stat.S_IMODE(os.stat(target).st_mode))
        with uninterrupted():
            for name, target in zip(list(made), targets, strict=True):
                os.replace(name, target)
                del made[name]
    except OSError as problem:
        # The caller knows the names of outputs, not the temporary ones.
        if problem.filename in made:
            problem.filename = str(made[problem.filename])
            problem.filename2 = None
        raise
    finally:
        for file in files:
            with suppress(OSError):
                file.close()
        for name in made:
            with suppress(OSError):
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
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C off while outputs get their names."""
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
