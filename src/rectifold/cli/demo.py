"""The demonstration: a real table is cleaned, and whether that helps is measured without leaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold.cli.clean import explain
from rectifold.files import FileProblem, check_outputs, format_of, whole_files
from rectifold.progress import listening, report

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are shown as the most confidently contradicted.
N_SHOWN = 5


@dataclass(frozen=True)
class Wines:
    """The embedded table and what became of it.

    Attributes
    ----------
    features : pandas.DataFrame
        The measurements.
    labels : pandas.Series
        The classes.
    description : str
        What the data set is, whose it is, and under which licence.
    summary : dict
        `Rectification.summary` of the cleaning.
    contradicted : pandas.DataFrame
        The removed rows whose neighbours vouch for them least, with their reasons.
    cleaned, removed : pathlib.Path
        The files that were written.
    """

    features: pd.DataFrame
    labels: pd.Series[Any]
    description: str
    summary: dict[str, Any]
    contradicted: pd.DataFrame
    cleaned: Path
    removed: Path


def clean_wines(folder: Path) -> Wines:
    """Clean the embedded table, and write what stayed and what went.

    Parameters
    ----------
    folder : pathlib.Path
        Where ``cleaned.csv`` and ``removed.csv`` go; it is made if it is not there.

    Returns
    -------
    Wines
        The table and what became of it.
    """
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    from rectifold import GMR
    from rectifold.datasets import load_wine_quality
    from rectifold.files.arrow import ArrowTable

    cleaned, removed = folder / "cleaned.csv", folder / "removed.csv"
    with _folder(folder):
        check_outputs({"cleaned": cleaned, "removed": removed})
        bunch = load_wine_quality(as_frame=True)
        gmr = GMR(space=StandardScaler(), n_jobs=-1)
        gmr.fit_resample(bunch.data, bunch.target)
        record = gmr.rectification_
        gone = record.removed
        added = explain(record, np.arange(len(gone)), gone)
        table = ArrowTable.from_frame(bunch.frame)
        with whole_files([cleaned, removed]) as (stayed, went):
            table.write(stayed, format_of(cleaned), ~gone)
            table.write(went, format_of(removed), gone, added=added)
    explained = bunch.frame.loc[gone].assign(**added)
    contradicted = explained.sort_values("rectifold_confidence", kind="stable").head(N_SHOWN)
    return Wines(
        features=bunch.data,
        labels=bunch.target,
        description=_first_paragraph(bunch.DESCR),
        summary=record.summary(),
        contradicted=contradicted,
        cleaned=cleaned,
        removed=removed,
    )


def compare(
    features: pd.DataFrame, labels: pd.Series[Any], *, n_splits: int = 5, n_repeats: int = 2
) -> list[dict[str, Any]]:
    """Compare classifiers without and with cleaning, on the same folds.

    Scaling and cleaning are steps of a pipeline: they see the training part of each fold and
    nothing else, and no test row is ever removed. Rows that are copies of each other are always
    on the same side of a split.

    Parameters
    ----------
    features : pandas.DataFrame
        The rows.
    labels : pandas.Series
        Their classes, two of them; the rarer one is to be found.
    n_splits, n_repeats : int
        How many folds, and how often rows are dealt to them anew.

    Returns
    -------
    list of dict
        For each classifier and each way of cleaning: ``classifier``, ``cleaning``, ``auprc``
        (mean average precision), and against no cleaning ``difference`` (mean over folds),
        ``standard_error`` (see `paired`) and ``verdict`` (see `verdict`).
    """
    import numpy as np
    from imblearn.pipeline import Pipeline
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.preprocessing import StandardScaler

    from rectifold import GMR

    classifiers = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "random forest": RandomForestClassifier(random_state=0, n_jobs=-1),
    }
    cleanings = {
        "none": "passthrough",
        "GMR()": GMR(n_jobs=-1),
        "GMR(gamma=0)": GMR(gamma=0, n_jobs=-1),
    }
    rows = features.to_numpy()
    positive = (labels == labels.value_counts().idxmin()).to_numpy().astype(int)
    copies = np.unique(rows, axis=0, return_inverse=True)[1]
    folds = [
        fold
        for seed in range(n_repeats)
        for fold in StratifiedGroupKFold(n_splits, shuffle=True, random_state=seed).split(
            rows, positive, copies
        )
    ]
    total = len(classifiers) * len(cleanings) * len(folds)
    done = 0
    results: list[dict[str, Any]] = []
    for classifier, model in classifiers.items():
        scores: dict[str, list[float]] = {cleaning: [] for cleaning in cleanings}
        for cleaning, step in cleanings.items():
            line = Pipeline([("scale", StandardScaler()), ("clean", step), ("model", model)])
            for train, test in folds:
                with listening(_nobody):
                    fitted = clone(line).fit(rows[train], positive[train])
                found = fitted.predict_proba(rows[test])[:, 1]
                scores[cleaning].append(float(average_precision_score(positive[test], found)))
                done += 1
                report(done, total)
        for cleaning, values in scores.items():
            result = {
                "classifier": classifier,
                "cleaning": cleaning,
                "auprc": float(np.mean(values)),
            }
            if cleaning != "none":
                difference, error = paired(values, scores["none"], n_splits)
                result |= {
                    "difference": difference,
                    "standard_error": error,
                    "verdict": verdict(difference, error),
                }
            results.append(result)
    return results


def paired(scores: list[float], others: list[float], n_splits: int) -> tuple[float, float]:
    """Take the mean difference of two methods over the same folds, and its standard error.

    Parameters
    ----------
    scores, others : list of float
        One score a fold.
    n_splits : int
        How many folds make up one round of the cross-validation.

    Returns
    -------
    difference, standard_error : float
        The error is corrected for the rows that training sets share (Nadeau and Bengio, 2003);
        without that, repeating the folds would make any difference look significant.
    """
    import numpy as np

    differences = np.subtract(scores, others)
    spread = float(differences.std(ddof=1))
    return float(differences.mean()), spread * (1 / len(differences) + 1 / (n_splits - 1)) ** 0.5


def verdict(difference: float, standard_error: float) -> str:
    """Say in plain words what a difference shows.

    Parameters
    ----------
    difference : float
        With cleaning, less without.
    standard_error : float
        Of the difference.

    Returns
    -------
    {"helps", "hurts", "makes no clear difference"}
        By two standard errors.

    Examples
    --------
    >>> verdict(0.03, 0.01), verdict(-0.03, 0.01), verdict(0.03, 0.02)
    ('helps', 'hurts', 'makes no clear difference')
    """
    if abs(difference) <= 2 * standard_error:
        return "makes no clear difference"
    return "helps" if difference > 0 else "hurts"


def _first_paragraph(text: str) -> str:
    # Of Markdown: the attribution, without the headings above it and the details below.
    paragraphs = ("\n".join(_without_headings(part)) for part in text.split("\n\n"))
    return " ".join(next(filter(None, paragraphs), "").replace("*", "").split())


def _without_headings(paragraph: str) -> list[str]:
    return [line for line in paragraph.splitlines() if not line.startswith("#")]


def _nobody(done: int, total: int) -> None:
    # The cleaning inside a fold reports rows; here only whole folds count.
    pass


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileProblem(f"--output-dir {str(folder)!r}: {problem.strerror}") from None
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise
