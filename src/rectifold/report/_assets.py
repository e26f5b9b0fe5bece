"""What all pages with scripts share: styles, scripts and templates, and how data is packed."""

import base64
import gzip
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from rectifold._core.accuracy import percent
from rectifold._core.utils import in_unicode
from rectifold.report._table import shown_label


@cache
def asset(name: str) -> str:
    """Return the text of a file in ``assets/``."""
    return (files("rectifold.report") / "assets" / name).read_text(encoding="utf-8").strip()


def page_style(*more: str, by_script: bool = True) -> str:
    """Return the styles of all pages and of files `more`.

    Dark colours follow the script of the page, or the system if it has none.
    """
    selector = (':root[data-theme="dark"] {', "}")
    if not by_script:
        selector = ("@media (prefers-color-scheme: dark) { :root {", "} }")
    dark = f"{selector[0]}\n{asset('dark.css')}\n{selector[1]}"
    return "\n".join((asset("page.css"), dark, *map(asset, more)))


def joined(names: Sequence[str]) -> str:
    """Return several scripts as one, in a scope of their own."""
    parts = "\n".join(asset(name) for name in names)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


def compressed(content: bytes) -> str:
    """Return bytes as text that `unpack.js` decompresses."""
    # Without a time stamp, so that the same report is the same file.
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def render_template(name: str, **values: Any) -> str:
    """Return a page; text in `values` is escaped."""
    return in_unicode(_environment().get_template(name).render(**values))


def render_with_scripts(name: str, scripts: Sequence[str], **values: Any) -> str:
    """Return a page whose policy tells the browser to run these scripts only, and load nothing.

    The page has the scripts in compressed form, and a short one that decompresses and runs them.
    """
    loader = joined(("unpack.js", "load.js"))
    hashes = [_hash(script) for script in (loader, *scripts)]
    packed = [_packed(script) for script in scripts]
    return render_template(name, loader=loader, packed=packed, hashes=hashes, **values)


@cache
def _packed(script: str) -> str:
    return compressed(script.encode())


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
        loader=FunctionLoader(asset),
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
