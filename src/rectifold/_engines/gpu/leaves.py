"""Points partitioned into leaves on a device, as `exact.leaves` does on the CPU."""

from dataclasses import dataclass

import torch

from rectifold._core.utils import Tensor
from rectifold._engines.exact.leaves import EMPTY, plan
from rectifold._engines.gpu.devices import Budget
from rectifold._engines.rounding import ball_margin

#: Sample size for the principal directions of a node.
_SAMPLE = 256
_TINY = 1e-30


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Points in leaves of `size` slots: leaf i has the places from ``i * size`` on."""

    size: int
    #: The point at each place, or `EMPTY`.
    order: Tensor
    #: The class of each leaf.
    labels: Tensor
    #: Points by place, in coordinates in which no distance is larger than the true one.
    sketch: Tensor
    #: Leaves as right-hand sides of products; see `rectifold._engines.exact.leaves.Leaves.near`.
    balls: Tensor

    @property
    def n(self) -> int:
        """Number of leaves."""
        return len(self.labels)


def partition(sketch: Tensor, blur: Tensor, classes: Tensor, size: int, budget: Budget) -> Leaves:
    """Partition the points of every class along principal directions into leaves of `size` slots.

    In the coordinates of `sketch` no distance is larger than the true one, but for rounding, which
    can have moved each point by its entry of `blur`.
    """
    generator = torch.Generator(sketch.device).manual_seed(0)
    order, labels, arranged, balls = [], [], [], []
    ordered, by_class = torch.sort(classes, stable=True)
    values, counts = torch.unique_consecutive(ordered, return_counts=True)
    for label, members in zip(values.tolist(), torch.split(by_class, counts.tolist()), strict=True):
        places, points = _arranged(sketch, members, size, generator, budget)
        moved = torch.where(places == EMPTY, 0.0, blur[places]).view(-1, size).amax(dim=1)
        balls.append(_balls(points.view(-1, size, sketch.shape[1]), moved, budget))
        order.append(places)
        arranged.append(points)
        labels.append(torch.full((len(places) // size,), label, device=sketch.device))
    return Leaves(size, *(torch.cat(parts) for parts in (order, labels, arranged, balls)))


def _arranged(
    sketch: Tensor, members: Tensor, size: int, generator: torch.Generator, budget: Budget
) -> tuple[Tensor, Tensor]:
    """Return the points of one class by place: their numbers, or `EMPTY`, and their coordinates."""
    parts, levels = plan(len(members), size)
    n_empty = parts * 2**levels * size - len(members)
    # Copies of random points spread the empty slots over all leaves.
    some = torch.randint(0, len(members), (n_empty,), generator=generator, device=members.device)
    order = torch.cat((members, members[some]))
    points = sketch[order]
    order[len(members) :] = EMPTY
    nodes, n_directions, fold = 1, 1, parts
    while fold > 1:
        count = len(order) // nodes
        blocks = points.view(nodes, count, -1)

        def split(
            part: slice, blocks: Tensor = blocks, ways: int = n_directions, fold: int = fold
        ) -> Tensor:
            return _split(blocks[part], fold, ways, generator)

        # Memory for the projection, the sample for its directions, and the sort.
        each = 3 * min(count, _SAMPLE) * points.shape[1] + 8 * count
        for part, within in budget.pieces(nodes, each, split):
            rows = slice(part.start * count, part.stop * count)
            first = count * torch.arange(len(within), device=order.device)[:, None]
            moved = (within + first).ravel()
            order[rows] = order[rows][moved]
            points[rows] = points[rows][moved]
        nodes *= fold**n_directions
        n_directions = min(levels, 2)
        levels -= n_directions
        fold = 2 if n_directions else 1
    return order, points


def _split(blocks: Tensor, parts: int, n_directions: int, generator: torch.Generator) -> Tensor:
    """Return an order of each block that splits it into equal parts along each direction."""
    number, count, _ = blocks.shape
    along = blocks @ _directions(blocks, n_directions, generator)
    order = torch.arange(count, device=blocks.device).expand(number, count)
    length = count
    for direction in range(n_directions):
        projected = along[:, :, direction].gather(1, order).view(-1, length)
        found = torch.argsort(projected, dim=1)
        order = order.reshape(-1, length).gather(1, found).view(number, count)
        length //= parts
    return order


def _directions(blocks: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return the first one or two principal directions of each block, by subspace iteration."""
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
    """Return the centre and the radius of each leaf, as the right-hand side of products."""
    number, size, m = leaves.shape
    centres = leaves.mean(dim=1)

    def radius(part: slice) -> Tensor:
        return (leaves[part] - centres[part, None]).square().sum(dim=2).amax(dim=1).sqrt()

    pieces = budget.pieces(number, 2 * size * m, radius)
    radii = torch.cat([some for _, some in pieces]).double()
    # A difference is rounded once and the sum of m squares m times; squares that underflow are
    # smaller than the last term.
    radii = (radii * (1 + ball_margin(m)) + blur) * (1 + ball_margin(m)) + 1e-18
    balls = torch.empty((number, m + 3), dtype=torch.float32, device=leaves.device)
    balls[:, :m] = 2 * centres
    balls[:, m] = 1
    balls[:, m + 1] = radii.square() - centres.double().square().sum(dim=1)
    balls[:, m + 2] = 2 * radii
    return balls
