"""What workers do: pure functions of parts of a table, each of bounded size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from rectifold._core.rules import REMOVED, SPARED, Decisions, Suspects, Thresholds, suspects
from rectifold._core.space import HINT, as_numbers, as_points, comparable
from rectifold._core.target import Labels, codes_of
from rectifold._core.utils import Floats, Ints, Matrix
from rectifold._core.votes import Votes, ballot, certain, in_blocks
from rectifold._engines.partial_search import certified, count_nearer, nearest
from rectifold._engines.settle import NO_NEIGHBOUR
from rectifold.dask._memory import release
from rectifold.dask._merge import Best, Rows, joined, merged, stacked
from rectifold.dask._partitions import len_of
from rectifold.dask._sources import at_hand


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """How rows become points and points are searched; the same for all parts."""

    classes: Labels
    sizes: Ints
    #: The code of the largest class.
    large: int
    metric: str
    k: int
    #: The fitted space, or None.
    space: Any
    engine: str
    device: Any
    n_jobs: int | None


def values_of(X: Any, space: Any) -> Matrix:
    """Compute one part of the caller's rows in a space, as finite float64 numbers."""
    if space is None:
        return as_numbers(X, name="X", hint=HINT)
    # Some transformers work in place, and the caller's rows must not change.
    return as_points(space.transform(X.copy()), len_of(X))


def read(Xs: Sequence[Any], ys: Sequence[Any], first: int, geometry: Geometry) -> Rows:
    """Make rows of a few consecutive partitions, the first of which begins at row `first`."""
    return _rows(_values(Xs, geometry), ys, first, geometry)


def _values(Xs: Sequence[Any], geometry: Geometry) -> Matrix:
    values = stacked([values_of(at_hand(X), geometry.space) for X in Xs])
    release()
    return values


def _rows(values: Matrix, ys: Sequence[Any], first: int, geometry: Geometry) -> Rows:
    codes = np.concatenate([codes_of(at_hand(y), geometry.classes) for y in ys])
    points = comparable(values, geometry.metric)
    return Rows(points, codes, np.arange(first, first + len(codes)))


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """What the whole cluster shall know of a block."""

    rows: Rows
    #: The lowest and the highest value of every column; where none varies there is no geometry.
    lowest: Floats
    highest: Floats


def pick(
    Xs: Sequence[Any], ys: Sequence[Any], first: int, sample: Ints | None, geometry: Geometry
) -> Picked:
    """Take the rows of all classes but the large one, and those of it that are in a sample.

    Parameters
    ----------
    Xs, ys, first, geometry
        As for `read`.
    sample : ndarray of int or None
        Row numbers; None to take no row at all.

    Returns
    -------
    Picked
    """
    values = _values(Xs, geometry)
    lowest, highest = (
        np.asarray(one.toarray() if sparse.issparse(one) else one).ravel()
        for one in (values.min(axis=0), values.max(axis=0))
    )
    block = _rows(values, ys, first, geometry)
    some = np.zeros(len(block), dtype=bool)
    if sample is not None:
        some = (block.codes != geometry.large) | np.isin(block.ids, sample)
    return Picked(block.take(some), lowest, highest)


def gather(parts: Sequence[Picked]) -> Rows:
    """Bring what was picked together."""
    return joined([part.rows for part in parts])


def undecided(block: Rows, around: Rows | None, geometry: Geometry) -> Ints:
    """Tell which rows of a block hold no certificate.

    Parameters
    ----------
    block : Rows
        Consecutive rows of the table.
    around : Rows or None
        All rows of the small classes, and some of the large one; None if they are too many, and
        nothing can be proved.
    geometry : Geometry
        How points are searched.

    Returns
    -------
    ndarray of int
        Their positions in the block.
    """
    if around is None:
        return np.arange(len(block))
    every = joined([block, around.take(around.outside(block))])
    held = certified(
        every.points,
        every.codes == geometry.large,
        geometry.k,
        engine=geometry.engine,
        device=geometry.device,
        n_jobs=geometry.n_jobs,
    )
    return np.flatnonzero(~held[: len(block)])


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """Rows that hold no certificate yet."""

    ids: Ints
    #: How near a row of another class is, where that is known; 0 for rows of a small class, which
    #: can hold none.
    enemy: Floats

    def __len__(self) -> int:
        return len(self.ids)


def opened(undecided: Ints, first: int) -> Open:
    """Number the rows of a block that are undecided."""
    return Open(first + undecided, np.empty(0))


def enemies(asked: Rows, around: Rows, geometry: Geometry) -> Floats:
    """Find how near the nearest row of another class is to rows of the large one."""
    small = around.take(around.codes != geometry.large)
    mine = np.flatnonzero(asked.codes == geometry.large)
    found = np.zeros(len(asked))
    every = joined([small, asked.take(mine)])
    _, distances = nearest(
        every.points,
        len(small),
        np.arange(len(small), len(every)),
        1,
        engine=geometry.engine,
        device=geometry.device,
        n_jobs=geometry.n_jobs,
    )
    found[mine] = distances[:, 0]
    return found


