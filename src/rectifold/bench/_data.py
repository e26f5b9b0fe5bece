"""The data sets of an experiment: the paper's through imbalanced-learn's loader, and one's own."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from imblearn.datasets import fetch_datasets

from rectifold._core.utils import Ints, did_you_mean, in_unicode
from rectifold._io import FileError, open_table
from rectifold.datasets import PAPER_DATASETS
from rectifold.model_selection._registry import BenchError

if TYPE_CHECKING:
    import pandas as pd

#: What a reader of figures on a set should know, by the fingerprint of its values.
NOTES = {
    "18e82e9a4ddacd13": "scene is a reconstruction here: its rows, labels and shape are those of "
    "the published set, its bytes could not be confirmed.",
}
#: Fewer rows of a class can't be split into a training and a test part for five seeds in earnest.
LEAST = 5


@dataclass(frozen=True)
class Source:
    """Where a data set is; plain data, so that it travels to other processes.

    Attributes
    ----------
    name : str
        As in the store.
    path : str
        A table in a file; empty for a set of the paper.
    target : str
        Its column of labels.
    home : str or None
        For a set of the paper, the folder of the loader's cache.

    See Also
    --------
    paper_sources : Names data sets of the paper.

    Examples
    --------
    A table of one's own has two classes, of which the rarer one is to be found. Nothing is read
    yet:

    >>> from rectifold.bench import Source
    >>> Source("loans", path="loans.csv", target="defaulted")
    Source(name='loans', path='loans.csv', target='defaulted', home=None)
    """

    name: str
    path: str = ""
    target: str = ""
    home: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", in_unicode(self.name))
        if self.path and self.name in PAPER_DATASETS:
            raise BenchError(
                f"{self.name!r} is one of the paper's data sets, whose figures would stand beside "
                f"those of {self.path!r}: give yours another name"
            )


@dataclass(frozen=True)
class Data:
    """Rows, and 1 for the class to be found, the rarer one.

    Attributes
    ----------
    X : ndarray of float, or DataFrame
        A DataFrame where there are columns that are not all numbers; they are encoded by what the
        training part shows.
    y : ndarray of int
        0 and 1.
    fingerprint : str
        Of all values: results on other values under the same name do not mix.
    """

    X: Any
    y: Ints
    fingerprint: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape  # type: ignore[no-any-return]

    @property
    def positives(self) -> int:
        """Rows of the class to be found."""
        return int(self.y.sum())


@dataclass(frozen=True)
class Shape:
    """What of a data set bears on cost, and tells it from another of the same name.

    Attributes
    ----------
    rows, columns, positives : int
        How large it is, and how many of its rows are of the class to be found.
    fingerprint : str
        Of its values.
    """

    rows: int
    columns: int
    positives: int
    fingerprint: str


def paper_sources(names: Sequence[str], home: str | Path | None = None) -> list[Source]:
    """Name data sets of the paper.

    Parameters
    ----------
    names : sequence of str
        As in `rectifold.datasets.PAPER_DATASETS`; empty for all of them.
    home : path-like, optional
        The folder of imbalanced-learn's cache; by default that of scikit-learn.

    Returns
    -------
    list of Source
        Nothing is read yet.

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
    home = None if home is None else str(home)
    return [Source(name, home=home) for name in names or PAPER_DATASETS]


def fetch(sources: Sequence[Source], *, download: bool) -> None:
    """Make sure that data sets of the paper are there.

    Parameters
    ----------
    sources : sequence of Source
        Those of the experiment.
    download : bool
        Whether what is missing may be fetched from the network; it comes all at once.
    """
    missing = [source for source in sources if not source.path and not _is_there(source)]
    if missing and not download:
        names = ", ".join(source.name for source in missing)
        where = f"under {missing[0].home!r}" if missing[0].home else "in scikit-learn's data folder"
        raise BenchError(
            f"these data sets are not {where}: {names}; allow their download (--download), or name "
            "the folder that has them (--data-home)"
        )
    if missing:
        fetch_datasets(data_home=missing[0].home, filter_data=(missing[0].name,))


def _is_there(source: Source) -> bool:
    # As scikit-learn's get_data_home, which makes the folder for the sake of naming it.
    home = source.home or os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")
    number = PAPER_DATASETS.index(source.name) + 1
    return (Path(home).expanduser() / "zenodo" / f"x{number}data.npz").is_file()


