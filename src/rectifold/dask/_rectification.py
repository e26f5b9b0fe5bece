"""Rectification: the record of a run on a cluster, with collections of Dask."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import numpy.typing as npt
from dask import delayed

from rectifold._core.rectification import Rectification as RectificationInMemory
from rectifold._core.rectification import changed
from rectifold._core.rules import (
    DECISIONS,
    REASONS,
    REMOVED,
    Decisions,
    Thresholds,
    allowances,
    first_to_go,
)
from rectifold._core.summary import Setting, as_table, count_fates, facts
from rectifold._core.target import Labels, Target, codes_of
from rectifold._core.utils import Floats, Ints
from rectifold._core.votes import Votes, certain
from rectifold.dask import _tasks
from rectifold.dask._cluster import Cluster, check_available, task
from rectifold.dask._partitions import Partitions
from rectifold.dask._plan import offsets
from rectifold.dask._search import Searched
from rectifold.dask._sources import load
from rectifold.dask._tasks import Outcome, Rules

_VOTES = tuple(field.name for field in fields(Votes))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rectification:
    """The record of a run of `rectifold.dask.GMR`: the decision on every sample and its reason.

    It is `GMR.rectification_`. Arrays with one entry per sample are dask arrays with the
    partitions of the input, computed when needed. Counts are available at once.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    label, predicted, confidence, majority_confidence, decision, reason, removed, spared, certified
        As for :class:`rectifold.Rectification`, as dask arrays of shape (n_samples,).
    accuracy : None
        All neighbours are exact.

    See Also
    --------
    rectifold.Rectification : The same on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from rectifold.dask import GMR
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(da.from_array(X, chunks=(500, 4)),
    ...                                     da.from_array(y, chunks=500))
    >>> record = gmr.rectification_
    >>> record.summary()["removed"]
    20
    >>> record.reason
    dask.array<concatenate, shape=(1000,), dtype=<U10, chunksize=(500,), chunktype=numpy.ndarray>
    >>> frame = record.to_frame()
    >>> frame[frame.reason == "intrusion"][["label", "predicted", "decision"]].compute()
         label  predicted decision
    323      0          1  removed
    448      0          1  removed
    957      0          1  removed

    Other thresholds need no new search, and a record that fits in memory can be gathered:

    >>> in_memory = record.redecide(gamma=0).compute()
    >>> in_memory.removed.nonzero()[0]
    array([323, 448, 957])
    """

    _rules: Rules
    _partitions: Partitions
    # Sizes of the partitions.
    _counts: tuple[int, ...]
    # The outcomes hold decisions.
    _searched: Searched
    # The result of `count_fates`.
    _fates: Ints

    @property
    def _thresholds(self) -> Thresholds:
        return self._rules.thresholds

    @property
    def _setting(self) -> Setting:
        return self._rules.setting

    @property
    def classes(self) -> Labels:
        """The labels, sorted."""
        return self._rules.classes

    @property
    def label(self) -> Any:
        """The label of every sample."""
        return self._array("label", self.classes.dtype)

    @property
    def predicted(self) -> Any:
        """The label that the neighbours of every sample predict."""
        return self._array("predicted", self.classes.dtype)

    @property
    def confidence(self) -> Any:
        """The vote for every sample's own class."""
        return self._array("confidence", np.float64)

    @property
    def majority_confidence(self) -> Any:
        """The vote for the majority class at every sample."""
        return self._array("majority_confidence", np.float64)

    @property
    def decision(self) -> Any:
        """The decision on every sample: "kept", "removed" or "spared"."""
        return self._array("decision", np.array(DECISIONS).dtype)

    @property
    def reason(self) -> Any:
        """The reason: "intrusion", "ambiguity", "deep noise", or "" for other samples."""
        return self._array("reason", np.array(REASONS).dtype)

    @property
    def removed(self) -> Any:
        """Mask of the removed samples."""
        return self._array("removed", np.bool_)

    @property
    def spared(self) -> Any:
        """Mask of the candidates that were kept because of a cap."""
        return self._array("spared", np.bool_)

    @property
    def certified(self) -> Any:
        """Mask of the samples with a certificate."""
        return self._array("certified", np.bool_)

    @property
    def accuracy(self) -> None:
        """None: all neighbours are exact."""
        return

    def redecide(
        self,
        *,
        alpha: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
    ) -> "Rectification":
        """Apply other thresholds to the same votes, without a new search.

        Parameters
        ----------
        alpha, beta, gamma : float or None
            As for `rectifold.GMR`; None keeps the present threshold.

        Returns
        -------
        Rectification
            The record that `GMR` with these thresholds would have made.
        """
        thresholds = changed(self._thresholds, alpha=alpha, beta=beta, gamma=gamma)
        check_available(self._searched.outcomes)
        rules = replace(self._rules, thresholds=thresholds)
        searched, fates = decide(Cluster(), self._searched, rules)
        return replace(self, _rules=rules, _searched=searched, _fates=fates)

    def summary(self) -> dict[str, Any]:
        """Return counts of decisions, and how the run was made.

        Returns
        -------
        dict
            As by `rectifold.Rectification.summary`.
        """
        return facts(
            self.classes,
            self._rules.sizes,
            self._fates,
            self._thresholds,
            self._setting,
            certified=self._searched.n_certified,
        )

    def to_frame(self) -> Any:
        """Return a frame with the label, votes, decision and reason of every sample.

        Returns
        -------
        dask.dataframe.DataFrame
            Columns row, label, predicted, confidence, majority_confidence, decision,
            reason; with the partitions of the input, and its index if it is a dataframe.
        """
        first, X = offsets(self._counts), self._partitions.X
        parts = [
            task(_frame, record, begin, samples)
            for record, begin, samples in zip(
                records_by_partition(self), first, self._partitions.samples, strict=True
            )
        ]
        if isinstance(X, da.Array):
            divisions: Any = (*first, max(first[-1], sum(self._counts) - 1))
        else:
            divisions = X.divisions if X.known_divisions else None
        meta = _frame(_record(self.classes[:0], 0, [], self._rules), 0, self._partitions.empty)
        return dd.from_delayed(parts, meta=meta, divisions=divisions, verify_meta=False)

    def compute(self) -> RectificationInMemory:
        """Gather the whole record in the memory of this process.

        Returns
        -------
        rectifold.Rectification
            Equal to that of `rectifold.GMR`, for tables whose record fits in memory: about 60
            bytes per sample. Its report needs ``X=``.
        """
        parts = Cluster().compute(records_by_partition(self))
        X = self._partitions.X

        def joined(attribute: str, name: str) -> npt.NDArray[Any]:
            return np.concatenate([getattr(getattr(part, attribute), name) for part in parts])

        codes = joined("_target", "codes")
        return RectificationInMemory(
            Target(self.classes[codes], self.classes, codes, self._rules.sizes),
            Votes(**{name: joined("_votes", name) for name in _VOTES}),
            Decisions(joined("_decisions", "decision"), joined("_decisions", "reason")),
            self._thresholds,
            self._setting,
            np.concatenate([part.certified for part in parts]),
            None if isinstance(X, da.Array) else X.index.compute(),
        )

    def __repr__(self) -> str:
        """Return counts per class and reason as a small table."""
        return as_table(self.summary())

    def _array(self, name: str, dtype: npt.DTypeLike) -> Any:
        arrays = [
            da.from_delayed(task(getattr, record, name), (count,), dtype=dtype)
            for record, count in zip(records_by_partition(self), self._counts, strict=True)
        ]
        return da.concatenate(arrays)


