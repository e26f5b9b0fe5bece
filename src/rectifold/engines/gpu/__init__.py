"""The exact engine on a GPU, by torch: the certificates and the search of the CPU's, in tensors."""

from collections.abc import Generator, Iterable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from rectifold._typing import Bools, Ints, Matrix, Tensor
from rectifold.engines.contract import Answer, Certified, Looked, Plain, Proposal
from rectifold.engines.directions import apart_from_zero
from rectifold.engines.exact.leaves import EMPTY
from rectifold.engines.gpu import devices
from rectifold.engines.gpu.certificates import Certifier
from rectifold.engines.gpu.devices import Budget
from rectifold.engines.gpu.frame import Frame, build
from rectifold.engines.gpu.groups import Groups, group
from rectifold.engines.gpu.remaining import Found, Searcher, ordered
from rectifold.space import Points

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
    where = devices.find(device)

    def among(values: Matrix, labels: Ints, ceiling: float) -> Generator[Plain, None, None]:
        return _propose(values, labels, k, where, str(points.metric), ceiling)

    answers = apart_from_zero(points, labels, k, among)
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


def _propose(
    values: Matrix, labels: Ints, k: int, device: torch.device, metric: str, ceiling: float
) -> Generator[Plain, None, None]:
    n = values.shape[0]
    if n <= k:
        # Beside rows without a direction; each of these may be a neighbour of each.
        yield Proposal(np.arange(n), np.arange(n + 1) * n, np.tile(np.arange(n), n))
        return
    done = np.zeros(n, dtype=bool)
    home = devices.home_of(device, _BYTES * n * (values.shape[1] + 2))
    host = torch.device("cpu")
    full = False
    try:
        yield from _others(done, _search(values, labels, k, device, home, metric, ceiling))
    except (RuntimeError, MemoryError) as error:
        if not devices.is_full(error):
            raise
        if home == host:
            raise devices.too_little(device) from None
        full = True
    if full:
        # Less is free than it seemed. Not in the clause above, where the search is still held.
        devices.release(device)
        yield from _others(done, _search(values, labels, k, device, host, metric, ceiling))


def _others(done: Bools, answers: Iterable[Plain]) -> Generator[Plain, None, None]:
    """Pass answers on, but for rows that were answered for before."""
    for answer in answers:
        if isinstance(answer, Looked):
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
    home: torch.device,
    metric: str,
    ceiling: float,
) -> Generator[Plain, None, None]:
    """Search on a device, with points that are kept at home."""
    frame, groups, classes = _prepare(values, labels, k, device, home, metric)
    order = frame.leaves.order
    across = ceiling * 4.0**frame.exponent if metric == "cosine" else ceiling
    certifier = Certifier(frame, _weights(groups, order), k, across)
    for places in certifier.certify():
        yield Certified(_numbers(groups.rows(order[places])[0]))
    standing = certifier.standing
    yield Looked(standing.pairs)
    left = torch.nonzero(~standing.certified).ravel()
    if not len(left):
        return
    searcher = Searcher(frame, groups, classes, k, metric, ceiling / 2)
    for found in searcher.search(left, standing.bounds[left]):
        yield Looked(found.pairs)
        if len(found.certified):
            yield Certified(_numbers(groups.rows(found.certified)[0]))
        yield from _settled(found, groups, k, frame.budget)


def _prepare(
    values: Matrix, labels: Ints, k: int, device: torch.device, home: torch.device, metric: str
) -> tuple[Frame, Groups, Tensor]:
    """Bring rows to where they are kept, and into leaves."""
    budget = Budget(device)
    groups = group(as_tensor(values, home), budget)
    # More than twice as many as needed, and a multiple of what a warp takes.
    size = -(-max(LEAF, 2 * k + 6) // 32) * 32
    # A class that would leave most slots of its leaf empty is not worth one.
    classes = groups.classes(torch.from_numpy(labels).to(home), size // 8)
    frame = build(groups.values, classes, size, budget, unit_length=metric == "cosine")
    # Where single precision proves nothing, as with very many columns, all is in double.
    return frame if frame.rounding.usable else frame.finer(), groups, classes


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
        yield Proposal(rows, np.arange(len(rows) + 1) * k, indices, distances)


def _numbers(tensor: Tensor) -> Any:
    return tensor.cpu().numpy()
