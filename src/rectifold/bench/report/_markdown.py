"""A document as Markdown."""

from __future__ import annotations

from urllib.parse import quote

from rectifold.bench.report._document import Document, Figure, Section, Table


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
