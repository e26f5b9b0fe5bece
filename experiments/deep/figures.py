"""Figures of the reports, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from rectifold.report._document_formats import figure_style, to_svg


def points(
    names: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float]]],
    label: str,
    marks: tuple[str, Sequence[float]] | None = None,
) -> str:
    """Draw groups of points: for each of `series` a mean and a standard deviation for each name.

    The axis begins where the values do, so that differences can be seen. `marks` is a title and a
    height for each name, drawn as a line across its group.
    """
    width = 0.7 / len(series)
    with figure_style():
        figure = Figure(figsize=(3.0 + 1.15 * len(names), 4.0))
        axes = figure.add_subplot()
        for at, (what, values) in enumerate(series.items()):
            places = [group + (at - (len(series) - 1) / 2) * width for group in range(len(names))]
            axes.errorbar(
                places,
                [mean for mean, _ in values],
                [0.0 if math.isnan(spread) else spread for _, spread in values],
                label=what,
                color=("0.45", "C0", "C1")[at] if len(series) > 1 else "C0",
                fmt="os^"[at % 3],
            )
        what, heights = marks or ("", ())
        if heights:
            starts = [group - 0.45 for group in range(len(names))]
            ends = [group + 0.45 for group in range(len(names))]
            axes.hlines(heights, starts, ends, color="black", linewidth=1, label=what)
        for group in range(1, len(names)):
            axes.axvline(group - 0.5, color="0.9", linewidth=1, zorder=0)
        axes.set_xticks(range(len(names)), names, rotation=20 if len(names) > 3 else 0)
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylabel(label)
        if len(series) > 1 or heights:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
        return to_svg(figure)
