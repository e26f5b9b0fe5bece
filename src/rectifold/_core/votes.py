"""Count the votes of neighbours for every class."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.summation import sum_columns
from rectifold._core.threads import over
from rectifold._core.utils import Floats, Ints
from rectifold._engines.contract import Neighbourhoods

#: Votes that differ by no more are equal, so that rounding errors decide nothing.
TOLERANCE = 1e-12
#: Maximum number of votes in memory at once: samples times classes.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """The votes of the neighbours of every sample. All arrays have one entry per sample."""

    #: The class with the highest vote; equal votes go to the larger class.
    predicted: Ints
    #: The vote for the sample's own class.
    confidence: Floats
    #: The vote for the majority class.
    majority_confidence: Floats
    #: The joint vote for all classes larger than the sample's own.
    larger: Floats
    #: The mean distance of the neighbours. NaN if all of them carry the sample's own label, when it
    #: has no effect: which of these samples hold a certificate differs from engine to engine.
    depth: Floats

    def put(self, rows: Ints | slice, some: "Votes") -> None:
        """Write the votes of some samples into their places."""
        for name in ("predicted", "confidence", "majority_confidence", "larger", "depth"):
            getattr(self, name)[rows] = getattr(some, name)


def size_order(sizes: Ints) -> Ints:
    """Return class codes from the largest class to the smallest, equal sizes in sorted order."""
    return np.lexsort((np.arange(len(sizes)), -sizes))


def count_votes(
    neighbourhoods: Neighbourhoods,
    labels: Ints,
    sizes: Ints,
    *,
    epsilon: float = 1e-8,
    class_weight: str | None = None,
    n_jobs: int | None = None,
) -> Votes:
    """Return the votes of the neighbours of every sample on its class.

    A neighbour at distance d has the weight 1 / (d + epsilon), normalised per sample.
    `class_weight="balanced"` multiplies it by the inverse frequency of the neighbour's class.
    """
    votes = certain(labels, sizes)

    def count(part: slice) -> None:
        rows = neighbourhoods.rows[part]
        classes = labels[neighbourhoods.indices[part]]
        some = ballot(
            neighbourhoods.distances[part],
            classes,
            labels[rows],
            sizes,
            epsilon=epsilon,
            class_weight=class_weight,
        )
        votes.put(rows, some)

    over(count, len(neighbourhoods.rows), block(neighbourhoods.k, len(sizes)), n_jobs)
    return votes


def block(k: int, n_classes: int) -> int:
    """Return the number of samples whose votes are counted together."""
    return max(1, _BLOCK // max(k, n_classes))


def in_blocks(n: int, k: int, n_classes: int) -> Iterator[slice]:
    """Yield slices of samples whose votes are counted together."""
    step = block(k, n_classes)
    for at in range(0, n, step):
        yield slice(at, min(at + step, n))


def certain(labels: Ints, sizes: Ints) -> Votes:
    """Return the votes of samples whose neighbours all carry the sample's own label."""
    n = len(labels)
    return Votes(
        predicted=labels.astype(np.intp),
        confidence=np.ones(n),
        majority_confidence=(labels == size_order(sizes)[0]).astype(np.float64),
        larger=np.zeros(n),
        depth=np.full(n, np.nan),
    )


def ballot(
    distances: Floats,
    classes: Ints,
    own: Ints,
    sizes: Ints,
    *,
    epsilon: float,
    class_weight: str | None,
) -> Votes:
    """Return the votes on some samples.

    `distances` and `classes` of the neighbours have the shape (n_samples, k), nearest first; `own`
    are the class codes of the samples, and `sizes` the class sizes of the whole table.
    """
    n, k = distances.shape
    order = size_order(sizes)
    rank = np.argsort(order)
    weights = weigh(distances, classes, sizes, epsilon=epsilon, class_weight=class_weight)
    # Columns from the largest class to the smallest.
    by_rank = class_votes(weights, rank[classes], len(sizes))
    best = by_rank >= by_rank.max(axis=1, keepdims=True) - TOLERANCE
    mine, itself = rank[own], np.arange(n)
    below = np.concatenate((np.zeros((n, 1)), np.cumsum(by_rank, axis=1)), axis=1)
    depth = sum_columns(distances.T, n) / k
    agreed = (classes == own[:, None]).all(axis=1)
    return Votes(
        predicted=order[best.argmax(axis=1)],
        confidence=by_rank[itself, mine],
        majority_confidence=by_rank[:, 0].copy(),
        larger=np.minimum(below[itself, mine], 1.0),
        depth=np.where(agreed, np.nan, depth),
    )


def class_votes(weights: Floats, classes: Ints, n_classes: int) -> Floats:
    """Return the votes for every class, of shape (n_samples, n_classes).

    `weights`, normalised, and `classes` of the neighbours have the shape (n_samples, k).
    """
    n = len(weights)
    # bincount adds the neighbours of a sample nearest first, whatever the block.
    cell = np.arange(n)[:, None] * n_classes + classes
    votes: Any = np.bincount(cell.ravel(), weights=weights.ravel(), minlength=n * n_classes)
    votes = votes.reshape(n, n_classes)
    # A sum of weights can exceed one by a rounding error.
    np.minimum(votes, 1.0, out=votes)
    # If all neighbours agree, the vote is exactly one, as for a certificate.
    agreed = (classes == classes[:, :1]).all(axis=1)
    votes[agreed, classes[agreed, 0]] = 1.0
    return np.asarray(votes)


def weigh(
    distances: Floats,
    classes: Ints,
    sizes: Ints,
    *,
    epsilon: float,
    class_weight: str | None,
) -> Floats:
    """Return the weights of neighbours, normalised per sample; arguments as for `ballot`."""
    weights = 1.0 / (distances + epsilon)
    if class_weight == "balanced":
        weights *= (int(sizes.sum()) / (len(sizes) * sizes.astype(np.float64)))[classes]
    weights /= sum_columns(weights.T, len(distances))[:, None]
    return weights