def load(source: Source) -> Data:
    """Read a data set.

    Parameters
    ----------
    source : Source
        Where it is.

    Returns
    -------
    Data
        Its rows and labels.
    """
    if source.path:
        return _load_table(source)
    bunch = fetch_datasets(
        data_home=source.home, filter_data=(source.name,), download_if_missing=False
    )[source.name]
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    y = (bunch.target == 1).astype(np.intp)
    return Data(X, y, fingerprint(X, y))


def measure(sources: Iterable[Source]) -> dict[str, Shape]:
    """Read data sets to learn their sizes.

    Parameters
    ----------
    sources : iterable of Source
        The data sets; they are there.

    Returns
    -------
    dict of str to Shape
        By name.
    """
    shapes = {}
    for source in sources:
        data = load(source)
        shapes[source.name] = Shape(*data.shape, data.positives, data.fingerprint)
    return shapes


def read_table(source: Source, least: int = LEAST) -> tuple[pd.DataFrame, Ints, str]:
    """Read a table of one's own.

    Parameters
    ----------
    source : Source
        Where it is, and its column of labels.
    least : int
        Rows of the rarer class that are needed.

    Returns
    -------
    columns : pandas.DataFrame
        All others.
    y : ndarray of int
        0 and 1.
    rarer : str
        The label of the class to be found.
    """
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
    except FileError as problem:
        raise BenchError(str(problem)) from problem
    if not features:
        raise BenchError(f"{str(path)!r} has no column besides its target")
    labels = frame[source.target]
    if labels.isna().any():
        raise BenchError(
            f"{int(labels.isna().sum())} rows of {str(path)!r} have no label: leave them out first"
        )
    counts = labels.value_counts()
    # A categorical column may have categories that no row has.
    counts = counts[counts > 0]
    if len(counts) != 2:
        raise BenchError(
            f"target {source.target!r} of {str(path)!r} has {len(counts)} classes, and experiments "
            "are on two"
        )
    # Of two equal classes, the one that sorts last is the one to be found.
    rarer = max(counts[counts == counts.min()].index, key=str)
    y = (labels == rarer).to_numpy(dtype=np.intp)
    if y.sum() < least:
        raise BenchError(
            f"{str(path)!r} has {int(y.sum())} rows of its rarer class {str(rarer)!r}; at least "
            f"{least} are needed to train and to test"
        )
    return frame[features], y, str(rarer)


def _load_table(source: Source) -> Data:
    columns, y, _ = read_table(source)
    numeric = all(dtype.kind in "biuf" for dtype in columns.dtypes)
    X: Any = columns.to_numpy(dtype=np.float64) if numeric else None
    if X is None or not np.isfinite(X).all():
        return Data(columns, y, fingerprint(columns.to_csv().encode(), y))
    return Data(X, y, fingerprint(X, y))


def read_arrays(path: Path, *names: str) -> tuple[Any, ...]:
    """Read arrays from a file of NumPy's, or say what is wrong with it.

    Parameters
    ----------
    path : pathlib.Path
        An ``.npz`` file. Pickles in it, which may run any code, are not read.
    *names : str
        Of the arrays.

    Returns
    -------
    tuple of ndarray
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return tuple(file[name] for name in names)
    except FileNotFoundError:
        raise BenchError(f"there is no file {str(path)!r}") from None
    except KeyError as problem:
        raise BenchError(f"{str(path)!r} lacks an array: {problem.args[0]}") from problem
    except (OSError, ValueError, EOFError, AttributeError, TypeError) as problem:
        raise BenchError(f"{str(path)!r} can't be read as arrays: {problem}") from problem
    except (zipfile.BadZipFile, zlib.error) as problem:
        raise BenchError(f"{str(path)!r} is damaged: {problem}") from problem


def fingerprint(X: Any, y: Ints) -> str:
    """Tell values from others, in sixteen characters."""
    values = X if isinstance(X, bytes) else X.astype("<f8").tobytes()
    content = hashlib.blake2b(values, digest_size=8)
    content.update(repr(np.shape(X)).encode())
    content.update(y.astype("<i8").tobytes())
    return content.hexdigest()
