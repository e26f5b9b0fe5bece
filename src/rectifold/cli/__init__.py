"""The entry point of the command line: from arguments to an exit code, with no traceback."""

from __future__ import annotations

import importlib.util
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

EXTRA = ("typer", "rich", "pandas", "pyarrow", "jinja2")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 wrong usage or input, 130 stopped by Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the name of the program; by default those of this process.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : list of str
        What stands after the name of the program.

    Returns
    -------
    int
        The exit code.
    """
    with _streams(), _kill_is_ctrl_c():
        if any(importlib.util.find_spec(name) is None for name in EXTRA):
            return _fail('the command line needs its extra: pip install "rectifold[cli]"')
        try:
            return _dispatch(arguments)
        except KeyboardInterrupt:
            return _fail("stopped", code=130)
        except BrokenPipeError:
            # Whoever read the output has seen enough; Python must not flush into that pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1


@contextmanager
def _streams() -> Iterator[None]:
    # Python has no stream where standard output or error was closed (>&-). Whoever did that
    # wants to see nothing; and with the number of that stream free, the next file that is opened
    # would get it, and with it whatever a library prints.
    closed = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    if closed:
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)
    with ExitStack() as stack:
        for name in closed:
            setattr(sys, name, stack.enter_context(open(os.devnull, "w", encoding="utf-8")))
            stack.callback(setattr, sys, name, None)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A label that the terminal's encoding lacks is shown by its code, and is no crash.
                stream.reconfigure(errors="backslashreplace")
        yield


@contextmanager
def _kill_is_ctrl_c() -> Iterator[None]:
    # `kill` and `timeout` leave as little behind as Ctrl-C does.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _dispatch(arguments: list[str]) -> int:
    import typer

    from rectifold._io import FileError
    from rectifold.cli.commands import app
    from rectifold.cli.errors import UsageError
    from rectifold.cli.interrupt import Stopped

    try:
        code = typer.main.get_command(app)(arguments, "rectifold", standalone_mode=False)
    except (FileError, UsageError) as problem:
        return _fail(str(problem))
    except Stopped as stopped:
        return _fail(str(stopped), code=130)
    except OSError as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        where = f" {problem.filename!r}" if problem.filename else ""
        return _fail(f"{problem.strerror or problem}{where}")
    except Exception as problem:
        # Typer's own errors carry their sentence; their classes moved between versions.
        sentence = getattr(problem, "format_message", None)
        if sentence is None:
            raise
        return _fail(sentence().replace("Value error, ", "").rstrip("."))
    return code if isinstance(code, int) else 0


def _fail(sentence: str, code: int = 2) -> int:
    from rectifold.cli.escape import visible

    print(f"rectifold: {visible(' '.join(sentence.split(chr(10))))}", file=sys.stderr)
    return code
