"""The exact engine on a GPU, in PyTorch: the algorithm of the exact engine on the CPU."""

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints, Matrix, Tensor
from rectifold._engines.contract import Answer, Certified, ExactAnswer, PairCount, Proposal
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.exact.index import OTHER, TARGET
from rectifold._engines.exact.leaves import EMPTY
from rectifold._engines.gpu import devices
from rectifold._engines.gpu.certificates import Certifier
from rectifold._engines.gpu.devices import Budget, to_numpy
from rectifold._engines.gpu.duplicates import Groups, group
from rectifold._engines.gpu.leaf_search import Found, Searcher, ordered
from rectifold._engines.gpu.products import Frame, build
from rectifold._engines.zero_vectors import search_nonzero, search_targets

#: Minimum number of slots of a leaf.
LEAF = 192
#: Bytes per value that it takes to partition points into leaves.
BYTES = 32


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None, device: Any = None
) -> Generator[Answer, None, None]:
    """Yield a certificate or a proposal for every sample; see `contract.Engine`.

    `device` is as in `devices.find`; `n_jobs` is ignored.
    """
    yield from _answers(points, labels, k, devices.find(device), only_certify=False)


def certify_only(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None, device: Any = None
) -> Generator[Certified, None, None]:
    """Yield certificates only.

    Samples of class `MIXED` get none, and count as another class for all samples.
    """
    for answer in _answers(points, labels, k, devices.find(device), only_certify=True):
        if isinstance(answer, Certified):
            yield answer


def propose_among(
    points: Points,
    targets: int,
    rows: Ints,
    k: int,
    *,
    within: Floats | None = None,
    n_jobs: int | None = None,
    device: Any = None,
) -> Generator[Proposal, None, None]:
    """Propose the neighbours of the samples `rows`, ascending, among the first `targets` points.

    Each of `rows` is answered once. Its candidates include its k nearest targets, except for those
    farther than its distance in `within`.
    """
    found_device = devices.find(device)

    def among(
        values: Matrix, is_target: Bools, _: Ints, reach: Floats
    ) -> Generator[ExactAnswer, None, None]:
        n_targets, metric = int(np.count_nonzero(is_target)), str(points.metric)
        search = partial(_search_among, values, n_targets, reach, k, found_device, metric)
        yield from _with_fallback(values, found_device, search)

    found = search_targets(points, targets, rows, k, within, among)
    yield from devices.in_full_precision(found_device, found)


def _answers(
    points: Points, labels: Ints, k: int, device: torch.device, *, only_certify: bool
) -> Generator[Answer, None, None]:
    def search_all(values: Matrix, labels: Ints, ceiling: float) -> Generator[Answer, None, None]:
        n = values.shape[0]
        if n <= k:
            # The others are zero samples, so each of these can be a neighbour of each.
            yield Proposal(np.arange(n), np.arange(n + 1) * n, np.tile(np.arange(n), n))
            return
        search = partial(_search, values, labels, k, device, str(points.metric), ceiling)
        yield from _with_fallback(values, device, partial(search, only_certify=only_certify))

    return devices.in_full_precision(device, search_nonzero(points, labels, k, search_all))


def _with_fallback(
    values: Matrix, device: torch.device, search: Callable[[torch.device], Iterable[ExactAnswer]]
) -> Generator[ExactAnswer, None, None]:
    """Search with the points stored on the device, or on the host if they don't fit there."""
    n = values.shape[0]
    answered = np.zeros(n, dtype=bool)
    home = devices.storage_device(device, BYTES * n * (values.shape[1] + 2))
    host = torch.device("cpu")
    try:
        yield from _unanswered(answered, search(home))
        return
    except (RuntimeError, MemoryError) as error:
        if not devices.is_full(error):
            raise
        if home == host:
            raise devices.memory_error(device) from None
    # Outside of the except clause, whose traceback would keep the tensors of the search alive.
    devices.empty_cache(device)
    yield from _unanswered(answered, search(host))


def _unanswered(answered: Bools, answers: Iterable[ExactAnswer]) -> Iterator[ExactAnswer]:
    """Yield answers without the samples that are marked in `answered`, and mark theirs."""
    for answer in answers:
        if isinstance(answer, PairCount):
            yield answer
            continue
        fresh = ~answered[answer.rows]
        answered[answer.rows] = True
        if isinstance(answer, Certified):
            yield Certified(answer.rows[fresh])
        else:
            yield answer.only(fresh)


