"""Points partitioned into leaves: of one class, near each other, equally many in each."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rectifold._core.threads import Workers
from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.exact.sorting import cut
from rectifold._engines.exact.top_k import kth_at_least
from rectifold._engines.rounding import ball_margin

#: Points of a node from which its principal directions are estimated.
_SAMPLE = 256
#: Points that are split at once: they and the intermediate results fit a core's cache.
_POINTS = 1 << 14
#: Maximum number of products computed at once.
PRODUCTS = 1 << 19
#: Marks a slot of a leaf that holds no point.
EMPTY = -1
_TINY = np.float32(1e-30)


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The order of points in leaves, and the bounds of each leaf.

    A leaf has `size` slots: leaf i has the places from ``i * size`` to ``(i + 1) * size``.
    """

    size: int
    #: The point at each place, or `EMPTY`.
    order: Ints
    #: The class of each leaf.
    labels: Ints
    #: Points by place, in coordinates in which no distance is larger than the true one.
    sketch: Floats
    #: Right sides of the products in `near`.
    balls: Floats

    @property
    def n(self) -> int:
        """Number of leaves."""
        return len(self.labels)

    def of(self, label: int) -> Ints:
        """Return the leaves of a class."""
        return np.flatnonzero(self.labels == label)

    def near(self, sketch: Floats, squares: Floats, radii: Floats, which: Ints) -> Bools:
        """Return which of the leaves `which` can hold a point within the radius of each query.

        `sketch` are the queries in the coordinates of `Leaves.sketch`, and `squares` their squared
        lengths; `radii` are widened by what
        rounding may have moved the query. The result has the shape (n_queries, n_leaves).

        By the triangle inequality all points of a leaf are farther than rho from x if its
        centre c is farther than rho + r. As (rho + r)^2 - |x - c|^2 is the inner product of

            [x, rho^2 - |x|^2, 1, rho]  and  [2 c, 1, r^2 - |c|^2, 2 r],

        one matrix product decides it for all queries and leaves. The magnitudes of its m + 3 terms
        sum to at most (|x| + |c|)^2 + (rho + r)^2. If the leaf is near, |c| <= |x| + rho + r, so
        that is at most 8 |x|^2 + 3 (rho + r)^2, and the rounding at most m + 5 times the unit
        roundoff of that; a margin for both is added.
        """
        n, m = sketch.shape
        margin = ball_margin(m)
        radii = radii * (1 + margin)
        left = np.empty((n, m + 3), dtype=np.float32)
        left[:, :m] = sketch
        left[:, m] = radii * radii - squares * (1 - margin)
        left[:, m + 1] = 1
        left[:, m + 2] = radii
        return left @ self._balls(which).T >= 0

    def nearest(self, sketch: Floats, which: Ints, count: int) -> Bools:
        """Return which leaves have the nearest centres; no proof depends on it."""
        if count >= len(which):
            return np.ones((len(sketch), len(which)), dtype=bool)
        scores = self.scores(sketch, which)
        return scores >= kth_at_least(scores, count)[:, None]

    def scores(self, sketch: Floats, which: Ints) -> Floats:
        """Return for each query a score of the leaves `which`, highest for the nearest centre."""
        doubled = self._balls(which)[:, : sketch.shape[1]]
        scores: Floats = sketch @ doubled.T
        scores -= np.einsum("ij,ij->i", doubled, doubled) / 4
        return scores

    def _balls(self, which: Ints) -> Floats:
        return self.balls if len(which) == self.n else self.balls[which]


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """Blocks of queries, equally many in each, and the leaf that each block is compared with."""

    #: Numbers of leaves, one per block.
    leaves: Ints
    #: Numbers of queries, one row per block, padded with the number of queries.
    queries: Ints
    #: Whether each block holds all queries in their order.
    all_queries: bool = False

    def __len__(self) -> int:
        return len(self.leaves)


