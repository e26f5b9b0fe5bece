"""Numbers and counts as a report writes them."""

import math
from collections.abc import Iterable
from typing import Any

#: Where there is no figure.
NOTHING = "–"


def number(value: Any, digits: int = 2, *, sign: bool = False) -> str:
    """Write a number, with a true minus sign.

    Examples
    --------
    >>> number(-0.0625, 3, sign=True)
    '−0.062'
    """
    if math.isnan(value):
        return NOTHING
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "−")


def spread(values: Any, digits: int = 4) -> str:
    """Write a mean and a standard deviation.

    Examples
    --------
    >>> import pandas as pd
    >>> spread(pd.Series([0.5, 0.7]), 2)
    '0.60 ± 0.14'
    """
    values = values.dropna()
    if len(values) < 2:
        return number(values.mean(), digits)
    return f"{number(values.mean(), digits)} ± {number(values.std(), digits)}"


def pvalue(value: Any) -> str:
    """Write a p-value.

    Examples
    --------
    >>> pvalue(1e-9), pvalue(0.25)
    ('< 0.001', '0.250')
    """
    if math.isnan(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def equation(value: Any) -> str:
    """Write a p-value with the sign before it.

    Examples
    --------
    >>> equation(1e-9), equation(0.25)
    ('p < 0.001', 'p = 0.250')
    """
    text = pvalue(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def count(n: int, one: str, many: str = "") -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> count(1, "data set"), count(2000, "fit")
    ('1 data set', '2,000 fits')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def span(least: int, most: int) -> str:
    """Write a range of counts.

    Examples
    --------
    >>> span(1, 5), span(5, 5)
    ('1 to 5', '5')
    """
    return f"{least} to {most}" if least != most else str(most)


def listing(names: Iterable[object]) -> str:
    """Write names one after another.

    Examples
    --------
    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = [str(name) for name in names]
    return f"{', '.join(most)} and {last}" if most else last
