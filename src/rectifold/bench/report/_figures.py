"""The figures of a report, as SVG text."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from scikit_posthocs import critical_difference_diagram

from rectifold.bench._statistics import ALPHA, Friedman
from rectifold.plot._ranks import heatmap_size, plot_rank_heatmap
from rectifold.report._document_formats import SVG_STYLE, to_svg


def heat_map(ranks: pd.DataFrame) -> str:
    """Draw average ranks as colours: blue for low ones, red for high.

    Parameters
    ----------
    ranks : pandas.DataFrame
        A row for each method, a column for each classifier and the average.

    Returns
    -------
    str
        An SVG picture.
    """
    with mpl.rc_context(SVG_STYLE):
        figure = Figure(figsize=heatmap_size(ranks))
        plot_rank_heatmap(ranks, axes=figure.add_subplot())
        return to_svg(figure)


def critical_difference(test: Friedman, names: dict[str, str]) -> str:
    """Draw average ranks on a line, with bars over methods that are not told apart.

    Parameters
    ----------
    test : Friedman
        The ranks, and which of them differ.
    names : dict of str to str
        What methods are called in the picture.

    Returns
    -------
    str
        An SVG picture.
    """
    with mpl.rc_context(SVG_STYLE), warnings.catch_warnings():
        # Drawing without bars, where no two methods are alike, is no cause for concern.
        warnings.simplefilter("ignore")
        ranks = test.ranks.rename(index=names)
        figure = Figure(figsize=(8, 0.9 + 0.19 * len(ranks)))
        axes = figure.add_subplot()
        artists = critical_difference_diagram(
            ranks,
            test.pairwise.rename(index=names, columns=names),
            alpha=ALPHA,
            ax=axes,
            label_fmt_left="{label}  {rank:.2f} ",
            label_fmt_right=" {rank:.2f}  {label}",
            label_props={"size": 9},
            marker_props={"s": 12},
            elbow_props={"linewidth": 0.6},
            crossbar_props={"linewidth": 2.5, "color": "black"},
            color_palette=["black"] * len(ranks),
        )
        # The bars come from sets, whose order differs from one process to the next.
        for (bar,) in artists["crossbars"]:
            bar.set_xdata(sorted(bar.get_xdata()))
        return to_svg(figure)


def bars(
    names: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float]]],
    label: str,
    marks: tuple[str, Sequence[float]] | None = None,
) -> str:
    """Draw groups of bars beside each other, with their spread.

    Parameters
    ----------
    names : sequence of str
        One for each group.
    series : mapping of str to sequence of (float, float)
        For each bar of a group, what it is; a mean and a standard deviation for each group.
    label : str
        Of the axis.
    marks : tuple of str and sequence of float, optional
        A line across each group: what they are, and how high.

    Returns
    -------
    str
        An SVG picture.
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
