"""Does cleaning help this data? Methods compared on it by nested cross-validation."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from joblib import Parallel, delayed
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from rectifold._core.rectification import RecordedWarning
from rectifold._core.space import refuse_repeated
from rectifold._core.target import encode, named
from rectifold._core.utils import Floats, Ints
from rectifold.model_selection._classifier import RectifiedClassifier
from rectifold.progress import muted, report

if TYPE_CHECKING:
    from rectifold.model_selection._registry import Entry

#: What the others are compared with.
BASE = "None"
#: The level of significance.
ALPHA = 0.05
#: Scores of a fit, and whether more is better; AUPRC decides.
SCORES = {
    "auprc": ("AUPRC", True),
    "roc_auc": ("ROC-AUC", True),
    "balanced_accuracy": ("balanced accuracy", True),
    "f1": ("F1", True),
    "brier": ("Brier score", False),
}


@dataclass(frozen=True)
class Line:
    """A method with a classifier, over all folds.

    Attributes
    ----------
    classifier, method : str
        Which.
    scores : dict of str to float or None
        Means over folds, by the names of `SCORES`; None where a classifier has no such score.
    difference : float
        Of the AUPRC, against no cleaning on the same folds.
    low, high : float
        Its interval of 95 %.
    standard_error : float
        Of the difference, corrected for the rows that training parts share.
    pvalue, holm : float
        Of the corrected resampled t-test, plain and corrected for the number of comparisons.
    """

    classifier: str
    method: str
    scores: Mapping[str, float | None]
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0
    standard_error: float = 0.0
    pvalue: float = 1.0
    holm: float = 1.0

    @property
    def verdict(self) -> str:
        """What the difference shows: "helps", "hurts" or "makes no clear difference"."""
        if self.holm >= ALPHA:
            return "makes no clear difference"
        return "helps" if self.difference > 0 else "hurts"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `rectifold.compare` found.

    Attributes
    ----------
    lines : list of Line
        For every classifier no cleaning first, then the other methods. Each has `classifier`,
        `method`, its mean `scores`, and against no cleaning the `difference` of the AUPRC, its
        interval from `low` to `high`, `standard_error`, `pvalue`, `holm` (corrected for the number
        of comparisons), and a `verdict`.
    folds : list of dict
        Every fit: classifier, method, fold, and its scores.
    positive : str
        The class to be found.
    rows, positives, n_folds : int
        How large the data is, and how many folds each figure is an average of.
    notes : list of str
        What methods warned of, such as a class that is too small to be cleaned.
    verdict : str
        The answer, in plain words.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rectifold import compare
    >>> X, y = make_classification(n_samples=400, weights=[0.85], random_state=0)
    >>> found = compare(X, y, classifiers={"LR": LogisticRegression()}, methods=["GMR", "ENN"])
    >>> found
    classifier  method                   AUPRC   difference, 95 % interval
    LR          None                     0.746
    LR          GMR                      0.713   -0.033  -0.115 to +0.049
    LR          EditedNearestNeighbours  0.682   -0.064  -0.239 to +0.111
    Leave your data alone: no method clearly helps; the others lost.

    Of each line there is more, and each fold is there too:

    >>> line = found.lines[1]
    >>> line.method, line.verdict, round(line.holm, 2)
    ('GMR', 'makes no clear difference', 0.66)
    >>> found.to_frame()[["method", "auprc", "roc_auc", "brier"]].round(2)
                        method  auprc  roc_auc  brier
    0                     None   0.75     0.89   0.07
    1                      GMR   0.71     0.88   0.08
    2  EditedNearestNeighbours   0.68     0.89   0.10
    >>> [round(fit["auprc"], 2) for fit in found.folds if fit["method"] == "GMR"]
    [0.79, 0.79, 0.64, 0.77, 0.57]
    """

    lines: list[Line]
    folds: list[dict[str, Any]]
    positive: str
    rows: int
    positives: int
    n_folds: int
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The answer, in plain words."""
        compared = [line for line in self.lines if line.method != BASE]
        clear = [line for line in compared if line.verdict == "helps"]
        best = max(clear, key=lambda line: line.difference, default=None)
        if best is not None:
            before = next(
                line
                for line in self.lines
                if (line.classifier, line.method) == (best.classifier, BASE)
            )
            return (
                f"{best.method} helps {best.classifier}: AUPRC {before.scores['auprc']:.3f} "
                f"without, {best.scores['auprc']:.3f} with it ({best.difference:+.3f}, 95 % "
                f"interval {best.low:+.3f} to {best.high:+.3f})."
            )
        top = max(compared, key=lambda line: line.difference, default=None)
        if top is None:
            return "Nothing was compared with leaving the data alone."
        if top.difference <= 0:
            tail = "the others lost" if top.difference < 0 else "the best of them changes nothing"
        else:
            interval = f"95 % interval {top.low:+.3f} to {top.high:+.3f}"
            tail = f"the largest gain, {top.difference:+.3f} for {top.classifier} by {top.method}, "
            if top.low > 0:
                tail += (
                    f"may be the luck of {len(compared)} comparisons ({interval} for it alone), "
                    "and more repeats would tell"
                )
            else:
                tail += f"is within chance ({interval})"
        return f"Leave your data alone: no method clearly helps; {tail}."

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain numbers, strings, lists and dicts, ready for JSON."""
        return {
            "verdict": self.verdict,
            "positive": self.positive,
            "rows": self.rows,
            "positives": self.positives,
            "folds": self.n_folds,
            "notes": self.notes,
            "lines": [
                {
                    "classifier": line.classifier,
                    "method": line.method,
                    **line.scores,
                    **(
                        {}
                        if line.method == BASE
                        else {
                            "difference": line.difference,
                            "low": line.low,
                            "high": line.high,
                            "standard_error": line.standard_error,
                            "pvalue": line.pvalue,
                            "holm": line.holm,
                            "verdict": line.verdict,
                        }
                    ),
                }
                for line in self.lines
            ],
            "fits": self.folds,
        }

    def to_frame(self) -> Any:
        """Give a line for every classifier and method, as a frame of pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["lines"])

    def to_html(self) -> str:
        """Write a page that needs no other file and no network; it takes ``rectifold[bench]``."""
        try:
            from rectifold.report._document_formats import to_html
            from rectifold.report._evaluation_page import document
        except ModuleNotFoundError as problem:
            raise ImportError(
                f'a page needs {problem.name}: pip install "rectifold[bench]" brings it'
            ) from problem
        return to_html(document(self))

    def __repr__(self) -> str:
        """Show a small table, and the verdict."""
        width = max(len(line.classifier) for line in self.lines)
        wide = max(len(line.method) for line in self.lines)
        rows = [f"{'classifier':<{width}}  {'method':<{wide}}  AUPRC   difference, 95 % interval"]
        for line in self.lines:
            told = f"{line.difference:+.3f}  {line.low:+.3f} to {line.high:+.3f}"
            rows.append(
                f"{line.classifier:<{max(width, 10)}}  {line.method:<{wide}}  "
                f"{line.scores['auprc']:.3f}   {'' if line.method == BASE else told}".rstrip()
            )
        return "\n".join([*rows, self.verdict])


def compare(
    X: Any,
    y: Any,
    *,
    classifiers: Sequence[str] | Mapping[str, Any] | None = None,
    methods: Sequence[str] | Mapping[str, Any] = ("GMR", "GMR-adaptive"),
    positive: Any = None,
    cv: int = 5,
    repeats: int = 1,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Evaluation:
    """Find out whether cleaning helps this data, without leaks.

    Every method sees the training part of a fold and nothing else; so do scaling, encoding, and
    the choice of settings, which has folds of its own inside. No test row is ever removed, and
    rows that are copies of each other are always on the same side.

    Parameters
    ----------
    X : array-like or dataframe of shape (n_rows, n_features)
        The rows. Numbers are standardised; a table with anything else is encoded
        (:class:`rectifold.TableSpace`).

    y : array-like of shape (n_rows,)
        Labels, two classes; or more, with `positive`.

    classifiers : list of str, dict of str to classifier, or None
        Names as for experiments ("LR", "RF", ...), or your own by whatever names. By default
        logistic regression and gradient boosting.

    methods : list of str, or dict of str to sampler, default=("GMR", "GMR-adaptive")
        What to compare with leaving the data alone: "GMR" at its defaults, "GMR-adaptive"
        (:class:`rectifold.RectifiedClassifier`), "GMR-ensemble", "Bagging", any of the paper's 18
        baselines such as "SMOTE"; or samplers of your own.

    positive : label, default=None
        The class to be found; by default the rarer one.

    cv, repeats : int
        Folds, and how often rows are dealt to them anew.

    groups : array-like of shape (n_rows,), default=None
        Rows of a group stay on one side, and copies of a row always do.

    n_jobs : int, default=None
        Processes: None means 1, -1 all cores. It never changes the answer.

    random_state : int, default=0
        For the folds, and for whatever takes a seed.

    Returns
    -------
    Evaluation
        It prints as a table and a verdict; ``to_dict``, ``to_frame``, ``to_html``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rectifold import compare
    >>> X, y = make_classification(n_samples=400, weights=[0.85], random_state=0)
    >>> found = compare(X, y, classifiers={"LR": LogisticRegression()}, methods=["GMR"])
    >>> print(found.verdict)
    Leave your data alone: ...
    """
    for name, value in {"cv": cv, "repeats": repeats, "random_state": random_state}.items():
        if not isinstance(value, numbers.Integral):
            raise TypeError(f"{name}={value!r} must be a whole number.")
    X = _table(X)
    target = _target(y, positive)
    if len(target.codes) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y has {len(target.codes)}: give one each.")
    models, ways = _models(classifiers), _methods(methods)
    together = _together(X, groups)
    splits = _splits(target.codes, together, cv, repeats, random_state)
    jobs = [(name, fold) for fold in range(len(splits)) for name in models]
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    work = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fold)(
            X, target.codes, together, *splits[fold], name, models[name], ways, random_state
        )
        for name, fold in jobs
    )
    notes: dict[str, None] = {}
    for (name, fold), (scores, said) in zip(jobs, work, strict=True):
        found[name, fold] = scores
        notes.update(dict.fromkeys(said))
        report(len(found), len(jobs))
    fits = [
        {"classifier": name, "method": way, "fold": fold, **one}
        for name in models
        for fold in range(len(splits))
        for way, one in zip(ways, found[name, fold], strict=True)
    ]
    return Evaluation(
        lines=_lines(fits, list(models), list(ways), cv),
        folds=fits,
        positive=target.name,
        rows=len(target.codes),
        positives=int(target.codes.sum()),
        n_folds=len(splits),
        notes=list(notes),
    )


@dataclass(frozen=True, eq=False)
class _Target:
    codes: Ints
    name: str


def _target(y: Any, positive: Any) -> _Target:
    labels = encode(y)
    if positive is None:
        if len(labels.classes) > 2:
            raise ValueError(
                f"y has {len(labels.classes)} classes: name the one to be found with positive=, "
                "and the others are taken together."
            )
        positive = labels.classes[labels.sizes.argmin()]
    codes = (labels.values == positive).astype(np.intp)
    if not codes.any():
        known = ", ".join(named(label) for label in labels.classes)
        raise ValueError(f"positive={positive!r} is no label of y; there are {known}.")
    return _Target(codes, str(positive))


def _models(classifiers: Sequence[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    if classifiers is None:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression

        return {
            "logistic regression": LogisticRegression(max_iter=1000),
            "gradient boosting": HistGradientBoostingClassifier(),
        }
    if not classifiers:
        raise ValueError("classifiers is empty: name at least one, or leave it out.")
    if isinstance(classifiers, Mapping):
        return dict(classifiers)
    from rectifold.model_selection._registry import classifier

    return {(entry := classifier(name)).name: entry.make(0) for name in _names(classifiers)}


def _methods(methods: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(methods, Mapping):
        for name, sampler in methods.items():
            if not hasattr(sampler, "fit_resample"):
                raise TypeError(f"methods[{name!r}] is no sampler: it has no fit_resample.")
            if name == BASE:
                raise ValueError(f"the name {BASE!r} stands for no sampling: choose another.")
        return {BASE: None, **methods}
    from rectifold.model_selection._registry import method

    entries = [method(name) for name in _names(methods)]
    return {BASE: None, **{entry.name: entry for entry in entries if entry.name != BASE}}


def _names(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _table(X: Any) -> Any:
    """Make an array of finite numbers, or a frame of pandas for anything else."""
    if sparse.issparse(X):
        raise ValueError("X is sparse, and compare standardises columns: pass X.toarray().")
    names = [*X.columns] if hasattr(X, "columns") else None
    if names is not None:
        if not names:
            raise ValueError("X has no columns to learn from.")
        refuse_repeated(names)
        return nw.from_native(X, eager_only=True).to_pandas()
    values = np.asarray(X)
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(f"X must be a table of rows and columns, not of shape {values.shape}.")
    if values.dtype.kind in "biuf" and np.isfinite(values).all():
        return values.astype(np.float64)
    # Gaps and words are made sense of as in any other table.
    import pandas as pd

    return pd.DataFrame(values, columns=[f"column {i}" for i in range(values.shape[1])])


def _together(X: Any, groups: Any) -> Ints | None:
    """Number rows that must be on one side: copies of each other, and groups; None without any."""
    n = X.shape[0]
    if hasattr(X, "iloc"):
        copies = X.groupby(list(X.columns), dropna=False, sort=False).ngroup().to_numpy()
    else:
        # Byte by byte; adding zero makes one of both zeros.
        rows = np.ascontiguousarray(X + 0.0)
        copies = np.unique(rows.view(f"V{rows.itemsize * X.shape[1]}"), return_inverse=True)[1]
    marks = [copies.ravel()]
    if groups is not None:
        if len(groups) != n:
            raise ValueError(f"groups has {len(groups)} entries and X has {n} rows: give one each.")
        marks.append(np.unique(np.asarray(groups), return_inverse=True)[1].ravel())
    if all(len(np.unique(mark)) == n for mark in marks):
        return None
    # Rows that share a copy or a group are one: the connected parts of rows and marks.
    offsets = np.cumsum([n, *(int(mark.max()) + 1 for mark in marks)])
    ends = np.concatenate([mark + start for mark, start in zip(marks, offsets, strict=False)])
    begins = np.tile(np.arange(n), len(marks))
    graph = sparse.coo_array((np.ones(len(ends)), (begins, ends)), shape=(offsets[-1],) * 2)
    return np.asarray(connected_components(graph.tocsr(), directed=False)[1][:n])


def _splits(
    y: Ints, together: Ints | None, cv: int, repeats: int, seed: int
) -> list[tuple[Ints, Ints]]:
    if cv < 2 or repeats < 1:
        raise ValueError(f"cv={cv} and repeats={repeats}: 2 folds and 1 repeat are the least.")
    least = int(min(y.sum(), len(y) - y.sum()))
    if least < 2 * cv:
        advice = "lower cv" if least >= 4 else "more rows of it are needed"
        raise ValueError(
            f"the rarer class has {least} rows, and cv={cv} folds need {2 * cv} to tell anything: "
            f"{advice}."
        )
    kind = StratifiedKFold if together is None else StratifiedGroupKFold
    if together is not None and len(np.unique(together)) < cv:
        raise ValueError(
            f"X has {len(np.unique(together))} groups of rows that must stay together, fewer than "
            f"cv={cv} folds: lower cv."
        )
    splits = [
        split
        for turn in range(repeats)
        for split in kind(cv, shuffle=True, random_state=seed + turn).split(y, y, together)
    ]
    if any(len(np.unique(y[part])) < 2 for split in splits for part in split):
        raise ValueError(
            "a class is in too few of the groups to be on both sides of every fold: lower cv, or "
            "leave groups out."
        )
    return splits


def _fold(
    X: Any,
    y: Ints,
    together: Ints | None,
    train: Ints,
    test: Ints,
    name: str,
    model: Any,
    ways: Mapping[str, Entry | Any],
    seed: int,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Fit a classifier by every method, on the same rows; give scores, and what was warned of."""
    from rectifold.model_selection._folds import standardize
    from rectifold.model_selection._scores import score

    found: list[dict[str, Any]] = []
    with muted(), threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X_train, X_test = standardize(X, train, test)
        inside = None if together is None else together[train]
        for way, entry in ways.items():
            try:
                fitted = _fitted(entry, clone(model), X_train, y[train], inside, seed)
                scores = score(fitted, X_test, y[test])
            except Exception as problem:
                sentence = " ".join(str(problem).split())
                raise ValueError(f"{way} with {name} failed: {sentence}") from problem
            found.append({one: scores[one] for one in SCORES})
    ours = [one for one in caught if one.category in (UserWarning, RecordedWarning)]
    return found, [str(one.message) for one in ours]


