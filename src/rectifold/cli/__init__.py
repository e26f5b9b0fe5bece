"""The command line. All but this module is imported when Ctrl-C is caught already."""

import sys

# Type checkers take it as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def main(arguments: "Sequence[str] | None" = None) -> None:
    """Run the command line with these arguments, or those of the process, and exit."""
    sys.unraisablehook = _interrupt_again
    try:
        code = run(sys.argv[1:] if arguments is None else list(arguments))
        _end_on_interrupt()
    except KeyboardInterrupt:
        # Pressed when nothing was left to do, or again while the first was reported.
        code = 130
        _end_on_interrupt()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code.

    0 is success, 1 a closed pipe, 2 a wrong option or input, and 130 an interrupt by Ctrl-C.
    """
    try:
        from rectifold.cli.entry import dispatch

        return dispatch(arguments)
    except BaseException as problem:
        if not _is_interrupt(problem):
            raise
        print("rectifold: stopped", file=sys.stderr)
        return 130


def _is_interrupt(problem: BaseException | None) -> bool:
    """Return whether Ctrl-C was pressed; an import that it interrupts can raise another error."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__ or problem.__context__
    return problem is not None


def _interrupt_again(problem: "Any") -> None:
    """Deliver Ctrl-C once more if Python ignores it, as in a callback at the end of an import."""
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(problem)
        return
    import _thread
    import signal
    import threading

    # Not at once, since this would be ignored as well. A signal also wakes a thread that waits.
    main = threading.main_thread().ident
    deliver = getattr(signal, "pthread_kill", lambda *_: _thread.interrupt_main())
    threading.Timer(0.01, deliver, (main, signal.SIGINT)).start()


def _end_on_interrupt() -> None:
    """Have Ctrl-C end the process without a traceback from what libraries do at exit."""
    import signal
    import threading

    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
