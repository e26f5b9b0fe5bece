"""The caller's labels become class codes, or one sentence on why they can't."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from imblearn.utils import check_target_type
from sklearn.utils.multiclass import check_classification_targets

from rectifold._core.utils import Ints

Labels = npt.NDArray[Any]

#: More labels in a part of a table are none: they are not worth being brought together.
_MOST = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Labels, checked and coded."""

    #: The label of every row.
    values: Labels
    #: The labels that occur, sorted.
    classes: Labels
    #: The position in `classes` of every row's label.
    codes: Ints
    #: Rows per class.
    sizes: Ints


def encode(y: Any) -> Target:
    """Check labels and code them 0, 1, ... in sorted order.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Ints, strings, bools, categoricals, in a list, an array, a pandas or polars
        series or a frame of one column; or an indicator matrix, one column per class.

    Returns
    -------
    Target
    """
    y = _as_array(y)
    if y.ndim == 0:
        raise ValueError("y must be an array or a list of labels, one for every row of X.")
    if not len(y):
        raise nothing_to_clean()
    _refuse_missing(y)
    y = _of_one_type(y)
    _refuse_numbers_that_are_no_labels(y)
    values, _ = check_target_type(y, indicate_one_vs_all=True)
    classes, codes = np.unique(values, return_inverse=True)
    sizes = np.bincount(codes)
    _check_classes(classes, sizes)
    return Target(values, classes, codes.astype(np.intp), sizes)


def tally(y: Any, part: int) -> tuple[Labels, Ints]:
    """Count the labels of a part of a table.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, as for `encode`, but no indicator matrix.
    part : int
        Its number, for an error.

    Returns
    -------
    labels, counts : ndarray of shape (n_classes,)
        The labels that occur there, sorted, and how often each does.
    """
    y = flat(y)
    if not len(y):
        return y, np.empty(0, dtype=np.intp)
    _refuse_missing(y, part)
    labels, counts = np.unique(_of_one_type(y), return_counts=True)
    if len(labels) > _MOST:
        raise _no_labels(len(labels), len(y))
    return labels, counts


def join(tallies: Sequence[tuple[Labels, Ints]]) -> tuple[Labels, Ints]:
    """Join the counts of all parts of a table, and check them.

    Parameters
    ----------
    tallies : sequence of tuple
        What `tally` gives, for every part.

    Returns
    -------
    classes, sizes : ndarray of shape (n_classes,)
        The labels that occur, sorted, and rows per class.
    """
    labels = [labels for labels, _ in tallies if len(labels)]
    if not labels:
        raise nothing_to_clean()
    if len({one.dtype.kind in "OUS" for one in labels}) > 1:
        # NumPy would turn the numbers into text.
        labels = [one.astype(object) for one in labels]
    every = _of_one_type(np.concatenate(labels))
    classes, where = np.unique(every, return_inverse=True)
    counts = np.concatenate([counts for _, counts in tallies])
    sizes = np.bincount(where, weights=counts).astype(np.intp)
    _refuse_numbers_that_are_no_labels(classes)
    _check_classes(classes, sizes)
    return classes, sizes


def codes_of(y: Any, classes: Labels) -> Ints:
    """Code the labels of a part of a table by their position among all classes."""
    return np.searchsorted(classes, flat(y)).astype(np.intp)


def refuse_none(y: Any) -> None:
    """Refuse to clean without labels."""
    if y is None:
        raise ValueError("GMR requires y to be passed, but the target y is None.")


def nothing_to_clean() -> ValueError:
    """The error where there are no rows."""
    return ValueError("y has 0 samples: there is nothing to clean.")


def _refuse_missing(y: Labels, part: int | None = None) -> None:
    missing = _missing(y)
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        where = "" if part is None else f" of partition {part}"
        raise ValueError(
            f"y has {int(missing.sum())} missing values (NaN or None), the first in row {first}"
            f"{where}: every row needs a label, so fill them or leave those rows out."
        )


def _refuse_numbers_that_are_no_labels(y: Labels) -> None:
    with warnings.catch_warnings():
        # That there are too many classes is said by others, as an error.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        check_classification_targets(y)


def flat(y: Any) -> Labels:
    """One label a row, also from a frame of one column."""
    labels = _as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = np.asarray(labels[:, 0])
    if labels.ndim != 1:
        raise ValueError(f"y must have one label for every row, and has the shape {labels.shape}.")
    return labels


def _check_classes(classes: Labels, sizes: Ints) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"y needs at least two classes, and holds only one class: {named(classes[0])}."
        )
    rows = int(sizes.sum())
    if len(classes) > max(2, rows // 2):
        raise _no_labels(len(classes), rows)
    if sizes.min() < 2:
        raise ValueError(
            f"class {named(classes[sizes.argmin()])} of y has a single row, and cleaning needs "
            "two of every class at least: add rows, merge it with another class, or leave it out."
        )


def _no_labels(values: int, rows: int) -> ValueError:
    return ValueError(
        f"y has {values} distinct values in {rows} rows: that looks like a regression "
        "target or an identifier, and cleaning needs a class label."
    )


def named(label: Any) -> str:
    """Write a label as Python would, without the name of its NumPy type."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _as_array(y: Any) -> Labels:
    native = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return np.asarray(native.to_numpy())
    if isinstance(native, nw.Series):
        if native.dtype in (nw.Categorical, nw.Enum):
            # Categories of pandas may be anything; as objects they stay what they are.
            return np.asarray(native.to_list(), dtype=object)
        return np.asarray(native.to_numpy())
    array = np.asarray(y)
    if array.dtype.kind in "US" and not isinstance(y, np.ndarray):
        # NumPy turns a list like ["a", None] or ["a", nan] into text.
        objects = np.empty(len(y), dtype=object)
        objects[:] = list(y)
        array = objects if array.ndim == 1 and _missing(objects).any() else array
    return array


def _of_one_type(y: Labels) -> Labels:
    if y.dtype.kind != "O":
        return y
    kinds = {type(value) for value in y.ravel()}
    if kinds <= {str}:
        return y
    if any(issubclass(kind, str) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"y mixes labels of types {names}, which have no common order: "
            "use one type for all labels."
        )
    return np.asarray(y.tolist())


def _missing(y: Labels) -> npt.NDArray[np.bool_]:
    if y.dtype.kind == "O":
        flat = y.reshape(len(y), -1)
        # pandas.NA is neither equal nor unequal to itself.
        return np.array(
            [any(v is None or type(v).__name__ == "NAType" or v != v for v in row) for row in flat]
        )
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y.reshape(len(y), -1)).any(axis=1))
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y.reshape(len(y), -1)).any(axis=1))
    return np.zeros(len(y), dtype=bool)
