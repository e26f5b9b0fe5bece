"""Accuracy of approximate neighbours, measured on a random sample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from rectifold._core.utils import Bools, Floats, Ints
from rectifold._core.votes import TOLERANCE, Votes, count_votes
from rectifold._engines.contract import Neighbourhoods

#: Confidence level of all intervals.
CONFIDENCE = 0.95
_FIELDS = tuple(Votes.__dataclass_fields__)
#: Minimum number of values strictly between 0 and 1 for a normal approximation of their mean.
_MANY = 30


@dataclass(frozen=True, slots=True)
class Share:
    """An estimated fraction and its confidence interval."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Share":
        """Return the fraction and its interval multiplied by a factor."""
        return Share(self.value * factor, self.low * factor, self.high * factor)

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers, for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Accuracy of approximate neighbours, estimated on a sample.

    Attributes
    ----------
    sampled, searched : int
        Size of the sample, whose true neighbours were found too, and of the set that it
        was drawn from at random: the samples without a certificate.
    recall : Share
        Fraction of the true neighbours that were found.
    votes : Share
        Fraction of the searched samples with another vote for their own class.
    vote_error : float
        Mean absolute error of that vote.
    decisions : Share
        Fraction of all samples that are removed though they should be kept, or kept
        though they should be removed. A certificate is never wrong.
    target : float or None
        The recall that was asked for.
    """

    sampled: int
    searched: int
    recall: Share
    votes: Share
    vote_error: float
    decisions: Share
    target: float | None

    @property
    def met(self) -> bool | None:
        """Whether the recall reaches `target`; None without a target."""
        return None if self.target is None else self.recall.value >= self.target

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and dicts, for JSON."""
        return {
            "sampled": self.sampled,
            "searched": self.searched,
            "confidence": CONFIDENCE,
            "recall": self.recall.to_dict(),
            "votes_changed": self.votes.to_dict(),
            "vote_error": self.vote_error,
            "decisions_changed": self.decisions.to_dict(),
            "target_recall": self.target,
            "target_met": self.met,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Votes of the true neighbours of a random sample."""

    #: The samples.
    rows: Ints
    #: For each, the fraction of its true neighbours that was found.
    found: Floats
    #: Votes of the true neighbours.
    votes: Votes
    #: Size of the set from which the sample was drawn.
    searched: int
    #: The recall that was asked for.
    target: float | None = None

    def accuracy(self, votes: Votes, decide: Callable[[Votes, float], Bools]) -> Accuracy:
        """Return the accuracy of the votes of all samples.

        `decide` returns which samples of this check are removed, given votes on them and the
        fraction of the searched samples that they are, so that caps are scaled to the sample.
        """
        found = Votes(**{name: getattr(votes, name)[self.rows] for name in _FIELDS})
        error = np.abs(found.confidence - self.votes.confidence)
        part = len(self.rows) / self.searched
        differ = decide(found, part) != decide(self.votes, part)
        return Accuracy(
            sampled=len(self.rows),
            searched=self.searched,
            recall=_share(self.found, self.searched),
            votes=_share(error > TOLERANCE, self.searched),
            vote_error=float(error.mean()),
            decisions=_share(differ, self.searched).scaled(self.searched / len(votes.confidence)),
            target=self.target,
        )


def check(
    neighbourhoods: Neighbourhoods,
    labels: Ints,
    sizes: Ints,
    *,
    target: float | None,
    **voting: Any,
) -> Check | None:
    """Return the check of approximate neighbours, or None if all neighbours are exact.

    `target` is the recall that was asked for; `voting` is passed to `count_votes`.
    """
    truth = neighbourhoods.truth
    if truth is None:
        return None
    at = np.searchsorted(neighbourhoods.rows, truth.rows)
    # Any neighbour as near as the farthest true one counts, since ties are interchangeable.
    found = neighbourhoods.distances[at] <= truth.distances[:, -1:]
    # A neighbour that is listed twice counts once.
    by_index = np.argsort(neighbourhoods.indices[at], axis=1, kind="stable")
    indices = np.take_along_axis(neighbourhoods.indices[at], by_index, axis=1)
    found = np.take_along_axis(found, by_index, axis=1)
    found[:, 1:] &= indices[:, 1:] != indices[:, :-1]
    votes = count_votes(truth, labels, sizes, **voting)
    mine = {name: getattr(votes, name)[truth.rows] for name in _FIELDS}
    return Check(
        truth.rows,
        found.mean(axis=1),
        Votes(**mine),
        neighbourhoods.drawn_from,
        target,
    )


def _share(values: Floats | Bools, of: int) -> Share:
    """Estimate the mean of values in [0, 1] from a random sample out of `of` values.

    The interval is that of Clopper and Pearson, which is conservative for values other than 0 and
    1; if there are enough of those, it is that of a normal mean.
    """
    n = len(values)
    total = float(np.sum(values, dtype=np.float64))
    mean = total / n
    if n == of:
        return Share(mean, mean, mean)
    tail = (1 - CONFIDENCE) / 2
    if np.count_nonzero((values > 0) & (values < 1)) >= _MANY:
        half = float(ndtri(1 - tail) * np.std(values, ddof=1) / np.sqrt(n))
        return Share(mean, max(0.0, mean - half), min(1.0, mean + half))
    low = 0.0 if total <= 0 else float(betaincinv(total, n - total + 1, tail))
    high = 1.0 if total >= n else float(betaincinv(total + 1, n - total, 1 - tail))
    return Share(mean, low, high)


def in_words(accuracy: dict[str, Any]) -> str:
    """Return a sentence about `accuracy`, a dict made by `Accuracy.to_dict`."""
    recall, changed = accuracy["recall"], accuracy["decisions_changed"]
    found = f"{percent(recall['value'])} of the true neighbours were found"
    differ = f"{percent(changed['value'])} of all decisions differ from exact ones"
    if accuracy["sampled"] == accuracy["searched"]:
        return f"{found}, and {differ}"
    return (
        f"{found} ({percent(recall['low'])} to {percent(recall['high'])}), and {differ} "
        f"({percent(changed['low'])} to {percent(changed['high'])}), as "
        f"{accuracy['sampled']:,} of the {accuracy['searched']:,} searched samples show with "
        f"{100 * accuracy['confidence']:g} % confidence"
    )


def percent(share: float) -> str:
    """Return a fraction as a percentage, never rounded to 0 % or 100 %."""
    text = f"{100 * share:.2f}"
    if text == "100.00" and share < 1:
        return "over 99.99 %"
    return "under 0.01 %" if text == "0.00" and share > 0 else f"{float(text):g} %"
