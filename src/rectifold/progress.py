"""Report the progress of long work to a callback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], None]
WarningHandler = Callable[[Warning], None]

_listener: ContextVar[Listener | None] = ContextVar("rectifold_progress", default=None)
_handler: ContextVar[WarningHandler | None] = ContextVar("rectifold_warnings", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(done, total)` as samples are processed inside the ``with`` block.

    Parameters
    ----------
    listener : callable
        Takes the number of samples processed so far and the number of all samples. It is
        called from the thread that entered the block, about once per thousand samples,
        and at the end with ``done == total``. An exception that it raises cancels the
        work.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.progress import listening
    >>> X, y = make_classification(n_samples=500, weights=[0.9], random_state=0)
    >>> calls = []
    >>> with listening(lambda done, total: calls.append(f"{done} of {total}")):
    ...     X_clean, y_clean = GMR().fit_resample(X, y)
    >>> calls[-1]
    '500 of 500'
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def muted() -> Iterator[None]:
    """Report no progress inside the ``with`` block, for steps of work that reports its own.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from rectifold import GMR
    >>> from rectifold.progress import listening, muted
    >>> X, y = make_classification(n_samples=500, weights=[0.9], random_state=0)
    >>> def show(done, total):
    ...     print(f"{done} of {total}")
    >>> with listening(show):
    ...     for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
    ...         with muted():
    ...             X_clean, y_clean = GMR().fit_resample(X[train], y[train])
    ...         show(fold + 1, 3)
    1 of 3
    2 of 3
    3 of 3
    """
    with listening(lambda done, total: None):
        yield


def report(done: int, total: int) -> None:
    """Report progress to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)


@contextmanager
def handling_warnings(handler: WarningHandler) -> Iterator[None]:
    """Pass warnings about long work, which come before it starts, to `handler`."""
    token = _handler.set(handler)
    try:
        yield
    finally:
        _handler.reset(token)


def pass_warning(warning: Warning) -> bool:
    """Pass a warning to the handler, and return whether there is one."""
    handler = _handler.get()
    if handler is not None:
        handler(warning)
    return handler is not None
