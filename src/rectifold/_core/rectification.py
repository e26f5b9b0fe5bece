"""Rectification: the record of one run, what happened to every row and why."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rectifold._core.accuracy import Accuracy, Check, in_words
from rectifold._core.rules import (
    AMBIGUITY,
    DECISIONS,
    DEEP_NOISE,
    INTRUSION,
    REASONS,
    REMOVED,
    SPARED,
    Decisions,
    Thresholds,
    can_lose,
    decide,
)
from rectifold._core.target import Target
from rectifold._core.trace import Trace
from rectifold._core.utils import Bools, Floats, Ints
from rectifold._core.votes import Votes

if TYPE_CHECKING:
    from rectifold.report import Report


class RecordedWarning(UserWarning):
    """Warns of what the record of the run tells too."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a run was made, besides its thresholds."""

    metric: str
    n_neighbors: int
    engine: str
    epsilon: float
    class_weight: str | None
    #: Codes of the classes that were cleaned without a cap.
    strict: frozenset[int]
    #: Codes of the classes that could lose a fraction gamma; any other lost nothing.
    protected: frozenset[int]
    #: Whether strict classes were kept from falling below the largest protected one.
    keep_floor: bool
    seconds: dict[str, float] = field(default_factory=dict)
    #: Arguments of the sampler that are not its defaults, as one would write them.
    arguments: dict[str, str] = field(default_factory=dict)

    def role(self, code: int) -> str:
        """Name what the rules were to a class: "strict", "protected" or "untouched"."""
        if code in self.strict:
            return "strict"
        return "protected" if code in self.protected else "untouched"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rectification:
    """The record of one run of `rectifold.GMR`: for every row, what happened and why.

    It is found at `GMR.rectification_`; all arrays have one entry per row of the data
    that was given, in its order.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    label, predicted : ndarray of shape (n_rows,)
        The row's own label, and the one its neighbours predict.
    confidence : ndarray of shape (n_rows,)
        The vote for the row's own class.
    majority_confidence : ndarray of shape (n_rows,)
        The vote for the majority class.
    decision : ndarray of shape (n_rows,)
        "kept", "removed", or "spared" (a candidate that a cap let stay).
    reason : ndarray of shape (n_rows,)
        "intrusion", "ambiguity" or "deep noise" for removed and spared rows, else "".
    removed, spared : ndarray of bool of shape (n_rows,)
        The same as masks.
    certified : ndarray of bool of shape (n_rows,)
        Rows whose neighbours were proved, not searched, to carry the row's own label.
    accuracy : Accuracy or None
        Where neighbours are approximate, how many of the true ones were found (`recall`), and how
        many decisions are others for it (`decisions`), measured on a sample of rows: estimates,
        each with its interval.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> print(gmr.rectification_)
    Rectification: 20 of 1000 rows removed, 13 spared
      class  role       before  after  intrusion  ambiguity  deep noise  spared
          0  strict        828    825          3          0           0       0
          1  protected     172    155          0          0          17      13
    imbalance ratio 4.81 -> 5.32, euclidean, k = 15, engine exact, ... certificates
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
    # Row labels of the caller's pandas frame, where it had them.
    _index: Any = None
    # What a report can show besides; None in copies, pickles and records of many settings, and
    # for rows on a GPU.
    _trace: Trace | None = None
    # What a sample of rows tells of approximate neighbours; None where all are the true ones.
    _check: Check | None = None

    @property
    def accuracy(self) -> Accuracy | None:
        """How good approximate neighbours are; None where all are the true ones."""
        if self._check is None:
            return None
        rows = self._check.rows

        def goes(votes: Votes, part: float) -> Bools:
            return self._goes_in_a_part(votes, self._target.codes[rows], part)

        return self._check.accuracy(self._votes, goes)

    def _goes_in_a_part(self, votes: Votes, codes: Ints, part: float) -> Bools:
        """Tell which of some rows go, if they are a random part of those that can."""
        sizes, least = self._target.sizes, self._thresholds.min_minority
        # Sizes of a part are no whole numbers, and the rules need none.
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
        """The labels that occur, sorted."""
        return self._target.classes

    @property
    def label(self) -> npt.NDArray[Any]:
        """The label of every row."""
        return self._target.values

    @property
    def predicted(self) -> npt.NDArray[Any]:
        """The label that the neighbours of every row predict."""
        return self.classes[self._votes.predicted]

    @property
    def confidence(self) -> Floats:
        """The vote for every row's own class."""
        return self._votes.confidence

    @property
    def majority_confidence(self) -> Floats:
        """The vote for the majority class at every row."""
        return self._votes.majority_confidence

    @property
    def decision(self) -> npt.NDArray[np.str_]:
        """What happened to every row: "kept", "removed" or "spared"."""
        return np.array(DECISIONS)[self._decisions.decision]

    @property
    def reason(self) -> npt.NDArray[np.str_]:
        """Why: "intrusion", "ambiguity", "deep noise", or "" for rows never in question."""
        return np.array(REASONS)[self._decisions.reason]

    @property
    def removed(self) -> Bools:
        """Mask of the rows that went."""
        return np.asarray(self._decisions.decision == REMOVED)

    @property
    def spared(self) -> Bools:
        """Mask of the candidates that a cap let stay."""
        return np.asarray(self._decisions.decision == SPARED)

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
        """Count what happened.

        Returns
        -------
        dict
            Plain numbers, strings, lists and dicts, ready for JSON: rows before and
            after and by reason for every class, the imbalance ratio (largest class over
            smallest) before and after, metric, n_neighbors, engine, how many rows held
            a certificate, how good approximate neighbours are, thresholds, and seconds
            per stage.
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
        """Give one line per row of the data: label, votes, decision and reason.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Which kind of frame to make; it must be installed.

        Returns
        -------
        DataFrame
            Columns row, label, predicted, confidence, majority_confidence, decision,
            reason. A pandas frame has the index of the data, if that was one too.
        """
        if library == "pandas":
            import pandas as pd

            return pd.DataFrame(self._columns(), index=self._index)
        if library == "polars":
            import polars as pl

            return pl.DataFrame(self._columns())
        raise ValueError(f"library={library!r} is not known: it must be 'pandas' or 'polars'.")

    def to_dict(self) -> dict[str, Any]:
        """Give the whole record as plain numbers, strings, lists and dicts.

        Returns
        -------
        dict
            "summary", as by `summary`; "rows", a list per column of `to_frame`.
        """
        columns = {name: _plain(values) for name, values in self._columns().items()}
        return {"summary": self.summary(), "rows": columns}

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Give the whole record as JSON, or write it to a file.

        Parameters
        ----------
        path : str or Path, default=None
            Where to write; None gives the text back.

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
        """Make a page on which a person sees why each row went, and tries other thresholds.

        Parameters
        ----------
        path : str or Path, default=None
            Where to write it: a name that ends in .html for the page, one file that opens
            without a network, or in .json for the data behind it. None writes nothing.

        X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_columns), default=None
            The rows to show, such as the table before it was encoded. None takes those
            that were cleaned, as they are now; a record from a pickle holds none.

        embedding : array-like of shape (n_rows, 2), default=None
            Where to draw every row, such as from UMAP. None takes the first two principal
            components of the space in which rows were compared.

        title : str, default=None
            The headline.

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
        >>> report.data["summary"]["rows"], len(report.html()) < 8_000_000
        (4898, True)
        """
        from rectifold.report import Report, check_path

        checked = None if path is None else check_path(path)
        report = Report(self, X, embedding=embedding, title=title)
        if checked is not None:
            report.save(checked)
        return report

    def without_rows(self) -> "Rectification":
        """Give the same record without a reference to the caller's rows and their neighbours.

        Returns
        -------
        Rectification
            Smaller, as one from a pickle is: its report needs ``X=``.
        """
        return replace(self, _trace=None)

    def _repr_html_(self) -> str | None:
        """Show counts, warnings and, where the rows are at hand, the report in a notebook."""
        from rectifold.report import notebook

        return notebook(self)

    def __repr__(self) -> str:
        """Show counts per class and reason as a small table."""
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
    """Apply the rules to votes and keep the record.

    Parameters
    ----------
    votes : Votes
        What the neighbours of every row say.
    labels : Target
        The labels of every row.
    certified : ndarray of bool of shape (n_rows,)
        Rows that hold a certificate.
    thresholds : Thresholds
        What the rules compare votes with.
    setting : Setting
        How the votes came about.
    index : object, default=None
        Row labels, for frames made of the record.
    trace : Trace, default=None
        What a report can show besides votes.
    check : Check, default=None
        What a sample of rows tells of approximate neighbours.

    Returns
    -------
    Rectification
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
    """Give other thresholds, of those that are not None."""
    given = {"alpha": alpha, "beta": beta, "gamma": gamma}
    new: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, value in new.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value} is outside its range: it must be in [0, 1].")
    return replace(thresholds, **new)


