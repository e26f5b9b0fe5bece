"""Does rectifold help this data? `compare` answers by nested cross-validation."""

import numbers
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from rectifold._core.errors import Param, ParameterError, ParameterWarning
from rectifold._core.rectification import RecordedWarning
from rectifold._core.space import refuse_repeated
from rectifold._core.target import encode, named
from rectifold._core.utils import Floats, Ints
from rectifold.model_selection import _folds
from rectifold.model_selection._classifier import RectifiedClassifier
from rectifold.model_selection._evaluation import (
    BASELINE,
    SCORES,
    Evaluation,
    MethodResult,
    corrected_t_test,
    holm,
)
from rectifold.progress import muted, report

if TYPE_CHECKING:
    from rectifold.model_selection._registry import Entry


def compare(
    X: Any,
    y: Any,
    *,
    classifiers: Sequence[str] | Mapping[str, Any] | None = None,
    methods: Sequence[str] | Mapping[str, Any] = ("GMR", "GMR-adaptive"),
    positive: Any = None,
    cv: int = 5,
    n_repeats: int = 1,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Evaluation:
    """Measure whether cleaning and votes help classifiers on this data, without data leakage.

    Every method is fitted on the training part of a fold alone; so are scaling, encoding, and the
    choice of settings, which has folds of its own inside. No test sample is ever removed, and
    duplicates are always in the same part.

    Parameters
    ----------
    X : array-like or dataframe of shape (n_samples, n_features)
        Data array. Numbers are standardised; a table with anything else is encoded
        (:class:`rectifold.TableSpace`).

    y : array-like of shape (n_samples,)
        Target array of two classes, or of more with `positive`.

    classifiers : list of str, dict of str to classifier, or None
        Names as in the experiments ("LR", "RF", ...), or your own classifiers by any names. None
        means logistic regression and gradient boosting.

    methods : list of str, or dict of str to sampler, default=("GMR", "GMR-adaptive")
        Methods to compare with leaving the data alone: "GMR" with its default parameters,
        "GMR-adaptive" (:class:`rectifold.RectifiedClassifier`), "GMR-ensemble", "Bagging", any of
        the paper's 18 baselines such as "SMOTE"; or samplers of your own.

    positive : label, default=None
        The positive class; all others are joined. None means the smaller of two classes.

    cv : int, default=5
        Number of folds.

    n_repeats : int, default=1
        Number of times that cross-validation is repeated with other folds.

    groups : array-like of shape (n_samples,), default=None
        Samples of a group are in the same part of every fold, as duplicates always are.

    n_jobs : int, default=None
        Number of jobs to run in parallel over the folds. None means 1 unless in a
        ``joblib.parallel_backend`` context. -1 means using all processors. The result does not
        depend on it.

    random_state : int, default=0
        Controls the folds, and every method and classifier that has a `random_state`.

    Returns
    -------
    Evaluation
        It prints as a table and a verdict; see its ``to_dict``, ``to_frame`` and ``to_html``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rectifold import compare
    >>> X, y = make_classification(n_samples=400, weights=[0.85], random_state=0)
    >>> evaluation = compare(X, y, classifiers={"LR": LogisticRegression()}, methods=["GMR"])
    >>> print(evaluation.verdict)
    Leave your data alone: ...
    """
    integers = {"cv": cv, "n_repeats": n_repeats, "random_state": random_state}
    for name, value in integers.items():
        if not isinstance(value, numbers.Integral):
            raise TypeError(f"{name}={value!r} must be an integer.")
    X = _as_table(X)
    codes, positive_name = _binary_target(y, positive)
    n_samples = len(codes)
    if n_samples != X.shape[0]:
        raise ParameterError(
            "{} has {} samples and {} has {}: pass one label per sample.",
            Param("X"),
            str(X.shape[0]),
            Param("y"),
            str(n_samples),
        )
    models, samplers = _read_classifiers(classifiers), _read_methods(methods)
    joined = _join_duplicates(X, groups)
    splits = _make_splits(codes, joined, cv, n_repeats, random_state)
    jobs = [(name, fold) for fold in range(len(splits)) for name in models]
    work = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run_fold)(
            X, codes, joined, *splits[fold], name, models[name], samplers, random_state
        )
        for name, fold in jobs
    )
    scores: dict[tuple[str, int], list[dict[str, Any]]] = {}
    notes: dict[str, None] = {}
    for (name, fold), (fold_scores, fold_notes) in zip(jobs, work, strict=True):
        scores[name, fold] = fold_scores
        notes.update(dict.fromkeys(fold_notes))
        report(len(scores), len(jobs))
    fits = [
        {"classifier": name, "method": method, "fold": fold, **one}
        for name in models
        for fold in range(len(splits))
        for method, one in zip(samplers, scores[name, fold], strict=True)
    ]
    return Evaluation(
        results=_summarize(fits, list(models), list(samplers), cv),
        fits=fits,
        positive=positive_name,
        n_samples=n_samples,
        n_positives=int(codes.sum()),
        n_folds=len(splits),
        notes=list(notes),
    )


