"""Figures of the reports, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from rectifold.report._document_formats import SVG_STYLE, to_svg


def bars(
    names: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float]]],
    label: str,
    marks: tuple[str, Sequence[float]] | None = None,
) -> str:
    """Draw groups of bars: for each of `series` a mean and a standard deviation for each name.

    `marks` is a title and a height for each name, drawn as a line across its group.
    """
    width = 0.8 / len(series)
    with mpl.rc_context(SVG_STYLE):
        figure = Figure(figsize=(2.0 + 1.05 * len(names), 3.2))
        axes = figure.add_subplot()
        for at, (what, values) in enumerate(series.items()):
            places = [group + (at - (len(series) - 1) / 2) * width for group in range(len(names))]
            axes.bar(
                places,
                [mean for mean, _ in values],
                width,
                yerr=[0.0 if math.isnan(spread) else spread for _, spread in values],
                label=what,
                color=("0.65", "tab:blue", "tab:orange")[at] if len(series) > 1 else "tab:blue",
                error_kw={"linewidth": 1, "capsize": 2},
            )
        what, heights = marks or ("", ())
        if heights:
            starts = [group - 0.45 for group in range(len(names))]
            ends = [group + 0.45 for group in range(len(names))]
            axes.hlines(heights, starts, ends, color="black", linewidth=1, label=what)
        axes.set_xticks(range(len(names)), names, rotation=20 if len(names) > 3 else 0)
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
        if len(series) > 1:
            axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        return to_svg(figure)
