"""Tables as LaTeX.

pandas' Styler would need the same table of characters (it escapes neither captions nor signs such
as − and ±), and refuses tables with two columns of one name.
"""

import re

from rectifold.report._document import Table

_CHARACTERS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
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
)


def to_latex(table: Table) -> str:
    """Return a table as a ``table`` environment with the rules of booktabs."""
    alignment = "l" * table.words + "r" * (len(table.columns) - table.words)
    rows = [[_escaped(cell) for cell in row] for row in table.rows]
    for place in table.marked:
        rows[place][0] = rf"\textbf{{{rows[place][0]}}}"
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.caption)}}}",
        rf"\label{{tab:{re.sub('[^a-z0-9]+', '-', table.name.lower())}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
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
    # A leading bracket would be read as an argument of the line before.
    return "{}" * cells[0].startswith("[") + " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return text.translate(_CHARACTERS)
