"""Points partitioned into leaves on a device, as `exact.leaves` does it on the CPU."""

from dataclasses import dataclass

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.leaves import EMPTY, plan
from rectifold._engines.gpu.devices import Budget
from rectifold._engines.rounding import ball_margin

#: Points of a node from which its principal directions are found.
_SAMPLE = 256
_TINY = 1e-30


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Which point is where. A leaf has `size` slots: leaf i has the places from ``i * size`` on."""

    size: int
    #: The point at each place, or `EMPTY`.
    order: Tensor
    #: The class of each leaf.
    labels: Tensor
    #: Points by place, in coordinates in which no distance is larger than the true one.
    sketch: Tensor
    #: Leaves as the right side of products; see `rectifold._engines.exact.leaves.Leaves.near`.
    balls: Tensor

    @property
    def n(self) -> int:
        """How many leaves there are."""
        return len(self.labels)


def partition(sketch: Tensor, blur: Tensor, classes: Tensor, size: int, budget: Budget) -> Leaves:
    """Partition the points of every class into leaves that follow the shape of the data.

    Parameters
    ----------
    sketch : Tensor of shape (n_points, n_columns)
        Points, in coordinates in which no distance is larger than the true one.
    blur : Tensor of shape (n_points,)
        How far rounding can have moved each.
    classes : Tensor of shape (n_points,)
        Classes.
    size : int
        Slots of a leaf.
    budget : Budget
        How much is done at once.

    Returns
    -------
    Leaves
    """
    generator = torch.Generator(sketch.device).manual_seed(0)
    order, labels, arranged, balls = [], [], [], []
    ordered, by_class = torch.sort(classes, stable=True)
    values, counts = torch.unique_consecutive(ordered, return_counts=True)
    for label, mine in zip(values.tolist(), torch.split(by_class, counts.tolist()), strict=True):
        places, points = _arranged(sketch, mine, size, generator, budget)
        moved = torch.where(places == EMPTY, 0.0, blur[places]).view(-1, size).amax(dim=1)
        balls.append(_balls(points.view(-1, size, sketch.shape[1]), moved, budget))
        order.append(places)
        arranged.append(points)
        labels.append(torch.full((len(places) // size,), label, device=sketch.device))
    return Leaves(size, *(torch.cat(parts) for parts in (order, labels, arranged, balls)))


def _arranged(
    sketch: Tensor, mine: Tensor, size: int, generator: torch.Generator, budget: Budget
) -> tuple[Tensor, Tensor]:
    """Put the points of one class in the order of leaves; give it and the points in it."""
    parts, levels = plan(len(mine), size)
    spare = parts * 2**levels * size - len(mine)
    # What fills a slot that no point needs goes where a random point would, and is then
    # marked as empty.
    some = torch.randint(0, len(mine), (spare,), generator=generator, device=mine.device)
    order = torch.cat((mine, mine[some]))
    points = sketch[order]
    order[len(mine) :] = EMPTY
    nodes, ways, fold = 1, 1, parts
    while fold > 1:
        count = len(order) // nodes
        blocks = points.view(nodes, count, -1)

        def split(
            part: slice, blocks: Tensor = blocks, ways: int = ways, fold: int = fold
        ) -> Tensor:
            return _split(blocks[part], fold, ways, generator)

        # What is projected, the sample it is found from, and what a sort takes.
        each = 3 * min(count, _SAMPLE) * points.shape[1] + 8 * count
        for part, within in budget.pieces(nodes, each, split):
            rows = slice(part.start * count, part.stop * count)
            first = count * torch.arange(len(within), device=order.device)[:, None]
            moved = (within + first).ravel()
            order[rows] = order[rows][moved]
            points[rows] = points[rows][moved]
        nodes *= fold**ways
        ways = min(levels, 2)
        levels -= ways
        fold = 2 if ways else 1
    return order, points


def _split(blocks: Tensor, parts: int, ways: int, generator: torch.Generator) -> Tensor:
    """Order the points of each block so that equal parts of it are apart."""
    number, count, _ = blocks.shape
    along = blocks @ _directions(blocks, ways, generator)
    order = torch.arange(count, device=blocks.device).expand(number, count)
    length = count
    for way in range(ways):
        line = along[:, :, way].gather(1, order).view(-1, length)
        found = torch.argsort(line, dim=1)
        order = order.reshape(-1, length).gather(1, found).view(number, count)
        length //= parts
    return order


def _directions(blocks: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Find the first one or two principal directions of each block, by subspace iteration."""
    number, n, m = blocks.shape
    sample = blocks
    if n > _SAMPLE:
        some = torch.randint(0, n, (_SAMPLE,), generator=generator, device=blocks.device)
        sample = blocks[:, some]
    centred = sample - sample.mean(dim=1, keepdim=True)
    # Scaled, so that products of many coordinates stay in range.
    centred /= centred.abs().amax(dim=(1, 2), keepdim=True) + _TINY
    basis = torch.randn(
        (number, m, count), generator=generator, dtype=blocks.dtype, device=blocks.device
    )
    for _ in range(3):
        basis = centred.transpose(1, 2) @ (centred @ basis)
    if count == 1:
        return basis
    first, second = basis.split(1, dim=2)
    first = first / (first.norm(dim=1, keepdim=True) + _TINY)
    return torch.cat((first, second - (second * first).sum(dim=1, keepdim=True) * first), dim=2)


def _balls(leaves: Tensor, blur: Tensor, budget: Budget) -> Tensor:
    """Give for each leaf what tells whether it is near: twice its centre, and its radius."""
    number, size, m = leaves.shape
    centres = leaves.mean(dim=1)

    def radius(part: slice) -> Tensor:
        return (leaves[part] - centres[part, None]).square().sum(dim=2).amax(dim=1).sqrt()

    pieces = budget.pieces(number, 2 * size * m, radius)
    radii = torch.cat([some for _, some in pieces]).double()
    # A difference is rounded once, and the sum of m squares m times; squares that
    # underflow are smaller than the last term.
    radii = (radii * (1 + ball_margin(m)) + blur) * (1 + ball_margin(m)) + 1e-18
    balls = torch.empty((number, m + 3), dtype=torch.float32, device=leaves.device)
    balls[:, :m] = 2 * centres
    balls[:, m] = 1
    balls[:, m + 1] = radii.square() - centres.double().square().sum(dim=1)
    balls[:, m + 2] = 2 * radii
    return balls