def _fitted(entry: Any, model: Any, X: Floats, y: Ints, together: Ints | None, seed: int) -> Any:
    from rectifold.model_selection._registry import WRAPPER, Entry, seeded

    estimator = seeded(model, seed)
    if isinstance(entry, Entry) and entry.kind == WRAPPER:
        estimator = entry.wrap(estimator, seed)
        if isinstance(estimator, RectifiedClassifier):
            # Copies would give the choice away inside as they would outside.
            return estimator.fit(X, y, groups=together)
    elif entry is not None:
        sampler = entry.make(seed) if isinstance(entry, Entry) else seeded(clone(entry), seed)
        X, y = sampler.fit_resample(X, y)
    return estimator.fit(X, y)


def _lines(
    fits: Sequence[Mapping[str, Any]], models: list[str], ways: list[str], cv: int
) -> list[Line]:
    def values(model: str, way: str, name: str) -> list[Any]:
        return [fit[name] for fit in fits if (fit["classifier"], fit["method"]) == (model, way)]

    lines = []
    for model in models:
        for way in ways:
            means = {
                name: None if None in (all_ := values(model, way, name)) else float(np.mean(all_))
                for name in SCORES
            }
            if way == BASE:
                lines.append(Line(model, way, means))
                continue
            gains = np.subtract(values(model, way, "auprc"), values(model, BASE, "auprc"))
            lines.append(Line(model, way, means, **paired(gains, cv)))
    plain = [line.pvalue for line in lines if line.method != BASE]
    corrected = iter(holm(plain))
    return [line if line.method == BASE else replace(line, holm=next(corrected)) for line in lines]


