"""Ctrl-C: what it left behind is said in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Stopped(Exception):  # noqa: N818 - nothing is wrong: the user asked for it
    """The user pressed Ctrl-C; the message says what that left behind."""


@contextmanager
def stoppable(sentence: str = "stopped; nothing was written") -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(sentence) from None
