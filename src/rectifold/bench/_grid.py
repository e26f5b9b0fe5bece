"""The fits of an experiment, and the order in which they run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rectifold._core.utils import did_you_mean
from rectifold.bench._costs import fit_cost, task_cost
from rectifold.bench._data import Shape, Source
from rectifold.bench._protocols import PROTOCOLS, TRAIN_ONLY
from rectifold.model_selection._registry import (
    CLASSIFIERS,
    METHODS,
    BenchError,
    Entry,
    check_distinct,
)

#: The paper's seeds, in its order.
SEEDS = (42, 0, 1, 2, 3)

#: The largest seed of NumPy's generators.
_MAX_SEED = 2**32 - 1

#: Key of a row in a store: data set, method, classifier, seed, protocol, version of the method,
#: options of the classifier.
Key = tuple[str, str, str, int, str, str, str]


@dataclass(frozen=True)
class Task:
    """One resampling, and the classifiers that are fitted on its result."""

    source: Source
    #: Fingerprint of the data set.
    fingerprint: str
    method: Entry
    #: Version of the method.
    version: str
    #: Seed of the split, of the sampler and of the classifiers.
    seed: int
    protocol: str
    #: Classifiers that are not yet fitted, cheap ones first.
    classifiers: tuple[Entry, ...]

    def key(self, classifier: Entry) -> Key:
        """Return the key of a classifier's row."""
        names = (self.source.name, self.method.name, classifier.name)
        return (*names, self.seed, self.protocol, self.version, classifier.options_text)

    @property
    def file_stem(self) -> str:
        """Name of the file with the resampled data that the classifiers share."""
        data = (self.source.name, self.fingerprint, self.method.name, self.method.path)
        settings = (self.version, self.seed, self.protocol)
        return hashlib.blake2b(repr((*data, *settings)).encode(), digest_size=10).hexdigest()

    def without(self, names: Iterable[str]) -> Task:
        """Return the task without classifiers that are fitted."""
        fitted = set(names)
        remaining = tuple(entry for entry in self.classifiers if entry.name not in fitted)
        return replace(self, classifiers=remaining)


@dataclass(frozen=True)
class Grid:
    """An experiment: every combination of data sets, methods, classifiers, seeds and protocols.

    Attributes
    ----------
    sources : sequence of Source
        Data sets.
    methods : sequence of Entry
        Samplers, from `method`; by default no sampling, GMR and the paper's 18 baselines.
    classifiers : sequence of Entry
        Classifiers, from `classifier`; by default the paper's seven.
    seeds : sequence of int
        Seeds of the split, the sampler and the classifier; by default the paper's five.
    protocols : sequence of str
        "train-only" fits samplers on the standardised training split. "paper" fits them on the raw
        features, standardises afterwards, and weights the classes in classifiers that have the
        parameter `class_weight`; "raw" and "class-weight" do one of the two. With "before-split",
        or "-before-split" after one of these names, all samples are resampled before the split,
        which is data leakage, to show its effect.

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

    That is 2 data sets, 3 methods, 2 classifiers and 5 seeds:

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
            if not 0 <= seed <= _MAX_SEED:
                raise BenchError(f"a seed must be from 0 to {_MAX_SEED}, not {seed}")
        for name in self.protocols:
            if name not in PROTOCOLS:
                known = did_you_mean(name, list(PROTOCOLS), list_all=True)
                raise BenchError(f"there is no protocol {name!r}{known}")
        dimensions: list[tuple[str, list[str | int]]] = [
            ("data set", [source.name for source in self.sources]),
            ("method", [entry.name for entry in self.methods]),
            ("classifier", [entry.name for entry in self.classifiers]),
            ("seed", list(self.seeds)),
            ("protocol", list(self.protocols)),
        ]
        for dimension, names in dimensions:
            if not names:
                raise BenchError(f"an experiment needs at least one {dimension}")
            check_distinct(dimension, names)

    def __len__(self) -> int:
        """Return the number of fits."""
        n = len(self.sources) * len(self.methods) * len(self.classifiers)
        return n * len(self.seeds) * len(self.protocols)

    def tasks(self, shapes: Mapping[str, Shape]) -> list[Task]:
        """Return the resamplings in the order in which they run.

        Cheap data sets come first, and the first seed of a costly one before the last seeds of one
        half as costly. All methods run on a seed of a data set before the next seed, so that an
        interrupted run has complete blocks to compare.

        :meta private:
        """
        versions = {entry.name: entry.version for entry in self.methods}

        def with_priority() -> Iterator[tuple[float, int, float, Task]]:
            for source in self.sources:
                shape = shapes[source.name]
                costs = [task_cost(entry, self.classifiers, shape) for entry in self.methods]
                for method, cost in zip(self.methods, costs, strict=True):
                    by_cost = partial(fit_cost, method=method, shape=shape)
                    classifiers = tuple(sorted(self.classifiers, key=by_cost))
                    for place, seed in enumerate(self.seeds):
                        for protocol in self.protocols:
                            task = Task(
                                source,
                                shape.fingerprint,
                                method,
                                versions[method.name],
                                seed,
                                protocol,
                                classifiers,
                            )
                            yield sum(costs) * (place + 1), place, cost, task

        return [task for *_, task in sorted(with_priority(), key=lambda item: item[:3])]
