"""Tables as LaTeX, for a paper of one's own."""

from __future__ import annotations

import re

from rectifold.report._document import Table

_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": r"$-$",
    "±": r"$\pm$",
    "²": r"$^2$",
    "<": r"$<$",
    ">": r"$>$",
    "–": "--",
    "“": "``",
    "”": "''",
}


def to_latex(table: Table) -> str:
    """Write a table as LaTeX, with the rules of booktabs.

    Parameters
    ----------
    table : Table
        What to write.

    Returns
    -------
    str
        A ``table`` environment.
    """
    sides = "l" * table.words + "r" * (len(table.columns) - table.words)
    rows = [[_escaped(cell) for cell in row] for row in table.rows]
    for place in table.marked:
        rows[place][0] = rf"\textbf{{{rows[place][0]}}}"
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.caption)}}}",
        rf"\label{{tab:{re.sub('[^a-z0-9]+', '-', table.name.lower())}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _row([_escaped(name) for name in table.columns]),
        r"\midrule",
        *(_row(cells) for cells in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    # A bracket at the beginning would be read as an argument of the line before.
    return "{}" * cells[0].startswith("[") + " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_CHARACTERS.get(character, character) for character in text)
