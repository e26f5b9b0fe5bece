"""Tests of significance, with data sets as blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy import stats

from rectifold._core.utils import Floats
from rectifold.model_selection._comparison import holm

#: The level of significance everywhere.
ALPHA = 0.05
#: Fewer blocks tell nothing.
LEAST_BLOCKS = 5
#: A smaller difference is a tie in a count of wins and losses.
TIE = 0.001
#: Bootstrap samples, and their seed.
_RESAMPLES, _SEED = 9999, 0


@dataclass(frozen=True)
class Friedman:
    """Whether methods differ at all, and by how much ranks must differ.

    Attributes
    ----------
    statistic, pvalue : float
        Of the Friedman test.
    critical_difference : float
        Of the Nemenyi test: average ranks that differ by less are not told apart.
    pairwise : pandas.DataFrame
        The Nemenyi test's p-value for each pair of methods.
    ranks : pandas.Series
        Average ranks, best first.
    n_blocks : int
        Data sets.
    """

    statistic: float
    pvalue: float
    critical_difference: float
    pairwise: pd.DataFrame
    ranks: pd.Series[float]
    n_blocks: int


def friedman(table: pd.DataFrame, *, greater_is_better: bool = True) -> Friedman | None:
    """Test whether methods differ, over data sets as blocks.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each data set, a column for each method; a missing value ranks last.
    greater_is_better : bool, default=True
        Of the values.

    Returns
    -------
    Friedman or None
        None with fewer than three methods or five data sets.
    """
    n, k = table.shape
    if n < LEAST_BLOCKS or k < 3:
        return None
    ranks = table.rank(axis=1, ascending=not greater_is_better, na_option="bottom")
    statistic, pvalue = stats.friedmanchisquare(*(ranks[name] for name in ranks))
    pairwise = posthoc_nemenyi_friedman(ranks.reset_index(drop=True))
    studentized = stats.studentized_range.ppf(1 - ALPHA, k, np.inf)
    difference = studentized / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    means = ranks.mean().sort_values(kind="stable")
    return Friedman(float(statistic), float(pvalue), float(difference), pairwise, means, n)


@dataclass(frozen=True)
class Contrast:
    """A method against another, over data sets.

    Attributes
    ----------
    difference, low, high : float
        The mean difference, positive where the method is better, and its bootstrap interval of
        95 %.
    pvalue, holm : float
        Of the Wilcoxon signed-rank test, plain and corrected for the number of methods.
    effect : float
        The rank-biserial correlation, from -1 (always worse) to 1 (always better).
    wins, ties, losses : int
        On how many data sets.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    holm: float
    effect: float
    wins: int
    ties: int
    losses: int


def against(
    table: pd.DataFrame, reference: str, *, greater_is_better: bool = True
) -> dict[str, Contrast]:
    """Compare every method with one of them, pair by pair.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each data set, a column for each method.
    reference : str
        The method that the others are compared with.
    greater_is_better : bool, default=True
        Of the values.

    Returns
    -------
    dict of str to Contrast
        By the names of the other methods, the best first; without those that have values on fewer
        than five data sets.
    """
    sign = 1 if greater_is_better else -1
    pairs = {
        str(name): sign * (table[name] - table[reference]).dropna().to_numpy()
        for name in table.columns.drop(reference)
    }
    pairs = {name: gains for name, gains in pairs.items() if len(gains) >= LEAST_BLOCKS}
    if not pairs:
        return {}
    tests = [_signed_rank(gains) for gains in pairs.values()]
    corrected = holm([pvalue for pvalue, _ in tests])
    contrasts = {}
    for (name, gains), (pvalue, effect), in_all in zip(
        pairs.items(), tests, corrected, strict=True
    ):
        low, high = interval(gains)
        contrasts[name] = Contrast(
            difference=float(gains.mean()),
            low=low,
            high=high,
            pvalue=pvalue,
            holm=in_all,
            effect=effect,
            wins=int((gains > TIE).sum()),
            ties=int((np.abs(gains) <= TIE).sum()),
            losses=int((gains < -TIE).sum()),
        )
    return dict(sorted(contrasts.items(), key=lambda one: -one[1].difference))


def _signed_rank(gains: Floats) -> tuple[float, float]:
    if not gains.any():
        return 1.0, 0.0
    pvalue = stats.wilcoxon(gains).pvalue
    better = stats.wilcoxon(gains, alternative="greater").statistic
    worse = stats.wilcoxon(-gains, alternative="greater").statistic
    return float(pvalue), float((better - worse) / (better + worse))


def interval(values: Floats) -> tuple[float, float]:
    """Give a bootstrap interval of 95 % for a mean over data sets.

    Parameters
    ----------
    values : ndarray
        One for each data set.

    Returns
    -------
    low, high : float
        Both equal to the mean where all values are equal.
    """
    # Equal but for rounding, values have no spread to draw from.
    if np.ptp(values) < 1e-9:
        return float(values.mean()), float(values.mean())
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=1 - ALPHA,
        method="BCa",
        random_state=_SEED,
    ).confidence_interval
    return float(found.low), float(found.high)