def records_by_partition(record: Rectification) -> list[Any]:
    """Return tasks that each make the `rectifold.Rectification` of one partition."""
    rules = delayed(record._rules, pure=False)
    return [
        task(_record, labels, first, outcomes, rules)
        for labels, (_, first, outcomes) in zip(
            record._partitions.labels, _outcomes_by_partition(record), strict=True
        )
    ]


def kept_positions(record: Rectification, cluster: Cluster) -> tuple[list[Any], list[int]]:
    """Return the positions of the kept samples in each partition, on the cluster, and counts."""
    positions = cluster.persist(
        [
            task(_kept, count, first, outcomes)
            for count, first, outcomes in _outcomes_by_partition(record)
        ]
    )
    return positions, cluster.compute([task(len, part) for part in positions])


def _outcomes_by_partition(record: Rectification) -> list[tuple[int, int, list[Any]]]:
    """Return the size, first index and outcomes of each partition."""
    searched = record._searched
    check_available(searched.outcomes)
    return [
        (
            count,
            first,
            [
                outcome
                for outcome, (begin, end) in zip(searched.outcomes, searched.edges, strict=True)
                if begin < first + count and end > first
            ],
        )
        for count, first in zip(record._counts, offsets(record._counts), strict=True)
    ]


def decide(cluster: Cluster, searched: Searched, rules: Rules) -> tuple[Searched, Ints]:
    """Apply the rules to votes on the cluster.

    Return the search with the decisions in its outcomes, and the result of `count_fates`. Only the
    candidates of classes with more candidates than may be removed are gathered: 24 bytes each.
    """
    outcomes, n_classes = searched.outcomes, len(rules.sizes)
    found = cluster.persist([task(_tasks.find_suspects, outcome, rules) for outcome in outcomes])
    counted = cluster.compute([task(_tasks.count_by_class, part, n_classes) for part in found])
    counts: Ints = sum(counted, np.zeros(n_classes, np.intp))
    allowed = allowances(
        counts,
        rules.sizes,
        rules.setting.strict,
        rules.setting.protected,
        rules.thresholds,
        keep_floor=rules.setting.keep_floor,
    )
    spared: list[list[Ints]] = [[np.empty(0, dtype=np.intp)] for _ in outcomes]
    for code in range(n_classes):
        if counts[code] > allowed[code]:
            parts = cluster.compute([task(_tasks.of_class, part, code) for part in found])
            for batch, positions in enumerate(_spare(parts, allowed[code])):
                spared[batch].append(positions)
    decided = cluster.persist(
        [
            task(_tasks.apply_decisions, outcome, part, np.concatenate(positions))
            for outcome, part, positions in zip(outcomes, found, spared, strict=True)
        ]
    )
    fates = cluster.compute([task(_fates, part, n_classes) for part in decided])
    none = np.zeros((n_classes, len(DECISIONS), len(REASONS)), dtype=np.intp)
    return replace(searched, outcomes=decided), sum(fates, none)


