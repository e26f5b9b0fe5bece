"""Run a command: from arguments to an exit code, without a traceback."""

import importlib.util
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Modules of the extra `cli`.
EXTRA = ("typer", "rich", "pandas", "pyarrow", "jinja2")


def dispatch(arguments: list[str]) -> int:
    """Run the command line and return the exit code; `rectifold.cli.run` catches Ctrl-C."""
    _prepare_streams()
    try:
        with _terminate_as_interrupt():
            if any(importlib.util.find_spec(name) is None for name in EXTRA):
                return _fail('the command line needs an extra: pip install "rectifold[cli]"')
            return _call_command(arguments)
    except BrokenPipeError:
        # The reader of the output has ended, and Python must not flush into that pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _prepare_streams() -> None:
    """Open streams that were closed (``>&-``), and escape what their encoding lacks."""
    if sys.stdout is None or sys.stderr is None:
        # Otherwise the next file gets the number of a closed stream, and what libraries print.
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)
        devnull = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
        sys.stdout, sys.stderr = sys.stdout or devnull, sys.stderr or devnull
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """Have SIGTERM, which `kill` and `timeout` send, clean up like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _call_command(arguments: list[str]) -> int:
    import typer

    from rectifold._core.errors import ParameterError
    from rectifold.cli.commands import app
    from rectifold.cli.errors import Stopped, UsageError, sentence_of

    try:
        code = typer.main.get_command(app)(arguments, "rectifold", standalone_mode=False)
        if code == 130:
            # Typer returns this for Ctrl-C.
            raise KeyboardInterrupt
    except (ParameterError, UsageError) as problem:
        return _fail(sentence_of(problem))
    except Stopped as stopped:
        return _fail(str(stopped), code=130)
    except OSError as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        where = f" {problem.filename!r}" if problem.filename else ""
        return _fail(f"{problem.strerror or problem}{where}")
    except Exception as problem:
        # Typer's errors have this method; where their class is depends on the version.
        format_message = getattr(problem, "format_message", None)
        if format_message is None:
            raise
        # The prefix is pydantic's, with which recent versions check values.
        return _fail(format_message().replace("Value error, ", "").rstrip("."))
    return code if isinstance(code, int) else 0


def _fail(sentence: str, code: int = 2) -> int:
    from rectifold.cli.errors import visible

    print(f"rectifold: {visible(' '.join(sentence.split(chr(10))))}", file=sys.stderr)
    return code
