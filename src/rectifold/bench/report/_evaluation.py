"""What `rectifold.compare` found, as a document."""

from __future__ import annotations

from functools import partial

from rectifold.bench.report._document import Document, Figure, Section, Table
from rectifold.bench.report._figures import intervals
from rectifold.bench.report._wording import NOTHING, count, number, pvalue
from rectifold.model_selection._comparison import BASE, SCORES, Evaluation


def document(found: Evaluation) -> Document:
    """Put a comparison on one's own data into words, tables and a picture.

    Parameters
    ----------
    found : Evaluation
        The comparison.

    Returns
    -------
    Document
        For `rectifold.bench.report._html.to_html`.
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
            intervals,
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
