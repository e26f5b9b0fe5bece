"""Text from data made fit for a terminal: no control characters, no surprises."""

from __future__ import annotations


def visible(value: object, limit: int | None = None) -> str:
    """Show a value in one line, with all that is not printable escaped.

    Parameters
    ----------
    value : object
        A label, a column name, a file name, a cell.
    limit : int, optional
        The most characters to show; what is longer is cut and marked.

    Returns
    -------
    str
        Printable text.

    Examples
    --------
    >>> print(visible("two\\nlines and \\x1b[31mred"))
    two\\nlines and \\x1b[31mred
    >>> print(visible("a long name", limit=7))
    a lo...
    """
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(value)
    )
    return text if limit is None or len(text) <= limit else text[: limit - 3] + "..."
