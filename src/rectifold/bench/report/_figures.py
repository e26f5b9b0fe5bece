"""Figures of the report, as SVG text."""

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scikit_posthocs import critical_difference_diagram

from rectifold.bench._statistics import ALPHA, Friedman
from rectifold.plot._ranks import heatmap_size, plot_rank_heatmap
from rectifold.report._document_formats import SVG_STYLE, to_svg


def heat_map(ranks: pd.DataFrame) -> str:
    """Draw average ranks as a heat map: a row for each method, the last column the average."""
    with mpl.rc_context(SVG_STYLE):
        figure = Figure(figsize=heatmap_size(ranks))
        plot_rank_heatmap(ranks, axes=figure.add_subplot())
        return to_svg(figure)


def critical_difference(test: Friedman, labels: dict[str, str]) -> str:
    """Draw a critical-difference diagram; `labels` are short names of methods."""
    with mpl.rc_context(SVG_STYLE), warnings.catch_warnings():
        # A diagram without bars, because all methods differ, is fine.
        warnings.simplefilter("ignore")
        ranks = test.ranks.rename(index=labels)
        gaps = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy()))
        # Differences below the critical one are not significant.
        pvalues = np.where(gaps < test.critical_difference, 1.0, 0.0)
        figure = Figure(figsize=(8, 0.9 + 0.19 * len(ranks)))
        artists = critical_difference_diagram(
            ranks,
            pd.DataFrame(pvalues, ranks.index, ranks.index),
            alpha=ALPHA,
            ax=figure.add_subplot(),
            label_fmt_left="{label}  {rank:.2f} ",
            label_fmt_right=" {rank:.2f}  {label}",
            label_props={"size": 9},
            marker_props={"s": 12},
            elbow_props={"linewidth": 0.6},
            crossbar_props={"linewidth": 2.5, "color": "black"},
            color_palette=["black"] * len(ranks),
        )
        # The bars come from sets, whose order differs between processes.
        for (bar,) in artists["crossbars"]:
            bar.set_xdata(sorted(bar.get_xdata()))
        return to_svg(figure)
