"""The result of `rectifold.compare` as a document."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure as Drawing

from rectifold.model_selection import _scores
from rectifold.model_selection._evaluation import BASELINE, SCORES, Evaluation, MethodResult
from rectifold.report._document import Document, Figure, Section, Table
from rectifold.report._document_formats import figure_style, to_svg
from rectifold.report._wording import NOTHING, count, number, pvalue

_TONES = {"helps": "good", "hurts": "bad"}


def document(evaluation: Evaluation) -> Document:
    """Return the result of a comparison as text, tables and a figure."""
    compared = [result for result in evaluation.results if result.method != BASELINE]
    differences = Table(
        "differences",
        "AUPRC minus that of leaving the data alone, on the same folds: 95 % confidence intervals, "
        "p-values of the corrected resampled t-test, also with Holm's correction for the number of "
        "comparisons.",
        ["verdict", "classifier", "method", "AUPRC", "difference", "from", "to", "p", "p (Holm)"],
        [
            [
                result.verdict,
                result.classifier,
                result.method,
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
        tones=_TONES,
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
            Section("All scores", [scores], folded=True),
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
                folded=True,
            ),
        ],
        tone=_tone(compared),
    )


def _tone(compared: Sequence[MethodResult]) -> str:
    verdicts = {result.verdict for result in compared}
    return next((tone for verdict, tone in _TONES.items() if verdict in verdicts), "")


def _draw_intervals(results: Sequence[MethodResult]) -> str:
    """Return an SVG with one interval below the other: green if a method helps, red if it hurts."""
    with figure_style():
        figure = Drawing(figsize=(6.4, 1.2 + 0.5 * len(results)), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(0, color="0.6", linewidth=1)
        for row, result in enumerate(results):
            colour = {"helps": "C2", "hurts": "C1"}.get(result.verdict, "0.4")
            axes.plot([result.low, result.high], [row, row], color=colour, linewidth=2)
            axes.plot([result.difference], [row], marker="o", color=colour)
        names = [f"{result.method},\n{result.classifier}" for result in results]
        axes.set_yticks(range(len(results)), names)
        axes.set_ylim(len(results) - 0.4, -0.6)
        axes.set_xlabel("difference in AUPRC")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return to_svg(figure)
