"""A record becomes a plain dict: all that a report shows, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.projection import picture
from rectifold._core.utils import Ints, versions
from rectifold._core.votes import size_order
from rectifold.report._columns import differences, importance
from rectifold.report._messages import command_line, python_call, warnings_of
from rectifold.report._points import points_of, told_of
from rectifold.report._subset import Budget, choose_rows
from rectifold.report._table import Columns, shown_label
from rectifold.report._thresholds import BARS, bars_of, levers, questions

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification


class Material:
    """What a report is made of: all that does not depend on how much it may hold.

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
    positions : ndarray of int or None
        The positions of the rows in the caller's table, if that has others too.
    """

    def __init__(
        self,
        record: Rectification,
        X: Any,
        *,
        embedding: Any = None,
        title: str,
        notes: Sequence[str] = (),
        command: Sequence[str] | None = None,
        positions: Ints | None = None,
    ) -> None:
        self._record = record
        self._positions = positions
        self._table = Columns(X)
        self._picture = picture(record, X, embedding)
        self._questions = questions(record)
        compared = differences(record, self._table)
        self._importance = importance(compared, len(self._table.names))
        self._facts = {
            "title": title,
            "version": versions("rectifold").get("rectifold", ""),
            "summary": record.summary(),
            "labels": [shown_label(label) for label in record.classes],
            "largest_first": size_order(record._target.sizes).tolist(),
            "warnings": [*warnings_of(record), *notes],
            "python": python_call(record),
            "command": command_line(record, command),
            "levers": levers(record, self._questions),
            "confidence": _histograms(record),
            "columns": compared,
            "n_columns": len(self._table.names),
        }

    def summarise(self, budget: Budget) -> dict[str, Any]:
        """Gather all that a report shows.

        Parameters
        ----------
        budget : Budget
            How much it may hold.

        Returns
        -------
        dict
            Numbers, strings, lists, dicts and, for what there is much of, arrays.
        """
        choice = choose_rows(self._record, self._questions, budget)
        return {
            **self._facts,
            "points": points_of(self._record, choice, self._picture, self._positions),
            "told": told_of(self._record, choice, self._table, self._importance, budget),
        }


def plain(value: Any) -> Any:
    """Turn arrays into lists, all the way down.

    Parameters
    ----------
    value : object
        What `Material.summarise` gives, or a part of it.

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
    cell = record._target.codes * BARS + bars_of(record.confidence)
    counts = np.bincount(cell, minlength=len(record.classes) * BARS)
    return {"bars": BARS, "counts": counts.reshape(-1, BARS).tolist()}
