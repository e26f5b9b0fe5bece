"""Outputs of one run as a set: they get their names together, or the next run reports it."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rectifold import progress

#: Attempts to remove a folder into which a task may still write, and the seconds in between.
_ATTEMPTS, _PAUSE = 50, 0.1

#: Number of sets that have got their names in this process.
sets_written = 0


@contextmanager
def renamed_together(paths: Sequence[Path], create: Callable[[str], None]) -> Iterator[list[str]]:
    """Yield temporary names of outputs, which get their names all together at the end, or never.

    `create` makes an empty file or folder of a name. An exception (Ctrl-C too) removes them, and
    undoes renames. The first path is the main output, which gets its name last: it is new only if
    all the others are. If an earlier run of the same main output was killed, what it left is
    removed, with a warning if only some of its outputs had got their names.
    """
    global sets_written
    if not paths:
        yield []
        return
    # A symbolic link is kept: what it names is replaced.
    outputs = _OutputSet([os.path.realpath(path) for path in paths], secrets.token_hex(8))
    try:
        unfinished = _clean_up(outputs.targets[0])
        outputs.open_journal()
        for name in reversed(outputs.drafts):
            create(name)
        yield outputs.drafts
        with _deferred(signal.SIGINT), _deferred(signal.SIGTERM):
            outputs.rename()
            sets_written += 1
            for older in [*unfinished, outputs]:
                older.remove()
    except BaseException as problem:
        with _deferred(signal.SIGINT), _deferred(signal.SIGTERM):
            outputs.remove()
        if isinstance(problem, OSError):
            outputs.hide_names(problem, paths)
        raise


def warn_of_unfinished(path: Path) -> None:
    """Warn if a run of this main output was killed when only some outputs had their names."""
    for outputs in _left_behind(os.path.realpath(path)):
        outputs.warn_if_unfinished()


class _OutputSet:
    """Outputs of a run, their temporary names, and a journal in the folder of the main output.

    The journal lists the other outputs, and is locked as long as the process lives. The draft of
    the main output, which is the first, is created and renamed after the others, and removed before
    them. So some outputs have their names and others don't if it exists and another draft doesn't.
    """

    def __init__(self, targets: list[str], token: str) -> None:
        self.targets = targets
        self.journal = f"{_journals_of(targets[0])}{token}.journal"
        # Derived from the token, so that no content of a journal names a file to remove.
        stems = [
            os.path.join(os.path.dirname(target), f".rectifold-{token}-{number}")
            for number, target in enumerate(targets)
        ]
        self.drafts = [f"{stem}.tmp" for stem in stems]
        self._backups = [f"{stem}.old" for stem in stems]
        self._file: IO[bytes] | None = None
        self._mixed = False

    def open_journal(self) -> None:
        self._file = open(self.journal, "xb", buffering=0)  # noqa: SIM115 - until the end of the run
        with suppress(OSError):  # without locks, what this process leaves is never removed
            _lock(self._file, wait=True)
        self._file.write(os.fsencode("\0".join(self.targets[1:])))
        if len(self.targets) > 1:
            os.fsync(self._file.fileno())

    def rename(self) -> None:
        """Rename all drafts, or none if there is an error."""
        others = [*zip(self.drafts, self._backups, self.targets, strict=True)][:0:-1]
        for _, backup, target in others:
            if os.path.isfile(target):
                _back_up(target, backup)
        done: list[tuple[str, str, str]] = []
        try:
            for draft, backup, target in others:
                os.replace(draft, target)
                done.append((draft, backup, target))
            os.replace(self.drafts[0], self.targets[0])
        except BaseException:
            for draft, backup, target in reversed(done):
                try:
                    if os.path.exists(backup):
                        os.replace(backup, target)
                    else:
                        os.replace(target, draft)
                except OSError:
                    self._mixed = True
            raise

    def remove(self) -> None:
        """Remove all temporary names, unless the next run needs them to report a mixed set."""
        if self._mixed:
            self.warn_if_unfinished("this run")
        else:
            for name in (*self.drafts, *self._backups):
                _remove(name)
        if self._file is not None:
            self._file.close()
        if not self._mixed:
            _remove(self.journal)

    def warn_if_unfinished(self, run: str = "an earlier run") -> bool:
        """Warn if some outputs have their names and others don't, and return whether it is so."""
        drafts = dict(zip(self.targets, self.drafts, strict=True))
        waiting = [target for target in self.targets if os.path.lexists(drafts[target])]
        written = [target for target in self.targets if target not in waiting]
        if not written or self.targets[0] in written:
            return False
        warning = UserWarning(
            f"{run} was interrupted after it had written {_listed(written)} but not "
            f"{_listed(waiting)}, so these outputs are an incomplete set and do not belong together"
        )
        if not progress.pass_warning(warning):
            warnings.warn(warning, stacklevel=2)
        return True

    def hide_names(self, problem: OSError, paths: Sequence[Path]) -> None:
        """Replace a temporary name in an error by that of the output: it means nothing to users."""
        names = [*self.drafts, *self._backups, self.journal]
        if problem.filename in names:
            problem.filename = str([*paths, *paths, paths[0]][names.index(problem.filename)])
            problem.filename2 = None