def _spare(parts: Sequence[tuple[Ints, Floats, Floats]], allowed: int) -> list[Ints]:
    """Return for each batch the candidates of a class that are kept if `allowed` are removed."""
    suspicion, depth = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
    is_spared = np.ones(len(suspicion), dtype=bool)
    is_spared[first_to_go(suspicion, depth, allowed)] = False
    ends = np.cumsum([len(rows) for rows, _, _ in parts])[:-1]
    masks = np.split(is_spared, ends)
    return [rows[mask] for (rows, _, _), mask in zip(parts, masks, strict=True)]


def _decisions_of(outcome: Outcome) -> Decisions:
    assert outcome.decisions is not None
    return outcome.decisions


def _fates(outcome: Outcome, n_classes: int) -> Ints:
    return count_fates(outcome.codes, _decisions_of(outcome), n_classes)


def _kept(count: int, first: int, outcomes: Sequence[Outcome]) -> Ints:
    kept = np.ones(count, dtype=bool)
    for outcome in outcomes:
        part = outcome.between(first, first + count)
        removed = _decisions_of(outcome).decision[part] == REMOVED
        kept[outcome.ids[part][removed] - first] = False
    return np.flatnonzero(kept)


def _record(
    labels: Any, first: int, outcomes: Sequence[Outcome], rules: Rules
) -> RectificationInMemory:
    """Return the record of a partition whose first sample has the index `first`."""
    codes = codes_of(load(labels), rules.classes)
    votes = certain(codes, rules.sizes)
    decisions = Decisions(np.zeros(len(codes), dtype=np.int8), np.zeros(len(codes), dtype=np.int8))
    certified = np.ones(len(codes), dtype=bool)
    for outcome in outcomes:
        part = outcome.between(first, first + len(codes))
        at = outcome.ids[part] - first
        votes.put(at, Votes(**{name: getattr(outcome.votes, name)[part] for name in _VOTES}))
        decided = _decisions_of(outcome)
        decisions.decision[at], decisions.reason[at] = decided.decision[part], decided.reason[part]
        certified[at] = False
    target = Target(rules.classes[codes], rules.classes, codes, rules.sizes)
    return RectificationInMemory(
        target, votes, decisions, rules.thresholds, rules.setting, certified
    )


def _frame(record: RectificationInMemory, first: int, X: Any) -> Any:
    import pandas as pd

    index = getattr(load(X), "index", pd.RangeIndex(first, first + len(record.certified)))
    frame = replace(record, _index=index).to_frame()
    frame["row"] += first
    return frame
