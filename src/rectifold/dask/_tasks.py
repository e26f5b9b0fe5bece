"""What workers compute: pure functions of parts of a table, each of bounded size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from rectifold._core.rules import REMOVED, SPARED, Decisions, Suspects, Thresholds, suspects
from rectifold._core.space import as_numbers, as_points, comparable
from rectifold._core.summary import Setting
from rectifold._core.target import Labels, codes_of
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._core.votes import Votes, ballot, certain, in_blocks
from rectifold._engines.partial_search import certified, count_nearer, nearest
from rectifold._engines.settle import NO_NEIGHBOUR
from rectifold.dask._memory import release
from rectifold.dask._partitions import n_samples_of
from rectifold.dask._samples import Nearest, Samples, concatenate, merge, stack
from rectifold.dask._sources import load


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """How samples become points and points are searched; the same for all parts."""

    classes: Labels
    sizes: Ints
    #: Code of the largest class.
    large: int
    metric: str
    k: int
    #: The fitted space, or None.
    space: Any
    #: Engine, device and number of threads: keyword arguments of the functions of `partial_search`.
    search_options: dict[str, Any]


#: The partitions of a block, their labels (as they come from `as_sources`), and the index of the
#: first sample.
BlockSource = tuple[Sequence[Any], Sequence[Any], int]


def read(block: BlockSource, geometry: Geometry) -> Samples:
    """Return the samples of a block as points."""
    partitions, labels, first = block
    return _to_samples(_values(partitions, geometry), labels, first, geometry)


def _values(partitions: Sequence[Any], geometry: Geometry) -> Matrix:
    values = stack([_embed(load(partition), geometry.space) for partition in partitions])
    release()
    return values


def _embed(X: Any, space: Any) -> Matrix:
    if space is None:
        return as_numbers(X)
    # Some transformers work in place, and the input must not change.
    return as_points(space.transform(X.copy()), n_samples_of(X))


def _to_samples(values: Matrix, labels: Sequence[Any], first: int, geometry: Geometry) -> Samples:
    codes = np.concatenate([codes_of(load(y), geometry.classes) for y in labels])
    points = comparable(values, geometry.metric)
    return Samples(points, codes, np.arange(first, first + len(codes)))


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """The samples of a block that are sent to all workers."""

    samples: Samples
    #: Lowest and highest value of every feature in the block.
    lowest: Floats
    highest: Floats


def pick(block: BlockSource, sample: Ints | None, geometry: Geometry) -> Picked:
    """Return the samples of all classes but the largest, and those whose indices are in `sample`.

    If `sample` is None, no samples are returned.
    """
    partitions, labels, first = block
    values = _values(partitions, geometry)
    lowest, highest = (
        np.asarray(row.toarray() if sparse.issparse(row) else row).ravel()
        for row in (values.min(axis=0), values.max(axis=0))
    )
    samples = _to_samples(values, labels, first, geometry)
    picked = np.zeros(len(samples), dtype=bool)
    if sample is not None:
        picked = (samples.codes != geometry.large) | np.isin(samples.ids, sample)
    return Picked(samples.take(picked), lowest, highest)


def gather(parts: Sequence[Picked]) -> Samples:
    """Return the picked samples of all blocks."""
    return concatenate([part.samples for part in parts])


def undecided(block: Samples, around: Samples | None, geometry: Geometry) -> Ints:
    """Return the positions in a block of the samples without a certificate.

    `around` holds all samples of the small classes and some of the large one. If it is None, the
    small classes are too large to be sent, and nothing can be proved.
    """
    if around is None:
        return np.arange(len(block))
    both = concatenate([block, around.take(around.outside(block))])
    has_certificate = certified(
        both.points, both.codes == geometry.large, geometry.k, **geometry.search_options
    )
    return np.flatnonzero(~has_certificate[: len(block)])


@dataclass(frozen=True, slots=True, eq=False)
class Undecided:
    """The samples of a block without a certificate."""

    ids: Ints
    #: Distance of the nearest sample of another class; empty if not computed yet. It is 0 for
    #: samples of a small class, which can't have a certificate.
    enemy: Floats

    def __len__(self) -> int:
        return len(self.ids)


def enemies(queries: Samples, around: Samples, geometry: Geometry) -> Floats:
    """Return the distances of `Undecided.enemy`."""
    small = around.take(around.codes != geometry.large)
    mine = np.flatnonzero(queries.codes == geometry.large)
    result = np.zeros(len(queries))
    both = concatenate([small, queries.take(mine)])
    rows = np.arange(len(small), len(both))
    _, distances = nearest(both.points, len(small), rows, 1, **geometry.search_options)
    result[mine] = distances[:, 0]
    return result


def count(
    block: Samples, queries: Samples, enemy: Floats, so_far: Ints | None, geometry: Geometry
) -> Ints:
    """Return how many samples are nearer to each query than any sample of another class.

    The result adds the counts of this block to `so_far`, those of the blocks visited before. It is
    a lower bound, since counting stops at k.
    """
    counts = np.zeros(len(queries), dtype=np.intp) if so_far is None else so_far.copy()
    open_ = np.flatnonzero((counts < geometry.k) & (enemy > 0))
    both, at = _append(block, queries.take(open_))
    order = np.argsort(at)
    rows = open_[order]
    counts[rows] += count_nearer(
        both.points, len(block), at[order], enemy[rows], geometry.k, **geometry.search_options
    )
    return counts


def narrow(
    samples: Undecided, parts: Sequence[tuple[tuple[Floats, Ints], int, int]], k: int
) -> Undecided:
    """Return the samples of a block that have fewer than k nearer samples.

    `parts` has, for each batch with samples of the block, the distances of `enemies` and the counts
    of `count`, and the range of the block's samples in both.
    """
    if not parts:
        return samples
    enemy, counts = (
        np.concatenate([result[at][begin:end] for result, begin, end in parts]) for at in (0, 1)
    )
    left = counts < k
    return Undecided(samples.ids[left], enemy[left])


def _append(block: Samples, queries: Samples) -> tuple[Samples, Ints]:
    """Append the queries from other blocks to a block; return both, and where each query is."""
    others = queries.outside(block)
    both = concatenate([block, queries.take(others)])
    at = queries.ids - block.ids[0]
    at[others] = np.arange(len(block), len(both))
    return both, at


def visit(block: Samples, queries: Samples, so_far: Nearest | None, geometry: Geometry) -> Nearest:
    """Return the neighbours of queries in a block and, from `so_far`, the blocks visited before."""
    both, at = _append(block, queries)
    targets, ids, codes = len(block), block.ids, block.codes
    # Its points are copied in `both`.
    del block
    order = np.argsort(at)
    places, distances = nearest(
        both.points,
        targets,
        at[order],
        geometry.k,
        within=None if so_far is None else so_far.distances[order, -1],
        **geometry.search_options,
    )
    back = np.argsort(order)
    places, distances = places[back], distances[back]
    missing = places == NO_NEIGHBOUR
    places[missing] = 0
    here = Nearest(distances, np.where(missing, NO_NEIGHBOUR, ids[places]), codes[places])
    return here if so_far is None else merge([so_far, here])


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The votes and decisions on the samples of a batch."""

    ids: Ints
    codes: Ints
    votes: Votes
    #: None until the rules are applied.
    decisions: Decisions | None = None

    def between(self, first: int, stop: int) -> slice:
        """Return the positions of the samples whose indices are in [first, stop)."""
        begin, end = np.searchsorted(self.ids, [first, stop]).tolist()
        return slice(begin, end)


