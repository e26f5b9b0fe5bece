"""A document as an HTML page that needs no other file, and as Markdown; a figure as SVG."""

import base64
import io
import re
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

from rectifold.report._assets import page_style, render_template
from rectifold.report._document import Document, Figure, Part, Section, Table

#: Maximum width in points of a figure that is legible on a phone.
_WIDEST = 500


def figure_style() -> AbstractContextManager[None]:
    """Return a context in which figures have the style of all documents."""
    from matplotlib import style

    # With a fixed salt the same figure is the same text, so that reports can be compared.
    ours: dict[str, Any] = {"text.parse_math": False, "svg.hashsalt": "rectifold"}
    # The layouts of these figures are their own.
    return style.context(["rectifold.figures", {**ours, "figure.constrained_layout.use": False}])


def to_html(document: Document) -> str:
    """Return a document as an HTML page with its styles and figures inside; it works offline."""
    return render_template(
        "document.html.jinja",
        document=document,
        style=page_style("document.css", by_script=False),
        kind_of=_kind_of,
        embedded=_data_url,
        is_wide=_is_wide,
    )


def _kind_of(part: Part) -> str:
    return type(part).__name__.lower()


def _is_wide(figure: Figure) -> bool:
    """Return whether the text of a figure would be too small if it were shrunk to a phone."""
    found = re.search(r'<svg[^>]* width="([\d.]+)pt"', figure.svg)
    return found is not None and float(found[1]) > _WIDEST


def _data_url(figure: Figure) -> str:
    # As an image rather than as elements of the page: ids of two figures can't clash.
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()


def to_markdown(document: Document) -> str:
    """Return a document as Markdown that refers to its figures as files in ``figures/``."""
    lines = [f"# {_escaped(document.title)}", "", *(_escaped(one) for one in document.statement)]
    if document.names:
        pairs = (f"{short}: {_escaped(name)}" for short, name in document.names.items())
        lines += ["", f"({', '.join(pairs)}.)"]
    for section in document.sections:
        lines += _section(section, 2)
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section, level: int) -> list[str]:
    mark = "⚠ " if section.warning else ""
    is_inner = level > 2
    lines = [] if is_inner else ["", f"{'#' * level} {mark}{_escaped(section.title)}"]
    if is_inner or section.folded:
        # Markdown inside needs empty lines around it.
        title = _escaped(section.title) if is_inner else "Show"
        lines += ["", "<details>", f"<summary>{title}</summary>"]
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
    return [*lines, "", "</details>"] if is_inner or section.folded else lines


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
