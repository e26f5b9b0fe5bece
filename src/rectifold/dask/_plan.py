"""How the work is cut: partitions into blocks, undecided rows into batches, blocks into chains."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dask.utils import parse_bytes

#: Bytes that a row's number, a distance and a class take.
FOUND = 24
#: Chains of visits for each thread of the cluster: one that is late keeps nobody waiting.
_CHAINS = 2
#: Visits of a chain, about, where there are batches enough: what is found in one spares looking far
#: in the next, and what chains found has to be sent and merged.
_LONG = 8


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive partitions that are looked at together."""

    #: Those that hold rows.
    partitions: tuple[int, ...]
    #: The number of the first row.
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the undecided rows of a block."""

    block: int
    begin: int
    end: int


def bytes_of(block_size: int | str) -> int:
    """Tell how many bytes are meant, or say that none are."""
    try:
        size = parse_bytes(block_size) if isinstance(block_size, str) else int(block_size)
        # Dask takes a unit alone for one of it, and nothing for a byte.
        size *= any(one.isdigit() for one in str(block_size))
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise ValueError(
            f"block_size={block_size!r} is no number of bytes: it must be one, such as '64 MiB'."
        )
    return int(size)


def row_bytes(columns: int) -> int:
    """Tell how many bytes a row takes: its numbers, its class and its own number."""
    return 8 * columns + 16


def blocks(counts: Sequence[int], columns: int, size: int, threads: int) -> list[Block]:
    """Join small partitions, in their order.

    Parameters
    ----------
    counts : sequence of int
        Rows of every partition.
    columns : int
        Numbers of a row.
    size : int
        Bytes that a block takes at most, unless a single partition takes more.
    threads : int
        There are so many blocks at least, as far as there are partitions.

    Returns
    -------
    list of Block
        Without those that are empty.
    """
    n = sum(counts)
    most = max(1, size // row_bytes(columns))
    cut = []
    for block in _joined(counts, n, max(threads, -(-n // most))):
        cut += _parted(block, counts, most)
    return cut


def _parted(block: Block, counts: Sequence[int], most: int) -> list[Block]:
    """Part a block that is too large, where partitions allow it."""
    parts: list[Block] = []
    first = block.first
    for partition in block.partitions:
        rows, last = counts[partition], parts[-1] if parts else None
        if last is not None and last.rows + rows <= most:
            parts[-1] = Block((*last.partitions, partition), last.first, last.rows + rows)
        else:
            parts.append(Block((partition,), first, rows))
        first += rows
    return [block] if block.rows <= most else parts


def _joined(counts: Sequence[int], n: int, number: int) -> list[Block]:
    """Join partitions to at most so many blocks, about equally large."""
    cut: dict[int, Block] = {}
    for partition, (rows, first) in enumerate(zip(counts, starts(counts), strict=True)):
        if rows:
            # Where its middle is.
            which = (2 * first + rows) * number // (2 * n)
            so_far = cut.get(which, Block((), first, 0))
            cut[which] = Block((*so_far.partitions, partition), so_far.first, so_far.rows + rows)
    return list(cut.values())


def batches(undecided: Sequence[int], k: int, columns: int, size: int) -> list[list[Slice]]:
    """Cut undecided rows, in their order, into parts that are searched for together.

    Parameters
    ----------
    undecided : sequence of int
        How many rows every block has.
    k : int
        Neighbours per row.
    columns : int
        Numbers of a row.
    size : int
        Bytes that the rows of a batch, and that what is found for them, take at most.

    Returns
    -------
    list of list of Slice
        About equally large ones.
    """
    total = sum(undecided)
    most = max(1, size // max(FOUND * k, row_bytes(columns)))
    number = -(-total // most)
    ends = [total * (batch + 1) // number for batch in range(number)]
    cut: list[list[Slice]] = [[] for _ in ends]
    at = batch = 0
    for block, rows in enumerate(undecided):
        begin = 0
        while begin < rows:
            end = min(rows, begin + ends[batch] - at)
            cut[batch].append(Slice(block, begin, end))
            at, begin = at + end - begin, end
            batch += at == ends[batch]
    return cut


def rounds(
    batches: Sequence[list[Slice]], visits: int, threads: int
) -> list[tuple[Sequence[list[Slice]], int]]:
    """Tell which batches are searched for at a time, and in how many chains of visits each.

    Parameters
    ----------
    batches : sequence of list of Slice
        All of them.
    visits : int
        How many blocks are visited for each.
    threads : int
        How many tasks run at a time.

    Returns
    -------
    list of (list of list of Slice, int)
        So many batches that all threads have work and chains are long, as far as there are batches
        and blocks for that.
    """
    chains = _CHAINS * threads
    number = -(-len(batches) // -(-chains // max(1, visits // _LONG)))
    edges = [len(batches) * at // max(1, number) for at in range(number + 1)]
    groups = [batches[begin:end] for begin, end in pairwise(edges)]
    return [(group, -(-chains // len(group))) for group in groups]


def chains(
    number: int, count: int, batch: Sequence[Slice], most: int | None = None
) -> list[list[int]]:
    """Deal blocks out to chains, which visit theirs one after the other.

    Parameters
    ----------
    number : int
        How many blocks there are.
    count : int
        How many chains, at most.
    batch : sequence of Slice
        Who is searched for. Blocks beside theirs come first: where rows that are near each other
        lie near each other, what is found there spares looking far in the others.
    most : int or None
        Visit so many of them only.

    Returns
    -------
    list of list of int
    """
    middle = (batch[0].block + batch[-1].block) / 2
    order = sorted(range(number), key=lambda block: abs(block - middle))[:most]
    count = min(len(order), count)
    return [order[start::count] for start in range(count)]


def overlapping(edges: Sequence[tuple[int, int]], first: int, stop: int) -> list[int]:
    """Tell which of some ranges of row numbers, in order, hold rows of [first, stop)."""
    return [n for n, (begin, end) in enumerate(edges) if begin < stop and end > first]


def starts(counts: Sequence[int]) -> list[int]:
    """The number of the first row of every partition."""
    first, found = 0, []
    for rows in counts:
        found.append(first)
        first += rows
    return found
