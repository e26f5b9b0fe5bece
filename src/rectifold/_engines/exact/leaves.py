"""Points partitioned into leaves: equally many in each, near each other, all of one class."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rectifold._core.utils import Bools, Floats, Ints, Matrix
from rectifold._engines.exact.top_k import kth_at_least
from rectifold._engines.rounding import ball_margin
from rectifold._engines.threads import Workers

#: Points of a node from which its principal directions are found.
_SAMPLE = 256
#: Points that are split at once: they and what is computed of them fit a core's cache.
_POINTS = 1 << 16
#: Products computed at once.
PRODUCTS = 1 << 19
#: Marks a slot of a leaf that holds no point.
EMPTY = -1
_TINY = np.float32(1e-30)


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Which point is where, and what is known of a leaf without looking at its points.

    A leaf has `size` slots, so that leaf i has the places from ``i * size`` on.
    """

    size: int
    #: The point at each place, or `EMPTY`.
    order: Ints
    #: The class of each leaf.
    labels: Ints
    #: Points by place, in coordinates in which no distance is larger than the true one.
    sketch: Floats
    #: Leaves as the right side of products with the sketch of a query: see `near`.
    balls: Floats

    @property
    def n(self) -> int:
        """How many leaves there are."""
        return len(self.labels)

    def of(self, label: int) -> Ints:
        """The leaves of a class."""
        return np.flatnonzero(self.labels == label)

    def near(self, places: Ints, squares: Floats, radii: Floats, which: Ints) -> Bools:
        """Tell which leaves can hold a point as near to a query as its radius.

        By the triangle inequality all points of a leaf are farther than rho from x if its
        centre c is farther than rho + r. As (rho + r)^2 - |x - c|^2 is the inner product of

            [x, rho^2 - |x|^2, 1, rho]  and  [2 c, 1, r^2 - |c|^2, 2 r],

        one matrix product tells it for all queries and leaves. Its m + 3 terms have
        magnitudes of at most (|x| + |c|)^2 + (rho + r)^2 together. If the leaf is near,
        |c| <= |x| + rho + r, so that is at most 8 |x|^2 + 3 (rho + r)^2, and the rounding
        at most m + 5 times the unit roundoff of that; a margin for both is added.

        Parameters
        ----------
        places : ndarray of shape (n_queries,)
            Queries.
        squares : ndarray of shape (n_queries,)
            Squared lengths of their sketch.
        radii : ndarray of shape (n_queries,)
            Distances, widened by what rounding may have moved the query.
        which : ndarray of shape (n_leaves,)
            Leaves to be told about.

        Returns
        -------
        ndarray of bool of shape (n_queries, n_leaves)
        """
        m = self.sketch.shape[1]
        margin = ball_margin(m)
        radii = radii * (1 + margin)
        left = np.empty((len(places), m + 3), dtype=np.float32)
        left[:, :m] = self.sketch.take(places, axis=0)
        left[:, m] = radii * radii - squares * (1 - margin)
        left[:, m + 1] = 1
        left[:, m + 2] = radii
        return left @ self.balls[which].T >= 0

    def nearest(self, places: Ints, which: Ints, count: int) -> Bools:
        """Tell which leaves have the nearest centres. No proof rests on it."""
        if count >= len(which):
            return np.ones((len(places), len(which)), dtype=bool)
        doubled = self.balls[which, : self.sketch.shape[1]]
        scores = self.sketch.take(places, axis=0) @ doubled.T
        scores -= np.einsum("ij,ij->i", doubled, doubled) / 4
        return scores >= kth_at_least(scores, count)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """Which leaf is looked at by which queries, in blocks of equally many."""

    #: Numbers of leaves, one a block.
    leaves: Ints
    #: Numbers of queries, one row a block; one more than the last query stands for nobody.
    queries: Ints
    #: Whether each block is all queries in their order.
    all_queries: bool = False

    def __len__(self) -> int:
        return len(self.leaves)


