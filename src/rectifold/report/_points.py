"""The rows of a page: where they are drawn, what is told of them, and who voted on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.projection import Picture
from rectifold._core.utils import Ints
from rectifold._core.votes import weigh
from rectifold.report._subset import Budget, Choice
from rectifold.report._table import Columns, shown

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: Rows for which a page holds the labels of neighbours.
_LABELLED = 50_000
#: A page has single precision.
_LARGEST = float(np.finfo(np.float32).max)


def points_of(
    record: Rectification, choice: Choice, drawn: Picture | None, positions: Ints | None
) -> dict[str, Any]:
    """Describe the rows of a page, one entry each.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    choice : Choice
        The rows.
    drawn : Picture or None
        Where they are drawn, if anywhere.
    positions : ndarray of int or None
        What the caller counts as their positions, ascending; None takes those in the record.

    Returns
    -------
    dict
    """
    rows = choice.rows
    codes = record._target.codes[rows]
    small = np.uint8 if len(record.classes) < 255 else np.uint16
    of_class = np.bincount(codes[choice.drawn], minlength=len(record.classes))
    named, labels = _labels_near(record, rows)
    points: dict[str, Any] = {
        "row": (rows if positions is None else positions[rows]).astype(np.int64),
        "class": codes.astype(small),
        "predicted": record._votes.predicted[rows].astype(small),
        "drawn": choice.drawn.astype(np.uint8),
        "question": choice.question.astype(np.int32),
        "confidence": record.confidence[rows].astype(np.float32),
        # All its neighbours carry its own label.
        "agreed": (record.confidence[rows] == 1).astype(np.uint8),
        # With two classes it is what confidence leaves.
        "larger": (
            None if len(record.classes) == 2 else record._votes.larger[rows].astype(np.float32)
        ),
        "near": named.astype(np.int32),
        "near_labels": labels.astype(small),
        "drawn_of_class": of_class.tolist(),
        "marked": int((record.removed | record.spared)[rows].sum()),
        "names": _names(record._index, rows, positions),
        "axes": None,
        "note": "Only distances were given, so there is nothing to draw: pass embedding=, an array "
        "with two coordinates for every row.",
    }
    if drawn is not None:
        places = drawn.at(rows)
        points |= {
            "x": places[:, 0],
            "y": places[:, 1],
            "window": _window(places, choice),
            "axes": [shown(name) for name in drawn.axes],
            "note": drawn.note,
        }
    return points


def _labels_near(record: Rectification, rows: Ints) -> tuple[Ints, Ints]:
    """Look up the labels of neighbours: where each row's are, or -1, and the labels."""
    where = np.full(len(rows), -1)
    nothing = np.empty((0, record._setting.n_neighbors), dtype=np.intp)
    if record._trace is None:
        return where, nothing
    known, indices, _ = record._trace.neighbours.of(rows)
    at = np.flatnonzero(known)[:_LABELLED]
    where[at] = np.arange(len(at))
    return where, record._target.codes[indices[:_LABELLED]]


def _names(index: Any, rows: Ints, positions: Ints | None) -> list[str] | None:
    """Give the labels of rows in a frame's index, where those are more than their positions."""
    if index is None:
        return None
    counted = np.arange(len(index)) if positions is None else positions
    if np.array_equal(np.asarray(index), counted):
        return None
    return [shown(name) for name in index[rows]]


def _window(places: Any, choice: Choice) -> list[list[float]]:
    """Choose what is seen at first: nearly all rows, not the emptiness around a few far ones."""
    window = []
    for axis in places.T:
        parts = [axis[choice.drawn], axis[choice.question >= 0]]
        ends = [np.quantile(part, [0.005, 0.995]) for part in parts if len(part)]
        low, high = min(one[0] for one in ends), max(one[1] for one in ends)
        least, most = float(axis.min()), float(axis.max())
        margin = 0.06 * (high - low) or 0.5
        if most - least <= 1.5 * (high - low) or low == high:
            low, high = least, most
        window.append([float(low - margin), float(high + margin)])
    return window


def told_of(
    record: Rectification, choice: Choice, table: Columns, by_importance: Ints, budget: Budget
) -> dict[str, Any]:
    """Tell about rows in full: their columns, and who voted on them.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    choice : Choice
        The rows of the page.
    table : Columns
        All rows.
    by_importance : ndarray of int
        The columns, those that matter most first.
    budget : Budget
        How much the page may hold.

    Returns
    -------
    dict
    """
    told = choice.told
    drawn = choice.rows[choice.drawn]
    others = drawn[~np.isin(drawn, told)]
    rows = np.concatenate((told, others))
    chosen = np.sort(by_importance[: budget.columns])
    left = max(0, budget.cells - len(told) * len(chosen))
    wide = {int(c) for c in by_importance[: left // max(1, len(others))]}
    near: dict[str, Any] = {"known": np.zeros(len(told), dtype=np.uint8)}
    if record._trace is not None:
        known, indices, distances = record._trace.neighbours.of(told)
        weights = weigh(
            distances,
            record._target.codes[indices],
            record._target.sizes,
            epsilon=record._setting.epsilon,
            class_weight=record._setting.class_weight,
        )
        near = {
            "known": known.astype(np.uint8),
            "point": np.searchsorted(choice.rows, indices).astype(np.int32),
            "distance": np.minimum(distances, _LARGEST).astype(np.float32),
            "weight": weights.astype(np.float32),
        }
    return {
        # Positions among the points; the first `count` of them are told about in full.
        "point": np.searchsorted(choice.rows, rows).astype(np.int32),
        "count": len(told),
        "confidence": record.confidence[told],
        "columns": [
            {
                "name": shown(table.names[column]),
                "values": table.plain(int(column), rows if int(column) in wide else told),
            }
            for column in chosen
        ],
        "neighbours": near,
    }
