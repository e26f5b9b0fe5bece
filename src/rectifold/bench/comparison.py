"""From rows of a store to figures that may be compared: the same seeds for every method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from rectifold.bench.grid import SEEDS
from rectifold.bench.protocols import TRAIN_ONLY
from rectifold.bench.registry import CLASSIFIERS, METHODS
from rectifold.bench.scores import SCORES
from rectifold.bench.store import FAILED, OK


@dataclass(frozen=True)
class Comparison:
    """A score of every method on every data set with every classifier, averaged over seeds.

    Attributes
    ----------
    score : str
        Which, as in `rectifold.bench.scores.SCORES`.
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

    @property
    def seeds(self) -> pd.Series[int]:
        """How many seeds stand behind each row."""
        pairs = self.cells.droplevel("seed").value_counts()
        return pairs.reindex(self.values.index).astype(int)

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
        means = grouped.mean().where(grouped.count() == grouped.size().to_numpy()[:, None])
        return means[grouped.size() == n]

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
    rows = frame[(frame["protocol"] == protocol) & frame["status"].isin([OK, FAILED])]
    index = ["dataset", "classifier", "seed"]
    methods = in_order(rows["method"].unique(), METHODS)
    keyed = rows.set_index([*index, "method"])
    values = keyed[score].unstack("method").reindex(columns=methods)
    ended = keyed["status"].notna().unstack("method", fill_value=False)
    common = values[ended.all(axis=1)]
    # A score that a classifier never has, such as the Brier score of a ranking, is no failure.
    counts = keyed[score].groupby(level="classifier").count()
    scored = counts.index[counts > 0]
    common = common[common.index.get_level_values("classifier").isin(scored)]
    grouped = common.groupby(level=["dataset", "classifier"])
    means = grouped.mean().where(grouped.count() == grouped.size().to_numpy()[:, None])
    means.columns.name = "method"
    cells = pd.MultiIndex.from_frame(common.index.to_frame(index=False))
    return Comparison(score, means, cells)


def newest(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Keep the newest version of every method.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of a store.

    Returns
    -------
    frame : pandas.DataFrame
        Rows of one version for each method: the one that was run last.
    older : dict of str to list of str
        The versions that were left out, by method.
    """
    finished = frame[["method", "method_version", "finished"]].sort_values("finished")
    versions = finished.drop_duplicates(["method", "method_version"], keep="last")
    last = dict(zip(versions["method"], versions["method_version"], strict=True))
    older: dict[str, list[str]] = {}
    for method, version in zip(versions["method"], versions["method_version"], strict=True):
        if version != last[method]:
            older.setdefault(method, []).append(version)
    return frame[frame["method_version"] == frame["method"].map(last)], older


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
    """

    dataset: str
    compared: int
    classifiers: int
    least: int
    most: int


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
        One for each data set with fewer classifiers than others, or fewer seeds than the paper's.
    """
    n_classifiers = comparison.values.index.get_level_values("classifier").nunique()
    lacks = []
    for name in sorted(frame["dataset"].unique()):
        seeds = comparison.seeds[comparison.seeds.index.get_level_values("dataset") == name]
        if len(seeds) == n_classifiers and seeds.min() >= len(SEEDS):
            continue
        least, most = (int(seeds.min()), int(seeds.max())) if len(seeds) else (0, 0)
        lacks.append(Lack(str(name), len(seeds), n_classifiers, least, most))
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


def spread(frame: pd.DataFrame, score: str) -> pd.DataFrame:
    """Average a score over classifiers, and tell how that varies with the seed.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of one protocol and one version of each method, from `compared`.
    score : str
        Which.

    Returns
    -------
    pandas.DataFrame
        By data set and method: ``mean`` and ``std`` over seeds of the mean over classifiers, and
        the ``count`` of seeds.
    """
    by_seed = frame.groupby(["dataset", "method", "seed"])[score].mean()
    return by_seed.groupby(level=["dataset", "method"]).agg(["mean", "std", "count"])