def visits(which: Ints, mask: Bools, size: int) -> Iterator[Visits]:
    """Group what is to be looked at by leaf.

    So each query is multiplied with the leaves it has to see and no others, and that in few
    and large operations.

    Parameters
    ----------
    which : ndarray of shape (n_leaves,)
        Leaves.
    mask : ndarray of bool of shape (n_queries, n_leaves)
        Which query has to see which of them.
    size : int
        Points in a leaf.

    Yields
    ------
    Visits
        Of bounded size.
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
    query = query[np.argsort(place, kind="stable")]
    counts = np.bincount(place, minlength=n_leaves)
    # Blocks of a fraction of what a leaf has to be seen by, so that few places are empty.
    width = int(2 ** np.clip(np.round(np.log2(seen / np.count_nonzero(counts) / 3)), 3, 8))
    blocks = -(-counts // width)
    within = np.arange(seen) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.repeat(np.cumsum(blocks) - blocks, counts)
    table = np.full((int(blocks.sum()), width), n)
    table[first + within // width, within % width] = query
    leaf = np.repeat(which, blocks)
    step = max(1, PRODUCTS // (width * size))
    for at in range(0, len(leaf), step):
        yield Visits(leaf[at : at + step], table[at : at + step])


def one_leaf(sketch: Floats, classes: Ints) -> Leaves:
    """Put all points into one leaf, in the order of their classes."""
    order = np.argsort(classes, kind="stable")
    nowhere = np.zeros((1, sketch.shape[1] + 3), dtype=np.float32)
    return Leaves(len(order), order, np.zeros(1, dtype=np.intp), sketch[order], nowhere)


def partition(sketch: Floats, blur: Floats, classes: Ints, size: int, workers: Workers) -> Leaves:
    """Partition the points of every class.

    The points of a class are cut into a few equal parts along their principal direction,
    then each part into quarters along its own two, and so on: leaves follow the shape of
    the data, and all nodes of a level are split by the same few operations. Slots that are
    left over are empty, spread over the leaves.

    Parameters
    ----------
    sketch : ndarray of shape (n_points, n_columns)
        Points, in coordinates in which no distance is larger than the true one.
    blur : ndarray of shape (n_points,)
        How far rounding can have moved each.
    classes : ndarray of shape (n_points,)
        Classes.
    size : int
        Slots of a leaf.
    workers : Workers
        Share the work.

    Returns
    -------
    Leaves
    """
    order, labels, arranged, balls = [], [], [], []
    by_class = np.argsort(classes, kind="stable")
    for mine in np.split(by_class, np.flatnonzero(np.diff(classes[by_class])) + 1):
        places, points = _arranged(sketch, mine, size, workers)
        moved = np.where(places == EMPTY, 0.0, blur[places]).reshape(-1, size).max(axis=1)
        balls.append(_balls(points.reshape(-1, size, sketch.shape[1]), moved))
        order.append(places)
        arranged.append(points)
        labels.append(np.full(len(places) // size, classes[mine[0]]))
    return Leaves(
        size,
        np.concatenate(order),
        np.concatenate(labels),
        np.concatenate(arranged),
        np.concatenate(balls),
    )


def plan(points: int, size: int) -> tuple[int, int]:
    """Tell into how many parts points are cut first, and how often each is halved, into leaves."""
    leaves = -(-points // size)
    levels = max(0, int(np.log2(leaves / 4))) if leaves > 4 else 0
    return -(-leaves // 2**levels), levels


def _arranged(sketch: Floats, mine: Ints, size: int, workers: Workers) -> tuple[Ints, Floats]:
    """Put the points of one class in the order of leaves; give it and the points in it."""
    rng = np.random.default_rng(len(mine))
    parts, levels = plan(len(mine), size)
    slots = parts * 2**levels * size
    # What fills a slot that no point needs goes where a random point would, and is then
    # marked as empty.
    order = np.concatenate((mine, mine[rng.integers(0, len(mine), slots - len(mine))]))
    points = sketch[order]
    order[len(mine) :] = EMPTY
    if parts > 1:
        _split(points[None], order[None], parts, 1, rng)
    nodes = parts
    while levels:
        ways = min(levels, 2)
        blocks, places = points.reshape(nodes, -1, points.shape[1]), order.reshape(nodes, -1)
        step = max(1, _POINTS // places.shape[1])
        starts = range(0, nodes, step)
        tasks = [
            (blocks[at : at + step], places[at : at + step], 2, ways, own)
            for at, own in zip(starts, rng.spawn(len(starts)), strict=True)
        ]
        for _ in workers.map(lambda task: _split(*task), tasks):
            pass
        nodes, levels = nodes * 2**ways, levels - ways
    return order, points


def _split(blocks: Floats, places: Ints, parts: int, ways: int, rng: np.random.Generator) -> None:
    """Split each block into equal parts along its principal directions, in place."""
    number, count, _ = blocks.shape
    along = blocks @ _directions(blocks, ways, rng)
    order = np.broadcast_to(np.arange(count), (number, count))
    length = count
    for way in range(ways):
        line = np.take_along_axis(along[:, :, way], order, axis=1).reshape(-1, length)
        cuts = [length * part // parts for part in range(1, parts)]
        found = np.argpartition(line, cuts, axis=1)
        order = np.take_along_axis(order.reshape(-1, length), found, axis=1).reshape(number, count)
        length //= parts
    places[:] = np.take_along_axis(places, order, axis=1)
    for block, moved in zip(blocks, order, strict=True):
        block[:] = block[moved]


def _directions(blocks: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Find the first one or two principal directions of each block, by subspace iteration."""
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


def _balls(leaves: Floats, blur: Floats) -> Floats:
    """Give for each leaf what `Leaves.near` needs of its centre and radius."""
    number, _, m = leaves.shape
    centres = leaves.mean(axis=1)
    radii = np.empty(number)
    step = max(1, _POINTS // leaves.shape[1])
    for at in range(0, number, step):
        some = slice(at, at + step)
        difference = leaves[some] - centres[some, None]
        squares = np.einsum("ijk,ijk->ij", difference, difference)
        radii[some] = np.sqrt(squares.max(axis=1))
    # A difference is rounded once, and the sum of m squares m times; squares that
    # underflow are smaller than the last term.
    radii = (radii * (1 + ball_margin(m)) + blur) * (1 + ball_margin(m)) + 1e-18
    balls = np.empty((number, m + 3), dtype=np.float32)
    balls[:, :m] = 2 * centres
    balls[:, m] = 1
    balls[:, m + 1] = radii**2 - np.einsum("ij,ij->i", centres, centres, dtype=np.float64)
    balls[:, m + 2] = 2 * radii
    return balls
