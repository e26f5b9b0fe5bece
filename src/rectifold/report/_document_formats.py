"""A document as an HTML page that needs no other file, and as Markdown; a figure as SVG."""

import base64
import io
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment

from rectifold.report._document import Document, Figure, Section, Table


def figure_style() -> AbstractContextManager[None]:
    """Return a context in which figures have the style of all documents."""
    from matplotlib import style

    # With a fixed salt the same figure is the same text, so that reports can be compared.
    ours: dict[str, Any] = {"text.parse_math": False, "svg.hashsalt": "rectifold"}
    # The layouts of these figures are their own.
    return style.context(["rectifold.figures", {**ours, "figure.constrained_layout.use": False}])


def to_html(document: Document) -> str:
    """Return a document as an HTML page with its styles and figures inside; it works offline."""
    template = files("rectifold.report") / "assets" / "document.html.jinja"
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["embedded"] = _data_url
    environment.tests["table"] = lambda part: isinstance(part, Table)
    environment.tests["figure"] = lambda part: isinstance(part, Figure)
    environment.tests["section"] = lambda part: isinstance(part, Section)
    return environment.from_string(template.read_text(encoding="utf-8")).render(document=document)


def _data_url(figure: Figure) -> str:
    # As an image rather than as elements of the page: ids of two figures can't clash.
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()


def to_markdown(document: Document) -> str:
    """Return a document as Markdown that refers to its figures as files in ``figures/``."""
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
    alignment = ["---" if i < table.words else "---:" for i in range(len(table.columns))]
    lines = [[_escaped(name) for name in table.columns], alignment]
    for i, row in enumerate(table.rows):
        first, *others = map(_escaped, row)
        lines.append([f"**{first}**" if i in table.marked else first, *others])
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`*_[]|~":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def to_svg(figure: Any) -> str:
    """Return a figure of matplotlib as an SVG element, without the date."""
    file = io.StringIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]
