"""Progress of long work, reported to whoever asks through one callback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], None]
Reader = Callable[[Warning], None]

_listener: ContextVar[Listener | None] = ContextVar("rectifold_progress", default=None)
_reader: ContextVar[Reader | None] = ContextVar("rectifold_remarks", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have `listener(done, total)` called as rows are decided inside the ``with`` block.

    Parameters
    ----------
    listener : callable
        Takes the number of rows decided so far and the number of all rows. It is
        called from the thread that entered the block, once for a thousand rows or
        so, and at the end with ``done == total``. An exception that it raises ends
        the work: this is how a caller cancels.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> from rectifold.progress import listening
    >>> X, y = make_classification(n_samples=500, weights=[0.9], random_state=0)
    >>> seen = []
    >>> with listening(lambda done, total: seen.append(f"{done} of {total}")):
    ...     X_clean, y_clean = GMR().fit_resample(X, y)
    >>> seen[-1]
    '500 of 500'
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def muted() -> Iterator[None]:
    """Report nothing inside the ``with`` block: parts of longer work that reports by itself.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from rectifold import GMR
    >>> from rectifold.progress import listening, muted
    >>> X, y = make_classification(n_samples=500, weights=[0.9], random_state=0)
    >>> def told(done, total):
    ...     print(f"{done} of {total}")
    >>> with listening(told):
    ...     for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
    ...         with muted():
    ...             X_clean, y_clean = GMR().fit_resample(X[train], y[train])
    ...         told(fold + 1, 3)
    1 of 3
    2 of 3
    3 of 3
    """
    with listening(lambda done, total: None):
        yield


def report(done: int, total: int) -> None:
    """Tell the listener, if there is one, that `done` of `total` rows are decided."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)


@contextmanager
def reading(reader: Reader) -> Iterator[None]:
    """Have `reader(warning)` called for warnings that concern long work, before it starts.

    Parameters
    ----------
    reader : callable
        Takes the warning, whose text is ``str(warning)``. Outside of the ``with`` block it is
        issued instead.
    """
    token = _reader.set(reader)
    try:
        yield
    finally:
        _reader.reset(token)


def remark(warning: Warning) -> bool:
    """Pass a warning to the reader, and return whether there is one."""
    reader = _reader.get()
    if reader is not None:
        reader(warning)
    return reader is not None
