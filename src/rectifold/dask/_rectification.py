"""Rectification: the record of one run on a cluster, its rows as collections of Dask."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import numpy.typing as npt
from dask import delayed

from rectifold._core.rectification import Rectification as OnOneMachine
from rectifold._core.rectification import changed
from rectifold._core.rules import (
    DECISIONS,
    REASONS,
    REMOVED,
    SPARED,
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
from rectifold.dask._cluster import Cluster, refuse_lost
from rectifold.dask._partitions import Parts
from rectifold.dask._plan import overlapping, starts
from rectifold.dask._tasks import Outcome, Rules

_VOTES = tuple(field.name for field in fields(Votes))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rectification:
    """The record of one run of `rectifold.dask.GMR`: for every row, what happened and why.

    What there is for every row is a dask.array with the partitions of the table, computed when
    asked for; what is counted is there already.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    label, predicted : dask.array.Array of shape (n_rows,)
        The row's own label, and the one its neighbours predict.
    confidence : dask.array.Array of shape (n_rows,)
        The vote for the row's own class.
    majority_confidence : dask.array.Array of shape (n_rows,)
        The vote for the majority class.
    decision : dask.array.Array of shape (n_rows,)
        "kept", "removed", or "spared" (a candidate that a cap let stay).
    reason : dask.array.Array of shape (n_rows,)
        "intrusion", "ambiguity" or "deep noise" for removed and spared rows, else "".
    removed, spared : dask.array.Array of bool of shape (n_rows,)
        The same as masks.
    certified : dask.array.Array of bool of shape (n_rows,)
        Rows whose neighbours were proved, not searched, to carry the row's own label.
    accuracy : None
        All neighbours are the true ones.

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

    Other thresholds need no new search, and a record that fits in memory can be brought here:

    >>> here = record.redecide(gamma=0).compute()
    >>> here.removed.nonzero()[0]
    array([323, 448, 957])
    """

    classes: Labels
    sizes: Ints
    _thresholds: Thresholds
    _setting: Setting
    # The table, and how many rows each partition has.
    parts: Parts
    counts: tuple[int, ...]
    # What became of rows without a certificate, and which rows those are: see `line.Searched`.
    outcomes: list[Any]
    edges: list[tuple[int, int]]
    n_certified: int
    # See `rectifold._core.rectification.count_fates`.
    fates: Ints

    @property
    def label(self) -> Any:
        """The label of every row."""
        return self._array("label", self.classes.dtype)

    @property
    def predicted(self) -> Any:
        """The label that the neighbours of every row predict."""
        return self._array("predicted", self.classes.dtype)

    @property
    def confidence(self) -> Any:
        """The vote for every row's own class."""
        return self._array("confidence", np.float64)

    @property
    def majority_confidence(self) -> Any:
        """The vote for the majority class at every row."""
        return self._array("majority_confidence", np.float64)

    @property
    def decision(self) -> Any:
        """What happened to every row: "kept", "removed" or "spared"."""
        return self._array("decision", np.array(DECISIONS).dtype)

    @property
    def reason(self) -> Any:
        """Why: "intrusion", "ambiguity", "deep noise", or "" for rows never in question."""
        return self._array("reason", np.array(REASONS).dtype)

    @property
    def removed(self) -> Any:
        """Mask of the rows that went."""
        return self._array("removed", np.bool_)

    @property
    def spared(self) -> Any:
        """Mask of the candidates that a cap let stay."""
        return self._array("spared", np.bool_)

    @property
    def certified(self) -> Any:
        """Mask of the rows that hold a certificate."""
        return self._array("certified", np.bool_)

    @property
    def accuracy(self) -> None:
        """None: all neighbours are the true ones."""
        return

    def redecide(
        self,
        *,
        alpha: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
    ) -> "Rectification":
        """Apply other thresholds to the same votes, without any new search.

        Parameters
        ----------
        alpha, beta, gamma : float or None
            As for `rectifold.GMR`; None leaves a threshold as it was.

        Returns
        -------
        Rectification
            What `GMR` with these thresholds would have recorded.
        """
        thresholds = changed(self._thresholds, alpha=alpha, beta=beta, gamma=gamma)
        refuse_lost(self.outcomes)
        outcomes, fates = decide(Cluster(), self.outcomes, self.sizes, thresholds, self._setting)
        return replace(self, _thresholds=thresholds, outcomes=outcomes, fates=fates)

    def summary(self) -> dict[str, Any]:
        """Count what happened.

        Returns
        -------
        dict
            As by `rectifold.Rectification.summary`.
        """
        return facts(
            self.classes,
            self.sizes,
            self.fates,
            self._thresholds,
            self._setting,
            certified=self.n_certified,
        )

    def to_frame(self) -> Any:
        """Give one line per row of the data: label, votes, decision and reason.

        Returns
        -------
        dask.dataframe.DataFrame
            Columns row, label, predicted, confidence, majority_confidence, decision,
            reason; with the partitions of the data, and their index, if those are a dataframe.
        """
        classes = delayed(self.classes, pure=False)
        first = starts(self.counts)
        parts = [
            delayed(_frame, pure=False)(told, at, rows, classes)
            for told, at, rows in zip(self.told(), first, self.parts.rows, strict=True)
        ]
        if isinstance(self.parts.X, da.Array):
            divisions: Any = (*first, max(first[-1], sum(self.counts) - 1))
        else:
            divisions = self.parts.X.divisions if self.parts.X.known_divisions else None
        nothing = _tell(self.classes[:0], 0, [], self.classes, self.sizes)
        like = _frame(nothing, 0, self.parts.empty, self.classes)
        return dd.from_delayed(parts, meta=like, divisions=divisions, verify_meta=False)

    def compute(self) -> OnOneMachine:
        """Bring the whole record to this machine.

        Returns
        -------
        rectifold.Rectification
            Equal to that of `rectifold.GMR`, for tables whose record fits in memory: some 60 bytes
            a row. Its report needs ``X=``.
        """
        told = Cluster().gather(self.told())
        together = {name: np.concatenate([one[name] for one in told]) for name in told[0]}
        codes = together["code"]
        values = self.classes[codes]
        index = None
        if not isinstance(self.parts.X, da.Array):
            index = self.parts.X.index.compute()
        return OnOneMachine(
            Target(values, self.classes, codes, self.sizes),
            Votes(**{name: together[name] for name in _VOTES}),
            Decisions(together["decision"], together["reason"]),
            self._thresholds,
            self._setting,
            together["certified"],
            index,
        )

    def kept(self, cluster: Cluster) -> tuple[list[Any], list[int]]:
        """Positions of the rows that stay, in each partition, where they lie; and how many.

        :meta private:
        """
        positions = [
            delayed(_kept, pure=False)(rows, first, some)
            for rows, first, some in self._by_partition()
        ]
        positions = cluster.keep(positions)
        return positions, cluster.gather([delayed(len, pure=False)(one) for one in positions])

    def __repr__(self) -> str:
        """Show counts per class and reason as a small table."""
        return as_table(self.summary())

    def _by_partition(self) -> list[tuple[int, int, list[Any]]]:
        """For each partition its rows, its first row, and the outcomes that tell of it."""
        refuse_lost(self.outcomes)
        found = []
        for rows, first in zip(self.counts, starts(self.counts), strict=True):
            which = overlapping(self.edges, first, first + rows)
            found.append((rows, first, [self.outcomes[number] for number in which]))
        return found

    def told(self) -> list[Any]:
        """All that there is to tell of each partition's rows, as tasks: see `column`.

        :meta private:
        """
        classes, sizes = (delayed(one, pure=False) for one in (self.classes, self.sizes))
        return [
            delayed(_tell, pure=False)(labels, first, some, classes, sizes)
            for labels, (_, first, some) in zip(
                self.parts.labels, self._by_partition(), strict=True
            )
        ]

    def _array(self, name: str, dtype: npt.DTypeLike) -> Any:
        arrays = [
            da.from_delayed(
                delayed(column, pure=False)(told, name, self.classes), (rows,), dtype=dtype
            )
            for told, rows in zip(self.told(), self.counts, strict=True)
        ]
        return da.concatenate(arrays)


