"""The line of the library over a cluster: read, prove, search, vote."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed

from rectifold._timing import timed
from rectifold._typing import Ints
from rectifold.dask import stages
from rectifold.dask.cluster import Cluster, tell
from rectifold.dask.memory import roomy
from rectifold.dask.parts import Parts
from rectifold.dask.plan import Block, Slice, batches, blocks, chains
from rectifold.dask.rows import Best, Rows, joined, merged
from rectifold.dask.stages import Geometry
from rectifold.space import nothing_varies

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
    #: How the table was cut, and how many rows of the large class every worker was sent.
    blocks: int
    sample: int


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
        """Bytes of all rows that are not of the large class."""
        others = self.rows - int(self.geometry.sizes[self.geometry.large])
        return others * 8 * self.columns

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
            sample, around = self._around(seed)
        with timed(seconds, "certificates"):
            undecided, counts = self._undecided(around)
        certified = self.rows - sum(counts)
        outcomes: list[Any] = []
        edges: list[tuple[int, int]] = []
        done = certified
        with timed(seconds, "search"):
            for batch in batches(counts, self.geometry.k, self.columns, self.size):
                worth = sum(part.end - part.begin for part in batch)
                outcome = self._searched(batch, undecided, epsilon, class_weight, worth)
                outcomes += self.cluster.keep([outcome], worth=worth)
                edges += self.cluster.gather([delayed(_edges, pure=False)(outcomes[-1])])
                done += worth
                self.cluster.count(done, self.rows)
        return Searched(outcomes, edges, certified, len(self.blocks), len(sample))

    def _sources(self, block: Block) -> tuple[list[Any], list[Any], int]:
        rows, labels = self.parts.rows, self.parts.labels
        which = block.partitions
        return [rows[number] for number in which], [labels[number] for number in which], block.first

    def _read(self, block: Block) -> Any:
        """Read a block; every stage does so anew, so that no worker has to hold the table."""
        return delayed(stages.read, pure=False)(*self._sources(block), self._geometry)

    def _around(self, seed: int) -> tuple[Ints, Any]:
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
                delayed(stages.pick, pure=False)(*self._sources(block), mine, self._geometry)
            )
        picked = self.cluster.keep(picked)
        ranges = self.cluster.gather([delayed(_range, pure=False)(one) for one in picked])
        lowest, highest = (np.array(one) for one in zip(*ranges, strict=True))
        if (lowest.min(axis=0) == highest.max(axis=0)).all():
            raise nothing_varies()
        return sample, delayed(stages.gather, pure=False)(picked) if fits else None

    def _undecided(self, around: Any) -> tuple[list[Any], list[int]]:
        topic = self.cluster.topic
        found = [
            delayed(_undecided, pure=False)(self._read(block), around, self._geometry, topic)
            for block in self.blocks
        ]
        found = self.cluster.keep(found, worth=self.rows)
        counts = self.cluster.gather([delayed(len, pure=False)(one) for one in found])
        self.cluster.count(self.rows - sum(counts), self.rows)
        return found, counts

    def _searched(
        self,
        batch: list[Slice],
        undecided: list[Any],
        epsilon: float,
        class_weight: str | None,
        worth: int,
    ) -> Any:
        """Say how a batch is searched for, in all blocks."""
        asked = delayed(joined, pure=False)(
            [
                delayed(_ask, pure=False)(
                    self._read(self.blocks[part.block]), undecided[part.block], part
                )
                for part in batch
            ]
        )
        share = -(-worth // len(self.blocks))
        found = []
        for chain in chains(len(self.blocks), self.cluster.threads, batch):
            best = None
            for number in chain:
                best = delayed(_visit, pure=False)(
                    self._read(self.blocks[number]),
                    asked,
                    best,
                    self._geometry,
                    self.cluster.topic,
                    share,
                )
            found.append(best)
        while len(found) > 1:
            # Two by two, so that no worker has to hold more of what the chains found.
            pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
            found = [
                pair[0] if len(pair) == 1 else delayed(merged, pure=False)(pair) for pair in pairs
            ]
        return delayed(stages.vote, pure=False)(
            asked, found[0], self._geometry, epsilon, class_weight
        )


def _range(picked: stages.Picked) -> tuple[Any, Any]:
    return picked.lowest, picked.highest


def _edges(outcome: stages.Outcome) -> tuple[int, int]:
    return int(outcome.ids[0]), int(outcome.ids[-1]) + 1


@roomy
def _undecided(block: Rows, around: Rows | None, geometry: Geometry, topic: str | None) -> Ints:
    found = stages.undecided(block, around, geometry)
    tell(topic, len(block) - len(found))
    return found


def _ask(block: Rows, undecided: Ints, part: Slice) -> Rows:
    return block.take(undecided[part.begin : part.end])


@roomy
def _visit(
    block: Rows,
    asked: Rows,
    found: Best | None,
    geometry: Geometry,
    topic: str | None,
    share: int,
) -> Best:
    best = stages.visit(block, asked, found, geometry)
    tell(topic, share)
    return best