def vote(
    queries: Samples,
    neighbours: Nearest,
    geometry: Geometry,
    epsilon: float,
    class_weight: str | None,
) -> Outcome:
    """Return the votes of the neighbours found in all blocks."""
    if not np.isfinite(neighbours.distances).all():
        raise RuntimeError(
            "the search found too few neighbours of a sample: this is a bug in rectifold."
        )
    own, sizes = queries.codes, geometry.sizes
    votes = certain(own, sizes)
    for part in in_blocks(len(own), geometry.k, len(sizes)):
        some = ballot(
            neighbours.distances[part],
            neighbours.codes[part],
            own[part],
            sizes,
            epsilon=epsilon,
            class_weight=class_weight,
        )
        votes.put(part, some)
    return Outcome(queries.ids, own, votes)


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The classes and the settings of the rules; the same for all parts."""

    classes: Labels
    sizes: Ints
    thresholds: Thresholds
    setting: Setting


def find_suspects(outcome: Outcome, rules: Rules) -> Suspects:
    """Return the candidates for removal in a batch."""
    strict, protected = rules.setting.strict, rules.setting.protected
    return suspects(outcome.votes, outcome.codes, rules.sizes, strict, protected, rules.thresholds)


def count_by_class(found: Suspects, n_classes: int) -> Ints:
    """Return the number of candidates of each class."""
    return np.bincount(found.code, minlength=n_classes)


def of_class(found: Suspects, code: int) -> tuple[Ints, Floats, Floats]:
    """Return the candidates of a class: positions among all candidates, suspicion and depth."""
    mine = np.flatnonzero(found.code == code)
    return mine, found.suspicion[mine], found.depth[mine]


def apply_decisions(outcome: Outcome, found: Suspects, spared: Ints) -> Outcome:
    """Return the outcome with all candidates removed but those at the positions `spared`."""
    n = len(outcome.ids)
    decision, reason = np.zeros(n, dtype=np.int8), np.zeros(n, dtype=np.int8)
    decision[found.rows], reason[found.rows] = REMOVED, found.reason
    decision[found.rows[spared]] = SPARED
    return replace(outcome, decisions=Decisions(decision, reason))