def count_fates(codes: Ints, decisions: Decisions, n_classes: int) -> Ints:
    """Count rows by class, decision and reason.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Class codes.
    decisions : Decisions
        What happened to the rows.
    n_classes : int
        How many classes there are.

    Returns
    -------
    ndarray of shape (n_classes, n_decisions, n_reasons)
    """
    shape = (n_classes, len(DECISIONS), len(REASONS))
    cell = np.ravel_multi_index((codes, decisions.decision, decisions.reason), shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def facts(
    classes: npt.NDArray[Any],
    sizes: Ints,
    fates: Ints,
    thresholds: Thresholds,
    setting: Setting,
    *,
    certified: int,
    accuracy: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Give what `Rectification.summary` gives.

    Parameters
    ----------
    classes, sizes : ndarray of shape (n_classes,)
        Labels, and rows of each.
    fates : ndarray
        As `count_fates` gives them; rows that were never in question need not be counted.
    thresholds : Thresholds
        What the rules compared votes with.
    setting : Setting
        How the votes came about.
    certified : int
        Rows that held a certificate.
    accuracy : dict, default=None
        How good approximate neighbours are.

    Returns
    -------
    dict
    """
    removed, left = (fates[:, decision].sum(axis=1) for decision in (REMOVED, SPARED))
    reasons = {"intrusion": INTRUSION, "ambiguity": AMBIGUITY, "deep_noise": DEEP_NOISE}
    after = sizes - removed
    return {
        "rows": int(sizes.sum()),
        "kept": int(after.sum()),
        "removed": int(removed.sum()),
        "spared": int(left.sum()),
        "classes": [
            {
                "label": _plain(label),
                "role": setting.role(code),
                "before": int(sizes[code]),
                "after": int(after[code]),
                "removed": int(removed[code]),
                **{name: int(fates[code, REMOVED, reason]) for name, reason in reasons.items()},
                "spared": int(left[code]),
            }
            for code, label in enumerate(classes)
        ],
        "imbalance_ratio_before": float(sizes.max() / sizes.min()),
        # A class can only be emptied by a caller who makes it strict.
        "imbalance_ratio_after": float(after.max() / after.min()) if after.min() else None,
        "metric": setting.metric,
        "n_neighbors": setting.n_neighbors,
        "engine": setting.engine,
        "certified": certified,
        "accuracy": accuracy,
        "seconds": dict(setting.seconds),
        "alpha": thresholds.alpha,
        "beta": thresholds.beta,
        "gamma": thresholds.gamma,
        "min_minority": thresholds.min_minority,
        "epsilon": setting.epsilon,
        "class_weight": setting.class_weight,
    }


def as_table(summary: dict[str, Any]) -> str:
    """Write counts per class and reason as a small table.

    Parameters
    ----------
    summary : dict
        As by `Rectification.summary`.

    Returns
    -------
    str
    """
    head = ["class", "role", "before", "after", "intrusion", "ambiguity", "deep noise", "spared"]
    keys = ["label", *(name.replace(" ", "_") for name in head[1:])]
    lines = [head, *([str(one[key]) for key in keys] for one in summary["classes"])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    table = [
        "  ".join(
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    ratio = summary["imbalance_ratio_after"]
    certificates = f", {summary['certified']} certificates" if summary["certified"] else ""
    return "\n".join(
        [
            f"Rectification: {summary['removed']} of {summary['rows']} rows removed, "
            f"{summary['spared']} spared",
            *("  " + line.rstrip() for line in table),
            f"imbalance ratio {summary['imbalance_ratio_before']:.2f} -> "
            f"{'a class is empty' if ratio is None else format(ratio, '.2f')}, "
            f"{summary['metric']}, k = {summary['n_neighbors']}, engine {summary['engine']}"
            + certificates,
            *([] if summary["accuracy"] is None else [in_words(summary["accuracy"])]),
        ]
    )


def _plain(values: Any) -> Any:
    """Turn NumPy scalars and arrays into what JSON knows."""
    plain = values.tolist() if isinstance(values, np.ndarray | np.generic) else values
    if isinstance(plain, list):
        return [_plain(value) for value in plain]
    return plain if isinstance(plain, str | int | float | bool) else str(plain)
