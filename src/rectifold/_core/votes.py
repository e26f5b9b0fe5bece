"""Neighbourhoods become class votes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.summation import sum_columns
from rectifold._core.utils import Floats, Ints
from rectifold._engines.contract import Neighbourhoods

#: Votes that differ by less are equal, so that rounding decides nothing.
TOLERANCE = 1e-12
#: Votes held at once: rows times classes.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """What the neighbours of every row say. All arrays have one entry per row."""

    #: The class with the highest vote; equal votes go to the larger class.
    predicted: Ints
    #: The vote for the row's own class.
    confidence: Floats
    #: The vote for the majority class.
    majority_confidence: Floats
    #: The joint vote for all classes larger than the row's own.
    larger: Floats
    #: The mean distance of the neighbours: how deeply the row is embedded among them.
    #: NaN where all of them carry the row's own label, so that it does not matter: which of these
    #: rows hold a certificate, and so are not searched for, differs from engine to engine.
    depth: Floats

    def put(self, rows: Ints | slice, some: "Votes") -> None:
        """Write the votes of some rows into their places."""
        for name in ("predicted", "confidence", "majority_confidence", "larger", "depth"):
            getattr(self, name)[rows] = getattr(some, name)


def size_order(sizes: Ints) -> Ints:
    """Order classes from the largest to the smallest, equal ones as they are sorted."""
    return np.lexsort((np.arange(len(sizes)), -sizes))


def count_votes(
    neighbourhoods: Neighbourhoods,
    labels: Ints,
    sizes: Ints,
    *,
    epsilon: float = 1e-8,
    class_weight: str | None = None,
) -> Votes:
    """Let the neighbours of every row vote on its class, nearer ones with more weight.

    Parameters
    ----------
    neighbourhoods : Neighbourhoods
        The k nearest rows of every row, or a certificate.
    labels : ndarray of shape (n_rows,)
        Class codes 0, 1, ...
    sizes : ndarray of shape (n_classes,)
        Rows per class.
    epsilon : float
        A neighbour at distance d has the weight 1 / (d + epsilon), normalised per row.
    class_weight : {None, "balanced"}
        "balanced" multiplies a neighbour's weight by the inverse frequency of its class.

    Returns
    -------
    Votes
    """
    votes = certain(labels, sizes)
    for part in in_blocks(len(neighbourhoods.rows), neighbourhoods.k, len(sizes)):
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
    return votes


def in_blocks(n: int, k: int, n_classes: int) -> Iterator[slice]:
    """Cut rows into blocks whose votes are counted at once."""
    step = max(1, _BLOCK // max(k, n_classes))
    for at in range(0, n, step):
        yield slice(at, min(at + step, n))


def certain(labels: Ints, sizes: Ints) -> Votes:
    """Give the votes of rows whose neighbours all carry their own label, as certificates tell."""
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
    """Count the votes on some rows.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        How far the neighbours of each row are, nearest first.
    classes : ndarray of shape (n, k)
        The class codes of the neighbours.
    own : ndarray of shape (n,)
        Those of the rows.
    sizes : ndarray of shape (n_classes,)
        Rows per class, in the whole table.
    epsilon, class_weight
        As for `count_votes`.

    Returns
    -------
    Votes
    """
    n, k = distances.shape
    order = size_order(sizes)
    rank = np.argsort(order)
    weights = weigh(distances, classes, sizes, epsilon=epsilon, class_weight=class_weight)
    # Columns from the largest class to the smallest; bincount adds a row's neighbours nearest
    # first, whatever the block.
    cell = np.arange(n)[:, None] * len(sizes) + rank[classes]
    by_rank: Any = np.bincount(
        cell.ravel(), weights=weights.ravel(), minlength=n * len(sizes)
    ).reshape(n, len(sizes))
    # Weights that are added up can exceed one by a rounding; a share never does.
    np.minimum(by_rank, 1.0, out=by_rank)
    # Where all neighbours agree the vote is one, as a certificate has it.
    agreed = (classes == classes[:, :1]).all(axis=1)
    by_rank[agreed, rank[classes[agreed, 0]]] = 1.0
    best = by_rank >= by_rank.max(axis=1, keepdims=True) - TOLERANCE
    mine, itself = rank[own], np.arange(n)
    below = np.concatenate((np.zeros((n, 1)), np.cumsum(by_rank, axis=1)), axis=1)
    depth = sum_columns(distances.T, n) / k
    return Votes(
        predicted=order[best.argmax(axis=1)],
        confidence=by_rank[itself, mine],
        majority_confidence=by_rank[:, 0].copy(),
        larger=np.minimum(below[itself, mine], 1.0),
        depth=np.where(agreed & (classes[:, 0] == own), np.nan, depth),
    )


def weigh(
    distances: Floats,
    classes: Ints,
    sizes: Ints,
    *,
    epsilon: float,
    class_weight: str | None,
) -> Floats:
    """Weigh neighbours: the nearer, the more, so that those of a row add up to one.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        How near they are.
    classes : ndarray of shape (n, k)
        Their class codes.
    sizes : ndarray of shape (n_classes,)
        Rows per class.
    epsilon, class_weight
        As for `count_votes`.

    Returns
    -------
    ndarray of shape (n, k)
    """
    weights = 1.0 / (distances + epsilon)
    if class_weight == "balanced":
        weights *= (int(sizes.sum()) / (len(sizes) * sizes.astype(np.float64)))[classes]
    weights /= sum_columns(weights.T, len(distances))[:, None]
    return weights
