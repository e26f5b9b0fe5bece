"""Rectification: the record of a run, with the decision on every sample and its reason."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rectifold._core.accuracy import Accuracy, Check
from rectifold._core.errors import Param, ParameterError, ParameterWarning
from rectifold._core.rules import (
    DECISIONS,
    REASONS,
    REMOVED,
    SPARED,
    Decisions,
    Thresholds,
    can_lose,
    decide,
)
from rectifold._core.summary import Setting, as_table, count_fates, facts, plain
from rectifold._core.target import Target
from rectifold._core.trace import Trace
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._core.votes import Votes, weigh

if TYPE_CHECKING:
    from rectifold.report import Report


class RecordedWarning(ParameterWarning):
    """Warning that is also stored in `rectification_`."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rectification:
    """The record of a run of `rectifold.GMR`: the decision on every sample and its reason.

    It is `GMR.rectification_`. All arrays have one entry per sample of the input, in its
    order.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    label, predicted : ndarray of shape (n_samples,)
        The label of each sample, and the one that its neighbours predict.
    confidence : ndarray of shape (n_samples,)
        The vote for the sample's own class.
    majority_confidence : ndarray of shape (n_samples,)
        The vote for the majority class.
    decision : ndarray of shape (n_samples,)
        "kept", "removed", or "spared" (a candidate kept because of a cap).
    reason : ndarray of shape (n_samples,)
        "intrusion", "ambiguity" or "deep noise" for removed and spared samples, else "".
    removed, spared : ndarray of bool of shape (n_samples,)
        The same as masks.
    certified : ndarray of bool of shape (n_samples,)
        Samples whose neighbours were proved, without a search, to carry the sample's own
        label.
    accuracy : Accuracy or None
        For approximate neighbours, estimates with confidence intervals of the recall and
        of the decisions that differ from those with exact neighbours.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> print(gmr.rectification_)
    Rectification: 20 of 1000 samples removed, 13 spared
      class  role       before  after  intrusion  ambiguity  deep noise  spared
          0  strict        828    825          3          0           0       0
          1  protected     172    155          0          0          17      13
    imbalance ratio 4.81 -> 5.32, euclidean, k = 15, engine exact
    >>> milder = gmr.rectification_.redecide(gamma=0)
    >>> int(milder.removed.sum())
    3
    """

    _target: Target
    _votes: Votes
    _decisions: Decisions
    _thresholds: Thresholds
    _setting: Setting
    certified: Bools
    # Index of a pandas input.
    _index: Any = None
    # Missing in pickles, in records of many settings, and for samples on a GPU.
    _trace: Trace | None = None
    # None if all neighbours are exact.
    _check: Check | None = None

    @property
    def accuracy(self) -> Accuracy | None:
        """Accuracy of approximate neighbours; None if all neighbours are exact."""
        if self._check is None:
            return None
        rows = self._check.rows

        def removed(votes: Votes, part: float) -> Bools:
            return self._removed_of_sample(votes, self._target.codes[rows], part)

        return self._check.accuracy(self._votes, removed)

    def _removed_of_sample(self, votes: Votes, codes: Ints, part: float) -> Bools:
        """Return which samples are removed, if they are a random part of the searched ones."""
        sizes, least = self._target.sizes, self._thresholds.min_minority
        # Sizes of a part are fractions, which the rules accept.
        partly: Any = sizes * part
        able = frozenset(code for code in range(len(sizes)) if can_lose(code, sizes, least))
        found = decide(
            votes,
            codes,
            partly,
            self._setting.strict & able,
            self._setting.protected & able,
            replace(self._thresholds, min_minority=0),
            keep_floor=self._setting.keep_floor,
        )
        return np.asarray(found.decision == REMOVED)

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The labels, sorted."""
        return self._target.classes

    @property
    def label(self) -> npt.NDArray[Any]:
        """The label of every sample."""
        return self._target.values

    @property
    def predicted(self) -> npt.NDArray[Any]:
        """The label that the neighbours of every sample predict."""
        return self.classes[self._votes.predicted]

    @property
    def confidence(self) -> Floats:
        """The vote for every sample's own class."""
        return self._votes.confidence

    @property
    def majority_confidence(self) -> Floats:
        """The vote for the majority class at every sample."""
        return self._votes.majority_confidence

    @property
    def decision(self) -> npt.NDArray[np.str_]:
        """The decision on every sample: "kept", "removed" or "spared"."""
        return np.array(DECISIONS)[self._decisions.decision]

    @property
    def reason(self) -> npt.NDArray[np.str_]:
        """The reason: "intrusion", "ambiguity", "deep noise", or "" for other samples."""
        return np.array(REASONS)[self._decisions.reason]

    @property
    def removed(self) -> Bools:
        """Mask of the removed samples."""
        return np.asarray(self._decisions.decision == REMOVED)

    @property
    def spared(self) -> Bools:
        """Mask of the candidates that were kept because of a cap."""
        return np.asarray(self._decisions.decision == SPARED)

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
        return rectify(
            self._votes,
            self._target,
            self.certified,
            thresholds,
            self._setting,
            index=self._index,
            trace=self._trace,
            check=self._check,
        )

    def summary(self) -> dict[str, Any]:
        """Return counts of decisions, and how the run was made.

        Returns
        -------
        dict
            Plain numbers, strings, lists and dicts, ready for JSON: samples of every
            class before and after cleaning and by reason, the imbalance ratio (largest
            class over smallest) before and after, metric, n_neighbors, engine, number of
            certificates, accuracy of approximate neighbours, thresholds, and seconds per
            stage.
        """
        accuracy = self.accuracy
        return facts(
            self.classes,
            self._target.sizes,
            count_fates(self._target.codes, self._decisions, len(self.classes)),
            self._thresholds,
            self._setting,
            certified=int(self.certified.sum()),
            accuracy=None if accuracy is None else accuracy.to_dict(),
        )

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a frame with the label, votes, decision and reason of every sample.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            The library of the frame; it must be installed.

        Returns
        -------
        DataFrame
            Columns row, label, predicted, confidence, majority_confidence, decision,
            reason. A pandas frame has the index of the input, if that was one too.
        """
        if library == "pandas":
            import pandas as pd

            return pd.DataFrame(self._columns(), index=self._index)
        if library == "polars":
            import polars as pl

            return pl.DataFrame(self._columns())
        raise ValueError(f"library={library!r} is not known: it must be 'pandas' or 'polars'.")

    def to_dict(self) -> dict[str, Any]:
        """Return the whole record as plain numbers, strings, lists and dicts.

        Returns
        -------
        dict
            "summary" is the result of `summary`; "samples" has a list for each column of
            `to_frame`.
        """
        columns = {name: plain(values) for name, values in self._columns().items()}
        return {"summary": self.summary(), "samples": columns}

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Return the whole record as JSON, or write it to a file.

        Parameters
        ----------
        path : str or Path, default=None
            Output file; None returns the text.

        Returns
        -------
        str or None
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False)
        if path is None:
            return text
        from rectifold._io import write_whole

        write_whole(Path(path), text.encode())
        return None

    def report(
        self,
        path: str | Path | None = None,
        *,
        X: Any = None,
        embedding: Any = None,
        title: str | None = None,
    ) -> "Report":
        """Return a report on why each sample was removed, with sliders for the thresholds.

        Parameters
        ----------
        path : str or Path, default=None
            Output file: ``.html`` for the page, a single file that works offline, or
            ``.json`` for the data behind it. None writes nothing.

        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_columns), default=None
            The samples to show, such as the table before it was encoded. None takes the
            input of the run; a record from a pickle does not have it.

        embedding : array-like of shape (n_samples, 2), default=None
            Coordinates at which samples are drawn, such as from UMAP. None takes the
            first two principal components of the space.

        title : str, default=None
            The heading.

        Returns
        -------
        Report
            With `html()`, `json()`, `save(path)` and `open()`, which shows the page in a
            browser.

        Examples
        --------
        >>> from rectifold import GMR
        >>> from rectifold.datasets import load_wine_quality
        >>> X, y = load_wine_quality(return_X_y=True, as_frame=True)
        >>> gmr = GMR(space="auto")
        >>> X_clean, y_clean = gmr.fit_resample(X, y)
        >>> report = gmr.rectification_.report(title="White wines")
        >>> report.data["summary"]["n_samples"], len(report.html()) < 8_000_000
        (4898, True)
        """
        from rectifold.report import Report, check_path

        checked = None if path is None else check_path(path)
        report = Report(self, X, embedding=embedding, title=title)
        if checked is not None:
            report.save(checked)
        return report

    def without_data(self) -> "Rectification":
        """Return the same record without the reference to `X` and without neighbours.

        Returns
        -------
        Rectification
            A smaller record; its report needs ``X=``.
        """
        return replace(self, _trace=None)

    def _repr_html_(self) -> str | None:
        """Return counts, warnings and, if the samples are at hand, the report for a notebook."""
        from rectifold.report import notebook

        return notebook(self)

    def _weigh(self, neighbours: Ints, distances: Floats) -> Floats:
        """Return the weights of neighbours in votes, normalised per sample."""
        return weigh(
            distances,
            self._target.codes[neighbours],
            self._target.sizes,
            epsilon=self._setting.epsilon,
            class_weight=self._setting.class_weight,
        )

    def __repr__(self) -> str:
        """Return counts per class and reason as a small table."""
        return as_table(self.summary())

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "row": np.arange(len(self.certified)),
            "label": self.label,
            "predicted": self.predicted,
            "confidence": self.confidence,
            "majority_confidence": self.majority_confidence,
            "decision": self.decision,
            "reason": self.reason,
        }


def rectify(
    votes: Votes,
    labels: Target,
    certified: Bools,
    thresholds: Thresholds,
    setting: Setting,
    *,
    index: Any = None,
    trace: Trace | None = None,
    check: Check | None = None,
) -> Rectification:
    """Apply the rules to votes, and return the record.

    `index` is that of a pandas input, `trace` what a report needs, and `check` that of approximate
    neighbours.
    """
    decisions = decide(
        votes,
        labels.codes,
        labels.sizes,
        setting.strict,
        setting.protected,
        thresholds,
        keep_floor=setting.keep_floor,
    )
    return Rectification(
        labels, votes, decisions, thresholds, setting, certified, index, trace, check
    )


def changed(
    thresholds: Thresholds, *, alpha: float | None, beta: float | None, gamma: float | None
) -> Thresholds:
    """Return thresholds with those replaced that are not None."""
    given = {"alpha": alpha, "beta": beta, "gamma": gamma}
    new: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, value in new.items():
        if not 0 <= value <= 1:
            raise ParameterError("{} is out of range: it must be in [0, 1].", Param(name, value))
    return replace(thresholds, **new)
