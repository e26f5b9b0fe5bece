"""The exact engine on a GPU, by torch: the certificates and the search of the CPU's, in tensors."""

import math
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import sparse

from rectifold._core.space import Points
from rectifold._core.utils import Bools, Floats, Ints, Matrix, Tensor
from rectifold._engines.contract import Answer, Certified, ExactAnswer, PairCount, Proposal
from rectifold._engines.exact.duplicates import MIXED
from rectifold._engines.exact.index import OTHER, TARGET
from rectifold._engines.exact.leaves import EMPTY
from rectifold._engines.gpu import devices
from rectifold._engines.gpu.certificates import Certifier
from rectifold._engines.gpu.devices import Budget
from rectifold._engines.gpu.duplicates import Groups, group
from rectifold._engines.gpu.leaf_search import Found, Searcher, ordered
from rectifold._engines.gpu.products import Frame, build
from rectifold._engines.settle import squared
from rectifold._engines.zero_vectors import search_nonzero

#: Slots of a leaf, at least.
LEAF = 192
#: Bytes that points take, for each number of theirs, while they are brought into leaves.
_BYTES = 32


def propose(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None, device: Any = None
) -> Generator[Answer, None, None]:
    """Give a certificate to most rows, and the neighbours of the others.

    Parameters
    ----------
    points : Points
        Points with one of the metrics of the exact engine.
    labels : ndarray of shape (n_rows,)
        Class codes.
    k : int
        Neighbours per row.
    n_jobs : int or None
        Not used.
    device : str, torch.device or None
        See `devices.find`.

    Yields
    ------
    Answer
    """
    yield from _answers(points, labels, k, devices.find(device), only_certify=False)


def certify_only(
    points: Points, labels: Ints, k: int, *, n_jobs: int | None = None, device: Any = None
) -> Generator[Certified, None, None]:
    """Give certificates, and nothing to the other rows.

    Parameters
    ----------
    points, labels, k, n_jobs, device
        As for `propose`. Rows of class `MIXED` get none, and stand against all others.

    Yields
    ------
    Certified
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
    """Propose the neighbours of some rows among the first ones of a table.

    Parameters
    ----------
    points : Points
        Points with one of the metrics of the exact engine.
    targets : int
        Neighbours are looked for among so many rows; those after them are asked for only.
    rows : ndarray of int
        Whose neighbours are wanted, ascending.
    k : int
        Neighbours per row, at most.
    within : ndarray of shape (n_rows,), default=None
        Farther rows than this, for each of `rows`, are of no use.
    n_jobs : int or None
        Not used.
    device : str, torch.device or None
        See `devices.find`.

    Yields
    ------
    Proposal
        For each of the rows once; candidates hold its k nearest rows among the targets, as far as
        those are within reach.
    """
    where = devices.find(device)
    reach = np.full(points.n, -1.0)
    reach[rows] = np.inf if within is None else squared(within, str(points.metric))

    def among(values: Matrix, numbers: Ints, _: float) -> Generator[ExactAnswer, None, None]:
        squares = reach[numbers]
        asked = np.flatnonzero(squares >= 0)
        first = int(np.count_nonzero(numbers < targets))
        if not first:
            nothing = np.empty(0, dtype=np.intp)
            yield Proposal(asked, np.zeros(len(asked) + 1, dtype=np.intp), nothing)
        elif len(asked):
            search = partial(_search_among, values, first, squares, k, where, str(points.metric))
            yield from _wherever(values, where, search)

    for answer in _in_full(where, search_nonzero(points, np.arange(points.n), k, among)):
        if isinstance(answer, Proposal):
            yield answer.only(reach[answer.rows] >= 0).below(targets)


def _answers(
    points: Points, labels: Ints, k: int, where: torch.device, *, only_certify: bool
) -> Generator[Answer, None, None]:
    """Answer for all rows, or give certificates alone."""

    def among(values: Matrix, labels: Ints, ceiling: float) -> Generator[ExactAnswer, None, None]:
        n = values.shape[0]
        if n <= k:
            # Beside rows without a direction; each of these may be a neighbour of each.
            yield Proposal(np.arange(n), np.arange(n + 1) * n, np.tile(np.arange(n), n))
            return
        search = partial(_search, values, labels, k, where, str(points.metric), ceiling)
        yield from _wherever(values, where, partial(search, only_certify=only_certify))

    return _in_full(where, search_nonzero(points, labels, k, among))


def _in_full(
    where: torch.device, answers: Generator[Answer, None, None]
) -> Generator[Answer, None, None]:
    """Let answers come about in full precision on a device."""
    try:
        while True:
            # Left between answers: what the program around has chosen holds there.
            with devices.in_full(where), torch.inference_mode():
                answer = next(answers, None)
            if answer is None:
                return
            yield answer
    finally:
        answers.close()


def _wherever(
    values: Matrix, device: torch.device, search: Callable[[torch.device], Iterable[ExactAnswer]]
) -> Generator[ExactAnswer, None, None]:
    """Search with points that are kept on the device, or on the host if they don't fit there."""
    n = values.shape[0]
    done = np.zeros(n, dtype=bool)
    home = devices.home_of(device, _BYTES * n * (values.shape[1] + 2))
    host = torch.device("cpu")
    full = False
    try:
        yield from _others(done, search(home))
    except (RuntimeError, MemoryError) as error:
        if not devices.is_full(error):
            raise
        if home == host:
            raise devices.too_little(device) from None
        full = True
    if full:
        # Less is free than it seemed. Not in the clause above, where the search is still held.
        devices.release(device)
        yield from _others(done, search(host))


