"""Tests of significance with data sets as blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from rectifold._core.utils import Floats
from rectifold.bench._comparison import DECIMALS
from rectifold.model_selection._evaluation import holm

#: Level of significance of all tests.
ALPHA = 0.05
#: Minimum number of data sets for a test.
MIN_BLOCKS = 5
#: A smaller difference counts as a tie, not as a win or a loss.
TIE = 0.001
#: Methods are equivalent if their difference is smaller.
MARGIN = 0.005
#: Number of bootstrap samples, and their seed.
_RESAMPLES, _SEED = 9999, 0


@dataclass(frozen=True)
class Friedman:
    """The Friedman test of all methods, and the critical difference of the Nemenyi test."""

    statistic: float
    pvalue: float
    #: Average ranks that differ by less are not significantly different (Nemenyi).
    critical_difference: float
    #: Average ranks, best first.
    ranks: pd.Series[float]
    n_blocks: int


def friedman(
    table: pd.DataFrame,
    average_ranks: pd.Series[float] | None = None,
    *,
    greater_is_better: bool = True,
) -> Friedman | None:
    """Test whether methods differ, given a row for each block and a column for each method.

    A missing value ranks last. `average_ranks` are compared with the critical difference; by
    default those of the table. If they are averages over more than one rank of each block, they
    vary less than the Nemenyi test assumes, which makes it conservative. Returns None with fewer
    than three methods or `MIN_BLOCKS` blocks.
    """
    n, k = table.shape
    if n < MIN_BLOCKS or k < 3:
        return None
    ranks = table.round(DECIMALS).rank(axis=1, ascending=not greater_is_better, na_option="bottom")
    statistic, pvalue = stats.friedmanchisquare(*(ranks[name] for name in ranks))
    studentized = stats.studentized_range.ppf(1 - ALPHA, k, np.inf)
    difference = studentized / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    means = ranks.mean() if average_ranks is None else average_ranks
    means = means.sort_values(kind="stable")
    return Friedman(float(statistic), float(pvalue), float(difference), means, n)


@dataclass(frozen=True)
class Contrast:
    """The difference between two methods over blocks, and its tests."""

    #: Mean difference, positive if the method is better, and its bootstrap interval of 95 %.
    difference: float
    low: float
    high: float
    #: p-value of the Wilcoxon signed-rank test, plain and corrected for the number of methods.
    pvalue: float
    holm: float
    #: p-value of equivalence within `MARGIN`: the larger one of two one-sided signed-rank tests.
    equivalence: float
    #: Rank-biserial correlation, from -1 (always worse) to 1 (always better).
    effect: float
    #: Numbers of blocks.
    wins: int
    ties: int
    losses: int


def against(
    table: pd.DataFrame, reference: str, *, greater_is_better: bool = True
) -> dict[str, Contrast]:
    """Compare every method with a reference, given a row for each block.

    Returns the contrasts by method, the best first; without methods that have values on fewer than
    `MIN_BLOCKS` blocks.
    """
    sign = 1 if greater_is_better else -1
    pairs = {
        str(name): sign * (table[name] - table[reference]).dropna().round(DECIMALS).to_numpy()
        for name in table.columns.drop(reference)
    }
    pairs = {name: gains for name, gains in pairs.items() if len(gains) >= MIN_BLOCKS}
    if not pairs:
        return {}
    tests = [_signed_rank(gains) for gains in pairs.values()]
    corrected = holm([pvalue for pvalue, _ in tests])
    contrasts = {}
    for (name, gains), (pvalue, effect), adjusted in zip(
        pairs.items(), tests, corrected, strict=True
    ):
        low, high = interval(gains)
        contrasts[name] = Contrast(
            difference=float(gains.mean()),
            low=low,
            high=high,
            pvalue=pvalue,
            holm=adjusted,
            equivalence=_equivalence(gains),
            effect=effect,
            wins=int((gains > TIE).sum()),
            ties=int((np.abs(gains) <= TIE).sum()),
            losses=int((gains < -TIE).sum()),
        )
    return dict(sorted(contrasts.items(), key=lambda item: -item[1].difference))


def _signed_rank(gains: Floats) -> tuple[float, float]:
    """Return the p-value of the Wilcoxon test and the rank-biserial correlation."""
    if not gains.any():
        return 1.0, 0.0
    pvalue = stats.wilcoxon(gains).pvalue
    better = stats.wilcoxon(gains, alternative="greater").statistic
    worse = stats.wilcoxon(-gains, alternative="greater").statistic
    return float(pvalue), float((better - worse) / (better + worse))


def _equivalence(gains: Floats) -> float:
    """Return the p-value of the hypothesis that the difference is `MARGIN` or larger."""
    above = stats.wilcoxon(gains + MARGIN, alternative="greater").pvalue
    below = stats.wilcoxon(gains - MARGIN, alternative="less").pvalue
    return float(max(above, below))


def interval(values: Floats) -> tuple[float, float]:
    """Return the bootstrap interval (BCa, 95 %) of the mean of one value for each data set."""
    # BCa is undefined for values that are equal except for rounding.
    if np.ptp(values) < 1e-9:
        return float(values.mean()), float(values.mean())
    bounds = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=1 - ALPHA,
        method="BCa",
        random_state=_SEED,
    ).confidence_interval
    return float(bounds.low), float(bounds.high)
