"""A simple, independent implementation of Algorithm 1, and of the rules for more classes.

It shares no code with the package and is slow: all distances between samples in float64 by
subtraction, a full sort, and a loop over samples for the rules.
"""

from collections import Counter
from fractions import Fraction

import numpy as np


def distances_to_all(X, rows, metric):
    """Return the distances of some samples to all, adding squares feature by feature."""
    X = np.asarray(X, dtype=np.float64)
    if metric == "cosine":
        lengths = np.zeros(len(X))
        for f in range(X.shape[1]):
            lengths += X[:, f] ** 2
        lengths = np.sqrt(lengths)
        zero = lengths == 0
        X = X / np.where(zero, 1.0, lengths)[:, None]
    columns = np.ascontiguousarray(X.T)
    squares = np.zeros((len(rows), len(X)))
    for column in columns:
        difference = column[rows][:, None] - column[None, :]
        difference *= difference
        squares += difference
    if metric == "cosine":
        squares /= 2
        squares[zero[rows]] = 1.0
        squares[:, zero] = 1.0
        return squares
    return np.sqrt(squares)


def neighbours(X, k, *, rows=None, metric=None):
    """Return the k nearest samples in the order (distance, index), without the sample itself."""
    n, d = X.shape
    metric = metric or ("euclidean" if d <= 100 else "cosine")
    rows = np.arange(n) if rows is None else np.asarray(rows)
    indices, distances = np.empty((len(rows), k), dtype=int), np.empty((len(rows), k))
    step = max(1, 400_000 // n)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        for place, (row, d_row) in enumerate(
            zip(block, distances_to_all(X, block, metric), strict=True), start
        ):
            d_row[row] = np.inf
            # The k nearest and all ties with the last, then the full order.
            near = np.flatnonzero(d_row <= np.partition(d_row, k - 1)[k - 1])
            order = sorted(near.tolist(), key=lambda j: (d_row[j], j))[:k]
            indices[place], distances[place] = order, d_row[order]
    return indices, distances


def added(values):
    """Return the plain sum: from Python 3.12 on, `sum` compensates for rounding."""
    total = 0.0
    for value in values:
        total += value
    return total


def votes(indices, distances, y, *, balanced=False):
    """Return for each sample a dict of votes by class, and the mean distance of neighbours."""
    sizes = Counter(y.tolist())
    result = []
    for near, d in zip(indices, distances, strict=True):
        weight = [1.0 / (float(x) + 1e-8) for x in d]
        if balanced:
            weight = [
                w * len(y) / (len(sizes) * sizes[y[j].item()])
                for w, j in zip(weight, near, strict=True)
            ]
        total = added(weight)
        vote = dict.fromkeys(sizes, 0.0)
        for w, j in zip(weight, near, strict=True):
            vote[y[j].item()] += w / total
        result.append((vote, added(d.tolist()) / len(d)))
    return result


def by_size(y):
    """Return the classes from the largest to the smallest, equal ones in sorted order."""
    sizes = Counter(y.tolist())
    return sorted(sizes, key=lambda c: (-sizes[c], c))


def predict(vote, order):
    """Return the class with the highest vote; equal votes go to the larger class."""
    best = max(vote.values())
    return next(c for c in order if vote[c] >= best - 1e-12)


def algorithm_1(counted, y, rows=None, alpha=0.3, beta=0.7, gamma=0.1):
    """Return the removed samples of two classes; `rows` must include the whole minority."""
    rows = range(len(y)) if rows is None else rows
    majority, minority = by_size(y)
    size = int((y == minority).sum())
    if size < 10:
        return set()
    removed, candidates = set(), []
    for row, (vote, depth) in zip(rows, counted, strict=True):
        predicted = predict(vote, [majority, minority])
        if y[row] == majority:
            if predicted == minority or vote[majority] < alpha - 1e-12:
                removed.add(int(row))
        elif predicted == majority and vote[majority] > beta + 1e-12:
            candidates.append((-round(vote[majority], 11), depth, int(row)))
    budget = int(Fraction(str(gamma)) * size)
    return removed | {row for _, _, row in sorted(candidates)[:budget]}


def many_classes(counted, y, alpha=0.3, beta=0.7, gamma=0.1, min_minority=10):
    """Return the removed samples for more than two classes, the largest class strict."""
    order = by_size(y)
    sizes = Counter(y.tolist())
    strict = order[0]
    removed = set()
    for place, c in enumerate(order[1:], 1):
        if sizes[c] < min_minority:
            continue
        candidates = []
        for row in np.flatnonzero(y == c).tolist():
            vote, depth = counted[row]
            larger = added(vote[other] for other in order[:place])
            if predict(vote, order) in order[:place] and larger > beta + 1e-12:
                candidates.append((-round(larger, 11), depth, row))
        removed |= {row for *_, row in sorted(candidates)[: int(Fraction(str(gamma)) * sizes[c])]}
    floor = max(sizes[c] - sum(y[row] == c for row in removed) for c in order[1:])
    strict_candidates = []
    for row in np.flatnonzero(y == strict).tolist():
        vote, depth = counted[row]
        if predict(vote, order) != strict or vote[strict] < alpha - 1e-12:
            strict_candidates.append((round(vote[strict], 11), depth, row))
    return removed | {row for *_, row in sorted(strict_candidates)[: max(0, sizes[strict] - floor)]}