def _search(
    values: Matrix,
    labels: Ints,
    k: int,
    device: torch.device,
    metric: str,
    ceiling: float,
    home: torch.device,
    *,
    only_certify: bool,
) -> Generator[ExactAnswer, None, None]:
    """Search on `device`, with the points stored on `home`."""
    budget = Budget(device)
    groups = group(devices.to_device(values, home), budget)
    # A class that would leave most slots of its leaf empty gets no leaves of its own.
    classes = groups.classes(torch.from_numpy(labels).to(home), slots(k) // 8)
    frame = _prepare(groups, classes, k, metric, budget)
    order = frame.leaves.order
    scaled_ceiling = ceiling * 4.0**frame.coordinates.exponent if metric == "cosine" else ceiling
    certifier = Certifier(frame, _weights(groups, order), k, scaled_ceiling)
    for places in certifier.certify(small=only_certify):
        yield Certified(to_numpy(groups.rows(order[places])[0]))
    state = certifier.state
    yield PairCount(state.pairs)
    left = torch.nonzero(~state.certified).ravel()
    if only_certify or not len(left):
        return
    all_leaves = torch.arange(frame.leaves.n, device=home)
    searcher = Searcher(frame, groups, classes, k, metric, ceiling / 2, all_leaves)
    for found in searcher.search(left, state.bounds[left]):
        yield PairCount(found.pairs)
        if len(found.certified):
            yield Certified(to_numpy(groups.rows(found.certified)[0]))
        yield from _proposals(found, groups, k, frame.budget)


def _search_among(
    values: Matrix,
    targets: int,
    squares: Floats,
    k: int,
    device: torch.device,
    metric: str,
    home: torch.device,
) -> Generator[ExactAnswer, None, None]:
    """Search the first `targets` samples, for all samples whose entry of `squares` is >= 0.

    `squares` bounds the squared distance of useful neighbours.
    """
    budget = Budget(device)
    groups = group(devices.to_device(values, home), budget).first(targets)
    classes = torch.where(groups.targets > 0, TARGET, OTHER)
    frame = _prepare(groups, classes, k, metric, budget)
    order = frame.leaves.order
    # Duplicates share the largest of their bounds.
    by_point = groups.reduced(torch.from_numpy(squares).to(home), "amax")
    by_place = by_point[order.clamp(min=0)].masked_fill(order == EMPTY, -1.0)
    places = torch.nonzero(by_place >= 0).ravel()
    bounds = frame.scaled(by_place[places])
    # A bound below the resolution of single precision would only cost time.
    resolved = frame.rounding.resolves(bounds, frame.squares[places])
    bounds = bounds.masked_fill(~resolved, math.inf)
    # No certificates are needed, and points of class MIXED get none.
    no_classes = torch.full_like(classes, MIXED)
    which = torch.nonzero(frame.leaves.labels == TARGET).ravel()
    searcher = Searcher(frame, groups, no_classes, k, metric, math.inf, which)
    for found in searcher.search(places, bounds):
        yield from _proposals(found, groups, k, frame.budget)


def slots(k: int) -> int:
    """Return the size of a leaf: more than twice the points needed, and a multiple of a warp."""
    return -(-max(LEAF, 2 * k + 6) // 32) * 32


def _prepare(groups: Groups, classes: Tensor, k: int, metric: str, budget: Budget) -> Frame:
    frame = build(groups.values, classes, slots(k), budget, unit_length=metric == "cosine")
    # With very many features single precision proves nothing.
    return frame if frame.rounding.usable else frame.finer()


def _weights(groups: Groups, order: Tensor) -> Tensor | None:
    """Return the number of samples on the point at each place; None if there are no duplicates."""
    if groups.members is None:
        return None
    return groups.counts[order.clamp(min=0)].masked_fill(order == EMPTY, 0)


def _proposals(
    found: Found, groups: Groups, k: int, budget: Budget
) -> Generator[Proposal, None, None]:
    """Yield sorted neighbours, in proposals of bounded size."""
    if not len(found.points):
        return
    # Memory for the samples on each point and their candidates.
    sizes = 8 * (k + 1) * (groups.counts[found.points] + torch.diff(found.offsets))
    mean_size = int(sizes.sum()) // len(sizes)

    def sort(part: slice) -> tuple[Any, Any, Any]:
        if part.stop - part.start > 1 and int(sizes[part].sum()) > 2 * budget.numbers:
            raise devices.PieceTooLargeError
        rows, indices, distances = ordered(found.part(part.start, part.stop), groups, k)
        return to_numpy(rows), to_numpy(indices).ravel(), to_numpy(distances).ravel()

    for _, (rows, indices, distances) in budget.pieces(len(found.points), mean_size, sort):
        offsets = np.arange(len(rows) + 1) * k
        real = indices != EMPTY
        if not real.all():
            offsets = np.concatenate(([0], np.cumsum(real)))[offsets]
            indices, distances = indices[real], distances[real]
        yield Proposal(rows, offsets, indices, distances)