def paired(gains: Floats, cv: int) -> dict[str, float]:
    """Test paired differences over folds.

    Parameters
    ----------
    gains : ndarray
        One for each fold, of one or more dealings.
    cv : int
        How many folds make up one dealing.

    Returns
    -------
    dict
        ``difference``, ``standard_error``, ``low``, ``high``, ``pvalue``. The error is corrected
        for the rows that training parts share (Nadeau and Bengio, 2003); without that, dealing
        anew again and again would make any difference look significant.
    """
    difference = float(np.mean(gains))
    error = float(np.std(gains, ddof=1) * np.sqrt(1 / len(gains) + 1 / (cv - 1)))
    if error == 0:
        certain = 1.0 if difference == 0 else 0.0
        spread = 0.0
    else:
        certain = float(2 * stats.t.sf(abs(difference) / error, len(gains) - 1))
        spread = float(stats.t.ppf(1 - ALPHA / 2, len(gains) - 1)) * error
    return {
        "difference": difference,
        "standard_error": error,
        "low": difference - spread,
        "high": difference + spread,
        "pvalue": certain,
    }


def holm(pvalues: Sequence[float]) -> list[float]:
    """Correct p-values for their number, by Holm's method."""
    order = np.argsort(pvalues)
    steps = np.asarray(pvalues)[order] * (len(pvalues) - np.arange(len(pvalues)))
    corrected = np.empty(len(pvalues))
    corrected[order] = np.minimum(1, np.maximum.accumulate(steps))
    return [float(p) for p in corrected]
