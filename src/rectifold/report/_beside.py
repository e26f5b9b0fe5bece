"""Columns of samples beside those of training samples: cells, and which are equal or far apart."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from rectifold._core.errors import Param, ParameterError
from rectifold._core.utils import Bools, Floats, Ints
from rectifold.preprocessing._cells import find_dates, parse_dates
from rectifold.report._differences import differences_between
from rectifold.report._table import MISSING, Column, Columns, shown

#: Maximum number of columns.
_MAX_COLUMNS = 40
#: Marks of cells: equal to that of the sample, or among the `_MOST` that differ most.
_EQUAL, _FAR, _MOST = 1, 2, 3
#: Different categories count as a difference of so many standard deviations.
_OF_CATEGORIES = 2.0
#: A column with more categories than this, and than half its cells, holds identifiers or free text.
_FEW = 20
#: Smaller differences, in standard deviations, are not marked.
_SMALL = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a sample and a training sample, as positions in the two lists of the page."""

    samples: Ints
    others: Ints


def pair_columns(table: Columns, train: Columns | None) -> list[int | None]:
    """Return for every column of the samples the column of the training samples, if there is one.

    Columns of two frames have the same name, others the same position.
    """
    if train is None:
        return [None] * len(table.names)
    if table.has_names and train.has_names:
        at = {name: place for place, name in enumerate(train.names)}
        return [at.get(name) for name in table.names]
    if len(train.names) != len(table.names):
        raise ParameterError(
            "{} has {} columns, and {} has {}: pass tables with the same columns.",
            Param("X_train"),
            str(len(train.names)),
            Param("X"),
            str(len(table.names)),
        )
    return [*range(len(table.names))]


def choose_columns(pairs: list[int | None], train: Columns | None, positive: Bools | None) -> Ints:
    """Return the columns to show, in their order; if there are many, those that tell more.

    These are the columns in which the positive training samples differ most from the others.
    """
    if len(pairs) <= _MAX_COLUMNS:
        return np.arange(len(pairs))
    importance = np.zeros(len(pairs))
    if train is not None and positive is not None:
        found = differences_between(train, np.flatnonzero(positive), np.flatnonzero(~positive))
        of_train = np.nan_to_num(found)
        importance[:] = [-1.0 if place is None else of_train[place] for place in pairs]
    return np.sort(np.argsort(-importance, kind="stable")[:_MAX_COLUMNS])


def describe_columns(
    table: Columns,
    train: Columns | None,
    columns: Ints,
    pairs_of_columns: list[int | None],
    features: Collection[str],
    samples: Ints,
    others: Ints,
) -> list[dict[str, Any]]:
    """Return the cells of some columns, of the samples and of the training samples.

    Only columns named in `features` are compared; if it is empty, all are.
    """
    described = []
    for at in columns.tolist():
        other = pairs_of_columns[at]
        there = None if train is None or other is None else train.plain(other, others)
        name = table.names[at]
        described.append(
            {
                "name": shown(name),
                "compared": there is not None and (not features or name in features),
                "cells": table.plain(at, samples),
                "train": there,
            }
        )
    return described


def mark_cells(
    table: Columns,
    train: Columns,
    columns: Ints,
    pairs_of_columns: list[int | None],
    described: list[dict[str, Any]],
    samples: Ints,
    others: Ints,
    pairs: Pairs,
) -> list[str]:
    """Return a text for every pair, with a digit for every column: its mark, or 0."""
    shape = (len(pairs.samples), len(columns))
    equal, far = np.zeros(shape, dtype=bool), np.zeros(shape)
    for place, (at, one) in enumerate(zip(columns.tolist(), described, strict=True)):
        other = pairs_of_columns[at]
        if other is None or not one["compared"]:
            continue
        equal[:, place] = _equal(one["cells"], one["train"], pairs)
        far[:, place] = _distances(table.read(at), train.read(other), samples, others, pairs)
    far[equal] = 0
    marks = equal.astype(np.uint8) * _EQUAL
    most = np.argsort(-far, axis=1, kind="stable")[:, :_MOST]
    rows = np.arange(shape[0])[:, None]
    marks[rows, most] = np.where(far[rows, most] >= _SMALL, _FAR, marks[rows, most])
    return ["".join(map(str, line)) for line in marks.tolist()]


def _equal(cells: list[Any], train: list[Any], pairs: Pairs) -> Bools:
    known: dict[tuple[bool, Any], int] = {}

    def number(cell: Any) -> int:
        # Text that was cut may differ further on; it is equal to nothing, not to itself either.
        if isinstance(cell, str) and cell.endswith("…"):
            return -1
        return known.setdefault((isinstance(cell, str), cell), len(known))

    ours, theirs = (np.array([number(cell) for cell in some]) for some in (cells, train))
    left, right = ours[pairs.samples], theirs[pairs.others]
    return np.asarray((left == right) & (left >= 0))


def _distances(column: Column, train: Column, samples: Ints, others: Ints, pairs: Pairs) -> Floats:
    """Return the differences of pairs in standard deviations of the training samples."""
    column, train = _read_dates(column, train)
    if "category" in (column.kind, train.kind):
        n = len(train.levels)
        # Identifiers differ between any two samples, which says nothing about these two.
        is_text = train.kind == "category" and n > max(_FEW, len(train.codes) / 2)
        return np.full(len(pairs.samples), 0.0 if is_text else _OF_CATEGORIES)
    known = train.numbers[np.isfinite(train.numbers)]
    # Scaled by the largest, so that no square leaves the range of floats.
    largest = float(np.abs(known).max(initial=0)) or 1.0
    spread = float((known / largest).std()) if len(known) else 0.0
    left, right = (
        some / largest
        for some in (column.numbers[samples][pairs.samples], train.numbers[others][pairs.others])
    )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        differences = np.abs(left - right) / spread
    missing = np.isnan(left) | np.isnan(right)
    differences[missing] = _OF_CATEGORIES
    return np.asarray(np.nan_to_num(differences, nan=0.0, posinf=np.finfo(np.float64).max))


def _read_dates(column: Column, train: Column) -> tuple[Column, Column]:
    """Return two columns of text as dates, if all their cells have the form of a date."""
    if {column.kind, train.kind} != {"category"}:
        return column, train
    form, _ = find_dates([level for level in train.levels if level != MISSING])
    if form is None:
        return column, train
    found = []
    for one in (column, train):
        present = [level for level in one.levels if level != MISSING]
        dates = parse_dates(present, form)
        if dates is None:
            return column, train
        second = dict(zip(present, dates.tolist(), strict=True))
        values = np.array([second.get(level, np.nan) for level in one.levels])
        found.append(Column("date", values[one.codes]))
    return found[0], found[1]
