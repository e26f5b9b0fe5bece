"""What all figures share: arguments, colours and shapes, names, legends and panels."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from rectifold._core.errors import Param, ParameterError
from rectifold._core.rectification import Rectification
from rectifold._core.utils import in_unicode
from rectifold._core.votes import size_order

#: Paul Tol's bright colours, safe for colour-blind readers; the red is from his vibrant ones.
COLOURS = ("#4477aa", "#cc3311", "#228833", "#ccbb44", "#66ccee", "#aa3377")
#: One shape more than colours, so that only the 43rd class repeats a combination.
SHAPES = ("o", "s", "^", "D", "*", "p", "h")
INK, GREY = "#222222", "#777777"
#: Marks of removed samples by reason; no class has these shapes.
MARKS = {"intrusion": "x", "ambiguity": "+", "deep noise": "v"}
#: Labels may hold dollar signs.
STYLE: dict[Any, Any] = {"text.parse_math": False}
#: Handles and texts of a legend.
Entries: TypeAlias = list[tuple[Any, str]]
#: Maximum number of classes in a legend.
_MAX_LISTED = 10


def record_of(gmr: Any) -> Rectification:
    """Return the record of a fitted sampler, or the record passed."""
    record = getattr(gmr, "rectification_", gmr)
    if not isinstance(record, Rectification):
        raise ParameterError(
            "{} must be a GMR after fit_resample, or its Rectification, and is {}.",
            Param("gmr"),
            f"{gmr!r:.80}",
        )
    return record


def class_look(record: Rectification, code: int) -> tuple[str, str]:
    """Return the colour and the shape of a class, by the rank of its size."""
    rank = int(np.flatnonzero(size_order(record._target.sizes) == code)[0])
    return COLOURS[rank % len(COLOURS)], SHAPES[rank % len(SHAPES)]


def class_entries(record: Rectification) -> Entries:
    """Return the classes and their roles for a legend, the largest first."""
    entries: Entries = []
    for code in size_order(record._target.sizes)[:_MAX_LISTED]:
        colour, shape = class_look(record, code)
        line = Line2D([], [], ls="none", marker=shape, color=colour, ms=7, mew=0)
        entries.append((line, class_name(record, int(code))))
    more = len(record.classes) - len(entries)
    return [*entries, text_entry(f"and {more} more")] if more else entries


def text_entry(text: str) -> tuple[Any, str]:
    """Return an entry of a legend without a symbol."""
    return Line2D([], [], ls="none"), text


def class_name(record: Rectification, code: int) -> str:
    """Return the name of a class and its role."""
    return f"{short_name(record.classes[code])} ({record._setting.role(code)})"


def short_name(label: Any, length: int = 28) -> str:
    """Return a name in one line of at most `length` characters that can be drawn."""
    text = " ".join(in_unicode(str(label)).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def add_legend(axes: Any, entries: Entries, below: float = -0.06, ncols: int = 1) -> None:
    """Add a legend below a panel."""
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, below), "ncols": ncols}
    handles = [handle for handle, _ in entries]
    # matplotlib omits entries that begin with an underscore, so texts are set afterwards.
    legend = axes.legend(handles, [" "] * len(entries), frameon=False, **place)
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        text.set_text(name)


def make_panels(axes: Any, n: int, **subplots: Any) -> npt.NDArray[Any]:
    """Return `axes` as an array of n panels, or those of a new figure with the given layout."""
    if axes is None:
        # The figures of reports are made without pyplot, which keeps every figure open.
        import matplotlib.pyplot as plt

        axes = plt.subplots(layout="constrained", squeeze=False, **subplots)[1]
    panels = np.asarray(axes, dtype=object).ravel()
    if len(panels) != n:
        raise ParameterError(
            "{} must be {} Axes here, one per panel, and not {}.",
            Param("axes"),
            str(n),
            str(len(panels)),
        )
    return panels
