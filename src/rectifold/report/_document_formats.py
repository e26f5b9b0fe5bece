"""A document as an HTML page that needs no other file, and as Markdown; a figure as SVG."""

from __future__ import annotations

import base64
import io
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment

from rectifold.report._document import Document, Figure, Section, Table

#: The same picture gives the same text, so that a report that has not changed is not rewritten.
SVG_STYLE: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.hashsalt": "rectifold",
    "font.size": 9,
    "axes.titlesize": 10,
}


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
    text = (files("rectifold.report") / "assets" / "document.html.jinja").read_text(
        encoding="utf-8"
    )
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["embedded"] = _embedded
    environment.tests["table"] = lambda part: isinstance(part, Table)
    environment.tests["figure"] = lambda part: isinstance(part, Figure)
    environment.tests["section"] = lambda part: isinstance(part, Section)
    return environment.from_string(text).render(document=document)


def _embedded(figure: Figure) -> str:
    # As an image, not as elements of the page: names inside pictures can't clash.
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()


def to_markdown(document: Document) -> str:
    """Write a document as Markdown.

    Parameters
    ----------
    document : Document
        What to write.

    Returns
    -------
    str
        Its figures are files beside it, in ``figures``.
    """
    lines = [f"# {_escaped(document.title)}", "", *(_escaped(one) for one in document.statement)]
    for section in document.sections:
        lines += _section(section, 2)
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section, level: int) -> list[str]:
    mark = "⚠ " if section.warning else ""
    lines = ["", f"{'#' * level} {mark}{_escaped(section.title)}"]
    for part in section.parts:
        if isinstance(part, Section):
            lines += _section(part, level + 1)
        elif isinstance(part, Table):
            lines += ["", _escaped(part.caption), "", *_table(part)]
        elif isinstance(part, Figure):
            caption = _escaped(part.caption)
            lines += ["", f"![{caption}](figures/{quote(part.name)}.svg)", "", f"*{caption}*"]
        else:
            lines += ["", _escaped(part)]
    return lines


def _table(table: Table) -> list[str]:
    sides = ["---" if place < table.words else "---:" for place in range(len(table.columns))]
    rows = [
        [_marked(row[0]) if place in table.marked else _escaped(row[0]), *map(_escaped, row[1:])]
        for place, row in enumerate(table.rows)
    ]
    lines = [[_escaped(name) for name in table.columns], sides, *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _marked(text: str) -> str:
    return f"**{_escaped(text)}**"


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`*_[]|~":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def to_svg(figure: Any) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]
