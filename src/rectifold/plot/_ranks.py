"""Heat map of the average ranks of methods."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.patches import Rectangle

from rectifold.plot._style import INK, STYLE, make_panels

if TYPE_CHECKING:
    import pandas as pd


def plot_rank_heatmap(
    ranks: pd.DataFrame, *, highlight: Collection[str] = (), axes: Any = None
) -> Any:
    """Plot average ranks as a heat map: blue for low ranks, red for high ones.

    Parameters
    ----------
    ranks : pandas.DataFrame
        A row for each method and a column for each classifier; the last column is the
        average.
    highlight : collection of str, default=()
        Methods whose rows get a frame and a bold name.
    axes : matplotlib.axes.Axes, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from rectifold.plot import plot_rank_heatmap
    >>> ranks = pd.DataFrame({"kNN": [1.2, 1.8], "SVM": [1.6, 1.4], "average": [1.4, 1.6]},
    ...                      index=["GMR", "ENN"])
    >>> [text.get_text() for text in plot_rank_heatmap(ranks).texts]
    ['1.20', '1.60', '1.40', '1.80', '1.40', '1.60']
    """
    if not hasattr(ranks, "columns"):
        raise TypeError("ranks must be a dataframe: a row for each method, a column for each rank.")
    ranks = ranks.astype(float)
    with mpl.rc_context(STYLE):
        (panel,) = make_panels(axes, 1, figsize=heatmap_size(ranks))
        panel.imshow(ranks, cmap="RdYlBu_r", vmin=1, vmax=max(2, len(ranks)), aspect="auto")
        panel.set_xticks(range(ranks.shape[1]), list(ranks.columns))
        panel.set_yticks(range(len(ranks)), list(ranks.index))
        panel.xaxis.tick_top()
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
        panel.axvline(ranks.shape[1] - 1.5, color="white", linewidth=4)
        rows = [row for row, name in enumerate(ranks.index) if name in highlight]
        for row in rows:
            frame: dict[str, Any] = {"fill": False, "ec": INK, "lw": 2.5, "clip_on": False}
            panel.add_patch(Rectangle((-0.5, row - 0.5), ranks.shape[1], 1, **frame))
            panel.get_yticklabels()[row].set_fontweight("bold")
        middle = (1 + len(ranks)) / 2
        for (row, column), value in np.ndenumerate(ranks.to_numpy()):
            # The colours at both ends are dark.
            colour = "white" if abs(value - middle) > 0.36 * len(ranks) else "black"
            weight = "bold" if row in rows else "normal"
            looks = {"ha": "center", "va": "center", "color": colour, "fontweight": weight}
            panel.text(column, row, f"{value:.2f}", fontsize="small", **looks)
    return panel


def heatmap_size(ranks: pd.DataFrame) -> tuple[float, float]:
    """Return the width and height of a heat map in inches."""
    return 2.6 + 0.85 * ranks.shape[1], 0.8 + 0.3 * len(ranks)
