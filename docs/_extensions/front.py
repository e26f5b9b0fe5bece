"""The site's first page: what is opened without a name leads to docs/index.html."""

from pathlib import Path

from sphinx.application import Sphinx

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>rectifold</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"></head>
<body><a href="docs/index.html">rectifold</a></body></html>
"""


def _write(app: Sphinx, problem: Exception | None) -> None:
    if problem is None and app.builder.format == "html":
        (Path(app.outdir) / "index.html").write_text(_PAGE)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write that page when all others are written."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
