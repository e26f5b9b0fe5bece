"""The site's first page: opened without a name, the site leads there; its title says what it is."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>rectifold</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"></head>
<body><a href="docs/index.html">rectifold</a></body></html>
"""


def _write(app: Sphinx, problem: Exception | None) -> None:
    if problem is None and app.builder.format == "html":
        (Path(app.outdir) / "index.html").write_text(_PAGE)


def _name(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if page == app.config.root_doc:
        context["title"] = "Clean imbalanced training data"


def setup(app: Sphinx) -> dict[str, bool]:
    """Name that page, and write the way to it when all others are written."""
    app.connect("html-page-context", _name)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
