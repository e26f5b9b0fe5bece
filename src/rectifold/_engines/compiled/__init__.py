"""Searches of leaves in C, for blocks of queries at a time; without a compiled library, NumPy's.

The library holds no state and is called without the interpreter's lock, so that threads share the
work. It proves the same as `exact.certificates` and `exact.leaf_search`, and `settle` computes the
same distances to the last bit.
"""

import ctypes
import os
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.utils import Bools, Floats, Ints
from rectifold._engines.compiled.build import FOLDER, NAME
from rectifold._engines.rounding import ball_margin, of_differences

if TYPE_CHECKING:
    from rectifold._engines.exact.products import Frame

#: Set to 0 to use NumPy.
SWITCH = "RECTIFOLD_COMPILED"
#: The sizes of leaves are multiples of this.
WIDTH = 16
#: States of points after `certify`.
CERTIFIED, UNDECIDED = 1, 2
_CROWDED = -2
#: That of search.h.
_VERSION = 1
#: Up to this number of columns points are compared by differences, which are more precise than
#: products and take twice the time.
DIFFERENCES = 64
#: Few queries are split into up to this number of tasks, whatever the number of threads.
TASKS = 32
#: Weights of points are counted up to this number, far above any number of neighbours.
_MOST = 1 << 20

_TYPES = (np.dtype(np.float64), np.dtype(np.float32))
_pointer, _int, _double = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class _Frame(ctypes.Structure):
    _fields_ = (
        *((name, _pointer) for name in ("stored", "centres", "radii")),
        *((name, _pointer) for name in ("labels", "weights", "squares", "order", "values")),
        *((name, _int) for name in ("single", "exponent", "direct")),
        *((name, _int) for name in ("n_leaves", "d", "m", "size")),
        *((name, _double) for name in ("relative", "margin", "absolute", "reach", "blur")),
        *((name, ctypes.c_float) for name in ("shrink", "stretch")),
    )


class _Queries(ctypes.Structure):
    _fields_ = (
        *((name, _pointer) for name in ("points", "sketch", "squares", "groups")),
        *((name, _pointer) for name in ("rows", "values")),
        *((name, _int) for name in ("single", "n")),
    )


class _Found(ctypes.Structure):
    _fields_ = (("offsets", _pointer), ("places", _pointer), ("room", _int))


_SIGNATURES = {
    "certify": (
        *(ctypes.c_int, _pointer, _pointer, _int, _int, _int, _double, _int, _int),
        *(_pointer, _pointer, _pointer),
    ),
    "count_nearer": (
        *(ctypes.c_int, _pointer, _pointer, _pointer, _int, _int, _int, _pointer, _pointer),
    ),
    "search": (
        *(ctypes.c_int, _pointer, _pointer, _pointer, _int, _int, _pointer, _pointer, _pointer),
    ),
    "settle": (
        *(_pointer, ctypes.c_int, _pointer, ctypes.c_int, _int, _pointer, _pointer, _pointer),
        *(_int, _int, ctypes.c_int, ctypes.c_int, _int, _pointer, _pointer, _pointer),
    ),
    "release": (_pointer,),
}


@cache
def load(path: str) -> Any:
    """Return the library at a path; None if there is none for this machine."""
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    if not hasattr(library, "version") or library.version() != _VERSION:
        return None
    for name, types in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, _int
    library.release.restype = None
    return library


def library() -> Any:
    """Return the compiled library; None to use NumPy."""
    if os.environ.get(SWITCH) == "0":
        return None
    return load(str(FOLDER / NAME))


def _address(values: Any) -> int | None:
    """Return the address of points in full precision; None if the library can't read them."""
    if not isinstance(values, np.ndarray) or not values.flags.c_contiguous:
        return None
    return int(values.ctypes.data) if values.dtype in _TYPES else None


def instructions() -> int:
    """Return the level of instructions to use: 2 for AVX-512, 1 for AVX2, 0 for all processors."""
    return int(library().best_level())


