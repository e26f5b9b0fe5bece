"""The section of the report on TabDDPM: a figure, differences by data set, and costs."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pandas as pd

from experiments.deep.ceiling import BEFORE, PRESENT, TUNED
from experiments.deep.figures import points
from experiments.deep.records import BOTH, CLASSIFIER, REAL, SYNTHETIC, outdated
from rectifold.bench._statistics import TIE, against
from rectifold.report._document import GMR, NONE, Figure, Part, Section, Table
from rectifold.report._wording import NOTHING, count, listing, number, pvalue, span, spread

#: What the report calls the classifiers that results were made with.
_CLASSIFIERS = {
    CLASSIFIER: "XGBoost with the settings of experiments/deep/tabular.py",
    "HistGradientBoostingClassifier": "scikit-learn's HistGradientBoostingClassifier with its "
    "defaults, which is no longer that of the experiment",
}
#: A classifier reaches the ceiling if its AUPRC is not lower by more.
NEAR = 0.02


def section(rows: pd.DataFrame, ceilings: pd.DataFrame | None = None) -> Section:
    """Return the section on TabDDPM, from the rows of the experiment and those of `ceiling`."""
    old = outdated(rows)
    # A set of which some rows are new is shown by these alone.
    rows = rows[~old | ~rows["dataset"].isin(rows.loc[~old, "dataset"])]
    # The draws from one model are averaged; seeds are the repetitions.
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
            test = against(table, NONE).get(GMR)
            lines.append(
                [
                    name if trained_on == REAL else "",
                    trained_on,
                    spread(table[NONE]),
                    spread(table[GMR]),
                    number(gain.mean(), 4, sign=True),
                    NOTHING if test is None else f"{test.wins}/{test.ties}/{test.losses}",
                    NOTHING if test is None else pvalue(test.pvalue),
                ]
            )
            if trained_on == SYNTHETIC:
                mean = gain.mean()
                verdict = "equal" if abs(mean) <= TIE else "higher" if mean > 0 else "lower"
                verdicts[verdict].append(name)
    settings = json.loads(next(iter(rows["settings"].dropna()), "{}"))
    seeds = rows["seed"].nunique()
    splits = _times(rows.groupby("dataset")["seed"].nunique())
    drawn = rows[rows["sample"] > 0].groupby(["dataset", "method", "seed"])["sample"].nunique()
    draws = _times(drawn) if len(drawn) else "not yet"
    words = [f"{what} on {listing(sets)}" for what, sets in verdicts.items() if sets] or [
        "not known yet"
    ]
    parts: list[Part] = [
        "With TabDDPM trained on cleaned data instead of raw data, the average precision of a "
        f"classifier trained on synthetic samples only is {', '.join(words)} (equal: a difference "
        f"of at most {TIE}).",
        f"Each data set was split {splits} (80 % for training), and GMR with its defaults cleaned "
        "the training part only. TabDDPM, trained on the raw or the cleaned training part "
        f"({settings.get('iterations', 0):,} iterations, {settings.get('timesteps', 0):,} "
        f"diffusion steps), drew as many samples as it was trained on, {draws}. The classifier is "
        f"{_classifiers(rows)}, tested on the real test part. The classifier trained on real "
        "samples only is the control.",
        Figure(
            "tabddpm",
            "Average precision of a classifier trained on synthetic samples of TabDDPM, which was "
            "trained on raw or on cleaned data; mean and standard deviation over seeds. Lines: the "
            "same classifier trained on the raw real samples.",
            partial(
                points,
                names,
                {
                    what: [_pair(means, name, SYNTHETIC, method) for name in names]
                    for what, method in (("synthetic, raw", NONE), ("synthetic, cleaned", GMR))
                },
                "AUPRC",
                ("real, raw", [_pair(means, name, REAL, NONE)[0] for name in names]),
            ),
        ),
        Table(
            "tabddpm",
            "AUPRC on the real test part, mean and standard deviation over seeds; the difference "
            "that cleaning makes; the seeds on which it is better, equal and worse; and Wilcoxon's "
            f"signed-rank test over seeds, whose smallest possible p-value for {seeds} seeds is "
            f"{pvalue(2 ** (1 - seeds))}. Seeds are overlapping splits of one data set: the test "
            "is about further splits, not about other data sets.",
            ["set", "trained on", "raw", "cleaned", "difference", "better/equal/worse", "p"],
            lines,
            words=2,
        ),
        *(() if ceilings is None or ceilings.empty else (_ceilings(ceilings),)),
        _costs(rows, names),
    ]
    return Section("TabDDPM on raw and on cleaned data", parts)


def _classifiers(rows: pd.DataFrame) -> str:
    """Name the classifier; if there are several, with their data sets."""
    sets = rows.groupby("classifier", sort=False)["dataset"].unique()
    names = {name: _CLASSIFIERS.get(str(name), str(name)) for name in sets.index}
    if len(names) == 1:
        return next(iter(names.values()))
    return "; ".join(f"{names[name]} (on {listing(sets[name])})" for name in sets.index)


def _ceilings(ceilings: pd.DataFrame) -> Table:
    """Compare classifiers on the real samples with a tuned one."""
    table = ceilings.pivot_table("auprc", "dataset", "classifier").dropna()
    lines = []
    for name, scores in table.iterrows():
        gap = scores[PRESENT] - scores[TUNED]
        lines.append(
            [
                str(name),
                *(number(scores[one], 4) for one in (TUNED, PRESENT)),
                number(gap, 4, sign=True),
                "yes" if gap >= -NEAR else "no",
                number(scores[BEFORE], 4),
                number(scores[BEFORE] - scores[TUNED], 4, sign=True),
            ]
        )
    seeds = listing(sorted(ceilings["seed"].unique()))
    return Table(
        "tabddpm-ceilings",
        f"AUPRC on the real test part after training on all raw real samples (seed {seeds}): "
        "XGBoost with settings chosen for each set, the present classifier of this experiment, "
        f"whether it is lower by at most {NEAR}, and HistGradientBoostingClassifier with its "
        "defaults.",
        [
            *("set", "tuned", "present", "present less tuned", "near"),
            *("defaults", "defaults less tuned"),
        ],
        lines,
    )


def _times(counts: Any) -> str:
    """Return how often something was done, in words; the counts may differ."""
    least, most = counts.min(), counts.max()
    return count(most, "time") if least == most else f"{span(least, most)} times"


def _costs(rows: pd.DataFrame, names: list[str]) -> Table:
    lines = []
    for name in names:
        mine = rows[rows["dataset"] == name]
        cleaned = mine[mine["method"] == GMR].drop_duplicates("seed")
        removed = pd.DataFrame([json.loads(text) for text in cleaned["removed"]])
        first = mine.iloc[0]
        lines.append(
            [
                name,
                str(first["target"]),
                f"{int(first['rows_before']):,} × {int(first['columns'])}",
                _embedding(mine),
                *(
                    number(removed[column].mean(), 0) if column in removed else NOTHING
                    for column in (0, 1)
                ),
                str(next(iter(cleaned["metric"].dropna()), NOTHING)),
                *(
                    number(mine.loc[mine["method"] == GMR, column].mean(), 1)
                    for column in ("clean_seconds", "train_seconds", "sample_seconds")
                ),
            ]
        )
    device = ", ".join(sorted({str(one) for one in rows["device"].dropna()})) or NOTHING
    return Table(
        "tabddpm-costs",
        "The target; samples and columns of the training part; the width of TabDDPM's embedding; "
        "samples of both classes that GMR removed, mean over seeds, and its metric; seconds to "
        f"clean, to train and to draw ({device}), while classifiers were trained at the same time.",
        [
            *("set", "target", "training part", "embedding", "majority removed"),
            *("minority removed", "metric", "clean, s", "train, s", "draw, s"),
        ],
        lines,
        words=2,
    )


def _embedding(rows: pd.DataFrame) -> str:
    """Return the widths of the embeddings of all models."""
    settings = [json.loads(text) for text in rows["settings"].dropna().unique()]
    widths = {known.get("embedding_", known.get("embedding")) for known in settings} - {None}
    return span(min(widths), max(widths)) if widths else NOTHING


def _by_seed(means: Any, name: str, trained_on: str) -> pd.DataFrame | None:
    if (name, trained_on) not in means.index.droplevel(["method", "seed"]):
        return None
    table = means.loc[name, trained_on].unstack("method")
    if not {NONE, GMR} <= set(table.columns):
        return None
    # Only seeds that both methods have.
    table = table[[NONE, GMR]].dropna()
    return table if len(table) else None


def _pair(means: Any, name: str, trained_on: str, method: str) -> tuple[float, float]:
    try:
        values = means.loc[name, trained_on, method]
    except KeyError:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std())
