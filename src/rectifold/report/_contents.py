"""The contents of a report: a dict of numbers, strings, lists and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.projection import project
from rectifold._core.utils import Ints, versions
from rectifold._core.votes import size_order
from rectifold.report._differences import compare_columns, order_of_importance
from rectifold.report._duplicates import count_duplicates
from rectifold.report._messages import command_line, python_arguments, warnings_of
from rectifold.report._points import describe_details, describe_samples
from rectifold.report._subset import Budget, choose_samples
from rectifold.report._table import Columns, shown_label
from rectifold.report._thresholds import count_confidence, describe_thresholds, find_removable

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification


class Contents:
    """All contents that do not depend on the budget; parameters are those of `Report`."""

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
        self._projection = project(record, X, embedding)
        self._removable = find_removable(record)
        compared = compare_columns(record, self._table)
        self._by_importance = order_of_importance(compared, len(self._table.names))
        self._facts = {
            "title": title,
            "version": versions("rectifold").get("rectifold", ""),
            "summary": record.summary(),
            "labels": [shown_label(label) for label in record.classes],
            "largest_first": size_order(record._target.sizes).tolist(),
            "warnings": [*warnings_of(record), *notes],
            "arguments": python_arguments(record),
            "command": command_line(record, command),
            "thresholds": describe_thresholds(record, self._removable),
            "confidence": count_confidence(record),
            "duplicates": count_duplicates(record),
            "columns": compared,
            "n_columns": len(self._table.names),
        }

    def within(self, budget: Budget) -> dict[str, Any]:
        """Return the contents with as many samples and cells as the budget allows."""
        record, subset = self._record, choose_samples(self._record, self._removable, budget)
        return {
            **self._facts,
            "points": describe_samples(record, subset, self._projection, self._positions),
            "details": describe_details(record, subset, self._table, self._by_importance, budget),
        }


def without_arrays(value: Any) -> Any:
    """Return contents with all arrays turned into lists, ready for JSON."""
    if isinstance(value, Mapping):
        return {key: without_arrays(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [without_arrays(part) for part in value]
    return value
