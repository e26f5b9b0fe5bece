"""The figures that the paper prints, to stand beside one's own."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from io import StringIO

import pandas as pd

from rectifold.model_selection._registry import METHODS

#: Where they come from.
CITATION = (
    "Wang, Li and Jia, “Geometric Manifold Rectification for Imbalanced Learning”, arXiv 2602.13045"
)


def paper_auprc() -> pd.DataFrame:
    """Give the paper's AUPRC, averaged over seven classifiers and five seeds.

    Returns
    -------
    pandas.DataFrame
        A row for each of 27 data sets, a column for each of 18 baselines and None; the paper
        prints none for GMR.
    """
    return _read("paper_auprc.csv").pivot(index="dataset", columns="method", values="auprc")


def paper_ranks() -> pd.DataFrame:
    """Give the paper's average ranks.

    Returns
    -------
    pandas.DataFrame
        A row for each of 20 methods, a column for each of seven classifiers and ``Avg``.
    """
    names = {entry.short: entry.name for entry in METHODS.values()}
    return _read("paper_ranks.csv").set_index("method").rename(index=names)


def paper_ranks_of(methods: Iterable[str]) -> pd.DataFrame | None:
    """Give the paper's average ranks if they may stand beside those of other results.

    Parameters
    ----------
    methods : iterable of str
        The methods that were ranked.

    Returns
    -------
    pandas.DataFrame or None
        As `paper_ranks`; None where these are not the paper's 20 methods, since ranks among others,
        or fewer, are no ranks to compare with.
    """
    printed = paper_ranks()
    return printed if set(methods) == set(printed.index) else None


def _read(name: str) -> pd.DataFrame:
    text = (files("rectifold") / "data" / name).read_text(encoding="utf-8")
    # "None" is a method here, and no missing value.
    return pd.read_csv(StringIO(text), keep_default_na=False)
