"""How figures look: colours and shapes, names that fit, legends, and the panels themselves."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from rectifold._core.rectification import Rectification
from rectifold._core.utils import in_unicode
from rectifold._core.votes import size_order

#: Paul Tol's bright colours, which the colour-blind can tell apart; the red is of his vibrant ones.
COLOURS = ("#4477aa", "#cc3311", "#228833", "#ccbb44", "#66ccee", "#aa3377")
#: One shape more than colours, so that classes share both only from the 43rd on.
SHAPES = ("o", "s", "^", "D", "*", "p", "h")
INK, GREY = "#222222", "#777777"
#: How removed rows are marked: shapes that no class has.
MARKS = {"intrusion": "x", "ambiguity": "+", "deep noise": "v"}
#: A dollar sign in a label is one.
STYLE: dict[Any, Any] = {"text.parse_math": False}
#: Handles of a legend, and what it says.
Entries: TypeAlias = list[tuple[Any, str]]
#: Classes that a legend lists before it only counts the rest.
_LISTED = 10


def class_look(record: Rectification, code: int) -> tuple[str, str]:
    """Give the colour and the shape of a class: the largest always looks the same."""
    place = int(np.flatnonzero(size_order(record._target.sizes) == code)[0])
    return COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]


def class_entries(record: Rectification) -> Entries:
    """List classes and their roles for a legend, the largest first."""
    entries: Entries = []
    for code in size_order(record._target.sizes)[:_LISTED]:
        colour, shape = class_look(record, code)
        line = Line2D([], [], ls="none", marker=shape, color=colour, ms=7, mew=0)
        entries.append((line, role_of(record, int(code))))
    more = len(record.classes) - len(entries)
    return [*entries, plain_entry(f"and {more} more")] if more else entries


def plain_entry(text: str) -> tuple[Any, str]:
    """Make an entry of a legend that is only text."""
    return Line2D([], [], ls="none"), text


def role_of(record: Rectification, code: int) -> str:
    """Name a class and its role."""
    return f"{short_name(record.classes[code])} ({record._setting.role(code)})"


def short_name(label: Any, most: int = 28) -> str:
    """Write a name of the caller's in one line that fits, with characters that can be drawn."""
    text = " ".join(in_unicode(str(label)).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def add_legend(axes: Any, entries: Entries, below: float = -0.06, ncols: int = 1) -> None:
    """Put a legend under a panel."""
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, below), "ncols": ncols}
    handles = [handle for handle, _ in entries]
    # Text is put in afterwards, as a legend leaves out what begins with an underscore.
    legend = axes.legend(handles, [" "] * len(entries), frameon=False, **place)
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        text.set_text(name)


def make_panels(axes: Any, n: int, **subplots: Any) -> npt.NDArray[Any]:
    """Give the caller's axes as an array of panels, or those of a new figure.

    Parameters
    ----------
    axes : matplotlib.axes.Axes, sequence of them, or None
        The caller's; None makes a figure.
    n : int
        How many panels there have to be.
    **subplots
        How a new figure is laid out, for `matplotlib.pyplot.subplots`.

    Returns
    -------
    ndarray of n matplotlib.axes.Axes
    """
    if axes is None:
        # Pictures in a report are made without pyplot, which keeps every figure that it makes.
        import matplotlib.pyplot as plt

        axes = plt.subplots(layout="constrained", squeeze=False, **subplots)[1]
    panels = np.asarray(axes, dtype=object).ravel()
    if len(panels) != n:
        raise ValueError(f"axes must be {n} Axes here, one for every panel, and not {len(panels)}.")
    return panels
