"""Data sets of an experiment: the paper's, and tables in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Ints, did_you_mean, in_unicode
from rectifold._io import FileError, open_table
from rectifold.datasets import (
    PAPER_DATASETS,
    fetch_paper_datasets,
    fingerprint,
    missing_paper_datasets,
    paper_data_home,
)
from rectifold.model_selection._registry import BenchError

if TYPE_CHECKING:
    import pandas as pd

#: Remarks on data sets, by the fingerprint of their values.
NOTES = {
    "18e82e9a4ddacd13": "scene is a reconstruction here: its samples, labels and shape are those "
    "of the published set, its bytes could not be confirmed.",
}
#: Minimum size of the minority class: enough for a training and a test split.
MIN_MINORITY = 5


@dataclass(frozen=True)
class Source:
    """A data set that is not yet loaded; it can be sent to other processes.

    Attributes
    ----------
    name : str
        Name in the store.
    path : str
        A file with a table; empty for a data set of the paper.
    target : str
        Column of the labels. There must be two classes; the minority class is the positive one.
    data_home : str or None
        For a data set of the paper, its folder.

    See Also
    --------
    paper_sources : Sources of the paper's data sets.

    Examples
    --------
    >>> from rectifold.bench import Source
    >>> Source("loans", path="loans.csv", target="defaulted")
    Source(name='loans', path='loans.csv', target='defaulted', data_home=None)
    """

    name: str
    path: str = ""
    target: str = ""
    data_home: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", in_unicode(self.name))
        if self.path and self.name in PAPER_DATASETS:
            raise BenchError(
                f"{self.name!r} is one of the paper's data sets, and results on {self.path!r} "
                "would be taken for results on it: choose another name"
            )


@dataclass(frozen=True)
class Data:
    """A loaded data set."""

    #: Numbers, or a DataFrame that is encoded by what the training split shows.
    X: Any
    #: 1 for the minority class, 0 for the other.
    y: Ints
    #: Hash of all values; a store has results on one version of a data set only.
    fingerprint: str

    @property
    def n_positives(self) -> int:
        """Number of minority samples."""
        return int(self.y.sum())


@dataclass(frozen=True)
class Shape:
    """Size of a data set, for estimates of cost, and its fingerprint."""

    n_samples: int
    n_features: int
    n_positives: int
    fingerprint: str


def paper_sources(names: Sequence[str], data_home: str | Path | None = None) -> list[Source]:
    """Return sources of the paper's data sets.

    Parameters
    ----------
    names : sequence of str
        Names in `rectifold.datasets.PAPER_DATASETS`; empty for all of them.
    data_home : path-like, optional
        Folder of the data sets; see :func:`rectifold.datasets.fetch_paper_datasets`.

    Returns
    -------
    list of Source
        Sources in the given order; no data are loaded.

    Examples
    --------
    >>> from rectifold.bench import paper_sources
    >>> [source.name for source in paper_sources(["ecoli", "wine_quality"])]
    ['ecoli', 'wine_quality']
    >>> len(paper_sources([]))
    27
    """
    for name in names:
        if name not in PAPER_DATASETS:
            raise BenchError(
                f"there is no data set {name!r}{did_you_mean(name, PAPER_DATASETS, list_all=True)}"
            )
    data_home = None if data_home is None else str(data_home)
    return [Source(name, data_home=data_home) for name in names or PAPER_DATASETS]


def fetch(sources: Sequence[Source], *, download: bool) -> None:
    """Download the paper's data sets if some are missing and `download` allows it."""
    homes: dict[Path, list[str]] = {}
    for source in sources:
        if not source.path:
            homes.setdefault(paper_data_home(source.data_home), []).append(source.name)
    for home, names in homes.items():
        missing = missing_paper_datasets(names, home)
        if missing and not download:
            raise ParameterError(
                "these data sets are not under {}: {}; pass {} to download them, or their folder "
                "as {}.",
                repr(str(home)),
                ", ".join(missing),
                Param("download"),
                Param("data_home"),
            )
        if missing:
            fetch_paper_datasets(home, names=missing)


def load(source: Source) -> Data:
    """Load a data set."""
    if source.path:
        return _load_table(source)
    found = fetch_paper_datasets(source.data_home, names=[source.name], download_if_missing=False)[
        source.name
    ]
    return Data(found.data, (found.target == 1).astype(np.intp), found.fingerprint)


def measure(sources: Iterable[Source]) -> dict[str, Shape]:
    """Load data sets, and return their shapes by name."""
    shapes = {}
    for source in sources:
        data = load(source)
        n_samples, n_features = data.X.shape
        shapes[source.name] = Shape(n_samples, n_features, data.n_positives, data.fingerprint)
    return shapes


def read_table(source: Source, min_minority: int = MIN_MINORITY) -> tuple[pd.DataFrame, Ints, str]:
    """Return the features of a table, its labels as 0 and 1, and the label that 1 stands for."""
    path = Path(source.path)
    try:
        table = open_table(path)
        if source.target not in table.columns:
            raise BenchError(
                f"{str(path)!r} has no column {source.target!r}"
                f"{did_you_mean(source.target, table.columns)}"
            )
        features = [
            name for name in table.columns if name not in {source.target, *table.index_columns}
        ]
        frame = table.frame([*features, source.target])
    except FileError as error:
        raise BenchError(str(error)) from error
    if not features:
        raise BenchError(f"{str(path)!r} has no column besides its target")
    labels = frame[source.target]
    if labels.isna().any():
        raise BenchError(
            f"{int(labels.isna().sum())} rows of {str(path)!r} have no label: remove them first"
        )
    counts = labels.value_counts()
    # A categorical column may have categories without samples.
    counts = counts[counts > 0]
    if len(counts) != 2:
        raise BenchError(
            f"target {source.target!r} of {str(path)!r} has {len(counts)} classes, and an "
            "experiment needs two"
        )
    # Of two classes of equal size, the last in sorted order is the positive one.
    minority = max(counts[counts == counts.min()].index, key=str)
    y = (labels == minority).to_numpy(dtype=np.intp)
    if y.sum() < min_minority:
        raise BenchError(
            f"the minority class {str(minority)!r} of {str(path)!r} has {int(y.sum())} samples; at "
            f"least {min_minority} are needed for training and testing"
        )
    return frame[features], y, str(minority)


def notes(frame: pd.DataFrame) -> dict[str, str]:
    """Return remarks on the data sets of a store, by name."""
    sets = frame[["dataset", "data_fingerprint"]].drop_duplicates().itertuples(index=False)
    return {str(name): NOTES[mark] for name, mark in sets if mark in NOTES}


def _load_table(source: Source) -> Data:
    features, y, _ = read_table(source)
    numeric = all(dtype.kind in "biuf" for dtype in features.dtypes)
    X: Any = features.to_numpy(dtype=np.float64) if numeric else None
    if X is None or not np.isfinite(X).all():
        return Data(features, y, fingerprint(features.to_csv().encode(), y))
    return Data(X, y, fingerprint(X, y))
