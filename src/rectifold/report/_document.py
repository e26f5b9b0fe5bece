"""A report as plain parts, which a page, Markdown and LaTeX are made from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias
from urllib.parse import quote

#: The methods that matter most to whoever reads a report.
GMR, NONE = "GMR", "None"


#: Characters of a file's name; file systems take 255 with everything.
_LONGEST = 120


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    name : str
        For file names: see `file_name`.
    caption : str
        What it shows, in a sentence.
    columns : sequence of str
        The headings.
    rows : sequence of sequence of str
        The cells.
    words : int
        How many of the first columns hold words; the others hold numbers.
    marked : frozenset of int
        Rows that matter most.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes
    ----------
    name : str
        For its file.
    caption : str
        What it shows, in a sentence.
    draw : callable
        Makes the picture, as SVG text.
    """

    name: str
    caption: str
    draw: Callable[[], str]

    @cached_property
    def svg(self) -> str:
        """The picture, which is drawn when it is asked for."""
        return self.draw()


#: What stands under a heading; a str is a paragraph.
Part: TypeAlias = "str | Table | Figure | Section"


@dataclass
class Section:
    """A heading and what stands under it.

    Attributes
    ----------
    title : str
        The heading.
    parts : list of str, Table, Figure or Section
        A str is a paragraph; sections inside one are folded away on the page.
    warning : bool
        Whether what stands there must not be mistaken for a result.
    """

    title: str
    parts: list[Part] = field(default_factory=list)
    warning: bool = False

    @property
    def anchor(self) -> str:
        """A name for links."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.title).lower().split())


@dataclass(frozen=True)
class Document:
    """A report.

    Attributes
    ----------
    title : str
        Its heading.
    statement : sequence of str
        The sentences that sum it up.
    sections : sequence of Section
        The rest.
    """

    title: str
    statement: Sequence[str]
    sections: Sequence[Section]

    def tables(self) -> list[Table]:
        """List all tables, in order."""
        return [part for part in _parts(self.sections) if isinstance(part, Table)]

    def figures(self) -> list[Figure]:
        """List all figures, in order."""
        return [part for part in _parts(self.sections) if isinstance(part, Figure)]


def _parts(sections: Sequence[Section]) -> list[Part]:
    found: list[Part] = []
    for section in sections:
        for part in section.parts:
            found += _parts([part]) if isinstance(part, Section) else [part]
    return found


def file_name(text: str) -> str:
    """Make part of a file's name from any text: no two texts give the same, none leaves its folder.

    Examples
    --------
    >>> file_name("../a b")
    '..%2Fa%20b'
    """
    name = quote(text, safe="+")
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


def rows_of(names: Sequence[object], wanted: Sequence[str] = (GMR, NONE)) -> frozenset[int]:
    """Tell the places of methods in a list, for `Table.marked`."""
    return frozenset(place for place, name in enumerate(names) if name in wanted)
