"""Describe the samples of a page: coordinates, votes, columns and neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.projection import Projection
from rectifold._core.utils import Ints
from rectifold.report._shares import columns_compared, divide_distances
from rectifold.report._subset import Budget, Subset
from rectifold.report._table import Columns, shown

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: Maximum number of samples of a page with the labels of their neighbours.
_MAX_LABELLED = 50_000
#: The page has single precision.
_LARGEST = float(np.finfo(np.float32).max)


def describe_samples(
    record: Rectification, subset: Subset, projection: Projection | None, positions: Ints | None
) -> dict[str, Any]:
    """Return arrays with one entry per sample of the page, and facts about all of them.

    `positions` are the row numbers that the page shows, ascending; None shows those of the record.
    """
    rows = subset.rows
    codes = record._target.codes[rows]
    small = np.uint8 if len(record.classes) < 255 else np.uint16
    n_drawn = np.bincount(codes[subset.drawn], minlength=len(record.classes))
    at, labels = _neighbour_labels(record, rows)
    points: dict[str, Any] = {
        "row": (rows if positions is None else positions[rows]).astype(np.int64),
        "class": codes.astype(small),
        "predicted": record._votes.predicted[rows].astype(small),
        "drawn": subset.drawn.astype(np.uint8),
        "removable": subset.removable.astype(np.int32),
        "confidence": record.confidence[rows].astype(np.float32),
        # Rounded to single precision, a confidence just below 1 can become 1.
        "unanimous": (record.confidence[rows] == 1).astype(np.uint8),
        # Of two classes, it is 1 - confidence.
        "larger": (
            None if len(record.classes) == 2 else record._votes.larger[rows].astype(np.float32)
        ),
        "neighbours_at": at.astype(np.int32),
        "neighbour_labels": labels.astype(small),
        "n_drawn": n_drawn.tolist(),
        "n_marked": int((record.removed | record.spared)[rows].sum()),
        "index": index_labels(record._index, rows, positions),
        "axes": None,
        "note": "With metric='precomputed' samples have no coordinates, so there is no map: pass "
        "embedding=, an array of shape (n_samples, 2).",
    }
    if projection is not None:
        places = projection.at(rows)
        points |= {
            "x": places[:, 0],
            "y": places[:, 1],
            "window": _window(places, subset),
            "axes": [shown(name) for name in projection.axes],
            "note": projection.note,
        }
    return points


def _neighbour_labels(record: Rectification, rows: Ints) -> tuple[Ints, Ints]:
    """Return the codes of neighbours, and for each sample its position among them, or -1."""
    at = np.full(len(rows), -1)
    if record._trace is None:
        return at, np.empty((0, record._setting.n_neighbors), dtype=np.intp)
    known, indices, _ = record._trace.neighbours.of(rows)
    some = np.flatnonzero(known)[:_MAX_LABELLED]
    at[some] = np.arange(len(some))
    return at, record._target.codes[indices[:_MAX_LABELLED]]


def index_labels(index: Any, rows: Ints, positions: Ints | None) -> list[str] | None:
    """Return the labels of samples in a pandas index, or None if they are the row numbers."""
    if index is None:
        return None
    numbers = np.arange(len(index)) if positions is None else positions
    if np.array_equal(np.asarray(index), numbers):
        return None
    return [shown(name) for name in index[rows]]


def _window(places: Any, subset: Subset) -> list[list[float]]:
    """Return the first view of the map, in which a few outliers do not shrink the rest."""
    window = []
    for axis in places.T:
        parts = [axis[subset.drawn], axis[subset.removable >= 0]]
        ends = [np.quantile(part, [0.005, 0.995]) for part in parts if len(part)]
        low, high = min(one[0] for one in ends), max(one[1] for one in ends)
        least, most = float(axis.min()), float(axis.max())
        margin = 0.06 * (high - low) or 0.5
        if most - least <= 1.5 * (high - low) or low == high:
            low, high = least, most
        window.append([float(low - margin), float(high + margin)])
    return window


def describe_details(
    record: Rectification, subset: Subset, table: Columns, by_importance: Ints, budget: Budget
) -> dict[str, Any]:
    """Return columns and neighbours of the detailed samples, and columns of other samples.

    Of these come first neighbours of the detailed ones, with the same columns, and then drawn
    samples, which have only as many of the most important columns as the budget has cells for.
    """
    detailed = subset.detailed
    chosen = np.sort(by_importance[: budget.columns])
    left = max(0, budget.cells - len(detailed) * len(chosen))
    near = np.empty(0, dtype=np.intp)
    if record._trace is not None:
        near = _first_seen(record._trace.neighbours.of(detailed)[1].ravel())
        near = np.sort(near[~np.isin(near, detailed)][: left // 2 // max(1, len(chosen))])
    some = np.concatenate((detailed, near))
    drawn = subset.rows[subset.drawn]
    others = drawn[~np.isin(drawn, some)]
    rows = np.concatenate((some, others))
    left -= len(near) * len(chosen)
    of_all = {int(c) for c in by_importance[: left // max(1, len(others))]}
    sources = columns_compared(record, table)
    return {
        # Positions among the samples of the page; the first `count` of them are detailed.
        "point": np.searchsorted(subset.rows, rows).astype(np.int64),
        "count": len(detailed),
        "confidence": record.confidence[detailed],
        "columns": [
            {
                "name": shown(table.names[column]),
                # Whether the distance depends on it, if that is known.
                "compared": None if sources is None else bool((sources == column).any()),
                "values": table.plain(int(column), rows if int(column) in of_all else some),
            }
            for column in chosen
        ],
        "neighbours": _describe_neighbours(record, subset, sources, chosen, budget.shares),
    }


def _describe_neighbours(
    record: Rectification, subset: Subset, sources: Ints | None, columns: Ints, n_shares: int
) -> dict[str, Any]:
    """Return the neighbours of the detailed samples, and the shares of columns in distances."""
    detailed = subset.detailed
    if record._trace is None:
        return {"known": np.zeros(len(detailed), dtype=np.uint8)}
    known, indices, distances = record._trace.neighbours.of(detailed)
    shares = np.empty((0, indices.shape[1], len(columns)))
    if sources is not None:
        # Removed and spared samples are the first ones.
        n = int((record.removed | record.spared)[detailed[known]].sum())
        n = min(n, n_shares // max(1, indices.shape[1] * len(columns)))
        shares = divide_distances(record, sources, columns, detailed[known][:n], indices[:n])
    return {
        "known": known.astype(np.uint8),
        "point": np.searchsorted(subset.rows, indices).astype(np.int32),
        "distance": np.minimum(distances, _LARGEST).astype(np.float32),
        "weight": record._weigh(indices, distances).astype(np.float32),
        # In per cent, of the first samples with known neighbours.
        "shares": np.round(100 * shares).astype(np.uint8),
    }


def _first_seen(values: Ints) -> Ints:
    """Return the distinct values in the order of their first occurrence."""
    distinct, first = np.unique(values, return_index=True)
    return distinct[np.argsort(first, kind="stable")]
