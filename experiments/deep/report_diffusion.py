"""The section of the report on TabDDPM: a figure, differences by data set, and costs."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pandas as pd

from experiments.deep.records import BOTH, REAL, SYNTHETIC
from rectifold.bench._statistics import TIE, against
from rectifold.bench.report._figures import bars
from rectifold.report._document import GMR, NONE, Figure, Part, Section, Table
from rectifold.report._wording import NOTHING, count, listing, number, pvalue, span, spread


def section(rows: pd.DataFrame) -> Section:
    """Return the section on TabDDPM, from the rows of the experiment."""
    # Draws from one model are one result; seeds are the repetitions.
    means = rows.groupby(["dataset", "trained_on", "method", "seed"])["auprc"].mean()
    names = list(dict.fromkeys(rows["dataset"]))
    lines: list[list[str]] = []
    verdicts: dict[str, list[str]] = {"higher": [], "lower": [], "equal": []}
    for name in names:
        for trained_on in (REAL, SYNTHETIC, BOTH):
            table = _by_seed(means, name, trained_on)
            if table is None:
                continue
            gain = table[GMR] - table[NONE]
            told = against(table, NONE).get(GMR)
            lines.append(
                [
                    name if trained_on == REAL else "",
                    trained_on,
                    spread(table[NONE]),
                    spread(table[GMR]),
                    number(gain.mean(), 4, sign=True),
                    NOTHING if told is None else f"{told.wins}/{told.ties}/{told.losses}",
                    NOTHING if told is None else pvalue(told.pvalue),
                ]
            )
            if trained_on == SYNTHETIC:
                mean = gain.mean()
                sort = "equal" if abs(mean) <= TIE else "higher" if mean > 0 else "lower"
                verdicts[sort].append(name)
    settings = json.loads(next(iter(rows["settings"].dropna()), "{}"))
    seeds = rows["seed"].nunique()
    splits = _times(rows.groupby("dataset")["seed"].nunique())
    drawn = rows[rows["sample"] > 0].groupby(["dataset", "method", "seed"])["sample"].nunique()
    draws = _times(drawn) if len(drawn) else "not yet"
    words = [f"{what} on {listing(found)}" for what, found in verdicts.items() if found] or [
        "not known yet"
    ]
    parts: list[Part] = [
        "The average precision of a classifier that has seen only rows made up by TabDDPM is, if "
        f"TabDDPM learns from cleaned rows, {', '.join(words)} (equal: to {TIE}).",
        f"Every set was split {splits} (80 % to train on); GMR with its defaults saw "
        "the training part alone. TabDDPM, trained on that part raw or cleaned "
        f"({settings.get('iterations', 0):,} iterations, {settings.get('timesteps', 0):,} steps of "
        f"diffusion), drew as many rows as it was trained on, {draws}. The "
        "classifier is scikit-learn's HistGradientBoostingClassifier with its defaults; it is "
        "tested on the real rows that were set aside. Trained on real rows alone it is the "
        "control: it shows whether the model matters at all.",
        Figure(
            "tabddpm",
            "Average precision of a classifier trained on rows that TabDDPM made up, having learnt "
            "from raw and from cleaned rows; mean and standard deviation over seeds. Lines: the "
            "same classifier trained on the real rows, raw.",
            partial(
                bars,
                names,
                {
                    what: [_pair(means, name, SYNTHETIC, method) for name in names]
                    for what, method in (("made up, raw", NONE), ("made up, cleaned", GMR))
                },
                "AUPRC",
                ("real rows, raw", [_pair(means, name, REAL, NONE)[0] for name in names]),
            ),
        ),
        Table(
            "tabddpm",
            "AUPRC on real test rows, mean and standard deviation over seeds; what cleaning adds, "
            "seeds on which it is better, equal and worse, and Wilcoxon's signed-rank test over "
            f"seeds (of {seeds} it can't say less than {pvalue(2 ** (1 - seeds))}). Seeds are "
            "splits of one set and overlap: the test says whether splitting again would show the "
            "same, not whether another set would.",
            ["set", "trained on", "raw", "cleaned", "difference", "better/equal/worse", "p"],
            lines,
            words=2,
        ),
        _costs(rows, names),
    ]
    return Section("A diffusion model, on raw and on cleaned rows", parts)


def _times(counts: Any) -> str:
    """Return how often something was done, in words; the counts may differ."""
    least, most = counts.min(), counts.max()
    return count(most, "time") if least == most else f"{span(least, most)} times"


def _costs(rows: pd.DataFrame, names: list[str]) -> Table:
    lines = []
    for name in names:
        of = rows[rows["dataset"] == name]
        cleaned = of[of["method"] == GMR].drop_duplicates("seed")
        gone = pd.DataFrame([json.loads(text) for text in cleaned["removed"]])
        first = of.iloc[0]
        lines.append(
            [
                name,
                str(first["target"]),
                f"{int(first['rows_before']):,} × {int(first['columns'])}",
                _embedding(of),
                *(
                    number(gone[column].mean(), 0) if column in gone else NOTHING
                    for column in (0, 1)
                ),
                str(next(iter(cleaned["metric"].dropna()), NOTHING)),
                *(
                    number(of.loc[of["method"] == GMR, column].mean(), 1)
                    for column in ("clean_seconds", "train_seconds", "sample_seconds")
                ),
            ]
        )
    device = ", ".join(sorted({str(one) for one in rows["device"].dropna()})) or NOTHING
    return Table(
        "tabddpm-costs",
        "What is told from what; training rows and columns; the width of TabDDPM's embedding; rows "
        "of both classes that GMR removed, on average over seeds, by which metric; seconds to "
        f"clean, to train and to draw ({device}), while classifiers were trained beside it.",
        [
            *("set", "target", "training part", "embedding", "majority removed"),
            *("minority removed", "metric", "clean, s", "train, s", "draw, s"),
        ],
        lines,
        words=2,
    )


def _embedding(rows: pd.DataFrame) -> str:
    """Return the widths of the embeddings of all models."""
    every = [json.loads(text) for text in rows["settings"].dropna().unique()]
    widths = {one.get("embedding_", one.get("embedding")) for one in every} - {None}
    return span(min(widths), max(widths)) if widths else NOTHING


def _by_seed(means: Any, name: str, trained_on: str) -> pd.DataFrame | None:
    if (name, trained_on) not in means.index.droplevel(["method", "seed"]):
        return None
    table = means.loc[name, trained_on].unstack("method")
    if not {NONE, GMR} <= set(table.columns):
        return None
    # Seeds that both have.
    table = table[[NONE, GMR]].dropna()
    return table if len(table) else None


def _pair(means: Any, name: str, trained_on: str, method: str) -> tuple[float, float]:
    try:
        values = means.loc[name, trained_on, method]
    except KeyError:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std())
