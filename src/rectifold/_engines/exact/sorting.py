"""Orders of long arrays, found by several threads: each takes the values of a range."""

from collections.abc import Sequence

import numpy as np

from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints

#: Minimum number of values that a thread sorts, and the values from which ranges are estimated.
_VALUES, _SAMPLE = 1 << 14, 1024


def stable_order(values: Floats, workers: Workers) -> tuple[Ints, Floats]:
    """Return the stable order of the values, and the values in it."""
    parts = min(workers.jobs, len(values) // _VALUES)
    if parts < 2:
        order = np.argsort(values, kind="stable")
        return order, values[order]
    sample = _sample(values)
    edges = np.unique(sample[np.arange(1, parts) * _SAMPLE // parts])

    def sort(part: int) -> tuple[Ints, Floats]:
        some = _between(values, edges, part)
        order = np.argsort(values[some], kind="stable")
        return some[order], values[some[order]]

    orders, ordered = zip(*workers.map(sort, range(len(edges) + 1)), strict=True)
    return np.concatenate(orders), np.concatenate(ordered)


def cut(values: Floats, cuts: Sequence[int], workers: Workers) -> Ints:
    """Return an order in which all values before each of the positions `cuts` are the lowest."""
    if len(cuts) < 2 or len(values) < _VALUES:
        return np.argpartition(values, cuts)
    # In the middle between two positions, so that most ranges have one.
    middles = (np.array(cuts[1:]) + cuts[:-1]) * _SAMPLE // (2 * len(values))
    edges = np.unique(_sample(values)[middles])
    ranges = list(workers.map(lambda part: _between(values, edges, part), range(len(edges) + 1)))
    ends = np.cumsum([len(one) for one in ranges])

    def divide(part: int) -> Ints:
        some, begin = ranges[part], ends[part] - len(ranges[part])
        inside = [at - begin for at in cuts if begin < at < ends[part]]
        return some[np.argpartition(values[some], inside)] if inside else some

    return np.concatenate(list(workers.map(divide, range(len(ranges)))))


def _sample(values: Floats) -> Floats:
    return np.sort(np.random.default_rng(0).choice(values, _SAMPLE))


def _between(values: Floats, edges: Floats, part: int) -> Ints:
    """Return the positions of the values between two of the edges."""
    inside = np.ones(len(values), dtype=bool)
    if part > 0:
        inside &= values >= edges[part - 1]
    if part < len(edges):
        inside &= values < edges[part]
    return np.flatnonzero(inside)
