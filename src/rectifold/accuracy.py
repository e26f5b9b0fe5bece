"""How good approximate neighbours are, measured on a random sample of rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from rectifold._typing import Bools, Floats, Ints
from rectifold.engines.contract import Neighbourhoods
from rectifold.votes import TOLERANCE, Votes, count_votes

#: The confidence of all intervals.
CONFIDENCE = 0.95


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
    #: How many rows were searched for, the sample among them.
    searched: int
    target: float | None = None

    def corrected(self, votes: Votes) -> Votes:
        """Votes of all rows, with those of the true neighbours where they are known."""
        right = {}
        for name in Votes.__dataclass_fields__:
            right[name] = getattr(votes, name).copy()
            right[name][self.rows] = getattr(self.votes, name)
        return replace(votes, **right)

    def accuracy(self, votes: Votes, otherwise: Bools) -> Accuracy:
        """Say what approximate neighbours changed.

        Parameters
        ----------
        votes : Votes
            Those of all rows, by the neighbours that were found.
        otherwise : ndarray of bool of shape (n_rows,)
            Of this sample, the rows that go or stay only because votes are not the true ones.

        Returns
        -------
        Accuracy
        """
        error = np.abs(votes.confidence[self.rows] - self.votes.confidence)
        n = len(votes.confidence)
        return Accuracy(
            sampled=len(self.rows),
            searched=self.searched,
            recall=_share(self.found, self.searched),
            votes=_share(error > TOLERANCE, self.searched),
            vote_error=float(error.mean()),
            decisions=_share(otherwise[self.rows], self.searched).scaled(self.searched / n),
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
        As for `rectifold.votes.count_votes`, and so is `voting`.
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
    votes = count_votes(truth, labels, sizes, **voting)
    mine = {name: getattr(votes, name)[truth.rows] for name in Votes.__dataclass_fields__}
    return Check(
        truth.rows,
        found.mean(axis=1),
        Votes(**mine),
        len(neighbourhoods.rows),
        target,
    )


def _share(values: Floats | Bools, of: int) -> Share:
    """Estimate the mean of values between 0 and 1 from a sample.

    The interval is that of Clopper and Pearson. It is exact for values of 0 or 1; others vary
    less around the same mean, so that it is on the safe side.
    """
    n = len(values)
    total = float(np.sum(values, dtype=np.float64))
    mean = total / n
    if n == of:
        return Share(mean, mean, mean)
    tail = (1 - CONFIDENCE) / 2
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