def _others(done: Bools, answers: Iterable[ExactAnswer]) -> Generator[ExactAnswer, None, None]:
    """Pass answers on, but for rows that were answered for before."""
    for answer in answers:
        if isinstance(answer, PairCount):
            yield answer
            continue
        fresh = ~done[answer.rows]
        done[answer.rows] = True
        if fresh.all():
            yield answer
        elif isinstance(answer, Certified):
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
    """Search on a device, with points that are kept at home."""
    budget = Budget(device)
    groups = group(as_tensor(values, home), budget)
    # A class that would leave most slots of its leaf empty is not worth one.
    classes = groups.classes(torch.from_numpy(labels).to(home), _slots(k) // 8)
    frame = _prepare(groups, classes, k, metric, budget)
    order = frame.leaves.order
    across = ceiling * 4.0**frame.exponent if metric == "cosine" else ceiling
    certifier = Certifier(frame, _weights(groups, order), k, across)
    for places in certifier.certify(small=only_certify):
        yield Certified(_numbers(groups.rows(order[places])[0]))
    standing = certifier.standing
    yield PairCount(standing.pairs)
    left = torch.nonzero(~standing.certified).ravel()
    if only_certify or not len(left):
        return
    every = torch.arange(frame.leaves.n, device=home)
    searcher = Searcher(frame, groups, classes, k, metric, ceiling / 2, every)
    for found in searcher.search(left, standing.bounds[left]):
        yield PairCount(found.pairs)
        if len(found.certified):
            yield Certified(_numbers(groups.rows(found.certified)[0]))
        yield from _settled(found, groups, k, frame.budget)


def _search_among(
    values: Matrix,
    targets: int,
    squares: Floats,
    k: int,
    device: torch.device,
    metric: str,
    home: torch.device,
) -> Generator[ExactAnswer, None, None]:
    """Search among the first rows, for those with a squared distance that is not negative."""
    budget = Budget(device)
    groups = group(as_tensor(values, home), budget).first(targets)
    classes = torch.where(groups.targets > 0, TARGET, OTHER)
    frame = _prepare(groups, classes, k, metric, budget)
    order = frame.leaves.order
    # Rows on one point share the widest bound.
    by_point = groups.reduced(torch.from_numpy(squares).to(home), "amax")
    by_place = by_point[order.clamp(min=0)].masked_fill(order == EMPTY, -1.0)
    places = torch.nonzero(by_place >= 0).ravel()
    bounds = frame.scaled(by_place[places])
    # A bound below what single precision tells apart would only cost time.
    resolved = frame.rounding.resolves(bounds, frame.squares[places])
    bounds = bounds.masked_fill(~resolved, math.inf)
    # A class for all: certificates are of no use here.
    nobody = torch.full_like(classes, MIXED)
    which = torch.nonzero(frame.leaves.labels == TARGET).ravel()
    searcher = Searcher(frame, groups, nobody, k, metric, math.inf, which)
    for found in searcher.search(places, bounds):
        yield from _settled(found, groups, k, frame.budget)


def _slots(k: int) -> int:
    """How many points a leaf holds: more than twice as many as needed, and whole warps."""
    return -(-max(LEAF, 2 * k + 6) // 32) * 32


def _prepare(groups: Groups, classes: Tensor, k: int, metric: str, budget: Budget) -> Frame:
    """Bring points into leaves."""
    unit_length = metric == "cosine"
    frame = build(groups.values, classes, _slots(k), budget, unit_length=unit_length)
    # Where single precision proves nothing, as with very many columns, all is in double.
    return frame if frame.rounding.usable else frame.finer()


def as_tensor(values: Matrix, device: torch.device) -> Tensor:
    """Bring float64 rows to a device."""
    if sparse.issparse(values):
        values = values.toarray()
    if isinstance(values, np.ndarray):
        return devices.sent(values, device)
    tensor: Tensor = values.to(device)
    return tensor


def _weights(groups: Groups, order: Tensor) -> Tensor | None:
    """How many rows lie on the point at each place; None where it is one each."""
    if groups.members is None:
        return None
    return groups.counts[order.clamp(min=0)].masked_fill(order == EMPTY, 0)


def _settled(
    found: Found, groups: Groups, k: int, budget: Budget
) -> Generator[Proposal, None, None]:
    """Give neighbours in their order, of bounded size each."""
    if not len(found.points):
        return
    # What the rows of points take, and their candidates.
    takes = 8 * (k + 1) * (groups.counts[found.points] + torch.diff(found.offsets))
    each = int(takes.sum()) // len(takes)

    def settle(part: slice) -> tuple[Any, Any, Any]:
        if part.stop - part.start > 1 and int(takes[part].sum()) > 2 * budget.numbers:
            raise devices.TooMuchError
        rows, indices, distances = ordered(found.part(part.start, part.stop), groups, k)
        return _numbers(rows), _numbers(indices).ravel(), _numbers(distances).ravel()

    for _, (rows, indices, distances) in budget.pieces(len(found.points), each, settle):
        offsets = np.arange(len(rows) + 1) * k
        there = indices != EMPTY
        if not there.all():
            offsets = np.concatenate(([0], np.cumsum(there)))[offsets]
            indices, distances = indices[there], distances[there]
        yield Proposal(rows, offsets, indices, distances)


def _numbers(tensor: Tensor) -> Any:
    return tensor.cpu().numpy()
