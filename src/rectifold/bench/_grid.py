"""The cells of an experiment, and the order in which they are worth doing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rectifold._core.utils import did_you_mean
from rectifold.bench._costs import fit_cost, task_cost
from rectifold.bench._data import Shape, Source
from rectifold.bench._protocols import PROTOCOLS, TRAIN_ONLY
from rectifold.model_selection._registry import (
    CLASSIFIERS,
    METHODS,
    BenchError,
    Entry,
    refuse_twice,
)

#: The paper's seeds, in its order.
SEEDS = (42, 0, 1, 2, 3)

#: The largest that NumPy's generators take.
_LARGEST_SEED = 2**32 - 1

#: What tells one row of a store from all others: data set, method, classifier, seed, protocol and
#: version of the method.
Key = tuple[str, str, str, int, str, str]


@dataclass(frozen=True)
class Task:
    """One resampling, and the classifiers that share it.

    Attributes
    ----------
    source : Source
        The data set.
    fingerprint : str
        Of the data set.
    method : Entry
        The sampler.
    version : str
        Of the sampler.
    seed : int
        Of the split, the sampler and the classifiers.
    protocol : str
        The order of splitting and resampling.
    classifiers : tuple of Entry
        Those that are still to be fitted, cheap ones first.
    """

    source: Source
    fingerprint: str
    method: Entry
    version: str
    seed: int
    protocol: str
    classifiers: tuple[Entry, ...]

    def key(self, classifier: Entry) -> Key:
        """What the row of a classifier is kept under.

        Parameters
        ----------
        classifier : Entry
            One of the task's.

        Returns
        -------
        tuple
            See `Key`.
        """
        names = (self.source.name, self.method.name, classifier.name)
        return (*names, self.seed, self.protocol, self.version)

    @property
    def label(self) -> str:
        """A name for the file that holds its resampled rows while classifiers work on them."""
        facts = (self.source.name, self.fingerprint, self.method.name, self.method.path)
        rest = (self.version, self.seed, self.protocol)
        return hashlib.blake2b(repr((*facts, *rest)).encode(), digest_size=10).hexdigest()

    def without(self, names: Iterable[str]) -> Task:
        """The same task with fewer classifiers.

        Parameters
        ----------
        names : iterable of str
            Classifiers that are done.

        Returns
        -------
        Task
            What is left of it.
        """
        done = set(names)
        left = tuple(entry for entry in self.classifiers if entry.name not in done)
        return replace(self, classifiers=left)


@dataclass(frozen=True)
class Grid:
    """What an experiment is made of: every combination of these.

    Attributes
    ----------
    sources : sequence of Source
        Data sets.
    methods : sequence of Entry
        Samplers, from `method`; by default the paper's 18 baselines, none, and GMR.
    classifiers : sequence of Entry
        From `classifier`; by default the paper's seven.
    seeds : sequence of int
        By default the paper's five.
    protocols : sequence of str
        By default the honest one alone.

    Examples
    --------
    >>> from rectifold.bench import Grid, Source, classifier, method, paper_sources
    >>> grid = Grid(
    ...     sources=[Source("loans", "loans.csv", target="defaulted"), *paper_sources(["ecoli"])],
    ...     methods=[method("None"), method("GMR"), method("ENN")],
    ...     classifiers=[classifier("LR"), classifier("RF")],
    ... )
    >>> len(grid)
    60

    That is 2 data sets, 3 methods, 2 classifiers and the paper's 5 seeds, by the order in which
    nothing leaks:

    >>> grid.seeds, grid.protocols
    ((42, 0, 1, 2, 3), ('train-only',))
    """

    sources: Sequence[Source]
    methods: Sequence[Entry] = tuple(METHODS.values())
    classifiers: Sequence[Entry] = tuple(CLASSIFIERS.values())
    seeds: Sequence[int] = SEEDS
    protocols: Sequence[str] = (TRAIN_ONLY,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", tuple(int(seed) for seed in self.seeds))
        for seed in self.seeds:
            if not 0 <= seed <= _LARGEST_SEED:
                raise BenchError(f"a seed must be from 0 to {_LARGEST_SEED}, not {seed}")
        for name in self.protocols:
            if name not in PROTOCOLS:
                known = did_you_mean(name, PROTOCOLS, list_all=True)
                raise BenchError(f"there is no protocol {name!r}{known}")
        named: list[tuple[str, list[str | int]]] = [
            ("data set", [source.name for source in self.sources]),
            ("method", [entry.name for entry in self.methods]),
            ("classifier", [entry.name for entry in self.classifiers]),
            ("seed", list(self.seeds)),
            ("protocol", list(self.protocols)),
        ]
        for what, names in named:
            if not names:
                raise BenchError(f"an experiment needs at least one {what}")
            refuse_twice(what, names)

    def __len__(self) -> int:
        """The number of fits."""
        n = len(self.sources) * len(self.methods) * len(self.classifiers)
        return n * len(self.seeds) * len(self.protocols)

    def tasks(self, shapes: Mapping[str, Shape]) -> list[Task]:
        """List the resamplings in the order in which they are worth doing.

        :meta private:

        Parameters
        ----------
        shapes : mapping of str to Shape
            By the names of data sets.

        Returns
        -------
        list of Task
            Cheap data sets come first. The first seed of a costly set comes before the last ones
            of a set that is half as costly, and inside a set all methods of a seed come together,
            so that a run which is stopped early has whole blocks to compare.
        """
        versions = {entry.name: entry.version for entry in self.methods}

        def order() -> Iterator[tuple[float, int, float, Task]]:
            for source in self.sources:
                shape = shapes[source.name]
                whole = sum(task_cost(entry, self.classifiers, shape) for entry in self.methods)
                for entry in self.methods:
                    costs = {one.name: fit_cost(one, entry, shape) for one in self.classifiers}
                    fits = tuple(sorted(self.classifiers, key=lambda one: costs[one.name]))
                    own = task_cost(entry, self.classifiers, shape)
                    for place, seed in enumerate(self.seeds):
                        for protocol in self.protocols:
                            version = versions[entry.name]
                            fingerprint = shape.fingerprint
                            task = Task(source, fingerprint, entry, version, seed, protocol, fits)
                            yield whole * (place + 1), place, own, task

        return [task for *_, task in sorted(order(), key=lambda one: one[:3])]
