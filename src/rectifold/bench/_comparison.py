"""From rows of a store to figures that may be compared: the same seeds for every method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from rectifold.bench._protocols import TRAIN_ONLY
from rectifold.bench._store import FAILED, OK
from rectifold.model_selection._registry import CLASSIFIERS, METHODS
from rectifold.model_selection._scores import SCORES


@dataclass(frozen=True)
class Comparison:
    """A score of every method on every data set with every classifier, averaged over seeds.

    Attributes
    ----------
    score : str
        Which, as in `rectifold.model_selection._scores.SCORES`.
    values : pandas.DataFrame
        A row for each (data set, classifier), a column for each method. A row is there only if
        every method has ended on at least one seed, and averages only over the seeds on which all
        have. A method that failed on one of those has no value.
    cells : pandas.MultiIndex
        Every (data set, classifier, seed) that stands behind a row.
    """

    score: str
    values: pd.DataFrame
    cells: pd.MultiIndex

    @cached_property
    def seeds(self) -> pd.Series[int]:
        """How many seeds stand behind each row."""
        pairs = self.cells.droplevel("seed").value_counts()
        return pairs.reindex(self.values.index).astype(int)

    def seeds_on(self, dataset: str) -> pd.Series[int]:
        """How many seeds stand behind each row of a data set."""
        return self.seeds[self.seeds.index.get_level_values("dataset") == dataset]

    @property
    def greater_is_better(self) -> bool:
        """Whether more of the score is better."""
        return SCORES[self.score]

    def ranks(self) -> pd.DataFrame:
        """Rank the methods in every row.

        Returns
        -------
        pandas.DataFrame
            1 for the best; equals share their mean rank, and those without a value the last ones.
        """
        return self.values.rank(axis=1, ascending=not self.greater_is_better, na_option="bottom")

    def rank_table(self) -> pd.DataFrame:
        """Average the ranks over data sets, as the paper's table does.

        Returns
        -------
        pandas.DataFrame
            A row for each method, best first; a column for each classifier, and ``Avg``, the mean
            of those.
        """
        by_classifier = self.ranks().groupby(level="classifier", sort=False).mean().T
        table = by_classifier[in_order(by_classifier.columns, CLASSIFIERS)]
        table = table.assign(Avg=table.mean(axis=1))
        table.columns.name = None
        return table.sort_values("Avg", kind="stable")

    def by_dataset(self) -> pd.DataFrame:
        """Average over classifiers.

        Returns
        -------
        pandas.DataFrame
            A row for each data set that has all classifiers of the comparison, a column for each
            method: independent blocks, which the classifiers on one data set are not.
        """
        n = self.values.index.get_level_values("classifier").nunique()
        grouped = self.values.groupby(level="dataset", sort=False)
        return _means(grouped)[grouped.size() == n]

    def mean_ranks(self) -> pd.DataFrame:
        """Average the ranks over classifiers.

        Returns
        -------
        pandas.DataFrame
            As `by_dataset`, with ranks for values.
        """
        n = self.values.index.get_level_values("classifier").nunique()
        grouped = self.ranks().groupby(level="dataset", sort=False)
        return grouped.mean()[grouped.size() == n]


def compare(frame: pd.DataFrame, score: str = "auprc", protocol: str = TRAIN_ONLY) -> Comparison:
    """Compare all methods of a store that were run under a protocol.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of a store, with one version of each method: see `newest`.
    score : str, default="auprc"
        What to compare by.
    protocol : str, default="train-only"
        Which rows to take.

    Returns
    -------
    Comparison
        Its values.
    """
    frame = frame[frame["protocol"] == protocol]
    rows = frame[frame["status"].isin([OK, FAILED])]
    index = ["dataset", "classifier", "seed"]
    methods = in_order(frame["method"].unique(), METHODS)
    keyed = rows.set_index([*index, "method"])
    values = keyed[score].unstack("method").reindex(columns=methods)
    ended = keyed["status"].notna().unstack("method", fill_value=False)
    ended = ended.reindex(columns=methods, fill_value=False)
    common = values[ended.all(axis=1)]
    # A score that a classifier never has, such as the Brier score of a ranking, is no failure.
    counts = keyed[score].groupby(level="classifier").count()
    scored = counts.index[counts > 0]
    common = common[common.index.get_level_values("classifier").isin(scored)]
    # Where all have failed, there is nothing to compare.
    common = common.dropna(how="all")
    means = _means(common.groupby(level=["dataset", "classifier"]))
    means.columns.name = "method"
    cells = pd.MultiIndex.from_frame(common.index.to_frame(index=False))
    return Comparison(score, means, cells)


def _means(grouped: Any) -> pd.DataFrame:
    # A mean of some is no mean: what has failed once has none.
    means: pd.DataFrame = grouped.mean()
    return means.where(grouped.count() == grouped.size().to_numpy()[:, None])


def newest(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Keep the newest version of every method.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of a store.

    Returns
    -------
    frame : pandas.DataFrame
        Rows of one version for each method and protocol: the one that was run last.
    older : dict of str to list of str
        The versions that were left out, by method.
    """
    kinds = ["protocol", "method"]
    order = frame.sort_values("finished", kind="stable").drop_duplicates(kinds, keep="last")
    last = order.set_index(kinds)["method_version"]
    wanted = last.reindex(pd.MultiIndex.from_frame(frame[kinds]))
    current = frame["method_version"].to_numpy() == wanted.to_numpy()
    older: dict[str, list[str]] = {}
    for one in frame.loc[~current, ["method", "method_version"]].drop_duplicates().itertuples():
        older.setdefault(str(one.method), []).append(str(one.method_version))
    return frame[current], older


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Sort names: those of the paper in its order, then others by the alphabet.

    Parameters
    ----------
    names : iterable of str
        What there is.
    known : iterable of str
        The paper's.

    Returns
    -------
    list of str
        The same names.
    """
    places = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (places.get(name, len(places)), name))


@dataclass(frozen=True)
class Lack:
    """What of a data set is compared, where that is not all.

    Attributes
    ----------
    dataset : str
        Its name.
    compared, classifiers : int
        How many classifiers are compared, and how many there are.
    least, most : int
        Over how many seeds those are compared.
    undone : int
        Fits that have neither ended nor timed out.
    """

    dataset: str
    compared: int
    classifiers: int
    least: int
    most: int
    undone: int


def left_out(frame: pd.DataFrame, comparison: Comparison) -> list[Lack]:
    """List what a comparison lacks to be whole.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows that it was made of.
    comparison : Comparison
        What came of them.

    Returns
    -------
    list of Lack
        One for each data set on which not every method has ended with every classifier and seed
        that there is in the frame.
    """
    n_classifiers = frame["classifier"].nunique()
    whole = frame["method"].nunique() * n_classifiers * frame["seed"].nunique()
    lacks = []
    for name in sorted(frame["dataset"].unique()):
        part = frame[frame["dataset"] == name]
        if part["status"].isin([OK, FAILED]).sum() == whole:
            continue
        seeds = comparison.seeds_on(name)
        least, most = (int(seeds.min()), int(seeds.max())) if len(seeds) else (0, 0)
        undone = whole - len(part)
        lacks.append(Lack(str(name), len(seeds), n_classifiers, least, most, undone))
    return lacks


def compared(frame: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Choose the rows on the splits and with the classifiers of a comparison.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of a store.
    comparison : Comparison
        What to choose by.

    Returns
    -------
    pandas.DataFrame
        Those of them that ended well.
    """
    good = frame[frame["status"] == OK]
    return good[good.set_index(list(comparison.cells.names)).index.isin(comparison.cells)]


def spread(frame: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Average a comparison over classifiers, and tell how that varies with the seed.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows that it was made of.
    comparison : Comparison
        What came of them.

    Returns
    -------
    pandas.DataFrame
        By data set and method: ``mean`` over the classifiers that are compared, missing where the
        method failed with one of them, and ``std`` over the seeds that all of these have.
    """
    means = _means(comparison.values.groupby(level="dataset"))
    rows = compared(frame, comparison)
    grouped = rows.groupby(["dataset", "method", "seed"])[comparison.score]
    n_classifiers = comparison.values.groupby(level="dataset").size()
    whole = grouped.size() == n_classifiers.reindex(grouped.size().index, level="dataset")
    deviations = grouped.mean()[whole].groupby(level=["dataset", "method"]).std()
    summary = means.melt(ignore_index=False, value_name="mean").set_index("method", append=True)
    return summary.assign(std=deviations.reindex(summary.index))
