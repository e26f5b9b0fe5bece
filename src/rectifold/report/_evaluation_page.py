"""The result of `rectifold.compare` as a document."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure as Drawing

from rectifold.model_selection import _scores
from rectifold.model_selection._evaluation import BASELINE, SCORES, Evaluation, MethodResult
from rectifold.report._document import Document, Figure, Section, Table
from rectifold.report._document_formats import figure_style, to_svg
from rectifold.report._wording import NOTHING, count, number, pvalue


def document(evaluation: Evaluation) -> Document:
    """Return the result of a comparison as text, tables and a figure."""
    compared = [result for result in evaluation.results if result.method != BASELINE]
    differences = Table(
        "differences",
        "AUPRC minus that of leaving the data alone, on the same folds: 95 % confidence intervals, "
        "p-values of the corrected resampled t-test, also with Holm's correction for the number of "
        "comparisons.",
        ["classifier", "method", "verdict", "AUPRC", "difference", "from", "to", "p", "p (Holm)"],
        [
            [
                result.classifier,
                result.method,
                result.verdict,
                number(result.scores["auprc"], 4),
                number(result.difference, 4, sign=True),
                number(result.low, 4, sign=True),
                number(result.high, 4, sign=True),
                pvalue(result.pvalue),
                pvalue(result.pvalue_holm),
            ]
            for result in compared
        ],
        words=3,
        marked=frozenset(i for i, one in enumerate(compared) if one.verdict == "helps"),
    )
    scores = Table(
        "scores",
        f"Means over {count(evaluation.n_folds, 'fold')}. A lower Brier score is better.",
        ["classifier", "method", *(_scores.SCORES[name].title for name in SCORES)],
        [
            [
                result.classifier,
                result.method,
                *(
                    NOTHING if result.scores[name] is None else number(result.scores[name], 4)
                    for name in SCORES
                ),
            ]
            for result in evaluation.results
        ],
        words=2,
    )
    figure = Figure(
        "intervals",
        "Difference in AUPRC to leaving the data alone, with 95 % confidence intervals.",
        partial(_draw_intervals, compared),
    )
    share = 100 * evaluation.n_positives / evaluation.n_samples
    return Document(
        "Does it help this data?",
        [
            evaluation.verdict,
            f"{count(evaluation.n_samples, 'sample')}, {evaluation.n_positives:,} of class "
            f"“{evaluation.positive}” ({share:.1f} %).",
        ],
        [
            Section("Differences", [figure, differences] if compared else [differences]),
            Section("All scores", [scores]),
            *([Section("Notes", list(evaluation.notes))] if evaluation.notes else []),
            Section(
                "How this was measured",
                [
                    "By nested cross-validation. Scaling, encoding, cleaning and the choice of "
                    "settings see the training part of a fold alone; settings are chosen by inner "
                    "folds. No test sample is ever removed, and duplicates are in the same part.",
                    "Standard errors are corrected for the samples that training parts share "
                    "(Nadeau and Bengio, 2003): uncorrected ones are too small for "
                    "cross-validation.",
                ],
            ),
        ],
    )


def _draw_intervals(results: Sequence[MethodResult]) -> str:
    """Return an SVG with one interval below the other: blue if a method helps, orange if not."""
    with figure_style():
        figure = Drawing(figsize=(7.2, 0.9 + 0.32 * len(results)))
        axes = figure.add_subplot()
        axes.axvline(0, color="0.6", linewidth=1)
        for row, result in enumerate(results):
            colour = {"helps": "tab:blue", "hurts": "tab:orange"}.get(result.verdict, "0.25")
            axes.plot([result.low, result.high], [row, row], color=colour, linewidth=2)
            axes.plot([result.difference], [row], marker="o", color=colour)
        names = [f"{result.classifier}, {result.method}" for result in results]
        axes.set_yticks(range(len(results)), names)
        axes.set_ylim(len(results) - 0.4, -0.6)
        axes.set_xlabel("difference in AUPRC")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return to_svg(figure)
