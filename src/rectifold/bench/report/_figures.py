"""Figures of the report, as SVG text."""

import warnings

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scikit_posthocs import critical_difference_diagram

from rectifold.bench._statistics import ALPHA, Friedman
from rectifold.plot._ranks import heatmap_size, plot_rank_heatmap
from rectifold.plot._style import COLOURS
from rectifold.report._document import GMR
from rectifold.report._document_formats import figure_style, to_svg

#: Classifiers of the paper and their average, written out.
NAMES = {
    "DT": "decision tree",
    "RF": "random forest",
    "SVM": "support vector machine",
    "KNN": "k nearest neighbours",
    "LR": "logistic regression",
    "XGB": "XGBoost",
    "GBM": "gradient boosting",
    "Avg": "average",
}
#: The colour of GMR.
_RED = COLOURS[1]


def heat_map(ranks: pd.DataFrame) -> str:
    """Draw average ranks as a heat map: a row for each method, the last column the average."""
    ranks = ranks.rename(columns={name: title.replace(" ", "\n") for name, title in NAMES.items()})
    with figure_style():
        figure = Figure(figsize=heatmap_size(ranks))
        plot_rank_heatmap(ranks, highlight=[GMR], axes=figure.add_subplot())
        return to_svg(figure)


def critical_difference(test: Friedman) -> str:
    """Draw a critical-difference diagram."""
    with figure_style(), warnings.catch_warnings():
        # A diagram without bars, because all methods differ, is fine.
        warnings.simplefilter("ignore")
        ranks = test.ranks
        gaps = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy()))
        # Differences below the critical one are not significant.
        pvalues = np.where(gaps < test.critical_difference, 1.0, 0.0)
        figure = Figure(figsize=(9.5, 1.1 + 0.24 * len(ranks)))
        artists = critical_difference_diagram(
            ranks,
            pd.DataFrame(pvalues, ranks.index, ranks.index),
            alpha=ALPHA,
            ax=figure.add_subplot(),
            label_fmt_left="{label}  {rank:.2f} ",
            label_fmt_right=" {rank:.2f}  {label}",
            label_props={"size": "small"},
            marker_props={"s": 16},
            elbow_props={"linewidth": 0.6},
            crossbar_props={"linewidth": 2.5, "color": "black"},
            color_palette={one: _RED if one == GMR else "black" for one in ranks.index},
        )
        # The bars come from sets, whose order differs between processes.
        for (bar,) in artists["crossbars"]:
            bar.set_xdata(sorted(bar.get_xdata()))
        return to_svg(figure)
