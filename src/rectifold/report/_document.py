"""A document of paragraphs, tables and figures, which can be written as HTML, Markdown or LaTeX."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias
from urllib.parse import quote

#: The methods whose rows are marked by default.
GMR, NONE = "GMR", "None"

#: Maximum length of a part of a file name; file systems allow 255 characters in all.
_MAX_LENGTH = 120


@dataclass(frozen=True)
class Table:
    """A table of strings."""

    #: For file names; see `file_name`.
    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Number of columns that hold words, the first ones; the others hold numbers.
    words: int = 1
    #: Positions of the rows to highlight.
    marked: frozenset[int] = frozenset()
    #: Tones of cells, "good" or "bad", by their text.
    tones: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A figure, drawn when its SVG is first needed."""

    name: str
    caption: str
    #: Returns the figure as SVG.
    draw: Callable[[], str]

    @cached_property
    def svg(self) -> str:
        """The figure as SVG."""
        return self.draw()


#: A part of a section; a str is a paragraph.
Part: TypeAlias = "str | Table | Figure | Section"


@dataclass
class Section:
    """A heading and its parts; a section inside another is folded away."""

    title: str
    parts: list[Part] = field(default_factory=list)
    #: Whether the content must not be mistaken for a result.
    warning: bool = False
    #: Whether it is folded away on the HTML page.
    folded: bool = False

    @property
    def anchor(self) -> str:
        """The id for links."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.title).lower().split())


@dataclass(frozen=True)
class Document:
    """A title, the sentences that summarise the document, and its sections."""

    title: str
    statement: Sequence[str]
    sections: Sequence[Section]
    #: "good" or "bad", if the statement is.
    tone: str = ""
    #: Abbreviations in tables, and what the HTML page shows instead.
    names: Mapping[str, str] = field(default_factory=dict)

    def tables(self) -> list[Table]:
        """Return all tables, in order."""
        return [part for part in _parts(self.sections) if isinstance(part, Table)]

    def figures(self) -> list[Figure]:
        """Return all figures, in order."""
        return [part for part in _parts(self.sections) if isinstance(part, Figure)]


def _parts(sections: Sequence[Section]) -> list[Part]:
    """Return the parts of all sections, nested ones included."""
    parts: list[Part] = []
    for section in sections:
        for part in section.parts:
            parts += _parts([part]) if isinstance(part, Section) else [part]
    return parts


def file_name(text: str) -> str:
    """Return text as part of a file name: distinct for distinct texts, without path separators.

    Examples
    --------
    >>> file_name("../a b")
    '..%2Fa%20b'
    """
    name = quote(text, safe="+")
    if len(name) <= _MAX_LENGTH:
        return name
    return f"{name[:_MAX_LENGTH]}-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


def rows_of(names: Sequence[object], wanted: Sequence[str] = (GMR, NONE)) -> frozenset[int]:
    """Return the positions of some methods in a list, for `Table.marked`."""
    return frozenset(position for position, name in enumerate(names) if name in wanted)
