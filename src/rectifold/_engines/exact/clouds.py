"""Groups of points so far apart that no point has a neighbour in another group.

One centre and one scale for all of them would leave single precision no digits for distances
within a group, so each is searched by itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rectifold._core.threads import Workers
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._engines.contract import Answer, Certified, CheckSample, PairCount, Proposal
from rectifold._engines.exact.coordinates import column_ranges

#: Smaller tables are searched as they are.
SMALL = 2_000
#: Points in which gaps are looked for, and the maximum number of clouds.
_SAMPLE, _CLOUDS = 1_024, 64
#: Clouds of the sample with fewer points may be of points without enough neighbours.
_FEW = 10
#: Features are cut at gaps that are wider than the widest one divided by one of these.
_RATIOS = 10.0 ** np.arange(1, 9)
#: The gap around a cloud, relative to the diagonal of its box: with less, one centre and one scale
#: are no worse.
_APART = 100.0
#: Squares of smaller gaps underflow.
_TINY = 1e-140
#: Maximum number of pairs of points of groups without enough neighbours, and of a proposal.
_PAIRS, _PAIRS_AT_ONCE = 50_000_000, 1 << 20

#: A search among some points: their values, their labels, and a squared distance at which points
#: of other classes lie that are not among them.
Search = Callable[[Matrix, Ints, float], Iterator[Answer]]


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Points in a box."""

    rows: Ints
    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Floats, rows: Ints) -> "Cloud":
        """Return some points with their box."""
        some = values[rows]
        return cls(rows, some.min(axis=0).astype(float), some.max(axis=0).astype(float))

    @property
    def diagonal(self) -> float:
        """Return the largest distance that two points can have."""
        return _length(self.high - self.low)

    def gap(self, other: "Cloud") -> float:
        """Return the smallest distance that a point can have from one of another cloud."""
        return _length(np.maximum(0, np.maximum(self.low - other.high, other.low - self.high)))


def search_apart(
    values: Matrix, labels: Ints, k: int, ceiling: float, among: Search, workers: Workers
) -> Iterator[Answer]:
    """Yield the answers of a search in every cloud, and those for clouds of k points or fewer."""
    clouds = find_clouds(values, k, workers)
    if len(clouds) == 1:
        yield from among(values, labels, ceiling)
        return
    for cloud in clouds:
        if len(cloud.rows) <= k:
            yield from _compare_with_all(cloud.rows, len(labels))
            continue
        nearest = min(cloud.gap(other) for other in clouds if other is not cloud)
        # Slightly reduced, so that rounding can't make a point at that distance look nearer.
        bound = min(ceiling, nearest * nearest * (1 - 1e-6))
        # It may have clouds within, nearer to each other.
        for answer in search_apart(
            values[cloud.rows], labels[cloud.rows], k, bound, among, workers
        ):
            yield _translated(answer, cloud.rows)


def find_clouds(values: Matrix, k: int, workers: Workers) -> list[Cloud]:
    """Return clouds that are far apart; one cloud with all points if there are none.

    Points in a cloud of more than k have all neighbours in it: its diagonal is smaller than the
    gap to all other clouds.
    """
    n = values.shape[0]
    if sparse.issparse(values) or n < SMALL:
        return [Cloud(np.arange(n), np.empty(0), np.empty(0))]
    low, high = (side.astype(float) for side in column_ranges(values, workers))
    whole = Cloud(np.arange(n), low, high)
    some = np.random.default_rng(0).integers(n, size=_SAMPLE)
    sample = np.vstack([values[some], whole.low, whole.high]).astype(float)
    ordered = np.sort(sample, axis=0)
    with np.errstate(over="ignore"):
        gaps = np.diff(ordered, axis=0)
        middles = ordered[:-1] + gaps / 2
    for least in gaps.max() / _RATIOS:
        wide = gaps >= max(least, _TINY)
        if not wide.any() or wide.sum(axis=0).max() >= _CLOUDS:
            break
        thresholds = [middles[which, f] for f, which in enumerate(wide.T)]
        of_sample = _between(sample, thresholds)
        if not of_sample:
            break
        # Boxes of the sample are in those of all points.
        if not _are_apart(of_sample, _FEW):
            continue
        clouds = _between(values, thresholds)
        few = sum(len(cloud.rows) for cloud in clouds if len(cloud.rows) <= k)
        if clouds and few * n <= _PAIRS and _are_apart(clouds, k):
            return clouds
    return [whole]


def _between(values: Floats, thresholds: list[Floats]) -> list[Cloud]:
    """Return the points between thresholds of the features; none if there are too many clouds."""
    codes = np.zeros(len(values), dtype=np.intp)
    for feature, some in enumerate(thresholds):
        if len(some):
            codes = codes * (len(some) + 1) + np.searchsorted(some, values[:, feature])
            distinct, codes = np.unique(codes, return_inverse=True)
            if len(distinct) > _CLOUDS:
                return []
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))[:-1]
    return [Cloud.of(values, rows) for rows in np.split(order, ends)]


def _are_apart(clouds: list[Cloud], k: int) -> bool:
    """Return whether all clouds of more than k points are far from all others."""
    return all(
        cloud.gap(other) > max(_APART * cloud.diagonal, _TINY)
        for cloud in clouds
        if len(cloud.rows) > k
        for other in clouds
        if other is not cloud
    )


def _compare_with_all(rows: Ints, n: int) -> Iterator[Answer]:
    """Propose all points as neighbours."""
    step = max(1, _PAIRS_AT_ONCE // n)
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        yield PairCount(len(some) * n)
        yield Proposal(some, np.arange(len(some) + 1) * n, np.tile(np.arange(n), len(some)))


def _translated(answer: Answer, rows: Ints) -> Answer:
    """Return an answer for points by their numbers in the table."""
    if isinstance(answer, Certified):
        return Certified(rows[answer.rows])
    if isinstance(answer, Proposal):
        return _in_table(answer, rows)
    if isinstance(answer, CheckSample):
        return CheckSample(_in_table(answer.proposal, rows), answer.drawn_from)
    return answer


def _in_table(proposal: Proposal, rows: Ints) -> Proposal:
    return Proposal(rows[proposal.rows], proposal.offsets, rows[proposal.candidates])


def _length(differences: Floats) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.hypot.reduce(differences))