def decide(
    cluster: Cluster, outcomes: Sequence[Any], sizes: Ints, thresholds: Thresholds, setting: Setting
) -> tuple[list[Any], Ints]:
    """Apply the rules to votes that lie on the cluster.

    Only the suspects of classes of which more would go than may are brought here: 24 bytes each.

    Parameters
    ----------
    cluster : Cluster
        Who does the work.
    outcomes : sequence of Delayed
        `stages.Outcome`, in the order of rows.
    sizes : ndarray of shape (n_classes,)
        Rows per class.
    thresholds : Thresholds
        What the rules compare votes with.
    setting : Setting
        Which classes are strict, which protected.

    Returns
    -------
    outcomes : list of Delayed
        The same with decisions.
    fates : ndarray
        See `rectifold._core.rectification.count_fates`.
    """
    n_classes = len(sizes)
    rules = Rules(sizes, setting.strict, setting.protected, thresholds)
    found = cluster.keep([delayed(_tasks.suspect, pure=False)(one, rules) for one in outcomes])
    counted = cluster.gather([delayed(_tasks.counted, pure=False)(one, n_classes) for one in found])
    counts: Ints = sum(counted, np.zeros(n_classes, np.intp))
    allowed = allowances(
        counts,
        sizes,
        setting.strict,
        setting.protected,
        thresholds,
        keep_floor=setting.keep_floor,
    )
    staying: list[list[Ints]] = [[np.empty(0, dtype=np.intp)] for _ in outcomes]
    for code in range(n_classes):
        if counts[code] > allowed[code]:
            parts = cluster.gather(
                [delayed(_tasks.of_class, pure=False)(one, code) for one in found]
            )
            for batch, spared in enumerate(_spared(parts, allowed[code])):
                staying[batch].append(spared)
    decided = cluster.keep(
        [
            delayed(_tasks.decided, pure=False)(outcome, suspects, np.concatenate(spared))
            for outcome, suspects, spared in zip(outcomes, found, staying, strict=True)
        ]
    )
    fates = cluster.gather([delayed(_fates, pure=False)(one, n_classes) for one in decided])
    nobody = np.zeros((n_classes, len(DECISIONS), len(REASONS)), dtype=np.intp)
    return decided, sum(fates, nobody)


