"""The line of the library over a cluster: read, prove, search, vote."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed

from rectifold._core.space import nothing_varies
from rectifold._core.utils import Floats, Ints, timed
from rectifold.dask import _tasks
from rectifold.dask._cluster import Cluster, tell
from rectifold.dask._memory import roomy
from rectifold.dask._merge import Best, Rows, joined, merged
from rectifold.dask._partitions import Parts
from rectifold.dask._plan import Block, Slice, batches, blocks, chains, rounds, row_bytes
from rectifold.dask._tasks import Geometry, Open

#: Blocks in which further certificates are looked for at first, and how many times more in each
#: round; and how many times as much a visit takes that searches for neighbours.
FIRST, GROWTH, CHEAPER = 4, 4, 4
#: For so many rows of a block one row of the large class is sent along to all of them.
SAMPLED = 8


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """What the search tells, in parts that lie on the cluster."""

    #: What became of the rows that hold no certificate, batch by batch: `stages.Outcome`.
    outcomes: list[Any]
    #: The first row number of every batch, and the one after its last.
    edges: list[tuple[int, int]]
    #: How many rows hold a certificate.
    certified: int


class Line:
    """One table on its way from blocks to votes.

    Parameters
    ----------
    cluster : Cluster
        Who does the work.
    parts : Parts
        The table.
    counts : sequence of int
        Rows of every partition.
    geometry : Geometry
        How rows become points, and points are searched.
    columns : int
        Numbers of a point.
    size : int
        Bytes that any piece of work takes at most.
    """

    def __init__(
        self,
        cluster: Cluster,
        parts: Parts,
        counts: Sequence[int],
        geometry: Geometry,
        columns: int,
        size: int,
    ) -> None:
        self.cluster, self.parts, self.geometry = cluster, parts, geometry
        self.columns, self.size = columns, size
        self.rows = sum(counts)
        self.blocks = blocks(counts, columns, size, cluster.threads)
        # Sent once, not with every task.
        self._geometry = delayed(geometry, pure=False)

    @property
    def small(self) -> int:
        """Bytes of all rows that are not of the large class: numbers, class and row number."""
        others = self.rows - int(self.geometry.sizes[self.geometry.large])
        return others * row_bytes(self.columns)

    def run(
        self, seed: int, epsilon: float, class_weight: str | None, seconds: dict[str, float]
    ) -> Searched:
        """Find certificates, search for the other rows, and let their neighbours vote.

        Parameters
        ----------
        seed : int
            For the sample of the large class; the answer does not depend on it.
        epsilon, class_weight
            As for `rectifold.GMR`.
        seconds : dict
            How long each stage takes is put here.

        Returns
        -------
        Searched
        """
        self.cluster.count(0, self.rows)
        with timed(seconds, "broadcast"):
            around = self._around(seed)
        with timed(seconds, "certificates"):
            undecided, counts = self._narrowed(*self._undecided(around), around)
        certified = self.rows - sum(counts)
        outcomes: list[Any] = []
        done = certified
        with timed(seconds, "search"):
            cut = batches(counts, self.geometry.k, self.columns, self.size)
            for some, n_chains in rounds(cut, len(self.blocks), self.cluster.threads):
                worth = sum(part.end - part.begin for batch in some for part in batch)
                asked = self._asked(some, undecided)
                tasks = [
                    self._searched(batch, rows, epsilon, class_weight, n_chains)
                    for batch, rows in zip(some, asked, strict=True)
                ]
                outcomes += self.cluster.keep(tasks, worth=worth)
                self.cluster.drop(asked)
                done += worth
                self.cluster.count(done, self.rows)
            edges = self.cluster.gather([delayed(_edges, pure=False)(one) for one in outcomes])
        return Searched(outcomes, edges, certified)

    def _sources(self, block: Block) -> tuple[list[Any], list[Any], int]:
        """Say what a block is read from.

        Every task reads its block itself: one that was read before it is needed would have to be
        held, and soon all of them.
        """
        rows, labels = self.parts.row_sources, self.parts.label_sources
        which = block.partitions
        return [rows[number] for number in which], [labels[number] for number in which], block.first

    def _around(self, seed: int) -> Any:
        """Bring together what every block is compared with, if that is not too much."""
        fits = self.small <= self.size
        average = self.rows // len(self.blocks)
        few = average // SAMPLED if len(self.blocks) > 1 and fits else 0
        rng = np.random.default_rng(seed)
        sample = np.sort(rng.choice(self.rows, few, replace=False, shuffle=False))
        picked = []
        for block in self.blocks:
            begin, end = np.searchsorted(sample, [block.first, block.first + block.rows])
            mine = sample[begin:end] if fits else None
            picked.append(
                delayed(_tasks.pick, pure=False)(*self._sources(block), mine, self._geometry)
            )
        picked = self.cluster.keep(picked)
        ranges = self.cluster.gather([delayed(_range, pure=False)(one) for one in picked])
        lowest, highest = (np.array(one) for one in zip(*ranges, strict=True))
        if (lowest.min(axis=0) == highest.max(axis=0)).all():
            raise nothing_varies()
        return self.cluster.keep([delayed(_tasks.gather, pure=False)(picked)])[0] if fits else None

    def _undecided(self, around: Any) -> tuple[list[Any], list[int]]:
        run = self.cluster.run
        found = self.cluster.keep(
            [
                delayed(_undecided, pure=False)(*self._sources(block), self._geometry, around, run)
                for block in self.blocks
            ],
            worth=self.rows,
        )
        return found, self._counted(found)

    def _counted(self, undecided: list[Any]) -> list[int]:
        counts = self.cluster.gather([delayed(len, pure=False)(one) for one in undecided])
        self.cluster.count(self.rows - sum(counts), self.rows)
        return counts

    def _narrowed(
        self, undecided: list[Any], counts: list[int], around: Any
    ) -> tuple[list[Any], list[int]]:
        """Find certificates that need rows of several blocks: of a few, then of more.

        In a table of m blocks a block holds one in m of the rows that are near, so its own rows
        prove little; but whoever has some of k there may have the rest in a few others.
        """
        number, n_blocks = FIRST, len(self.blocks)
        while around is not None and sum(counts) > 0 and n_blocks >= 2 * number:
            # Every round counts anew, as rows of a batch would have to have seen the same blocks.
            parts: list[list[Any]] = [[] for _ in self.blocks]
            # Half of a block, as a block and a batch are looked at together.
            cut = batches(counts, 0, self.columns, self.size // 2)
            for some, n_chains in rounds(cut, number, self.cluster.threads):
                asked = self._asked(some, undecided)
                tasks = [
                    self._nearer(batch, rows, undecided, around, number, n_chains)
                    for batch, rows in zip(some, asked, strict=True)
                ]
                results = self.cluster.keep(tasks)
                self.cluster.drop(asked)
                for batch, result in zip(some, results, strict=True):
                    at = 0
                    for part in batch:
                        end = at + part.end - part.begin
                        parts[part.block].append((result, at, end))
                        at = end
            undecided = self.cluster.keep(
                [
                    delayed(_left, pure=False)(one, mine, self.geometry.k)
                    for one, mine in zip(undecided, parts, strict=True)
                ]
            )
            before: int = sum(counts)
            counts = self._counted(undecided)
            number *= GROWTH
            # A round costs a fraction of the visits that a search for the same rows would.
            if (1 - sum(counts) / before) * n_blocks * CHEAPER < number:
                break
        return undecided, counts

    def _nearer(
        self,
        batch: list[Slice],
        asked: Any,
        undecided: list[Any],
        around: Any,
        number: int,
        n_chains: int,
    ) -> Any:
        """Say how nearer rows are counted for a batch, in so many blocks."""
        enemy = delayed(_enemies, pure=False)(
            [undecided[part.block] for part in batch], batch, asked, around, self._geometry
        )
        found = []
        for chain in chains(len(self.blocks), n_chains, batch, number):
            counts = None
            for one in chain:
                counts = delayed(_count, pure=False)(
                    *self._sources(self.blocks[one]), self._geometry, asked, enemy, counts
                )
            found.append(counts)
        return delayed(_together, pure=False)(enemy, found)

    def _asked(self, some: Sequence[list[Slice]], undecided: list[Any]) -> list[Any]:
        """Bring the rows of batches together, before anybody visits a block for them."""
        read = self._sources
        return self.cluster.keep(
            [
                delayed(joined, pure=False)(
                    [
                        delayed(_ask, pure=False)(
                            *read(self.blocks[part.block]),
                            self._geometry,
                            undecided[part.block],
                            part,
                        )
                        for part in batch
                    ]
                )
                for batch in some
            ]
        )

    def _searched(
        self,
        batch: list[Slice],
        asked: Any,
        epsilon: float,
        class_weight: str | None,
        n_chains: int,
    ) -> Any:
        """Say how a batch is searched for, in all blocks."""
        share = -(-sum(part.end - part.begin for part in batch) // len(self.blocks))
        found = []
        for chain in chains(len(self.blocks), n_chains, batch):
            best = None
            for number in chain:
                best = delayed(_visit, pure=False)(
                    *self._sources(self.blocks[number]),
                    self._geometry,
                    asked,
                    best,
                    self.cluster.run,
                    share,
                )
            found.append(best)
        while len(found) > 1:
            # Two by two, so that no worker has to hold more of what the chains found.
            pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
            found = [
                pair[0] if len(pair) == 1 else delayed(merged, pure=False)(pair) for pair in pairs
            ]
        return delayed(_tasks.vote, pure=False)(
            asked, found[0], self._geometry, epsilon, class_weight
        )


def _range(picked: _tasks.Picked) -> tuple[Any, Any]:
    return picked.lowest, picked.highest


def _edges(outcome: _tasks.Outcome) -> tuple[int, int]:
    return int(outcome.ids[0]), int(outcome.ids[-1]) + 1


@roomy
def _undecided(
    Xs: list[Any],
    ys: list[Any],
    first: int,
    geometry: Geometry,
    around: Rows | None,
    run: str | None,
) -> Open:
    block = _tasks.read(Xs, ys, first, geometry)
    found = _tasks.undecided(block, around, geometry)
    tell(run, len(block) - len(found))
    return _tasks.opened(found, first)


def _ask(
    Xs: list[Any], ys: list[Any], first: int, geometry: Geometry, undecided: Open, part: Slice
) -> Rows:
    block = _tasks.read(Xs, ys, first, geometry)
    return block.take(undecided.ids[part.begin : part.end] - first)


@roomy
def _enemies(
    undecided: Sequence[Open], batch: Sequence[Slice], asked: Rows, around: Rows, geometry: Geometry
) -> Floats:
    if all(len(one.enemy) for one in undecided):
        parts = zip(undecided, batch, strict=True)
        return np.concatenate([one.enemy[part.begin : part.end] for one, part in parts])
    return _tasks.enemies(asked, around, geometry)


@roomy
def _count(
    Xs: list[Any],
    ys: list[Any],
    first: int,
    geometry: Geometry,
    asked: Rows,
    enemy: Floats,
    so_far: Ints | None,
) -> Ints:
    block = _tasks.read(Xs, ys, first, geometry)
    return _tasks.count(block, asked, enemy, so_far, geometry)


def _together(enemy: Floats, counts: Sequence[Ints]) -> tuple[Floats, Ints]:
    return enemy, sum(counts[1:], counts[0])


def _left(undecided: Open, parts: Sequence[tuple[tuple[Floats, Ints], int, int]], k: int) -> Open:
    return _tasks.narrowed(undecided, [(*found, begin, end) for found, begin, end in parts], k)


@roomy
def _visit(
    Xs: list[Any],
    ys: list[Any],
    first: int,
    geometry: Geometry,
    asked: Rows,
    found: Best | None,
    run: str | None,
    share: int,
) -> Best:
    # No name for the block here, so that it can be let go of there.
    best = _tasks.visit(_tasks.read(Xs, ys, first, geometry), asked, found, geometry)
    tell(run, share)
    return best
