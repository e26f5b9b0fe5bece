"""How good approximate neighbours are, measured on a random sample of rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from rectifold._core.utils import Bools, Floats, Ints
from rectifold._core.votes import TOLERANCE, Votes, count_votes
from rectifold._engines.contract import Neighbourhoods

#: The confidence of all intervals.
CONFIDENCE = 0.95
_FIELDS = tuple(Votes.__dataclass_fields__)
#: So many rows that are neither all right nor all wrong make a mean normal.
_MANY = 30


@dataclass(frozen=True, slots=True)
class Share:
    """A share, and the interval in which it lies with a confidence of `CONFIDENCE`."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Share":
        """The same as a part of something else."""
        return Share(self.value * factor, self.low * factor, self.high * factor)

    def to_dict(self) -> dict[str, float]:
        """Plain numbers, for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What approximate neighbours changed, as far as a sample of rows shows.

    Attributes
    ----------
    sampled, searched : int
        Rows whose true neighbours were found too, drawn at random from those that hold no
        certificate.
    recall : Share
        Of the true neighbours of searched rows, those that were found.
    votes : Share
        Of the searched rows, those with another vote for their own class.
    vote_error : float
        By how much that vote is off, on average.
    decisions : Share
        Of all rows, those that go though they should stay, or stay though they should go. A
        certificate is never wrong.
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
        """Whether the recall is what was asked for; None if nothing was."""
        return None if self.target is None else self.recall.value >= self.target

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and dicts, for JSON."""
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
    """What is known of a sample of rows by their true neighbours."""

    rows: Ints
    #: The share of its true neighbours that was found, of each of them.
    found: Floats
    #: Votes of the true neighbours; arrays have one entry for each of these rows.
    votes: Votes
    #: How many rows the sample was drawn from: those that were searched for.
    searched: int
    target: float | None = None

    def accuracy(self, votes: Votes, decide: Callable[[Votes, float], Bools]) -> Accuracy:
        """Say what approximate neighbours changed.

        Parameters
        ----------
        votes : Votes
            Those of all rows, by the neighbours that were found.
        decide : callable
            Tells which rows of the sample go, by votes for it and the share of the searched rows
            that it is. Caps are then reached within the sample, by either votes alike.

        Returns
        -------
        Accuracy
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
    """Compare neighbours that were found with the true ones.

    Parameters
    ----------
    neighbourhoods : Neighbourhoods
        What was found, and the true neighbours of a sample.
    labels, sizes
        As for `rectifold._core.votes.count_votes`, and so is `voting`.
    target : float or None
        The recall that was asked for.

    Returns
    -------
    Check or None
        None if all neighbours are the true ones.
    """
    truth = neighbourhoods.truth
    if truth is None:
        return None
    at = np.searchsorted(neighbourhoods.rows, truth.rows)
    # As near as the farthest true one: one of several that are equally far is as good as another.
    found = neighbourhoods.distances[at] <= truth.distances[:, -1:]
    # The same row twice is one neighbour.
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
    """Estimate the mean of values between 0 and 1 from a sample.

    Of values that are 0 or 1 the interval is that of Clopper and Pearson. Others vary less around
    the same mean; where enough of them do, the interval is that of a normal mean.
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
    """Say in a sentence how good approximate neighbours are.

    Parameters
    ----------
    accuracy : dict
        As `Accuracy.to_dict` gives it.

    Returns
    -------
    str
    """
    recall, changed = accuracy["recall"], accuracy["decisions_changed"]
    found = f"{percent(recall['value'])} of the true neighbours were found"
    differ = f"{percent(changed['value'])} of all decisions differ from exact ones"
    if accuracy["sampled"] == accuracy["searched"]:
        return f"{found}, and {differ}"
    return (
        f"{found} ({percent(recall['low'])} to {percent(recall['high'])}), and {differ} "
        f"({percent(changed['low'])} to {percent(changed['high'])}), as "
        f"{accuracy['sampled']:,} of the {accuracy['searched']:,} rows searched for show with "
        f"{100 * accuracy['confidence']:g} % confidence"
    )


def percent(share: float) -> str:
    """Write a share as people read it, without taking little for none or nearly all for all.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str
    """
    text = f"{100 * share:.2f}"
    if text == "100.00" and share < 1:
        return "over 99.99 %"
    return "under 0.01 %" if text == "0.00" and share > 0 else f"{float(text):g} %"
