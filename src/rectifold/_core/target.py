"""Check labels and encode them as class codes."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from imblearn.utils import check_target_type
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Ints

Labels = npt.NDArray[Any]

#: A partition with more distinct labels does not hold class labels. Integers of a smaller range
#: are not sorted.
_MOST = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Labels, checked and encoded."""

    #: The label of every sample.
    values: Labels
    #: The labels that occur, sorted.
    classes: Labels
    #: The position of every sample's label in `classes`.
    codes: Ints
    #: Number of samples of each class.
    sizes: Ints


def encode(y: Any, *, min_size: int = 2) -> Target:
    """Check labels and encode them as 0, 1, ... in sorted order.

    Classes with fewer than `min_size` samples are an error.

    `y` holds ints, strings, bools or categoricals, in a list, an array, a pandas or polars series
    or a frame of one column; or it is an indicator matrix with a column for each class.
    """
    y = _as_array(y)
    if y.ndim == 0:
        raise ParameterError("{} must be an array or a list of labels, one per sample.", Param("y"))
    if not len(y):
        raise nothing_to_clean()
    _check_no_missing(y)
    y = _of_one_type(y)
    target = _of_small_integers(y)
    if target is None:
        _check_not_continuous(y)
        values, _ = check_target_type(y, indicate_one_vs_all=True)
        classes, codes = np.unique(values, return_inverse=True)
        target = Target(values, classes, codes.astype(np.intp), np.bincount(codes))
    _check_classes(target.classes, target.sizes, min_size)
    return target


def _of_small_integers(y: Labels) -> Target | None:
    """Return integers of a small range as a target, without sorting them; None for other labels."""
    if y.ndim != 1 or y.dtype.kind not in "biu":
        return None
    low = y.min()
    if int(y.max()) - int(low) > _MOST:
        return None
    # Modulo the range of intp, so that large labels of other types have the right difference too.
    codes = y.astype(np.intp) - low.astype(np.intp)
    sizes = np.bincount(codes)
    if not sizes.all():
        codes = (np.cumsum(sizes > 0) - 1)[codes]
        sizes = sizes[sizes > 0]
    classes = np.empty(len(sizes), dtype=y.dtype)
    classes[codes] = y
    return Target(y, classes, codes, sizes)


def tally(y: Any, part: int) -> tuple[Labels, Ints]:
    """Return the sorted labels of a partition and their counts; `part` is its number for errors."""
    y = flat(y)
    if not len(y):
        return y, np.empty(0, dtype=np.intp)
    _check_no_missing(y, part)
    labels, counts = np.unique(_of_one_type(y), return_counts=True)
    if len(labels) > _MOST:
        raise _not_labels(len(labels), len(y))
    return labels, counts


def join(tallies: Sequence[tuple[Labels, Ints]]) -> tuple[Labels, Ints]:
    """Join the results of `tally` for all partitions, check them, and return classes and sizes."""
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
    _check_not_continuous(classes)
    _check_classes(classes, sizes)
    return classes, sizes


def codes_of(y: Any, classes: Labels) -> Ints:
    """Return the positions in `classes` of the labels of a partition."""
    return np.searchsorted(classes, flat(y)).astype(np.intp)


def encode_for(model: Any, X: Any, y: Any, *, min_size: int = 2) -> Target:
    """Check and encode the labels passed to the `fit` of a classifier.

    The number and the names of the features of `X` are set on `model`.
    """
    refuse_none(y, type(model).__name__)
    validate_data(model, X, skip_check_array=True)
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    return encode(y, min_size=min_size)


def refuse_none(y: Any, owner: str = "GMR") -> None:
    """Raise an error if there are no labels; `owner` is the class that needs them."""
    if y is None:
        raise ParameterError(
            "{} requires y to be passed, but the target {} is None.", owner, Param("y")
        )


def nothing_to_clean() -> ParameterError:
    """Return the error for an empty table."""
    return ParameterError("{} has 0 samples: there is nothing to clean.", Param("y"))


def flat(y: Any) -> Labels:
    """Return the labels as a one-dimensional array, also from a frame of one column."""
    labels = _as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = np.asarray(labels[:, 0])
    if labels.ndim != 1:
        raise ParameterError(
            "{} must have one label per sample, and has the shape {}.",
            Param("y"),
            str(labels.shape),
        )
    return labels


def named(label: Any) -> str:
    """Return the repr of a label without the name of its NumPy type."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _check_no_missing(y: Labels, part: int | None = None) -> None:
    missing = _missing(y)
    if missing.any():
        where = "" if part is None else f" of partition {part}"
        raise ParameterError(
            "{} has {} missing values (NaN or None), the first in row {}{}: every sample needs a "
            "label, so fill them or leave those samples out.",
            Param("y"),
            str(int(missing.sum())),
            str(int(np.flatnonzero(missing)[0])),
            where,
        )


def _check_not_continuous(y: Labels) -> None:
    with warnings.catch_warnings():
        # `_check_classes` raises an error for too many classes.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        # It is raised for infinite values, which are an error next.
        warnings.filterwarnings("ignore", message="invalid value encountered in cast")
        kind = type_of_target(y, input_name="y")
    if kind.startswith("continuous") or kind == "unknown":
        raise ParameterError(
            "Unknown label type: {}; {} must hold class labels, not a regression target.",
            kind,
            Param("y"),
        )


def _check_classes(classes: Labels, sizes: Ints, min_size: int = 2) -> None:
    if len(classes) < 2:
        raise ParameterError(
            "{} needs at least two classes, and holds only one class: {}.",
            Param("y"),
            named(classes[0]),
        )
    n_samples = int(sizes.sum())
    if len(classes) > max(2, n_samples // 2):
        raise _not_labels(len(classes), n_samples)
    if sizes.min() < min_size:
        raise ParameterError(
            "class {} of {} has a single sample, and cleaning needs at least two of every class: "
            "add samples, merge it with another class, or leave it out.",
            named(classes[sizes.argmin()]),
            Param("y"),
        )


def _not_labels(n_values: int, n_samples: int) -> ParameterError:
    return ParameterError(
        "{} has {} distinct values in {} samples: that looks like a regression target or an "
        "identifier, and cleaning needs class labels.",
        Param("y"),
        str(n_values),
        str(n_samples),
    )


def _as_array(y: Any) -> Labels:
    native = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return np.asarray(native.to_numpy())
    if isinstance(native, nw.Series):
        if native.dtype in (nw.Categorical, nw.Enum):
            # Categories of pandas can be of any type; as objects they keep it.
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
        raise ParameterError(
            "{} mixes labels of types {}, which have no common order: use one type for all labels.",
            Param("y"),
            names,
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
