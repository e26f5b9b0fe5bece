"""Comparison of methods by the rows of a store: the same seeds for every method."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from rectifold.bench._protocols import PROTOCOLS, TRAIN_ONLY
from rectifold.bench._store import FAILED, OK
from rectifold.datasets import SAME_SOURCE
from rectifold.model_selection._registry import CLASSIFIERS, METHODS
from rectifold.model_selection._scores import SCORES

#: Decimals of scores that are ranked, so that errors of rounding rank none before another.
DECIMALS = 12


@dataclass(frozen=True)
class Comparison:
    """A score of every method on every data set with every classifier, averaged over seeds."""

    #: Name of the score, in `SCORES`.
    score: str
    #: A row for each (dataset, classifier), a column for each method. A row exists only if every
    #: method has ended on at least one seed, and averages over the seeds on which all have. A
    #: method that failed on one of those has no value.
    values: pd.DataFrame
    #: Every (dataset, classifier, seed) that is averaged in a row.
    cells: pd.MultiIndex
    #: Name of the protocol, in `PROTOCOLS`.
    protocol: str = TRAIN_ONLY

    @cached_property
    def seeds(self) -> pd.Series[int]:
        """Number of seeds that each row averages."""
        pairs = self.cells.droplevel("seed").value_counts()
        return pairs.reindex(self.values.index).astype(int)

    def seeds_on(self, dataset: str) -> pd.Series[int]:
        """Return the number of seeds that each row of a data set averages."""
        return self.seeds[self.seeds.index.get_level_values("dataset") == dataset]

    def ranks(self) -> pd.DataFrame:
        """Return the ranks in every row: 1 for the best, last without a value."""
        return self.values.round(DECIMALS).rank(
            axis=1,
            method=PROTOCOLS[self.protocol].ties,  # type: ignore[arg-type]
            ascending=not SCORES[self.score].greater_is_better,
            na_option="bottom",
        )

    def rank_table(self) -> pd.DataFrame:
        """Return average ranks over data sets, as the paper's table has them.

        A row for each method, best first; a column for each classifier, and ``Avg``, their mean.
        """
        by_classifier = self.ranks().groupby(level="classifier", sort=False).mean().T
        table = by_classifier[in_order(by_classifier.columns, CLASSIFIERS)]
        table = table.assign(Avg=table.mean(axis=1))
        table.columns.name = None
        return table.sort_values("Avg", kind="stable")

    def by_dataset(self) -> pd.DataFrame:
        """Return averages over classifiers, for the data sets that have all of them.

        A row for each data set, a column for each method.
        """
        grouped = self.values.groupby(level="dataset", sort=False)
        return self._complete(_means(grouped), grouped)

    def by_block(self) -> pd.DataFrame:
        """Return averages over classifiers, and over data sets of one source.

        These are independent blocks for tests; classifiers on one data set are not.
        """
        return by_block(self.by_dataset())

    def mean_ranks(self) -> pd.DataFrame:
        """Return ranks averaged over classifiers, in the form of `by_dataset`."""
        grouped = self.ranks().groupby(level="dataset", sort=False)
        return self._complete(grouped.mean(), grouped)

    def _complete(self, table: pd.DataFrame, by_dataset: Any) -> pd.DataFrame:
        """Return the rows of data sets that have all classifiers."""
        n_classifiers = self.values.index.get_level_values("classifier").nunique()
        complete: pd.DataFrame = table[by_dataset.size() == n_classifiers]
        return complete


def compare(frame: pd.DataFrame, score: str = "auprc", protocol: str = TRAIN_ONLY) -> Comparison:
    """Compare all methods that ran under a protocol; `frame` has one version of each (`newest`)."""
    frame = frame[frame["protocol"] == protocol]
    ended = frame[frame["status"].isin([OK, FAILED])]
    methods = in_order(frame["method"].unique(), METHODS)
    keyed = ended.set_index(["dataset", "classifier", "seed", "method"])
    values = keyed[score].unstack("method").reindex(columns=methods)
    complete = keyed["status"].notna().unstack("method", fill_value=False)
    complete = complete.reindex(columns=methods, fill_value=False)
    common = values[complete.all(axis=1)]
    # A score that a classifier never has, such as the Brier score of an SVM, is not a failure.
    counts = keyed[score].groupby(level="classifier").count()
    scored = counts.index[counts > 0]
    common = common[common.index.get_level_values("classifier").isin(scored)]
    # If all methods have failed, there is nothing to compare.
    common = common.dropna(how="all")
    means = _means(common.groupby(level=["dataset", "classifier"]))
    means.columns.name = "method"
    cells = pd.MultiIndex.from_frame(common.index.to_frame(index=False))
    return Comparison(score, means, cells, protocol)


def by_block(table: pd.DataFrame) -> pd.DataFrame:
    """Return the means of the rows of data sets of one source, given a row for each."""
    blocks = [SAME_SOURCE.get(str(name), str(name)) for name in table.index]
    return _means(table.groupby(pd.Index(blocks, name="block"), sort=False))


def _means(grouped: Any) -> pd.DataFrame:
    """Return means of groups; without a value where one is missing in the group."""
    means: pd.DataFrame = grouped.mean()
    return means.where(grouped.count() == grouped.size().to_numpy()[:, None])


def newest(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the rows of one version of each method and classifier, and the older versions.

    Under each protocol, the version of a method and the options of a classifier that ran last are
    kept; the others are returned by method and by classifier.
    """
    older: dict[str, list[str]] = {}
    for kind, version in (("method", "method_version"), ("classifier", "classifier_options")):
        kinds = ["protocol", kind]
        order = frame.sort_values("finished", kind="stable").drop_duplicates(kinds, keep="last")
        wanted = order.set_index(kinds)[version].reindex(pd.MultiIndex.from_frame(frame[kinds]))
        current = frame[version].to_numpy() == wanted.to_numpy()
        outdated = frame.loc[~current, [kind, version]].drop_duplicates()
        for name, text in outdated.itertuples(index=False):
            older.setdefault(str(name), []).append(str(text) or "without options")
        frame = frame[current]
    return frame, older


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the distinct names: known ones in their order, then others in alphabetical order."""
    places = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (places.get(name, len(places)), name))


@dataclass(frozen=True)
class Incomplete:
    """A data set that is compared in part."""

    dataset: str
    #: Number of classifiers that are compared, and of all classifiers.
    n_compared: int
    n_classifiers: int
    #: Range of the number of seeds over which they are compared.
    min_seeds: int
    max_seeds: int
    #: Fits that are not in the store.
    n_missing: int


def incomplete_datasets(
    frame: pd.DataFrame, comparison: Comparison, repeats: Collection[int] = ()
) -> list[Incomplete]:
    """Return the data sets on which not every method has ended with every classifier and seed.

    Seeds in `repeats` are expected only of data sets that have them.
    """
    n_classifiers = frame["classifier"].nunique()
    n_each = frame["method"].nunique() * n_classifiers
    common = set(frame["seed"]).difference(repeats)
    incomplete = []
    for name in sorted(frame["dataset"].unique()):
        part = frame[frame["dataset"] == name]
        n_all = n_each * len(common.union(part["seed"]))
        if part["status"].isin([OK, FAILED]).sum() == n_all:
            continue
        seeds = comparison.seeds_on(name)
        fewest, most = (int(seeds.min()), int(seeds.max())) if len(seeds) else (0, 0)
        incomplete.append(
            Incomplete(str(name), len(seeds), n_classifiers, fewest, most, n_all - len(part))
        )
    return incomplete


def compared(frame: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Return the rows on the cells of a comparison that ended without an error."""
    good = frame[frame["status"] == OK]
    return good[good.set_index(list(comparison.cells.names)).index.isin(comparison.cells)]


def means_and_deviations(frame: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Return ``mean`` and ``std`` of the score by data set and method.

    The mean is over the classifiers that are compared, missing if the method failed with one; the
    standard deviation is over the seeds that all of these have, of the mean over classifiers.
    """
    means = _means(comparison.values.groupby(level="dataset"))
    rows = compared(frame, comparison)
    grouped = rows.groupby(["dataset", "method", "seed"])[comparison.score]
    n_classifiers = comparison.values.groupby(level="dataset").size()
    complete = grouped.size() == n_classifiers.reindex(grouped.size().index, level="dataset")
    deviations = grouped.mean()[complete].groupby(level=["dataset", "method"]).std()
    summary = means.melt(ignore_index=False, value_name="mean").set_index("method", append=True)
    return summary.assign(std=deviations.reindex(summary.index))