def visits(which: Ints, mask: Bools, size: int) -> Iterator[Visits]:
    """Yield blocks of bounded size of the queries that need each leaf.

    `mask`, of shape (n_queries, n_leaves), marks the pairs to compare; leaves have `size` points.
    So each query is multiplied with the leaves it needs and hardly others, in few large operations.
    """
    n, n_leaves = mask.shape
    seen = int(np.count_nonzero(mask))
    if 2 * seen > mask.size:
        step = max(1, PRODUCTS // (n * size))
        for at in range(0, n_leaves, step):
            some = which[at : at + step]
            yield Visits(some, np.broadcast_to(np.arange(n), (len(some), n)), all_queries=True)
        return
    if not seen:
        return
    query, place = np.divmod(np.flatnonzero(mask), n_leaves)
    query = np.append(query, n)
    for leaves, pairs in _blocks(place, n_leaves, size):
        yield Visits(which[leaves], query[pairs])


def paired_visits(leaves: Ints, n_leaves: int, size: int) -> Iterator[tuple[Visits, Ints]]:
    """Yield blocks for the leaves of each query, equally many in each row of `leaves`.

    With them come the positions of their pairs in the flattened `leaves`, padded with its size.
    """
    for some, pairs in _blocks(leaves.ravel(), n_leaves, size):
        yield Visits(some, pairs // leaves.shape[1]), pairs


def _blocks(leaf: Ints, n_leaves: int, size: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield leaves, and blocks of the pairs that have each, padded with the number of pairs."""
    seen = len(leaf)
    order = np.argsort(leaf, kind="stable")
    counts = np.bincount(leaf, minlength=n_leaves)
    # Blocks hold a fraction of the queries of a leaf, so that there is little padding.
    width = int(2 ** np.clip(np.round(np.log2(seen / np.count_nonzero(counts) / 3)), 3, 8))
    blocks = -(-counts // width)
    within = np.arange(seen) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.repeat(np.cumsum(blocks) - blocks, counts)
    table = np.full((int(blocks.sum()), width), seen)
    table[first + within // width, within % width] = order
    leaves = np.repeat(np.arange(n_leaves), blocks)
    step = max(1, PRODUCTS // (width * size))
    for at in range(0, len(leaves), step):
        yield leaves[at : at + step], table[at : at + step]


def one_leaf(sketch: Floats, classes: Ints) -> Leaves:
    """Return one leaf with all points, in the order of their classes."""
    order = np.argsort(classes, kind="stable")
    nowhere = np.zeros((1, sketch.shape[1] + 3), dtype=np.float32)
    return Leaves(len(order), order, np.zeros(1, dtype=np.intp), sketch[order], nowhere)


def partition(sketch: Floats, blur: Floats, classes: Ints, size: int, workers: Workers) -> Leaves:
    """Partition the points of every class into leaves of `size` slots.

    The points of a class are cut into a few equal parts along their principal direction,
    then each part into quarters along its own two, and so on: leaves follow the shape of
    the data, and all nodes of a level are split by the same few operations. Unused slots are
    spread over the leaves. `blur` is how far rounding can have moved each point of `sketch`.
    """
    # Codes of two bytes are sorted by their bits.
    short = classes.astype(np.int16) if classes.max() <= np.iinfo(np.int16).max else classes
    by_class = np.argsort(short, kind="stable")
    groups = np.split(by_class, np.flatnonzero(np.diff(classes[by_class])) + 1)
    slots = [parts * 2**levels * size for parts, levels in (plan(len(one), size) for one in groups)]
    ends = np.cumsum(slots)
    order = np.empty(ends[-1], dtype=np.intp)
    points = np.empty((len(order), sketch.shape[1]), dtype=sketch.dtype)
    for members, begin, end in zip(groups, ends - slots, ends, strict=True):
        _arrange(sketch, members, size, order[begin:end], points[begin:end], workers)
    of_group = [classes[members[0]] for members in groups]
    labels = np.repeat(of_group, np.array(slots) // size)
    moved = by_place(blur, order, workers).reshape(-1, size).max(axis=1)
    balls = _balls(points.reshape(-1, size, sketch.shape[1]), moved, workers)
    return Leaves(size, order, labels, points, balls)


def by_place(values: Matrix, order: Ints, workers: Workers) -> Matrix:
    """Return the values of the points in an order of places, and 0 for empty ones."""
    placed = np.empty(len(order), dtype=values.dtype)

    def fill(some: slice) -> None:
        placed[some] = np.where(order[some] == EMPTY, 0, values[order[some]])

    workers.over(fill, len(order), _POINTS)
    return placed


def plan(points: int, size: int) -> tuple[int, int]:
    """Return into how many parts points are cut first, and how often each part is halved."""
    leaves = -(-points // size)
    levels = max(0, int(np.log2(leaves / 4))) if leaves > 4 else 0
    return -(-leaves // 2**levels), levels


def _arrange(
    sketch: Floats, members: Ints, size: int, order: Ints, points: Floats, workers: Workers
) -> None:
    """Write the points of one class in the order of leaves, by index and by sketch."""
    rng = np.random.default_rng(len(members))
    parts, levels = plan(len(members), size)
    n, slots = len(members), len(order)
    # Unused slots get copies of random points, which spreads them, and are then marked as empty.
    chosen = np.concatenate((members, members[rng.integers(0, n, slots - n)]))
    places = np.arange(slots)
    if parts > 1:
        sample = sketch.take(chosen[rng.integers(0, slots, _SAMPLE)], axis=0)
        direction = _directions(sample[None], 1, rng)[0]
        line = np.empty(slots, dtype=sketch.dtype)

        def project(some: slice) -> None:
            line[some] = (sketch.take(chosen[some], axis=0) @ direction)[:, 0]

        workers.over(project, slots, _POINTS)
        places = cut(line, [slots * part // parts for part in range(1, parts)], workers)

    def gather(some: slice) -> None:
        sketch.take(chosen[places[some]], axis=0, out=points[some], mode="clip")

    workers.over(gather, slots, _POINTS)
    chosen[n:] = EMPTY
    order[:] = chosen[places]
    nodes = parts
    while levels:
        count = min(levels, 2)
        blocks, by_node = points.reshape(nodes, -1, points.shape[1]), order.reshape(nodes, -1)
        step = max(1, _POINTS // by_node.shape[1])
        starts = range(0, nodes, step)
        tasks = [
            (blocks[at : at + step], by_node[at : at + step], count, own)
            for at, own in zip(starts, rng.spawn(len(starts)), strict=True)
        ]
        for _ in workers.map(lambda task: _split(*task), tasks):
            pass
        nodes, levels = nodes * 2**count, levels - count


def _split(blocks: Floats, places: Ints, count: int, rng: np.random.Generator) -> None:
    """Halve each block along each of its first `count` directions, in place."""
    number, n, _ = blocks.shape
    scores = blocks @ _directions(blocks, count, rng)
    order = np.broadcast_to(np.arange(n), (number, n))
    length = n
    for direction in range(count):
        line = np.take_along_axis(scores[:, :, direction], order, axis=1).reshape(-1, length)
        chosen = np.argpartition(line, length // 2, axis=1)
        order = np.take_along_axis(order.reshape(-1, length), chosen, axis=1).reshape(number, n)
        length //= 2
    places[:] = np.take_along_axis(places, order, axis=1)
    for block, moved in zip(blocks, order, strict=True):
        block[:] = block[moved]


def _directions(blocks: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return the first one or two principal directions of each block, by subspace iteration."""
    number, n, m = blocks.shape
    sample = blocks[:, rng.integers(0, n, _SAMPLE)] if n > _SAMPLE else blocks
    centred = sample - sample.mean(axis=1, keepdims=True)
    basis: Matrix = rng.standard_normal((number, m, count), dtype=np.float32)
    for _ in range(3):
        step = centred @ basis
        # Scaled, so that products of three coordinates stay in range.
        step /= np.abs(step).max(axis=(1, 2), keepdims=True) + _TINY
        basis = centred.transpose(0, 2, 1) @ step
        basis /= np.abs(basis).max(axis=(1, 2), keepdims=True) + _TINY
        for column in range(count):
            for before in range(column):
                shared = (basis[:, :, column] * basis[:, :, before]).sum(axis=1, keepdims=True)
                basis[:, :, column] -= shared * basis[:, :, before]
            length = np.sqrt((basis[:, :, column] ** 2).sum(axis=1, keepdims=True))
            basis[:, :, column] /= length + _TINY
    return np.asarray(basis)


def _balls(leaves: Floats, blur: Floats, workers: Workers) -> Floats:
    """Return `Leaves.balls`, from the centre and the radius of each leaf."""
    number, _, m = leaves.shape
    centres = np.empty((number, m), dtype=leaves.dtype)
    radii = np.empty(number)

    def measure(some: slice) -> None:
        centres[some] = leaves[some].mean(axis=1)
        difference = leaves[some] - centres[some, None]
        squares = np.einsum("ijk,ijk->ij", difference, difference)
        radii[some] = np.sqrt(squares.max(axis=1))

    workers.over(measure, number, max(1, _POINTS // leaves.shape[1]))
    # A difference is rounded once, and the sum of m squares m times; squares that
    # underflow are smaller than the last term.
    radii = (radii * (1 + ball_margin(m)) + blur) * (1 + ball_margin(m)) + 1e-18
    balls = np.empty((number, m + 3), dtype=np.float32)
    balls[:, :m] = 2 * centres
    balls[:, m] = 1
    balls[:, m + 1] = radii**2 - np.einsum("ij,ij->i", centres, centres, dtype=np.float64)
    balls[:, m + 2] = 2 * radii
    return balls
