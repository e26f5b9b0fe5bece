"""Compare removed samples with kept ones of the same class, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rectifold._core.utils import Floats, Ints
from rectifold.report._table import Column, Columns, shown, shown_label

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

#: Maximum numbers of columns whose distribution is drawn, and of columns that are listed.
_MAX_DRAWN, _MAX_LISTED = 12, 100
#: Number of bins of a distribution, and maximum number of categories.
_N_BINS, _MAX_CATEGORIES = 20, 8
#: Fewer removed samples than this are listed one by one: their histogram would show chance.
_FEW = 20
#: The difference if all removed samples and no kept one have a category: there is no spread.
_SEPARATED = 10.0


def compare_columns(record: Rectification, table: Columns) -> list[dict[str, Any]]:
    """Return a dict for each class with removed and kept samples.

    Its "columns" are ordered by "difference", the largest first. That is the difference of means
    over the pooled standard deviation; for categories, the largest such difference of frequencies.
    """
    groups = {}
    for code in range(len(record.classes)):
        mine = record._target.codes == code
        removed = np.flatnonzero(mine & record.removed)
        kept = np.flatnonzero(mine & ~record.removed)
        if len(removed) and len(kept):
            groups[code] = removed, kept
    compared: dict[int, list[dict[str, Any]]] = {code: [] for code in groups}
    if table.sparse is not None:
        compared = {code: _compare_sparse(table, *rows) for code, rows in groups.items()}
    elif groups:
        for at, name in enumerate(table.names):
            # A column is read once for all classes.
            column = table.read(at)
            for code, rows in groups.items():
                facts = _compare(column, *rows)
                compared[code].append({"column": at, "name": shown(name), **facts})
    for columns in compared.values():
        columns.sort(key=lambda one: -abs(one["difference"]))
    _add_distributions(compared, table, groups)
    return [
        {
            "label": shown_label(record.classes[code]),
            "code": code,
            "removed": len(groups[code][0]),
            "kept": len(groups[code][1]),
            "n_columns": len(columns),
            "columns": columns[:_MAX_LISTED],
        }
        for code, columns in compared.items()
    ]


def order_of_importance(compared: list[dict[str, Any]], n_columns: int) -> Ints:
    """Return the columns by their largest difference in any class, the largest first."""
    largest = np.zeros(n_columns)
    for one in compared:
        for column in one["columns"]:
            at = column["column"]
            largest[at] = max(largest[at], abs(column["difference"]))
    return np.argsort(-largest, kind="stable")


def differences_between(table: Columns, some: Ints, others: Ints) -> Floats:
    """Return by how much every column differs between two groups of samples, without signs."""
    if table.sparse is not None:
        compared = _compare_sparse(table, some, others)
    else:
        compared = [_compare(table.read(at), some, others) for at in range(len(table.names))]
    return np.abs([one["difference"] for one in compared])


def _compare(column: Column, removed: Ints, kept: Ints) -> dict[str, Any]:
    if column.kind == "category":
        return _compare_categories(column, removed, kept)
    a, b = column.numbers[removed], column.numbers[kept]
    missing = np.array([[np.isnan(a).mean()], [np.isnan(b).mean()]])
    facts: dict[str, Any] = {
        "kind": column.kind,
        # Missing values can differ more than the values themselves.
        "difference": float(_standardised(*missing)[0]),
        "removed_missing": float(missing[0, 0]),
        "kept_missing": float(missing[1, 0]),
    }
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    # Scaled by a power of two, so that no square leaves the range of floats.
    exponent = _exponent(a, b)
    p, q = np.ldexp(a, -exponent), np.ldexp(b, -exponent)
    for name, values in (("removed_mean", p), ("kept_mean", q)):
        if len(values):
            mean = float(np.ldexp(values.mean(), exponent))
            facts[name] = _date(mean) if column.kind == "date" else mean
    if len(p) and len(q) and (spread := np.sqrt((p.var() + q.var()) / 2)) > 0:
        of_means = float((p.mean() - q.mean()) / spread)
        facts["difference"] = max(of_means, facts["difference"], key=abs)
    return facts


def _exponent(*parts: Floats) -> int:
    largest = max(float(np.abs(part).max(initial=0)) for part in parts)
    return int(np.frexp(largest)[1])


def _compare_categories(column: Column, removed: Ints, kept: Ints) -> dict[str, Any]:
    p, q = _frequencies(column, removed), _frequencies(column, kept)
    differences = _standardised(p, q)
    at = int(np.abs(differences).argmax())
    facts: dict[str, Any] = {"kind": "category", "difference": float(differences[at])}
    if differences[at]:
        facts["level"] = column.levels[at]
        facts |= {"removed_share": float(p[at]), "kept_share": float(q[at])}
    return facts


def _standardised(p: Floats, q: Floats) -> Floats:
    """Return the differences of frequencies in units of their pooled standard deviation."""
    spread = np.sqrt((p * (1 - p) + q * (1 - q)) / 2)
    without = np.where(p == q, 0.0, np.sign(p - q) * _SEPARATED)
    return np.divide(p - q, spread, out=without, where=spread > 0)


def _frequencies(column: Column, rows: Ints) -> Floats:
    counts = np.bincount(column.codes[rows], minlength=len(column.levels))
    return np.asarray(counts / len(rows))


def _compare_sparse(table: Columns, removed: Ints, kept: Ints) -> list[dict[str, Any]]:
    assert table.sparse is not None
    means, variances = [], []
    for rows in (removed, kept):
        some = table.sparse[rows]
        mean = np.asarray(some.sum(axis=0)).ravel() / len(rows)
        square = np.asarray(some.multiply(some).sum(axis=0)).ravel() / len(rows)
        means.append(mean)
        variances.append(np.maximum(square - mean**2, 0))
    pooled = np.sqrt((variances[0] + variances[1]) / 2)
    varies = (pooled > 0) & np.isfinite(pooled)
    difference = np.divide(means[0] - means[1], pooled, out=np.zeros_like(pooled), where=varies)
    return [
        {
            "column": column,
            "name": shown(name),
            "kind": "number",
            "difference": float(difference[column]),
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
    groups: dict[int, tuple[Ints, Ints]],
) -> None:
    """Add the distributions of the columns that differ most; each is read once."""
    wanted: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for code, columns in compared.items():
        for one in columns[:_MAX_DRAWN]:
            wanted.setdefault(one["column"], []).append((code, one))
    for at, entries in wanted.items():
        column = table.read(at)
        for code, one in entries:
            one |= _distribution(column, *groups[code])


def _distribution(column: Column, removed: Ints, kept: Ints) -> dict[str, Any]:
    if column.kind == "category":
        p, q = _frequencies(column, removed), _frequencies(column, kept)
        most = sorted(
            np.flatnonzero(np.maximum(p, q)),
            key=lambda at: (-max(p[at], q[at]), column.levels[at]),
        )[:_MAX_CATEGORIES]
        facts = {
            "levels": [column.levels[at] for at in most],
            "removed_shares": p[most].tolist(),
            "kept_shares": q[most].tolist(),
        }
        if len(removed) < _FEW:
            facts["marks"] = np.rint(p[most] * len(removed)).astype(int).tolist()
        return facts
    a, b = (column.numbers[rows] for rows in (removed, kept))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    both = np.concatenate((a, b))
    if not len(both):
        return {}
    exponent = _exponent(both)
    # Outliers would squeeze all other values into one bin; they are counted in the outer bins.
    low, high = _window(np.ldexp(both, -exponent))
    edges = np.linspace(low, high, _N_BINS + 1)
    shares = [_histogram(np.ldexp(values, -exponent), edges) for values in (a, b)]
    edges = np.ldexp(edges, exponent)
    facts = {
        "removed_shares": shares[0],
        "kept_shares": shares[1],
        "cut": bool(both.min() < edges[0] or both.max() > edges[-1]),
        "edges": [_date(edge) for edge in edges] if column.kind == "date" else edges.tolist(),
    }
    if len(removed) < _FEW:
        places = np.clip((np.ldexp(a, -exponent) - low) / (high - low), 0, 1)
        values = map(_date, a) if column.kind == "date" else a.tolist()
        facts["marks"] = [list(mark) for mark in zip(places.tolist(), values, strict=True)]
    return facts


def _window(values: Floats) -> tuple[float, float]:
    low, high = (float(v) for v in np.quantile(values, [0.005, 0.995]))
    least, most = float(values.min()), float(values.max())
    if most - least <= 2 * (high - low) or low == high:
        low, high = least, most
    return (low, high) if high > low else (low - 0.25, low + 0.25)


def _date(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def _histogram(values: Floats, edges: Floats) -> list[float]:
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    return [float(share) for share in counts / max(1, len(values))]
