"""A document as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
from importlib.resources import files

from jinja2 import Environment

from rectifold.bench.report._document import Document, Figure, Section, Table


def to_html(document: Document) -> str:
    """Write a document as a page.

    Parameters
    ----------
    document : Document
        What to write.

    Returns
    -------
    str
        With its styles and figures inside; it asks no server for anything.
    """
    text = (files("rectifold.bench.report") / "page.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["embedded"] = _embedded
    environment.tests["table"] = lambda part: isinstance(part, Table)
    environment.tests["figure"] = lambda part: isinstance(part, Figure)
    environment.tests["section"] = lambda part: isinstance(part, Section)
    return environment.from_string(text).render(document=document)


def _embedded(figure: Figure) -> str:
    # As an image, not as elements of the page: names inside pictures can't clash.
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()
