"""A record becomes a plain dict: all that a report shows, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._typing import Ints
from rectifold._versions import versions
from rectifold.projection import picture
from rectifold.report.cells import Columns, shown, shown_label
from rectifold.report.choice import Budget, Choice, choose_rows
from rectifold.report.columns import differences, importance
from rectifold.report.levers import BARS, bars_of, levers, questions
from rectifold.report.wording import command_line, python_call, warnings_of
from rectifold.votes import size_order, weigh

if TYPE_CHECKING:
    from rectifold.rectification import Rectification

#: Rows for which a page holds the labels of neighbours.
_LABELLED = 50_000
#: Beyond so many points, places are rounded to 1 in 65,536 of a window that holds nearly all.
_EXACT = 100_000
#: Places beyond are drawn there: a page has single precision.
_FARTHEST = 1e30


def summarise(
    record: Rectification,
    X: Any,
    *,
    embedding: Any = None,
    title: str = "What GMR did",
    notes: Sequence[str] = (),
    command: Sequence[str] | None = None,
    budget: Budget | None = None,
) -> dict[str, Any]:
    """Gather all that a report shows.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_columns)
        Its rows.
    embedding : array-like of shape (n_rows, 2), default=None
        Where to draw them.
    title : str
        The headline.
    notes : sequence of str
        Warnings besides those that the record calls for.
    command : sequence of str or None
        The arguments of the command that made the record, without thresholds.
    budget : Budget
        How much the report may hold.

    Returns
    -------
    dict
        Numbers, strings, lists, dicts and, for what there is much of, arrays.
    """
    budget = budget or Budget()
    # The caller may show other columns than those that rows were compared by.
    compared_by = X if record.exhibits is None else record.exhibits.rows
    found = questions(record)
    choice = choose_rows(record, found, budget)
    table = Columns(X)
    compared = differences(record, table)
    facts = record.summary()
    order = size_order(record.target.sizes)
    return {
        "title": title,
        "version": versions("rectifold").get("rectifold", ""),
        "summary": facts,
        "labels": [shown_label(label) for label in record.classes],
        "largest_first": order.tolist(),
        "warnings": [*warnings_of(record), *notes],
        "python": python_call(record),
        "command": command_line(record, command),
        "levers": levers(record, found),
        "confidence": _histograms(record),
        "points": _points(record, choice, picture(record, compared_by, choice.rows, embedding)),
        "told": _told(record, choice, table, importance(compared, len(table.names)), budget),
        "columns": compared,
        "n_columns": len(table.names),
    }


def plain(value: Any) -> Any:
    """Turn arrays into lists, all the way down.

    Parameters
    ----------
    value : object
        What `summarise` gives, or a part of it.

    Returns
    -------
    object
        Ready for JSON.
    """
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def _histograms(record: Rectification) -> dict[str, Any]:
    """Count rows by confidence, class by class."""
    cell = record.target.codes * BARS + bars_of(record.confidence)
    counts = np.bincount(cell, minlength=len(record.classes) * BARS)
    return {"bars": BARS, "counts": counts.reshape(-1, BARS).tolist()}


def _points(record: Rectification, choice: Choice, drawn: Any) -> dict[str, Any]:
    """Describe the rows of the page, one entry each."""
    rows = choice.rows
    codes = record.target.codes[rows]
    small = np.uint8 if len(record.classes) < 255 else np.uint16
    of_class = np.bincount(codes[choice.drawn], minlength=len(record.classes))
    named, labels = _labels_near(record, rows)
    points: dict[str, Any] = {
        "row": rows.astype(np.int64),
        "class": codes.astype(small),
        "predicted": record.votes.predicted[rows].astype(small),
        "drawn": choice.drawn.astype(np.uint8),
        "question": choice.question.astype(np.int32),
        "confidence": record.confidence[rows].astype(np.float32),
        # All its neighbours carry its own label.
        "agreed": (record.confidence[rows] == 1).astype(np.uint8),
        "larger": record.votes.larger[rows].astype(np.float32),
        "near": named.astype(np.int32),
        "near_labels": labels.astype(small),
        "drawn_of_class": of_class.tolist(),
        "names": _names(record.index, rows),
        "axes": None,
        "note": "Only distances were given, so there is nothing to draw: pass embedding=, an array "
        "with two coordinates for every row.",
    }
    if drawn is not None:
        coded, scale = _coded(drawn.places)
        points |= {
            "x": coded[:, 0],
            "y": coded[:, 1],
            "scale": scale,
            "window": _window(drawn.places, choice),
            "axes": list(drawn.axes),
            "note": drawn.note,
        }
    return points


def _labels_near(record: Rectification, rows: Ints) -> tuple[Ints, Ints]:
    """Look up the labels of neighbours: where each row's are, or -1, and the labels."""
    where = np.full(len(rows), -1)
    nothing = np.empty((0, record.setting.n_neighbors), dtype=np.intp)
    if record.exhibits is None:
        return where, nothing
    known, indices, _ = record.exhibits.neighbours.of(rows)
    at = np.flatnonzero(known)[:_LABELLED]
    where[at] = np.arange(len(at))
    return where, record.target.codes[indices[:_LABELLED]]


def _names(index: Any, rows: Ints) -> list[str] | None:
    """Give the labels of rows in a frame's index, where those are more than their positions."""
    if index is None or np.array_equal(np.asarray(index), np.arange(len(index))):
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


def _coded(places: Any) -> tuple[Any, list[list[float]] | None]:
    """Write places in few bytes where there are many: in steps of a scale, from a low end."""
    places = np.clip(places, -_FARTHEST, _FARTHEST)
    if len(places) <= _EXACT:
        return places.astype(np.float32), None
    low, high = np.quantile(places, [0.001, 0.999], axis=0)
    width = np.where(high > low, high - low, 1.0)
    low, high = low - 2 * width, high + 2 * width
    step = (high - low) / 65_535
    steps = np.round((np.clip(places, low, high) - low) / step).astype(np.uint16)
    return steps, np.column_stack((low, step)).tolist()


def _told(
    record: Rectification, choice: Choice, table: Columns, by_importance: Ints, budget: Budget
) -> dict[str, Any]:
    """Tell about rows in full: their columns, and who voted on them."""
    told = choice.told
    drawn = choice.rows[choice.drawn]
    others = drawn[~np.isin(drawn, told)]
    rows = np.concatenate((told, others))
    chosen = np.sort(by_importance[: budget.columns])
    left = max(0, budget.cells - len(told) * len(chosen))
    wide = {int(c) for c in by_importance[: left // max(1, len(others))]}
    near: dict[str, Any] = {"known": np.zeros(len(told), dtype=np.uint8)}
    if record.exhibits is not None:
        known, indices, distances = record.exhibits.neighbours.of(told)
        weights = weigh(
            distances,
            record.target.codes[indices],
            record.target.sizes,
            epsilon=record.setting.epsilon,
            class_weight=record.setting.class_weight,
        )
        near = {
            "known": known.astype(np.uint8),
            "point": np.searchsorted(choice.rows, indices).astype(np.int32),
            "distance": distances.astype(np.float32),
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
