"""Render the contents of a report as a single HTML file that works offline."""

import base64
import gzip
import hashlib
import json
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from rectifold._core.accuracy import percent
from rectifold._core.utils import in_unicode
from rectifold.report._table import shown_label

#: The scripts of the page, in the order in which they run, all in one scope but the library.
_LIBRARY = "echarts.min.js"
_SCRIPTS = (
    "data.js",
    "decide.js",
    "words.js",
    "theme.js",
    "map.js",
    "confidence.js",
    "thresholds.js",
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
    scripts = [_asset(_LIBRARY), _own_scripts()]
    return in_unicode(
        _environment()
        .get_template("page.html.jinja")
        .render(
            data=data,
            style=_asset("page.css"),
            scripts=scripts,
            hashes=[_hash(script) for script in scripts],
            facts=facts,
            arrays=arrays,
            made=date.today().isoformat(),
        )
    )


def render_summary(data: dict[str, Any], page: str | None) -> str:
    """Return the summary as HTML for a notebook, with the page in a frame below it if there is one.

    `data` needs the keys "title", "summary" and "warnings".
    """
    template = _environment().get_template("notebook.html.jinja")
    return in_unicode(template.render(data=data, page=page))


@cache
def _asset(name: str) -> str:
    return (files("rectifold.report") / "assets" / name).read_text(encoding="utf-8").strip()


@cache
def _own_scripts() -> str:
    parts = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


@cache
def _environment() -> Any:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("a report needs Jinja2: pip install 'rectifold[report]'.") from error
    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_asset),
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["percent"] = _percent
    environment.filters["share"] = percent
    environment.filters["label"] = shown_label
    return environment


def _percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    # 0.0 % would look like none.
    return f"{share:.1f} %" if share >= 0.05 or not part else "< 0.1 %"


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


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
            # Row numbers ascend, and the differences between them are small.
            value = np.diff(value, prepend=0).astype(np.int32)
        content = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")).tobytes()
        content += bytes(-len(content) % 8)
        start = length
        parts.append(content)
        length += len(content)
        name = _ARRAYS[value.dtype.name]
        return {"array": name, "start": start, "n": value.size, "is_delta": is_delta}

    facts = refer({**data, "points": _quantised(data["points"])})
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    return _compressed(text.encode()), _compressed(b"".join(parts))


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
        coded = (places - low).astype(np.float32)
    else:
        points = {**points, "confidence": np.round(points["confidence"] * _STEPS).astype(np.uint16)}
        low, high = np.quantile(places, [0.001, 0.999], axis=0)
        width = np.where(high > low, high - low, 1.0)
        low, high = low - 2 * width, high + 2 * width
        step = (high - low) / _STEPS
        coded = np.round((np.clip(places, low, high) - low) / step).astype(np.uint16)
    scale = np.column_stack((low, step)).tolist()
    return {**points, "x": coded[:, 0], "y": coded[:, 1], "scale": scale}


def _compressed(content: bytes) -> str:
    # Without a time stamp, so that the same report is the same file.
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
