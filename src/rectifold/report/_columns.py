"""Columns: how the rows that went differ from those of their class that stayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rectifold._core.utils import Floats, Ints
from rectifold.report._table import Column, Columns, shown, shown_label

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: Columns whose distribution is drawn.
_DRAWN = 12
#: Columns that are listed.
_LISTED = 100
#: Bars of a distribution, and categories that are named.
_BARS, _CATEGORIES = 20, 8
#: Where a category takes up all of one side and nothing of the other, shares have no spread.
_APART = 10.0


def differences(record: Rectification, table: Columns) -> list[dict[str, Any]]:
    """Compare removed rows with kept ones of the same class, column by column.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    table : Columns
        The rows.

    Returns
    -------
    list of dict
        For every class that lost rows: "label", "removed", "kept", and "columns", the most
        different first. The "difference" of numbers is that of their means over the pooled standard
        deviation; of categories, the largest difference of shares in units of the same kind.
    """
    sides = {}
    for code in range(len(record.classes)):
        mine = record._target.codes == code
        gone, stayed = np.flatnonzero(mine & record.removed), np.flatnonzero(mine & ~record.removed)
        if len(gone) and len(stayed):
            sides[code] = gone, stayed
    if not sides:
        return []
    compared: dict[int, list[dict[str, Any]]] = {code: [] for code in sides}
    if table.sparse is not None:
        compared = {code: _compared_sparse(table, *sides[code]) for code in sides}
    else:
        for column, name in enumerate(table.names):
            # A column is read once, whatever the number of classes.
            own = table.read(column)
            for code, (gone, stayed) in sides.items():
                facts = _compared(own, gone, stayed)
                compared[code].append({"column": column, "name": shown(name), **facts})
    for lines in compared.values():
        lines.sort(key=lambda one: -abs(one["difference"]))
    _add_distributions(compared, table, sides)
    return [
        {
            "label": shown_label(record.classes[code]),
            "code": code,
            "removed": len(sides[code][0]),
            "kept": len(sides[code][1]),
            "n_columns": len(lines),
            "columns": lines[:_LISTED],
        }
        for code, lines in compared.items()
    ]


def importance(compared: list[dict[str, Any]], n_columns: int) -> Ints:
    """Order columns by the largest difference in any class, those that differ most first."""
    largest = np.zeros(n_columns)
    for one in compared:
        for column in one["columns"]:
            at = column["column"]
            largest[at] = max(largest[at], abs(column["difference"]))
    return np.argsort(-largest, kind="stable")


def _compared(column: Column, gone: Ints, stayed: Ints) -> dict[str, Any]:
    if column.kind == "category":
        return _categories(column, gone, stayed)
    a, b = column.numbers[gone], column.numbers[stayed]
    absent = np.array([[np.isnan(a).mean()], [np.isnan(b).mean()]])
    facts: dict[str, Any] = {
        "kind": column.kind,
        # That values are missing can tell more than those that are there.
        "difference": float(_apart(*absent)[0]),
        "removed_missing": float(absent[0, 0]),
        "kept_missing": float(absent[1, 0]),
    }
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    # In units of a power of two, so that no square leaves the range of floats.
    unit = _unit(a, b)
    p, q = np.ldexp(a, -unit), np.ldexp(b, -unit)
    for name, values in (("removed_mean", p), ("kept_mean", q)):
        if len(values):
            mean = float(np.ldexp(values.mean(), unit))
            facts[name] = _date(mean) if column.kind == "date" else mean
    if len(p) and len(q) and (spread := np.sqrt((p.var() + q.var()) / 2)) > 0:
        of_means = float((p.mean() - q.mean()) / spread)
        facts["difference"] = max(of_means, facts["difference"], key=abs)
    return facts


def _unit(*parts: Floats) -> int:
    largest = max(float(np.abs(part).max(initial=0)) for part in parts)
    return int(np.frexp(largest)[1])


def _categories(column: Column, gone: Ints, stayed: Ints) -> dict[str, Any]:
    p, q = (_shares_of_levels(column, rows) for rows in (gone, stayed))
    size = _apart(p, q)
    at = int(np.abs(size).argmax())
    found: dict[str, Any] = {"kind": "category", "difference": float(size[at])}
    if size[at]:
        level, shares = column.levels[at], (float(p[at]), float(q[at]))
        found |= {"level": level, "removed_share": shares[0], "kept_share": shares[1]}
    return found


def _apart(p: Floats, q: Floats) -> Floats:
    """Tell how far shares are apart, in pooled standard deviations."""
    spread = np.sqrt((p * (1 - p) + q * (1 - q)) / 2)
    without = np.where(p == q, 0.0, np.sign(p - q) * _APART)
    return np.divide(p - q, spread, out=without, where=spread > 0)


def _shares_of_levels(column: Column, rows: Ints) -> npt.NDArray[np.float64]:
    counts = np.bincount(column.codes[rows], minlength=len(column.levels))
    return np.asarray(counts / len(rows))


def _compared_sparse(table: Columns, gone: Ints, stayed: Ints) -> list[dict[str, Any]]:
    assert table.sparse is not None
    means, spreads = [], []
    for rows in (gone, stayed):
        some = table.sparse[rows]
        mean = np.asarray(some.sum(axis=0)).ravel() / len(rows)
        square = np.asarray(some.multiply(some).sum(axis=0)).ravel() / len(rows)
        means.append(mean)
        spreads.append(np.maximum(square - mean**2, 0))
    pooled = np.sqrt((spreads[0] + spreads[1]) / 2)
    some = (pooled > 0) & np.isfinite(pooled)
    size = np.divide(means[0] - means[1], pooled, out=np.zeros_like(pooled), where=some)
    return [
        {
            "column": column,
            "name": shown(name),
            "kind": "number",
            "difference": float(size[column]),
            "removed_missing": 0.0,
            "kept_missing": 0.0,
            "removed_mean": float(means[0][column]),
            "kept_mean": float(means[1][column]),
        }
        for column, name in enumerate(table.names)
    ]


def _add_distributions(
    compared: dict[int, list[dict[str, Any]]],
    table: Columns,
    sides: dict[int, tuple[Ints, Ints]],
) -> None:
    """Count how the values of the most different columns are distributed."""
    wanted: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for code, lines in compared.items():
        for one in lines[:_DRAWN]:
            wanted.setdefault(one["column"], []).append((code, one))
    for column, places in wanted.items():
        own = table.read(column)
        for code, one in places:
            _add_distribution(one, own, *sides[code])


def _add_distribution(one: dict[str, Any], column: Column, gone: Ints, stayed: Ints) -> None:
    if column.kind == "category":
        p, q = (_shares_of_levels(column, rows) for rows in (gone, stayed))
        most = sorted(
            np.flatnonzero(np.maximum(p, q)),
            key=lambda at: (-max(p[at], q[at]), column.levels[at]),
        )[:_CATEGORIES]
        one["levels"] = [column.levels[at] for at in most]
        one["removed_shares"], one["kept_shares"] = p[most].tolist(), q[most].tolist()
        return
    a, b = (column.numbers[rows] for rows in (gone, stayed))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    both = np.concatenate((a, b))
    if not len(both):
        return
    unit = _unit(both)
    # Far-off values would squeeze all others into one bar; they are counted in the outer ones.
    low, high = _window(np.ldexp(both, -unit))
    edges = np.linspace(low, high, _BARS + 1)
    one["removed_shares"], one["kept_shares"] = (
        _shares(np.ldexp(values, -unit), edges) for values in (a, b)
    )
    edges = np.ldexp(edges, unit)
    one["cut"] = bool(both.min() < edges[0] or both.max() > edges[-1])
    one["edges"] = [_date(edge) for edge in edges] if column.kind == "date" else edges.tolist()


def _window(values: Floats) -> tuple[float, float]:
    low, high = (float(v) for v in np.quantile(values, [0.005, 0.995]))
    least, most = float(values.min()), float(values.max())
    if most - least <= 2 * (high - low) or low == high:
        low, high = least, most
    return (low, high) if high > low else (low - 0.25, low + 0.25)


def _date(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def _shares(values: Floats, edges: Floats) -> list[float]:
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    return [float(share) for share in counts / max(1, len(values))]
