"""Columns: how the rows that went differ from those of their class that stayed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rectifold._typing import Bools, Floats, Ints
from rectifold.report.cells import Columns, shown, shown_label

if TYPE_CHECKING:
    from rectifold.rectification import Rectification

#: Columns whose distribution is drawn.
_DRAWN = 12
#: Columns that are listed.
_LISTED = 100
#: Bars of a distribution, and categories that are named.
_BARS, _CATEGORIES = 20, 8
#: Categories of a column that are compared: the most frequent.
_LOOKED_AT = 50


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
    found = []
    for code, label in enumerate(record.classes):
        mine = record.target.codes == code
        gone = np.flatnonzero(mine & record.removed)
        stayed = np.flatnonzero(mine & ~record.removed)
        if not len(gone) or not len(stayed):
            continue
        compared = _compared(table, gone, stayed)
        compared.sort(key=lambda one: -abs(one["difference"]))
        for one in compared[:_DRAWN]:
            _add_distribution(one, table, gone, stayed)
        found.append(
            {
                "label": shown_label(label),
                "code": code,
                "removed": len(gone),
                "kept": len(stayed),
                "n_columns": len(compared),
                "columns": compared[:_LISTED],
            }
        )
    return found


def importance(compared: list[dict[str, Any]], n_columns: int) -> Ints:
    """Order columns by the largest difference in any class, those that differ most first."""
    largest = np.zeros(n_columns)
    for one in compared:
        for column in one["columns"]:
            at = column["column"]
            largest[at] = max(largest[at], abs(column["difference"]))
    return np.argsort(-largest, kind="stable")


def _compared(table: Columns, gone: Ints, stayed: Ints) -> list[dict[str, Any]]:
    if table.sparse is not None:
        return _compared_sparse(table, gone, stayed)
    found = []
    for column, name in enumerate(table.names):
        if table.is_date(column):
            seconds = table.seconds(column)
            facts = _numbers(seconds[gone], seconds[stayed])
            for mean in ("removed_mean", "kept_mean"):
                if mean in facts:
                    facts[mean] = _date(facts[mean])
            found.append({"column": column, "name": shown(name), **facts, "kind": "date"})
            continue
        values = table.values(column)
        if values.dtype.kind == "f":
            found.append(
                {"column": column, "name": shown(name), **_numbers(values[gone], values[stayed])}
            )
        else:
            found.append(
                {"column": column, "name": shown(name), **_categories(values[gone], values[stayed])}
            )
    return found


def _numbers(gone: Floats, stayed: Floats) -> dict[str, Any]:
    a, b = gone[np.isfinite(gone)], stayed[np.isfinite(stayed)]
    facts: dict[str, Any] = {
        "kind": "number",
        "difference": 0.0,
        "removed_missing": 1 - len(a) / len(gone),
        "kept_missing": 1 - len(b) / len(stayed),
    }
    if len(a) and len(b):
        spread = _pooled(a.var(), b.var())
        facts["removed_mean"], facts["kept_mean"] = float(a.mean()), float(b.mean())
        facts["difference"] = float((a.mean() - b.mean()) / spread) if spread else 0.0
    return facts


def _categories(gone: npt.NDArray[Any], stayed: npt.NDArray[Any]) -> dict[str, Any]:
    a, b = Counter(map(_word, gone)), Counter(map(_word, stayed))
    best: dict[str, Any] = {"kind": "category", "difference": 0.0}
    for level in sorted({level for one in (a, b) for level, _ in one.most_common(_LOOKED_AT)}):
        p, q = a[level] / len(gone), b[level] / len(stayed)
        spread = _pooled(p * (1 - p), q * (1 - q))
        # Where a level takes up all of one side and nothing of the other there is no spread.
        size = (p - q) / spread if spread else 0.0 if p == q else float(np.sign(p - q)) * 10
        if abs(size) > abs(best["difference"]):
            best |= {"difference": size, "level": level, "removed_share": p, "kept_share": q}
    return best


def _word(value: Any) -> str:
    text = "(missing)" if value is None else shown(value)
    return text if len(text) <= 60 else text[:59] + "…"


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
    size = np.divide(means[0] - means[1], pooled, out=np.zeros_like(pooled), where=pooled > 0)
    first = np.argsort(-np.abs(size), kind="stable")
    return [
        {
            "column": int(column),
            "name": shown(table.names[column]),
            "kind": "number",
            "difference": float(size[column]),
            "removed_missing": 0.0,
            "kept_missing": 0.0,
            "removed_mean": float(means[0][column]),
            "kept_mean": float(means[1][column]),
        }
        for column in first
    ]


def _pooled(one: float, other: float) -> float:
    return float(np.sqrt((one + other) / 2))


def _add_distribution(one: dict[str, Any], table: Columns, gone: Ints, stayed: Ints) -> None:
    if one["kind"] == "date":
        seconds = table.seconds(one["column"])
        a, b = seconds[gone], seconds[stayed]
    else:
        a, b = (table.values(one["column"], rows) for rows in (gone, stayed))
    if one["kind"] != "category":
        both = np.concatenate((a[np.isfinite(a)], b[np.isfinite(b)]))
        if not len(both):
            return
        # Far-off values would squeeze all others into one bar; they are counted in the last ones.
        low, high = _window(both)
        edges = np.linspace(low, high, _BARS + 1)
        is_date = one["kind"] == "date"
        one["edges"] = [_date(edge) for edge in edges] if is_date else edges.tolist()
        one["cut"] = bool(both.min() < low or both.max() > high)
        one["removed_shares"], one["kept_shares"] = (
            _shares(values[np.isfinite(values)], edges) for values in (a, b)
        )
        return
    words = [Counter(map(_word, values)) for values in (a, b)]
    shares = {
        level: max(count[level] / max(1, count.total()) for count in words)
        for level in words[0] | words[1]
    }
    levels = sorted(shares, key=lambda level: (-shares[level], level))[:_CATEGORIES]
    one["levels"] = levels
    one["removed_shares"], one["kept_shares"] = (
        [count[level] / max(1, count.total()) for level in levels] for count in words
    )


def _window(values: Floats) -> tuple[float, float]:
    low, high = (float(v) for v in np.quantile(values, [0.005, 0.995]))
    least, most = float(values.min()), float(values.max())
    if most - least <= 2 * (high - low) or low == high:
        low, high = least, most
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _date(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def _shares(values: Floats, edges: Floats) -> list[float]:
    inside: Bools | Floats = np.clip(values, edges[0], edges[-1])
    counts, _ = np.histogram(inside, edges)
    return [float(share) for share in counts / max(1, len(values))]