class CrowdedError(Exception):
    """A query has so many equally near points that they do not fit into memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """What a search has found."""

    numbers: Ints
    #: Upper bounds of the squared distances of the farthest neighbours.
    bounds: Floats
    #: The places near ``numbers[i]`` are ``places[offsets[i]:offsets[i + 1]]``.
    offsets: Ints
    places: Ints


@dataclass(frozen=True, slots=True, eq=False)
class CompiledFrame:
    """Points in leaves in the form in which the library reads them."""

    library: Any
    level: int
    frame: "Frame"
    #: What the structure points to.
    arrays: tuple[Any, ...]
    structure: _Frame

    @classmethod
    def of(cls, frame: "Frame", weights: Ints) -> "CompiledFrame | None":
        """Return the frame in that form; None if it has another one or nothing is compiled.

        Points of few columns are compared by differences, others by products.
        """
        stored, found = frame.stored, library()
        if found is None or not isinstance(stored, np.ndarray):
            return None
        if frame.dtype != np.float32 or frame.leaves.size % WIDTH:
            return None
        leaves, m = frame.leaves, frame.leaves.balls.shape[1] - 3
        d, margin = stored.shape[1] - 2, ball_margin(m)
        centres = np.ascontiguousarray(leaves.balls[:, :m].T) / np.float32(2)
        radii = leaves.balls[:, m + 2] / np.float32(2) * np.float32(1 + margin)
        arrays: tuple[Any, ...] = (
            *(stored, centres, radii, np.ascontiguousarray(leaves.labels, dtype=np.int64)),
            *(np.minimum(weights, _MOST).astype(np.int32), frame.side.squares),
            np.ascontiguousarray(leaves.order, dtype=np.int64),
        )
        values, rounding = frame.coordinates.values, frame.rounding
        structure = _Frame(
            *(array.ctypes.data for array in arrays),
            *(_address(values), getattr(values, "dtype", None) == np.float32),
            *(frame.coordinates.exponent, False, leaves.n, d, m, leaves.size),
            *(4 * rounding.relative, 4 * rounding.relative, rounding.absolute, rounding.reach),
            *(frame.blur, 1 - margin, 1 + margin),
        )
        products = cls(found, instructions(), frame, arrays, structure)
        return products.differences() if d <= DIFFERENCES else products

    def differences(self) -> "CompiledFrame":
        """Return the same points, compared by differences."""
        structure = _Frame()
        ctypes.pointer(structure)[0] = self.structure
        structure.direct = True
        structure.relative, structure.margin = of_differences(int(structure.d))
        return replace(self, structure=structure)

    def certify(
        self, leaves: slice, k: int, ceiling: float, first: int, glance: int
    ) -> tuple[Floats, Floats, Ints, int]:
        """Look for certificates of the points in some leaves of one class.

        Return for every place an upper bound of the squared distance of the k-th nearest sample, a
        lower bound of that of the nearest sample of another class, and the state; and the number of
        pairs. A point is compared with the leaves of other classes within the first bound, and if
        that is not enough, with up to `first` leaves of its own class. If the other leaves are
        many, `glance` of them decide whether the rest is worth it.
        """
        n = (leaves.stop - leaves.start) * self.frame.leaves.size
        bounds, nearest, state = np.empty(n), np.empty(n), np.empty(n, dtype=np.uint8)
        sketch = None if self.frame.side.plain else self.frame.side.sketch.ctypes.data
        pairs = self._call(
            *("certify", sketch, leaves.start, leaves.stop, k, ceiling, first, glance),
            *(bounds.ctypes.data, nearest.ctypes.data, state.ctypes.data),
        )
        return bounds, nearest, state, pairs

    def count_nearer(
        self, numbers: Ints, nearest: Floats, which: Ints, k: int, most: int
    ) -> tuple[Ints, int]:
        """Count the samples nearer to some queries than squared distances; also return the pairs.

        The counts are lower bounds: up to `most` leaves of `which` are searched for each query, and
        counting stops above k.
        """
        counts = np.empty(len(numbers), dtype=np.int64)
        nearest, which = np.ascontiguousarray(nearest), np.ascontiguousarray(which)
        queries, _arrays = self._queries(numbers, numbers // self.frame.leaves.size)
        pairs = self._call(
            *("count_nearer", ctypes.byref(queries), which.ctypes.data, len(which), k, most),
            *(nearest.ctypes.data, counts.ctypes.data),
        )
        return counts, pairs

    def search(
        self, numbers: Ints, bounds: Floats, which: Ints, wanted: int, groups: Ints | None = None
    ) -> tuple[list[Near], Ints, Floats, int]:
        """Find the places that can hold the `wanted` nearest samples of some queries.

        `bounds` are upper bounds of their squared distances; queries of one of `groups` are near
        each other, by default those in one leaf. Return what was found, the queries for which
        rounding is too coarse with tighter bounds, and the number of pairs.
        """
        groups = numbers // self.frame.leaves.size if groups is None else groups
        found, coarse, bounds, pairs = self._search(numbers, bounds, which, wanted, groups)
        if not coarse.any() or self.structure.direct:
            return [found], numbers[coarse], bounds[coarse], pairs
        again = self.differences()
        finer, still, bounds, more = again._search(
            numbers[coarse], bounds[coarse], which, wanted, groups[coarse]
        )
        return [found, finer], numbers[coarse][still], bounds[still], pairs + more

    def _search(
        self, numbers: Ints, bounds: Floats, which: Ints, wanted: int, groups: Ints
    ) -> tuple[Near, Bools, Floats, int]:
        coarse = np.empty(len(numbers), dtype=np.bool_)
        bounds, which = bounds.copy(), np.ascontiguousarray(which)
        offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
        queries, _arrays = self._queries(numbers, groups)
        found = _Found(offsets.ctypes.data, None, 0)
        try:
            pairs = self._call(
                *("search", ctypes.byref(queries), which.ctypes.data, len(which), wanted),
                *(bounds.ctypes.data, coarse.ctypes.data, ctypes.byref(found)),
            )
            places = np.empty(int(offsets[-1]), dtype=np.intp)
            if len(places):
                ctypes.memmove(places.ctypes.data, found.places, places.nbytes)
        finally:
            self.library.release(found.places)
        # Those that are too coarse have no places.
        offsets = np.append(offsets[:-1][~coarse], offsets[-1])
        return Near(numbers[~coarse], bounds[~coarse], offsets, places), coarse, bounds, pairs

    def _queries(self, numbers: Ints, groups: Ints) -> tuple[_Queries, tuple[Any, ...]]:
        side, groups = self.frame.side, np.ascontiguousarray(groups)
        points = np.ascontiguousarray(side.points(numbers, np.dtype(np.float32)))
        squares = side.squares[numbers]
        sketch = None if side.plain else side.sketch.take(numbers, axis=0)
        address = None if sketch is None else sketch.ctypes.data
        rows = np.ascontiguousarray(side.rows[numbers], dtype=np.int64)
        values = side.coordinates.values
        structure = _Queries(
            *(points.ctypes.data, address, squares.ctypes.data, groups.ctypes.data),
            *(rows.ctypes.data, _address(values), values.dtype == np.float32, len(numbers)),
        )
        return structure, (points, squares, sketch, groups, rows)

    def _call(self, name: str, *arguments: Any) -> int:
        result = int(
            getattr(self.library, name)(self.level, ctypes.byref(self.structure), *arguments)
        )
        if result == _CROWDED:
            raise CrowdedError
        if result < 0:
            raise MemoryError
        return result


_METRICS = {"euclidean": 0, "sqeuclidean": 1, "cosine": 2}


def settle(
    left: Any,
    right: Any,
    metric: str,
    rows: Ints,
    offsets: Ints,
    candidates: Ints,
    k: int,
    missing: int,
    *,
    itself: bool,
) -> tuple[Ints, Floats, Ints] | None:
    """Return what `settle.settle_few` does, for dense points; None if nothing is compiled."""
    found = library()
    if found is None or metric not in _METRICS:
        return None
    if not all(
        isinstance(values, np.ndarray) and values.dtype in _TYPES and values.flags.c_contiguous
        for values in (left, right)
    ):
        return None
    n = len(offsets) - 1
    indices, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    counts = np.empty(n, dtype=np.int64)
    arrays = [np.ascontiguousarray(array, dtype=np.int64) for array in (rows, offsets, candidates)]
    found.settle(
        *(left.ctypes.data, left.dtype == np.float32, right.ctypes.data),
        *(right.dtype == np.float32, right.shape[1]),
        *(array.ctypes.data for array in arrays),
        *(n, k, itself, _METRICS[metric], missing),
        *(indices.ctypes.data, distances.ctypes.data, counts.ctypes.data),
    )
    return indices, distances, counts