def _spared(parts: Sequence[tuple[Ints, Floats, Floats]], allowed: int) -> list[Ints]:
    """Tell for each part which of the suspects of a class stay, as so many may go."""
    suspicion, depth = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
    stays = np.ones(len(suspicion), dtype=bool)
    stays[first_to_go(suspicion, depth, allowed)] = False
    ends = np.cumsum([len(rows) for rows, _, _ in parts])[:-1]
    return [rows[some] for (rows, _, _), some in zip(parts, np.split(stays, ends), strict=True)]


def _fates(outcome: Outcome, n_classes: int) -> Ints:
    assert outcome.decisions is not None
    return count_fates(outcome.codes, outcome.decisions, n_classes)


def _kept(rows: int, first: int, outcomes: Sequence[Outcome]) -> Ints:
    stays = np.ones(rows, dtype=bool)
    for outcome in outcomes:
        part = outcome.between(first, first + rows)
        assert outcome.decisions is not None
        gone = outcome.decisions.decision[part] == REMOVED
        stays[outcome.ids[part][gone] - first] = False
    return np.flatnonzero(stays)


def _tell(
    labels: Any, first: int, outcomes: Sequence[Outcome], classes: Labels, sizes: Ints
) -> dict[str, Any]:
    """All that there is to tell of the rows of a partition."""
    codes = codes_of(labels, classes)
    votes = certain(codes, sizes)
    decision, reason = (np.zeros(len(codes), dtype=np.int8) for _ in range(2))
    certified = np.ones(len(codes), dtype=bool)
    for outcome in outcomes:
        part = outcome.between(first, first + len(codes))
        at = outcome.ids[part] - first
        votes.put(at, Votes(**{name: getattr(outcome.votes, name)[part] for name in _VOTES}))
        assert outcome.decisions is not None
        decision[at], reason[at] = (
            outcome.decisions.decision[part],
            outcome.decisions.reason[part],
        )
        certified[at] = False
    return {
        "code": codes,
        **{name: getattr(votes, name) for name in _VOTES},
        "decision": decision,
        "reason": reason,
        "certified": certified,
    }


def column(told: dict[str, Any], name: str, classes: Labels) -> Any:
    """Give one of the arrays of a record, for the rows of a partition."""
    if name in ("label", "predicted"):
        return classes[told["code" if name == "label" else name]]
    if name in ("removed", "spared"):
        return told["decision"] == (REMOVED if name == "removed" else SPARED)
    if name in ("decision", "reason"):
        return np.array(DECISIONS if name == "decision" else REASONS)[told[name]]
    return told[name]


def _frame(told: dict[str, Any], first: int, X: Any, classes: Labels) -> Any:
    import pandas as pd

    index = getattr(X, "index", pd.RangeIndex(first, first + len(told["code"])))
    columns = ("label", "predicted", "confidence", "majority_confidence", "decision", "reason")
    rows = {"row": np.arange(first, first + len(told["code"]))}
    return pd.DataFrame(
        {**rows, **{name: column(told, name, classes) for name in columns}}, index=index
    )
