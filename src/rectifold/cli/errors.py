"""Errors of the command line, and text of the library and of data as the command line shows it."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from rectifold._core.errors import Param, ParameterError, ParameterWarning

#: Parameters that are not options of the same name.
_SHOWN = {
    "X": "the table",
    "y": "the target",
    "sampling_strategy": "--only",
    "classifiers": "--classifier",
    "methods": "--method",
}


class UsageError(ValueError):
    """Options that don't fit the table, or each other; the message is one sentence."""


class Stopped(Exception):  # noqa: N818 - not an error: the user asked for it
    """The user pressed Ctrl-C; the message says what was written until then."""


@contextmanager
def stoppable(sentence: str | None = None) -> Iterator[None]:
    """Turn Ctrl-C into `Stopped` with this sentence, or one that says whether outputs are written.

    Outputs are those that got their names during the ``with`` block.
    """
    from rectifold._io import output_set

    before = output_set.sets_written
    try:
        yield
    except KeyboardInterrupt:
        written = "nothing was" if output_set.sets_written == before else "the outputs are"
        raise Stopped(sentence or f"stopped; {written} written") from None


def sentence_of(problem: BaseException | str) -> str:
    """Return the message of an error or a warning, with options in place of parameters.

    Examples
    --------
    >>> sentence_of(ParameterError("{} of {} is too large.", Param("n_neighbors", 9), Param("X")))
    '--n-neighbors 9 of the table is too large'
    """
    if isinstance(problem, ParameterError | ParameterWarning):
        return problem.message(_as_option).rstrip(".")
    return str(problem).rstrip(".")


def _as_option(param: Param) -> str:
    name = _SHOWN.get(param.name, f"--{param.name.replace('_', '-')}")
    if not param.has_value or param.value is True:
        return name
    return f"{name} {'none' if param.value is None else shlex.quote(str(param.value))}"


def visible(value: object, limit: int | None = None) -> str:
    r"""Return text in one line, without control characters, cut to `limit` characters.

    Examples
    --------
    >>> print(visible("two\nlines and \x1b[31mred"))
    two\nlines and \x1b[31mred
    >>> print(visible("a long name", limit=7))
    a lo...
    """
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(value)
    )
    return text if limit is None or len(text) <= limit else text[: limit - 3] + "..."
