"""How work is divided: partitions into blocks, queries into batches, blocks into chains of visits.

A query is a sample that is searched for; a visit searches one block for the queries of a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from dask.utils import parse_bytes

from rectifold._core.errors import Param, ParameterError

#: Bytes of a neighbour: its index, distance and class.
BYTES_PER_NEIGHBOUR = 24
#: Chains of visits for each thread of the cluster, so that a slow chain leaves no thread idle.
_CHAINS_PER_THREAD = 2
#: Approximate length of a chain if there are enough batches. The neighbours found in one visit
#: bound the search of the next, and the results of every chain have to be sent and merged.
_VISITS_PER_CHAIN = 8


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive partitions that are searched together."""

    #: Numbers of the partitions, without empty ones.
    partitions: tuple[int, ...]
    #: Index of the first sample.
    first: int
    n_samples: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of the undecided samples of a block."""

    block: int
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


def parse_block_size(block_size: int | str) -> int:
    """Return `block_size` in bytes."""
    try:
        size = parse_bytes(block_size) if isinstance(block_size, str) else int(block_size)
        # Dask reads a unit without a number as one of it.
        size *= any(character.isdigit() for character in str(block_size))
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise ParameterError(
            "{} is not a number of bytes: pass one, such as '64 MiB'.",
            Param("block_size", block_size),
        )
    return int(size)


def bytes_per_sample(n_features: int) -> int:
    """Return the bytes of a sample: its features, class and index."""
    return 8 * n_features + 16


def make_blocks(counts: Sequence[int], n_features: int, size: int, threads: int) -> list[Block]:
    """Join partitions, whose sizes are `counts`, to blocks of up to `size` bytes.

    A larger partition is a block by itself. There are at least as many blocks as threads if there
    are as many partitions. Empty partitions are left out.
    """
    n_samples = sum(counts)
    largest = max(1, size // bytes_per_sample(n_features))
    blocks = _join(counts, n_samples, max(threads, -(-n_samples // largest)))
    return [part for block in blocks for part in _divide(block, counts, largest)]


def _join(counts: Sequence[int], n_samples: int, n_blocks: int) -> list[Block]:
    """Join partitions to at most `n_blocks` blocks of about the same size."""
    blocks: dict[int, Block] = {}
    for partition, (count, first) in enumerate(zip(counts, offsets(counts), strict=True)):
        if count:
            # The block that holds the middle of the partition.
            number = (2 * first + count) * n_blocks // (2 * n_samples)
            block = blocks.get(number, Block((), first, 0))
            blocks[number] = Block(
                (*block.partitions, partition), block.first, block.n_samples + count
            )
    return list(blocks.values())


def _divide(block: Block, counts: Sequence[int], largest: int) -> list[Block]:
    """Divide a block with more than `largest` samples between partitions."""
    if block.n_samples <= largest:
        return [block]
    parts: list[Block] = []
    first = block.first
    for partition in block.partitions:
        count = counts[partition]
        if parts and parts[-1].n_samples + count <= largest:
            last = parts[-1]
            parts[-1] = Block((*last.partitions, partition), last.first, last.n_samples + count)
        else:
            parts.append(Block((partition,), first, count))
        first += count
    return parts


def make_batches(undecided: Sequence[int], k: int, n_features: int, size: int) -> list[list[Slice]]:
    """Divide the undecided samples, counted for each block, into batches of about the same size.

    Neither the samples of a batch nor their k neighbours take more than `size` bytes.
    """
    total = sum(undecided)
    largest = max(1, size // max(BYTES_PER_NEIGHBOUR * k, bytes_per_sample(n_features)))
    number = -(-total // largest)
    ends = [total * (batch + 1) // number for batch in range(number)]
    batches: list[list[Slice]] = [[] for _ in ends]
    at = batch = 0
    for block, count in enumerate(undecided):
        begin = 0
        while begin < count:
            end = min(count, begin + ends[batch] - at)
            batches[batch].append(Slice(block, begin, end))
            at, begin = at + end - begin, end
            batch += at == ends[batch]
    return batches


def make_rounds(
    batches: Sequence[list[Slice]], n_visits: int, threads: int
) -> list[tuple[Sequence[list[Slice]], int]]:
    """Return the batches that are searched for at the same time, and the chains of each of them.

    `n_visits` is the number of blocks that are visited for each batch, and `threads` the number of
    tasks that run at the same time.
    """
    n_chains = _CHAINS_PER_THREAD * threads
    number = -(-len(batches) // -(-n_chains // max(1, n_visits // _VISITS_PER_CHAIN)))
    edges = [len(batches) * at // max(1, number) for at in range(number + 1)]
    groups = [batches[begin:end] for begin, end in pairwise(edges)]
    return [(group, -(-n_chains // len(group))) for group in groups]


def make_chains(
    n_blocks: int, n_chains: int, batch: Sequence[Slice], n_visits: int | None = None
) -> list[list[int]]:
    """Distribute the blocks that are visited for a batch among chains, at most `n_chains`.

    Blocks near those of the batch come first: if near samples have near indices, the neighbours
    found there bound the search in the others. `n_visits` limits the number of blocks.
    """
    middle = (batch[0].block + batch[-1].block) / 2
    order = sorted(range(n_blocks), key=lambda block: abs(block - middle))[:n_visits]
    n_chains = min(len(order), n_chains)
    return [order[start::n_chains] for start in range(n_chains)]


def offsets(counts: Sequence[int]) -> list[int]:
    """Return the index of the first sample of every partition."""
    return [0, *accumulate(counts)][:-1]
