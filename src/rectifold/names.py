"""Names of the caller's: which was meant where one is wrong, and how odd ones are written."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

#: Names that a sentence lists before it only counts the rest.
_MOST = 10


def near(name: str, known: Sequence[str], *, every: bool = False) -> str:
    """Say which name may have been meant, or which names there are.

    Parameters
    ----------
    name : str
        One that there is not.
    known : sequence of str
        Those that there are.
    every : bool, default=False
        List all of them, and also where one of them was probably meant.

    Returns
    -------
    str
        The end of a sentence.

    Examples
    --------
    >>> near("lable", ["label", "price"])
    "; did you mean 'label'?"
    >>> near("lable", ["label", "price"], every=True)
    "; did you mean 'label'? There are 'label', 'price'"
    """
    # Case is the most frequent slip, and difflib does not overlook it.
    folded = {other.lower(): other for other in reversed(known)}
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    meant = f"; did you mean {folded[matches[0]]!r}?" if matches else ""
    if meant and not every:
        return meant
    shown = ", ".join(repr(other) for other in (known if every else known[:_MOST]))
    more = "" if every or len(known) <= _MOST else f" and {len(known) - _MOST} more"
    return f"{meant} There are {shown}" if meant else f"; there are {shown}{more}"


def in_unicode(text: str) -> str:
    """Write text so that UTF-8 can hold it.

    Parameters
    ----------
    text : str
        Possibly with halves of surrogate pairs, as in file names that could not be decoded.

    Returns
    -------
    str
        The same, with those by their codes.

    Examples
    --------
    >>> print(in_unicode("caf\\udce9"))
    caf\\udce9
    """
    return text.encode("utf-8", "backslashreplace").decode()
