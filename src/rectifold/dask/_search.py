"""The search over all blocks as tasks of Dask: certificates, neighbours and votes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed

from rectifold._core.pipeline import Settings
from rectifold._core.space import nothing_varies
from rectifold._core.utils import Floats, Ints, timed
from rectifold.dask import _tasks
from rectifold.dask._cluster import Cluster, report_progress, task
from rectifold.dask._memory import roomy
from rectifold.dask._partitions import Partitions
from rectifold.dask._plan import (
    Slice,
    bytes_per_sample,
    make_batches,
    make_blocks,
    make_chains,
    make_rounds,
)
from rectifold.dask._samples import Nearest, Samples, concatenate, merge
from rectifold.dask._tasks import BlockSource, Geometry, Undecided

#: Number of blocks in which more certificates are sought at first, and the factor by which it
#: grows in each round.
FIRST, GROWTH = 4, 4
#: Cost of a visit that searches for neighbours relative to one that counts them.
CHEAPER = 4
#: One sample of the large class is sent to all workers for every so many samples of a block.
SAMPLED = 8


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """The result of a search, in parts that are stored on the cluster."""

    #: For each batch of samples without a certificate, its `Outcome`.
    outcomes: list[Any]
    #: For each batch, the index of its first sample and the one after that of its last.
    edges: list[tuple[int, int]]
    #: Number of samples with a certificate.
    n_certified: int


class BlockSearch:
    """A search over the blocks of one table.

    `counts` are the sizes of the partitions, `n_features` is counted in the space, and no piece of
    work takes more than `size` bytes.
    """

    def __init__(
        self,
        cluster: Cluster,
        partitions: Partitions,
        counts: Sequence[int],
        geometry: Geometry,
        n_features: int,
        size: int,
    ) -> None:
        self.cluster, self.geometry = cluster, geometry
        self.n_features, self.size = n_features, size
        self.n_samples = sum(counts)
        self.blocks = make_blocks(counts, n_features, size, cluster.threads)
        # Every task reads its block itself: blocks read in advance would fill the memory.
        self._sources: list[BlockSource] = [
            (
                [partitions.sample_sources[number] for number in block.partitions],
                [partitions.label_sources[number] for number in block.partitions],
                block.first,
            )
            for block in self.blocks
        ]
        # Sent once, not with every task.
        self._geometry = delayed(geometry, pure=False)

    @property
    def small(self) -> int:
        """Bytes of the samples of all classes but the largest."""
        others = self.n_samples - int(self.geometry.sizes[self.geometry.large])
        return others * bytes_per_sample(self.n_features)

    def run(self, settings: Settings, seconds: dict[str, float]) -> Searched:
        """Find certificates, search for the other samples, and count the votes."""
        cluster = self.cluster
        cluster.set_progress(0, self.n_samples)
        with timed(seconds, "broadcast"):
            around = self._gather_around(settings.seed)
        with timed(seconds, "certificates"):
            undecided, counts = self._certify_in_other_blocks(*self._certify(around), around)
        n_certified = self.n_samples - sum(counts)
        outcomes: list[Any] = []
        done = n_certified
        with timed(seconds, "search"):
            batches = make_batches(counts, self.geometry.k, self.n_features, self.size)
            for some, n_chains in make_rounds(batches, len(self.blocks), cluster.threads):
                n_queries = sum(len(part) for batch in some for part in batch)
                queries = self._read_queries(some, undecided)
                tasks = [
                    self._search(batch, samples, settings, n_chains)
                    for batch, samples in zip(some, queries, strict=True)
                ]
                outcomes += cluster.persist(tasks, n_samples=n_queries)
                cluster.release(queries)
                done += n_queries
                cluster.set_progress(done, self.n_samples)
            edges = cluster.compute([task(_edges, batch) for batch in outcomes])
        return Searched(outcomes, edges, n_certified)

    def _gather_around(self, seed: int) -> Any:
        """Gather the samples that every block is compared with; None if they are too large.

        `seed` draws a sample of the large class; the result of the search does not depend on it.
        """
        fits = self.small <= self.size
        average = self.n_samples // len(self.blocks)
        few = average // SAMPLED if len(self.blocks) > 1 and fits else 0
        rng = np.random.default_rng(seed)
        sample = np.sort(rng.choice(self.n_samples, few, replace=False, shuffle=False))
        tasks = []
        for block, source in zip(self.blocks, self._sources, strict=True):
            begin, end = np.searchsorted(sample, [block.first, block.first + block.n_samples])
            mine = sample[begin:end] if fits else None
            tasks.append(task(_tasks.pick, source, mine, self._geometry))
        picked = self.cluster.persist(tasks)
        ranges = self.cluster.compute([task(_range, part) for part in picked])
        lowest, highest = (np.array(values) for values in zip(*ranges, strict=True))
        if (lowest.min(axis=0) == highest.max(axis=0)).all():
            raise nothing_varies()
        if not fits:
            return None
        return self.cluster.persist([task(_tasks.gather, picked)])[0]

    def _certify(self, around: Any) -> tuple[list[Any], list[int]]:
        """Find the certificates that a block shows by itself; return the other samples, counted."""
        run_id, geometry = self.cluster.run_id, self._geometry
        tasks = [task(_undecided, source, geometry, around, run_id) for source in self._sources]
        undecided = self.cluster.persist(tasks, n_samples=self.n_samples)
        return undecided, self._count(undecided)

    def _count(self, undecided: list[Any]) -> list[int]:
        counts = self.cluster.compute([task(len, part) for part in undecided])
        self.cluster.set_progress(self.n_samples - sum(counts), self.n_samples)
        return counts

    def _certify_in_other_blocks(
        self, undecided: list[Any], counts: list[int], around: Any
    ) -> tuple[list[Any], list[int]]:
        """Find certificates that need samples of several blocks: first of a few, then of more.

        In a table of m blocks, a block holds one in m of the near samples and proves little by
        itself. A sample with some of the k it needs there may find the others in a few more blocks.
        """
        n_visits, n_blocks = FIRST, len(self.blocks)
        while around is not None and sum(counts) > 0 and n_blocks >= 2 * n_visits:
            # Every round counts from zero: otherwise all samples of a batch would have to have
            # visited the same blocks.
            parts: list[list[Any]] = [[] for _ in self.blocks]
            # Half of the size, since a block and a batch are held together.
            batches = make_batches(counts, 0, self.n_features, self.size // 2)
            for some, n_chains in make_rounds(batches, n_visits, self.cluster.threads):
                queries = self._read_queries(some, undecided)
                tasks = [
                    self._count_nearer(batch, samples, undecided, around, n_visits, n_chains)
                    for batch, samples in zip(some, queries, strict=True)
                ]
                results = self.cluster.persist(tasks)
                self.cluster.release(queries)
                for batch, result in zip(some, results, strict=True):
                    at = 0
                    for part in batch:
                        parts[part.block].append((result, at, at + len(part)))
                        at += len(part)
            undecided = self.cluster.persist(
                [
                    task(_tasks.narrow, samples, mine, self.geometry.k)
                    for samples, mine in zip(undecided, parts, strict=True)
                ]
            )
            before: int = sum(counts)
            counts = self._count(undecided)
            n_visits *= GROWTH
            # Stop when a round costs more than the search for the samples it would decide.
            if (1 - sum(counts) / before) * n_blocks * CHEAPER < n_visits:
                break
        return undecided, counts

    def _count_nearer(
        self,
        batch: list[Slice],
        queries: Any,
        undecided: list[Any],
        around: Any,
        n_visits: int,
        n_chains: int,
    ) -> Any:
        """Return a task that counts nearer samples for a batch in `n_visits` blocks."""
        geometry, known = self._geometry, [undecided[part.block] for part in batch]
        enemy = task(_enemies, known, batch, queries, around, geometry)
        results = []
        for chain in make_chains(len(self.blocks), n_chains, batch, n_visits):
            counts = None
            for number in chain:
                counts = task(_count, self._sources[number], geometry, queries, enemy, counts)
            results.append(counts)
        return task(_add_counts, enemy, results)

    def _read_queries(self, batches: Sequence[list[Slice]], undecided: list[Any]) -> list[Any]:
        """Read the samples of batches, before any block is visited for them."""

        def read(part: Slice) -> Any:
            source, samples = self._sources[part.block], undecided[part.block]
            return task(_take, source, self._geometry, samples, part)

        return self.cluster.persist(
            [task(concatenate, [read(part) for part in batch]) for batch in batches]
        )

    def _search(self, batch: list[Slice], queries: Any, settings: Settings, n_chains: int) -> Any:
        """Return a task that searches all blocks for a batch and counts the votes."""
        share = -(-sum(map(len, batch)) // len(self.blocks))
        geometry, run_id = self._geometry, self.cluster.run_id
        results = []
        for chain in make_chains(len(self.blocks), n_chains, batch):
            nearest = None
            for number in chain:
                source = self._sources[number]
                nearest = task(_visit, source, geometry, queries, nearest, run_id, share)
            results.append(nearest)
        while len(results) > 1:
            # In pairs, so that no worker holds the results of more than two chains.
            pairs = [results[at : at + 2] for at in range(0, len(results), 2)]
            results = [pair[0] if len(pair) == 1 else task(merge, pair) for pair in pairs]
        epsilon, class_weight = float(settings.epsilon), settings.class_weight
        return task(_tasks.vote, queries, results[0], geometry, epsilon, class_weight)


def _range(picked: _tasks.Picked) -> tuple[Any, Any]:
    return picked.lowest, picked.highest


def _edges(outcome: _tasks.Outcome) -> tuple[int, int]:
    return int(outcome.ids[0]), int(outcome.ids[-1]) + 1


@roomy
def _undecided(
    source: BlockSource, geometry: Geometry, around: Samples | None, run_id: str | None
) -> Undecided:
    block = _tasks.read(source, geometry)
    positions = _tasks.undecided(block, around, geometry)
    report_progress(run_id, len(block) - len(positions))
    return Undecided(block.ids[0] + positions, np.empty(0))


def _take(source: BlockSource, geometry: Geometry, undecided: Undecided, part: Slice) -> Samples:
    block = _tasks.read(source, geometry)
    return block.take(undecided.ids[part.begin : part.end] - block.ids[0])


@roomy
def _enemies(
    undecided: Sequence[Undecided],
    batch: Sequence[Slice],
    queries: Samples,
    around: Samples,
    geometry: Geometry,
) -> Floats:
    if all(len(samples.enemy) for samples in undecided):
        parts = zip(undecided, batch, strict=True)
        return np.concatenate([samples.enemy[part.begin : part.end] for samples, part in parts])
    return _tasks.enemies(queries, around, geometry)


@roomy
def _count(
    source: BlockSource, geometry: Geometry, queries: Samples, enemy: Floats, so_far: Ints | None
) -> Ints:
    return _tasks.count(_tasks.read(source, geometry), queries, enemy, so_far, geometry)


def _add_counts(enemy: Floats, counts: Sequence[Ints]) -> tuple[Floats, Ints]:
    return enemy, sum(counts[1:], counts[0])


@roomy
def _visit(
    source: BlockSource,
    geometry: Geometry,
    queries: Samples,
    so_far: Nearest | None,
    run_id: str | None,
    share: int,
) -> Nearest:
    # Without a name for the block here, `visit` can free it.
    nearest = _tasks.visit(_tasks.read(source, geometry), queries, so_far, geometry)
    report_progress(run_id, share)
    return nearest