def count(block: Rows, asked: Rows, enemy: Floats, so_far: Ints | None, geometry: Geometry) -> Ints:
    """Count the rows of a block that are nearer than any of another class.

    Parameters
    ----------
    block : Rows
        Where to count: consecutive rows.
    asked : Rows
        For whom, in this block and in others.
    enemy : ndarray of shape (n_asked,)
        As `enemies` gives it.
    so_far : ndarray of shape (n_asked,) or None
        What was counted in blocks that were visited before: whoever has k needs no more.
    geometry : Geometry
        How points are searched.

    Returns
    -------
    ndarray of shape (n_asked,)
        For both together, at least so many.
    """
    counts = np.zeros(len(asked), dtype=np.intp) if so_far is None else so_far.copy()
    still = np.flatnonzero((counts < geometry.k) & (enemy > 0))
    every, at = _beside(block, asked.take(still))
    order = np.argsort(at)
    counts[still[order]] += count_nearer(
        every.points,
        len(block),
        at[order],
        enemy[still[order]],
        geometry.k,
        engine=geometry.engine,
        device=geometry.device,
        n_jobs=geometry.n_jobs,
    )
    return counts


def narrowed(open_: Open, parts: Sequence[tuple[Floats, Ints, int, int]], k: int) -> Open:
    """Leave out the rows of a block that hold a certificate now.

    Parameters
    ----------
    open_ : Open
        Those that held none.
    parts : sequence of tuple
        Enemies and counts of the batches that these were in, and from where to where.
    k : int
        How many nearer rows make a certificate.

    Returns
    -------
    Open
    """
    enemy = np.concatenate([enemy[begin:end] for enemy, _, begin, end in parts] or [np.empty(0)])
    counts = np.concatenate(
        [counts[begin:end] for _, counts, begin, end in parts] or [np.empty(0, np.intp)]
    )
    left = counts < k
    return Open(open_.ids[left], enemy[left])


def _beside(block: Rows, asked: Rows) -> tuple[Rows, Ints]:
    """Put a block and rows from elsewhere together; tell where each of the rows asked for is."""
    strangers = asked.outside(block)
    every = joined([block, asked.take(strangers)])
    at = asked.ids - block.ids[0]
    at[strangers] = np.arange(len(block), len(every))
    return every, at


def visit(block: Rows, asked: Rows, found: Best | None, geometry: Geometry) -> Best:
    """Search for some rows of the table among those of a block.

    Parameters
    ----------
    block : Rows
        Where to look: consecutive rows.
    asked : Rows
        Rows to look for, in this block and in others.
    found : Best or None
        What was found in blocks that were visited before.
    geometry : Geometry
        How points are searched.

    Returns
    -------
    Best
        The nearest rows of those blocks and this one.
    """
    every, at = _beside(block, asked)
    targets, ids, codes = len(block), block.ids, block.codes
    # Its points are among the others now.
    del block
    order = np.argsort(at)
    places, distances = nearest(
        every.points,
        targets,
        at[order],
        geometry.k,
        within=None if found is None else found.distances[order, -1],
        engine=geometry.engine,
        device=geometry.device,
        n_jobs=geometry.n_jobs,
    )
    back = np.argsort(order)
    places, distances = places[back], distances[back]
    nobody = places == NO_NEIGHBOUR
    places[nobody] = 0
    here = Best(distances, np.where(nobody, NO_NEIGHBOUR, ids[places]), codes[places])
    return here if found is None else merged([found, here])


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of rows that were searched for."""

    ids: Ints
    codes: Ints
    votes: Votes
    #: None until the rules were applied.
    decisions: Decisions | None = None

    def between(self, first: int, stop: int) -> slice:
        """Where the rows with such numbers are."""
        begin, end = np.searchsorted(self.ids, [first, stop]).tolist()
        return slice(begin, end)


def vote(
    asked: Rows,
    best: Best,
    geometry: Geometry,
    epsilon: float,
    class_weight: str | None,
) -> Outcome:
    """Let the nearest rows of all blocks vote."""
    if not np.isfinite(best.distances).all():
        raise RuntimeError("the search left a row without neighbours: this is a bug in rectifold.")
    own, sizes = asked.codes, geometry.sizes
    votes = certain(own, sizes)
    for part in in_blocks(len(own), geometry.k, len(sizes)):
        counted = ballot(
            best.distances[part],
            best.codes[part],
            own[part],
            sizes,
            epsilon=epsilon,
            class_weight=class_weight,
        )
        votes.put(part, counted)
    return Outcome(asked.ids, own, votes)


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What the rules need to know besides votes; the same for all parts."""

    sizes: Ints
    strict: frozenset[int]
    protected: frozenset[int]
    thresholds: Thresholds


def suspect(outcome: Outcome, rules: Rules) -> Suspects:
    """Find the rows that the rules speak against."""
    return suspects(
        outcome.votes,
        outcome.codes,
        rules.sizes,
        rules.strict,
        rules.protected,
        rules.thresholds,
    )


def counted(found: Suspects, n_classes: int) -> Ints:
    """Count suspects by class."""
    return np.bincount(found.code, minlength=n_classes)


def of_class(found: Suspects, code: int) -> tuple[Ints, Floats, Floats]:
    """Suspects of one class: their positions among all of the part, suspicion and depth."""
    mine = np.flatnonzero(found.code == code)
    return mine, found.suspicion[mine], found.depth[mine]


def decided(outcome: Outcome, found: Suspects, staying: Ints) -> Outcome:
    """Remove suspects, but for those that a cap lets stay, by their positions among them."""
    n = len(outcome.ids)
    decision, reason = np.zeros(n, dtype=np.int8), np.zeros(n, dtype=np.int8)
    decision[found.rows], reason[found.rows] = REMOVED, found.reason
    decision[found.rows[staying]] = SPARED
    return replace(outcome, decisions=Decisions(decision, reason))
