"""Render the contents of a report as a single HTML file that works offline."""

import json
from datetime import date
from typing import Any

import numpy as np

from rectifold.report._assets import asset as _asset
from rectifold.report._assets import (
    compressed,
    joined,
    page_style,
    render_template,
    render_with_scripts,
)

#: The scripts of the page, in the order in which they run, all in one scope but the library.
_LIBRARY = "echarts.min.js"
_SCRIPTS = (
    "unpack.js",
    "data.js",
    "decide.js",
    "text.js",
    "words.js",
    "theme.js",
    "map.js",
    "confidence.js",
    "thresholds.js",
    "beside.js",
    "details.js",
    "table.js",
    "columns.js",
    "main.js",
)
#: With more samples than this, coordinates are rounded to a grid of `_STEPS`.
_MAX_EXACT, _STEPS = 100_000, 65_535
#: Coordinates are clipped to this, since the page has single precision.
_LARGEST = 1e30
#: The JavaScript names of array types.
_ARRAYS = {
    "uint8": "Uint8Array",
    "uint16": "Uint16Array",
    "int16": "Int16Array",
    "int32": "Int32Array",
    "float32": "Float32Array",
    "float64": "Float64Array",
}


def render(data: dict[str, Any]) -> str:
    """Return the page of a report, from `Contents.within`.

    Text from the data is escaped, and the browser is told to run these scripts only and to load
    nothing.
    """
    facts, arrays = _packed(data)
    return render_with_scripts(
        "page.html.jinja",
        [_asset(_LIBRARY), joined(_SCRIPTS)],
        data=data,
        style=page_style(),
        facts=facts,
        arrays=arrays,
        made=date.today().isoformat(),
    )


def render_summary(data: dict[str, Any], page: str | None) -> str:
    """Return the summary as HTML for a notebook, with the page in a frame below it if there is one.

    `data` needs the keys "title", "summary" and "warnings".
    """
    return render_template("notebook.html.jinja", data=data, page=page)


def _packed(data: dict[str, Any]) -> tuple[str, str]:
    """Return the contents as compressed JSON with references to arrays, and the arrays."""
    parts: list[bytes] = []
    length = 0

    def refer(value: Any) -> Any:
        nonlocal length
        if isinstance(value, dict):
            return {key: refer(part) for key, part in value.items()}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return [refer(part) for part in value]
        if not isinstance(value, np.ndarray):
            return value
        is_delta = value.dtype == np.int64
        if is_delta:
            # Most of these numbers ascend, and the differences between them are small.
            value = np.diff(value, prepend=0).astype(np.int32)
        if value.dtype == np.int32 and value.size and -32768 <= value.min() <= value.max() < 32768:
            value = value.astype(np.int16)
        content = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")).tobytes()
        content += bytes(-len(content) % 8)
        start = length
        parts.append(content)
        length += len(content)
        name = _ARRAYS[value.dtype.name]
        return {"array": name, "start": start, "n": value.size, "is_delta": is_delta}

    small = {
        **data,
        "points": _quantised(data["points"]),
        "details": _shortened(data["details"]),
    }
    text = json.dumps(refer(small), allow_nan=False, separators=(",", ":"))
    return compressed(text.encode()), compressed(b"".join(parts))


def _shortened(details: dict[str, Any]) -> dict[str, Any]:
    """Return details in fewer bytes: of columns the distinct cells and the codes of all cells."""
    columns = []
    for column in details["columns"]:
        codes: dict[Any, int] = {}
        of_cells = [codes.setdefault(value, len(codes)) for value in column["values"]]
        small = np.uint8 if len(codes) <= 256 else np.uint16 if len(codes) <= 65_536 else np.int32
        column = {key: value for key, value in column.items() if key != "values"}
        columns.append({**column, "levels": list(codes), "codes": np.array(of_cells, small)})
    neighbours = dict(details["neighbours"])
    if "weight" in neighbours:
        neighbours["distance"] = _in_16_bits(neighbours["distance"])
        # The page shows weights with three decimals.
        neighbours["weight"] = np.round(1000 * neighbours["weight"]).astype(np.uint16)
    return {**details, "columns": columns, "neighbours": neighbours}


def _in_16_bits(values: Any) -> Any:
    """Return floats rounded to 16 significant bits, which compress better."""
    bits = values.view(np.uint32)
    # Of the largest ones, the sum would be infinite.
    rounded = np.where(bits < 0x7F7FFF80, bits + 0x80, bits) & np.uint32(0xFFFFFF00)
    return rounded.astype(np.uint32).view(np.float32)


def _quantised(points: dict[str, Any]) -> dict[str, Any]:
    """Return points with coordinates in few bytes: ``low + step * coordinate`` by "scale".

    With many points, confidence is quantised too.
    """
    if points["axes"] is None:
        return points
    places = np.clip(np.column_stack((points["x"], points["y"])), -_LARGEST, _LARGEST)
    if len(places) <= _MAX_EXACT:
        # From the lowest value, so that single precision is enough far from zero too.
        low = places.min(axis=0)
        step = np.ones(2)
        coded = _in_16_bits((places - low).astype(np.float32))
    else:
        points = {**points, "confidence": np.round(points["confidence"] * _STEPS).astype(np.uint16)}
        low, high = np.quantile(places, [0.001, 0.999], axis=0)
        width = np.where(high > low, high - low, 1.0)
        low, high = low - 2 * width, high + 2 * width
        step = (high - low) / _STEPS
        coded = np.round((np.clip(places, low, high) - low) / step).astype(np.uint16)
    scale = np.column_stack((low, step)).tolist()
    return {**points, "x": coded[:, 0], "y": coded[:, 1], "scale": scale}
