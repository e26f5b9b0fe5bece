"""What `rectifold.compare` found, as a document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing

from rectifold.model_selection._comparison import BASE, SCORES, Evaluation
from rectifold.report._document import Document, Figure, Section, Table
from rectifold.report._document_formats import SVG_STYLE, to_svg
from rectifold.report._wording import NOTHING, count, number, pvalue


def document(found: Evaluation) -> Document:
    """Put a comparison on one's own data into words, tables and a picture.

    Parameters
    ----------
    found : Evaluation
        The comparison.

    Returns
    -------
    Document
        For `rectifold.report._document_formats.to_html`.
    """
    compared = [line for line in found.lines if line.method != BASE]
    differences = Table(
        "differences",
        "AUPRC against leaving the data alone, on the same folds; intervals of 95 %, p-values of "
        "the corrected resampled t-test, and with Holm's correction for all comparisons.",
        ["classifier", "method", "verdict", "AUPRC", "difference", "from", "to", "p", "p (Holm)"],
        [
            [
                line.classifier,
                line.method,
                line.verdict,
                number(line.scores["auprc"], 4),
                number(line.difference, 4, sign=True),
                number(line.low, 4, sign=True),
                number(line.high, 4, sign=True),
                pvalue(line.pvalue),
                pvalue(line.holm),
            ]
            for line in compared
        ],
        words=3,
        marked=frozenset(i for i, line in enumerate(compared) if line.verdict == "helps"),
    )
    scores = Table(
        "scores",
        f"Means over {count(found.n_folds, 'fold')}. Less is better for the Brier score.",
        ["classifier", "method", *(title for title, _ in SCORES.values())],
        [
            [
                line.classifier,
                line.method,
                *(
                    NOTHING if line.scores[name] is None else number(line.scores[name], 4)
                    for name in SCORES
                ),
            ]
            for line in found.lines
        ],
        words=2,
    )
    picture = Figure(
        "intervals",
        "Difference in AUPRC against leaving the data alone, with intervals of 95 %.",
        partial(
            _intervals,
            [
                (f"{x.classifier}, {x.method}", x.difference, x.low, x.high, x.verdict)
                for x in compared
            ],
        ),
    )
    share = 100 * found.positives / found.rows
    return Document(
        "Does cleaning help this data?",
        [
            found.verdict,
            f"{count(found.rows, 'row')}, {found.positives:,} of class “{found.positive}” "
            f"({share:.1f} %).",
        ],
        [
            Section("Differences", [picture, differences] if compared else [differences]),
            Section("All scores", [scores]),
            *([Section("Notes", list(found.notes))] if found.notes else []),
            Section(
                "How this was measured",
                [
                    "Rows are dealt to folds so that copies of a row are on one side. Scaling, "
                    "encoding, cleaning and the choice of settings see the training part of a "
                    "fold and nothing else; settings are chosen by folds inside it. No test row "
                    "is ever removed.",
                    "Standard errors are corrected for the rows that training parts share (Nadeau "
                    "and Bengio, 2003): plain ones are too small for cross-validation.",
                ],
            ),
        ],
    )


def _intervals(differences: Sequence[tuple[str, float, float, float, str]]) -> str:
    """Draw differences with their intervals, one under the other, beside a line at zero.

    Parameters
    ----------
    differences : sequence of (str, float, float, float, str)
        A name, the difference, where its interval begins and ends, and what it shows: "helps" is
        blue, "hurts" orange.

    Returns
    -------
    str
        An SVG picture.
    """
    with mpl.rc_context(SVG_STYLE):
        figure = Drawing(figsize=(7.2, 0.9 + 0.32 * len(differences)))
        axes = figure.add_subplot()
        axes.axvline(0, color="0.6", linewidth=1)
        for row, (_, middle, low, high, verdict) in enumerate(differences):
            colour = {"helps": "tab:blue", "hurts": "tab:orange"}.get(verdict, "0.25")
            axes.plot([low, high], [row, row], color=colour, linewidth=2)
            axes.plot([middle], [row], marker="o", color=colour)
        axes.set_yticks(range(len(differences)), [name for name, *_ in differences])
        axes.set_ylim(len(differences) - 0.4, -0.6)
        axes.set_xlabel("difference in AUPRC")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return to_svg(figure)