def _clean_up(main: str) -> list[_OutputSet]:
    """Remove what killed runs left, but return those sets that must be reported until replaced."""
    unfinished = []
    for outputs in _left_behind(main):
        if outputs.warn_if_unfinished():
            unfinished.append(outputs)
        else:
            outputs.remove()
    return unfinished


def _left_behind(main: str) -> list[_OutputSet]:
    """Return the sets of a main output whose processes have ended."""
    folder, prefix = os.path.split(_journals_of(main))
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = []
    for name in names:
        if name.startswith(prefix) and name.endswith(".journal"):
            with (
                suppress(OSError),
                open(os.path.join(folder, name), "r+b", buffering=0) as file,
            ):
                _lock(file, wait=False)
                others = [target for target in os.fsdecode(file.read()).split("\0") if target]
                token = name.removeprefix(prefix).removesuffix(".journal")
                found.append(_OutputSet([main, *others], token))
    return found


def _listed(paths: list[str]) -> str:
    more = len(paths) - 1
    return f"{paths[0]!r}" + (f" and {more} more" if more else "")


def _journals_of(main: str) -> str:
    """Return the beginning of the paths of all journals of a main output."""
    folder, name = os.path.split(main)
    key = zlib.crc32(os.fsencode(os.path.normcase(name)))
    return os.path.join(folder, f".rectifold-{key:08x}-")


def _lock(file: IO[bytes], *, wait: bool) -> None:
    """Lock a file until it is closed, or raise an error if it is locked."""
    if sys.platform == "win32":
        import msvcrt

        # What is locked can't be read by others, so it is a byte far behind the end.
        file.seek(1 << 30)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        file.seek(0)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _back_up(target: str, backup: str) -> None:
    try:
        os.link(target, backup)
    except OSError:  # some file systems have no hard links
        shutil.copy2(target, backup)


def _remove(path: str) -> None:
    if not os.path.isdir(path) or os.path.islink(path):
        with suppress(OSError):
            os.remove(path)
        return
    # A task that was told to stop may still be writing a file.
    for _ in range(_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.exists(path):
            return
        time.sleep(_PAUSE)


@contextmanager
def _deferred(number: signal.Signals) -> Iterator[None]:
    """Deliver a signal that comes during the ``with`` block at its end."""
    before = signal.getsignal(number)
    # Python runs handlers of signals in the main thread only; None is a handler in C.
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    received: list[int] = []
    try:
        signal.signal(number, lambda *_: received.append(number))
        yield
    finally:
        signal.signal(number, before)
        if received:
            signal.raise_signal(number)
