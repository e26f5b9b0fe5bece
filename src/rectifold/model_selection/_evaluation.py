"""The result of `compare`: scores, tests of the differences, and a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from rectifold._core.utils import Floats

#: The name of no sampling, with which the methods are compared.
BASELINE = "None"
#: The level of significance.
ALPHA = 0.05
#: The scores of the result; methods are compared by the first.
SCORES = ("auprc", "roc_auc", "balanced_accuracy", "f1", "brier")


@dataclass(frozen=True)
class MethodResult:
    """The result of a method with a classifier over all folds."""

    classifier: str
    method: str
    #: Means over folds, by the names of `SCORES`; None if a classifier has no such score.
    scores: Mapping[str, float | None]
    #: AUPRC minus that of no cleaning on the same folds, and its 95 % confidence interval.
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0
    #: Corrected for the samples that training parts share.
    standard_error: float = 0.0
    pvalue: float = 1.0
    #: With Holm's correction for the number of comparisons.
    pvalue_holm: float = 1.0

    @property
    def verdict(self) -> str:
        """The conclusion: "helps", "hurts" or "makes no clear difference"."""
        if self.pvalue_holm >= ALPHA:
            return "makes no clear difference"
        return "helps" if self.difference > 0 else "hurts"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as one flat dict; of the baseline only the scores."""
        values = asdict(self)
        scores = values.pop("scores")
        names = {"classifier": values.pop("classifier"), "method": values.pop("method")}
        compared = {} if self.method == BASELINE else {**values, "verdict": self.verdict}
        return {**names, **scores, **compared}


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The result of :func:`rectifold.compare`.

    Attributes
    ----------
    results : list of MethodResult
        For every classifier no cleaning first, then the other methods. Each has `classifier`,
        `method`, its mean `scores`, and compared with no cleaning the `difference` of the AUPRC,
        its confidence interval from `low` to `high`, `standard_error`, `pvalue`, `pvalue_holm`
        (with Holm's correction for the number of comparisons), and a `verdict`.
    fits : list of dict
        Every fit: classifier, method, fold, and its scores.
    positive : str
        The positive class.
    n_samples, n_positives, n_folds : int
        Number of samples, of samples of the positive class, and of folds.
    notes : list of str
        Warnings of the methods, such as a class that is too small to be cleaned.
    verdict : str
        The conclusion as a sentence.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rectifold import compare
    >>> X, y = make_classification(n_samples=400, weights=[0.85], random_state=0)
    >>> evaluation = compare(
    ...     X, y, classifiers={"LR": LogisticRegression()}, methods=["GMR", "ENN"]
    ... )
    >>> evaluation
    classifier  method                   AUPRC   difference, 95 % interval
    LR          None                     0.746
    LR          GMR                      0.713   -0.033  -0.115 to +0.049
    LR          EditedNearestNeighbours  0.682   -0.064  -0.239 to +0.111
    Leave your data alone: no method clearly helps; the others are worse on average.

    The results of all methods and of all fits:

    >>> result = evaluation.results[1]
    >>> result.method, result.verdict, round(result.pvalue_holm, 2)
    ('GMR', 'makes no clear difference', 0.66)
    >>> evaluation.to_frame()[["method", "auprc", "roc_auc", "brier"]].round(2)
                        method  auprc  roc_auc  brier
    0                     None   0.75     0.89   0.07
    1                      GMR   0.71     0.88   0.08
    2  EditedNearestNeighbours   0.68     0.89   0.10
    >>> [round(fit["auprc"], 2) for fit in evaluation.fits if fit["method"] == "GMR"]
    [0.79, 0.79, 0.64, 0.77, 0.57]
    """

    results: list[MethodResult]
    fits: list[dict[str, Any]]
    positive: str
    n_samples: int
    n_positives: int
    n_folds: int
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The conclusion as a sentence."""
        compared = [result for result in self.results if result.method != BASELINE]
        if not compared:
            return "No method was compared with leaving the data alone."
        helping = [result for result in compared if result.verdict == "helps"]
        if helping:
            best = max(helping, key=lambda result: result.difference)
            (before,) = (
                result
                for result in self.results
                if (result.classifier, result.method) == (best.classifier, BASELINE)
            )
            return (
                f"{best.method} helps {best.classifier}: AUPRC {before.scores['auprc']:.3f} "
                f"without, {best.scores['auprc']:.3f} with it ({best.difference:+.3f}, 95 % "
                f"interval {best.low:+.3f} to {best.high:+.3f})."
            )
        top = max(compared, key=lambda result: result.difference)
        interval = f"95 % interval {top.low:+.3f} to {top.high:+.3f}"
        if top.difference < 0:
            reason = "the others are worse on average"
        elif top.difference == 0:
            reason = "the best of them changes nothing"
        else:
            gain = f"the largest gain, {top.difference:+.3f} for {top.classifier} by {top.method},"
            if top.low > 0:
                reason = (
                    f"{gain} may be due to chance among {len(compared)} comparisons ({interval} "
                    "for it alone); more repeats would narrow the interval"
                )
            else:
                reason = f"{gain} is within chance ({interval})"
        return f"Leave your data alone: no method clearly helps; {reason}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings, lists and dicts, ready for JSON."""
        return {
            "verdict": self.verdict,
            "positive": self.positive,
            "n_samples": self.n_samples,
            "n_positives": self.n_positives,
            "n_folds": self.n_folds,
            "notes": self.notes,
            "results": [result.to_dict() for result in self.results],
            "fits": self.fits,
        }

    def to_frame(self) -> Any:
        """Return the results of all methods as a DataFrame of pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["results"])

    def to_html(self) -> str:
        """Return the result as an HTML page that works offline; needs ``rectifold[bench]``."""
        try:
            from rectifold.report._document_formats import to_html
            from rectifold.report._evaluation_page import document
        except ModuleNotFoundError as error:
            raise ImportError(
                f'the page needs {error.name}: install it with pip install "rectifold[bench]"'
            ) from error
        return to_html(document(self))

    def __repr__(self) -> str:
        """Return the results as a small table, and the verdict."""
        first = max(len("classifier"), *(len(result.classifier) for result in self.results))
        second = max(len(result.method) for result in self.results)
        lines = [
            f"{'classifier':<{first}}  {'method':<{second}}  AUPRC   difference, 95 % interval"
        ]
        for result in self.results:
            difference = f"{result.difference:+.3f}  {result.low:+.3f} to {result.high:+.3f}"
            lines.append(
                f"{result.classifier:<{first}}  {result.method:<{second}}  "
                f"{result.scores['auprc']:.3f}   "
                f"{'' if result.method == BASELINE else difference}".rstrip()
            )
        return "\n".join([*lines, self.verdict])


def corrected_t_test(differences: Floats, cv: int) -> dict[str, float]:
    """Test paired differences over the folds of one or more repeats of `cv` folds.

    The standard error is corrected for the samples that training parts share (Nadeau and Bengio,
    2003); without that, enough repeats would make any difference significant.
    """
    difference = float(np.mean(differences))
    n = len(differences)
    error = float(np.std(differences, ddof=1) * np.sqrt(1 / n + 1 / (cv - 1)))
    if error == 0:
        pvalue = 1.0 if difference == 0 else 0.0
        spread = 0.0
    else:
        pvalue = float(2 * stats.t.sf(abs(difference) / error, n - 1))
        spread = float(stats.t.ppf(1 - ALPHA / 2, n - 1)) * error
    return {
        "difference": difference,
        "standard_error": error,
        "low": difference - spread,
        "high": difference + spread,
        "pvalue": pvalue,
    }


def holm(pvalues: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for their number."""
    order = np.argsort(pvalues)
    steps = np.asarray(pvalues)[order] * (len(pvalues) - np.arange(len(pvalues)))
    corrected = np.empty(len(pvalues))
    corrected[order] = np.minimum(1, np.maximum.accumulate(steps))
    return [float(p) for p in corrected]