def _binary_target(y: Any, positive: Any) -> tuple[Ints, str]:
    """Return 1 for samples of the positive class and 0 for others, and the name of that class."""
    target = encode(y)
    if positive is None:
        if len(target.classes) > 2:
            raise ParameterError(
                "{} has {} classes: name the positive one with {}; the others are joined.",
                Param("y"),
                str(len(target.classes)),
                Param("positive"),
            )
        positive = target.classes[target.sizes.argmin()]
    codes = (target.values == positive).astype(np.intp)
    if not codes.any():
        raise ParameterError(
            "{} is not a label of {}; there are {}.",
            Param("positive", positive),
            Param("y"),
            ", ".join(named(label) for label in target.classes),
        )
    return codes, str(positive)


def _read_classifiers(classifiers: Sequence[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    if classifiers is None:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression

        return {
            "logistic regression": LogisticRegression(max_iter=1000),
            "gradient boosting": HistGradientBoostingClassifier(),
        }
    if not classifiers:
        raise ParameterError(
            "{} is empty: name at least one, or leave it out.", Param("classifiers")
        )
    if isinstance(classifiers, Mapping):
        return dict(classifiers)
    from rectifold.model_selection._registry import classifier

    return {(entry := classifier(name)).name: entry.make(0) for name in _as_names(classifiers)}


def _read_methods(methods: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return entries of the registry, or samplers, by name; None for the baseline."""
    if isinstance(methods, Mapping):
        for name, sampler in methods.items():
            if not hasattr(sampler, "fit_resample"):
                raise TypeError(f"methods[{name!r}] is not a sampler: it has no fit_resample.")
            if name == BASELINE:
                raise ParameterError(
                    "{} has the name {}, which stands for no sampling: choose another.",
                    Param("methods"),
                    repr(BASELINE),
                )
        return {BASELINE: None, **methods}
    from rectifold.model_selection._registry import method

    entries = [method(name) for name in _as_names(methods)]
    return {BASELINE: None, **{entry.name: entry for entry in entries if entry.name != BASELINE}}


def _as_names(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _as_table(X: Any) -> Any:
    """Return an array of finite numbers, or a DataFrame of pandas for anything else."""
    if sparse.issparse(X):
        raise ParameterError(
            "{} is sparse, and features are standardised: pass X.toarray().", Param("X")
        )
    names = [*X.columns] if hasattr(X, "columns") else None
    if names is not None:
        if not names:
            raise ParameterError("{} has no columns to learn from.", Param("X"))
        refuse_repeated(names)
        return nw.from_native(X, eager_only=True).to_pandas()
    values = np.asarray(X)
    if values.ndim != 2 or not values.shape[1]:
        raise ParameterError(
            "{} must be two-dimensional, and has the shape {}.", Param("X"), str(values.shape)
        )
    if values.dtype.kind in "biuf" and np.isfinite(values).all():
        return values.astype(np.float64)
    # Missing values and text are encoded as in any other table.
    import pandas as pd

    return pd.DataFrame(values, columns=[f"column {i}" for i in range(values.shape[1])])


def _join_duplicates(X: Any, groups: Any) -> Ints | None:
    """Return the group of every sample, duplicates and `groups` joined; None if all are single."""
    n = X.shape[0]
    if hasattr(X, "iloc"):
        duplicates = X.groupby(list(X.columns), dropna=False, sort=False).ngroup().to_numpy()
    else:
        # Rows are compared as bytes; adding 0.0 turns -0.0 into 0.0.
        rows = np.ascontiguousarray(X + 0.0)
        duplicates = np.unique(rows.view(f"V{rows.itemsize * X.shape[1]}"), return_inverse=True)[1]
    marks = [duplicates.ravel()]
    if groups is not None:
        if len(groups) != n:
            raise ParameterError(
                "{} has {} entries and {} has {} samples: pass one entry per sample.",
                Param("groups"),
                str(len(groups)),
                Param("X"),
                str(n),
            )
        marks.append(np.unique(np.asarray(groups), return_inverse=True)[1].ravel())
    if all(len(np.unique(mark)) == n for mark in marks):
        return None
    # The connected components of the graph that links samples with their marks.
    offsets = np.cumsum([n, *(int(mark.max()) + 1 for mark in marks)])
    ends = np.concatenate([mark + start for mark, start in zip(marks, offsets, strict=False)])
    begins = np.tile(np.arange(n), len(marks))
    graph = sparse.coo_array((np.ones(len(ends)), (begins, ends)), shape=(offsets[-1],) * 2)
    return np.asarray(connected_components(graph.tocsr(), directed=False)[1][:n])


def _make_splits(
    y: Ints, groups: Ints | None, cv: int, n_repeats: int, seed: int
) -> list[tuple[Ints, Ints]]:
    if cv < 2 or n_repeats < 1:
        raise ParameterError(
            "{} and {}: at least 2 folds and 1 repeat are needed.",
            Param("cv", cv),
            Param("n_repeats", n_repeats),
        )
    smaller = int(min(y.sum(), len(y) - y.sum()))
    if smaller < 2 * cv:
        raise ParameterError(
            "the smaller class has {} samples, and {} folds need {}: {}{}.",
            str(smaller),
            Param("cv", cv),
            str(2 * cv),
            *(("lower ", Param("cv")) if smaller >= 4 else ("more samples of it are needed", "")),
        )
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    if groups is not None and len(np.unique(groups)) < cv:
        raise ParameterError(
            "{} has {} groups of samples that must stay together, fewer than {} folds: lower {}.",
            Param("X"),
            str(len(np.unique(groups))),
            Param("cv", cv),
            Param("cv"),
        )
    splits = [
        split
        for repeat in range(n_repeats)
        for split in kind(cv, shuffle=True, random_state=seed + repeat).split(y, y, groups)
    ]
    if any(len(np.unique(y[part])) < 2 for split in splits for part in split):
        raise ParameterError(
            "a class is in too few groups to be in both parts of every fold: lower {}, or leave "
            "out {}.",
            Param("cv"),
            Param("groups"),
        )
    return splits


def _run_fold(
    X: Any,
    y: Ints,
    groups: Ints | None,
    train: Ints,
    test: Ints,
    name: str,
    model: Any,
    samplers: "Mapping[str, Entry | Any]",
    seed: int,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Fit a classifier after every method; return the scores, and what was warned of."""
    from rectifold.model_selection._scores import score

    results: list[dict[str, Any]] = []
    with muted(), threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X_train, X_test = _folds.standardize(X, train, test)
        inner_groups = None if groups is None else groups[train]
        for method, sampler in samplers.items():
            try:
                fitted = _fit(sampler, clone(model), X_train, y[train], inner_groups, seed)
                scores = score(fitted, X_test, y[test])
            except Exception as error:
                sentence = " ".join(str(error).split())
                raise ValueError(f"{method} with {name} failed: {sentence}") from error
            results.append({score_name: scores[score_name] for score_name in SCORES})
    kinds = (UserWarning, ParameterWarning, RecordedWarning)
    return results, [str(one.message) for one in caught if one.category in kinds]


def _fit(sampler: Any, model: Any, X: Floats, y: Ints, groups: Ints | None, seed: int) -> Any:
    from rectifold.model_selection._registry import WRAPPER, Entry, seeded

    model = seeded(model, seed)
    if isinstance(sampler, Entry) and sampler.kind == WRAPPER:
        model = sampler.wrap(model, seed)
        if isinstance(model, RectifiedClassifier):
            # Duplicates would leak between the inner folds too.
            return model.fit(X, y, groups=groups)
    elif sampler is not None:
        entry = isinstance(sampler, Entry)
        fresh = sampler.make(seed) if entry else seeded(clone(sampler), seed)
        X, y = fresh.fit_resample(X, y)
    return model.fit(X, y)


def _summarize(
    fits: Sequence[Mapping[str, Any]], models: list[str], methods: list[str], cv: int
) -> list[MethodResult]:
    def values(model: str, method: str, score: str) -> list[Any]:
        names = (model, method)
        return [fit[score] for fit in fits if (fit["classifier"], fit["method"]) == names]

    results = []
    for model in models:
        for method in methods:
            means: dict[str, float | None] = {}
            for score in SCORES:
                each = values(model, method, score)
                means[score] = None if None in each else float(np.mean(each))
            test = {}
            if method != BASELINE:
                before = values(model, BASELINE, "auprc")
                test = corrected_t_test(np.subtract(values(model, method, "auprc"), before), cv)
            results.append(MethodResult(model, method, means, **test))
    pvalues = iter(holm([one.pvalue for one in results if one.method != BASELINE]))
    return [
        one if one.method == BASELINE else replace(one, pvalue_holm=next(pvalues))
        for one in results
    ]
