"""The figures that the paper prints.

`paper_auprc.csv` and `paper_ranks.csv` are two tables of X. Wang, Q. Li and W. Jia, "Geometric
Manifold Rectification for Imbalanced Learning", arXiv 2602.13045: the AUPRC of 19 methods on 27
data sets, and the average ranks of 20 methods with seven classifiers.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rectifold.bench.report import Published
from rectifold.model_selection._registry import METHODS

CITATION = (
    "Wang, Li and Jia, “Geometric Manifold Rectification for Imbalanced Learning”, arXiv 2602.13045"
)


def paper_auprc() -> pd.DataFrame:
    """Return the AUPRC, averaged over seven classifiers and five seeds.

    A row for each of 27 data sets, a column for each of 18 baselines and None; the paper prints
    none for GMR.
    """
    return _read("paper_auprc.csv").pivot(index="dataset", columns="method", values="auprc")


def paper_ranks() -> pd.DataFrame:
    """Return the average ranks: a row for each method, a column for each classifier and ``Avg``."""
    names = {entry.short: entry.name for entry in METHODS.values()}
    return _read("paper_ranks.csv").set_index("method").rename(index=names)


def published() -> Published:
    """Return all figures, for the report to show beside ours."""
    return Published(CITATION, paper_ranks(), paper_auprc())


def _read(name: str) -> pd.DataFrame:
    # "None" is a method here, not a missing value.
    return pd.read_csv(Path(__file__).with_name(name), keep_default_na=False)
