"""The sections on the run itself: its settings, the samplers' costs, and what is missing."""

import json
from collections.abc import Collection

import pandas as pd

from rectifold.bench._comparison import Comparison, in_order, incomplete_datasets
from rectifold.bench._data import notes
from rectifold.bench._protocols import PROTOCOLS
from rectifold.bench._store import FAILED, OK, TIMED_OUT
from rectifold.datasets import PAPER_DATASETS
from rectifold.model_selection._registry import CLASSIFIERS, METHODS
from rectifold.report._document import Section, Table, rows_of
from rectifold.report._wording import count, listing, number, span

#: Maximum number of kinds of failures that are listed.
_MAX_FAILURES = 50


def what_was_run(
    frame: pd.DataFrame, comparison: Comparison, citation: str, repeats: Collection[int] = ()
) -> Section:
    """Describe the grid, the protocol and the versions of the libraries."""
    titles = {
        "dataset": "data set",
        "method": "method",
        "classifier": "classifier",
        "seed": "seed",
    }
    further = frame["seed"].isin(list(repeats))
    common = frame[~further]
    grid = listing([count(common[column].nunique(), title) for column, title in titles.items()])
    grid += _further(frame[further])
    others = [
        count(int(n), f"fit {status}", f"fits {status}")
        for status, n in frame["status"].value_counts().items()
        if status != OK
    ]
    seeds = comparison.seeds
    n_sets = seeds.index.get_level_values("dataset").nunique()
    recorded = [json.loads(text) for text in frame["versions"].dropna().unique()]
    libraries = sorted({pair for versions in recorded for pair in versions.items()})
    return Section(
        "What was run",
        [
            f"{grid}: {count(len(frame), 'fit')} recorded"
            f"{', ' + listing(others) if others else ', none failed'}. Each data set is split "
            f"80/20, stratified, once for each seed; {_of_protocol(comparison.protocol)}; the seed "
            "is the random_state of the split, the sampler and the classifier.",
            f"Methods are compared on {count(len(seeds), 'pair')} of data set and classifier "
            f"({count(n_sets, 'data set')}) on which every method has ended, over the seeds on "
            f"which all have: {span(seeds.min(), seeds.max())} of them. A method that failed there "
            "ranks last.",
            "Libraries: "
            + ", ".join(f"{name} {version}" for name, version in libraries)
            + f".{citation and f' The paper: {citation}.'}",
        ],
        folded=True,
    )


def _further(rows: pd.DataFrame) -> str:
    """Describe the seeds that only some data sets have."""
    if rows.empty:
        return ""
    seeds = rows.groupby("dataset")["seed"].nunique()
    positives = rows["test_positives"].dropna().astype(int)
    return (
        f", and {span(seeds.min(), seeds.max())} more seeds on {listing(sorted(seeds.index))}, "
        f"which have only {span(positives.min(), positives.max())} minority samples in a test split"
    )


def _of_protocol(protocol: str) -> str:
    """Describe what methods and classifiers see."""
    rules = PROTOCOLS[protocol]
    sentence = "features are standardised, and samplers fitted, on the training split alone"
    if rules.raw:
        sentence = (
            "samplers are fitted on the raw features of the training split alone, and features are "
            "standardised after resampling"
        )
    sentence += (
        "; methods and classifiers of the paper have the default parameters of their libraries"
    )
    if rules.class_weight:
        sentence += ", but classifiers that have the parameter class_weight get “balanced”"
    if rules.ties == "min":
        sentence += "; methods with equal scores share the lowest of their ranks"
    return sentence


def samplers(frame: pd.DataFrame) -> Section:
    """Show how many samples each sampler leaves, and its duration."""
    once = frame[frame["majority_after"].notna()].drop_duplicates(["dataset", "method", "seed"])
    rows = []
    for name in in_order(once["method"].unique(), METHODS):
        part = once[once["method"] == name]
        majority = 100 * (part["majority_after"] / part["majority_before"])
        minority = 100 * (part["minority_after"] / part["minority_before"])
        fits = frame[(frame["method"] == name) & (frame["status"] == OK)]
        rows.append(
            [
                str(name),
                f"{number(majority.median(), 1)} %",
                f"{number(minority.median(), 1)} %",
                number(part["resample_seconds"].median(), 3),
                number(part["resample_seconds"].max(), 1),
                number(fits["fit_seconds"].mean(), 2),
            ]
        )
    table = Table(
        "samplers",
        "Size of each class after resampling, in per cent of that before (medians over data sets "
        "and seeds); seconds of a resampling (median and longest) and of a fit after it (mean), on "
        "one thread of a busy machine, over the fits that ended: read them as ratios.",
        ["Method", "majority", "minority", "seconds", "longest", "fit"],
        rows,
        marked=rows_of([row[0] for row in rows]),
    )
    return Section("Sizes and durations of resampling", [table], folded=True)


def missing(
    frame: pd.DataFrame,
    comparison: Comparison,
    older: dict[str, list[str]],
    repeats: Collection[int] = (),
) -> Section:
    """List what is not compared; `older` are versions of methods that are left out."""
    section = Section("What is missing", folded=True)
    incomplete = incomplete_datasets(frame, comparison, repeats)
    if incomplete:
        rows = []
        for one in incomplete:
            statuses = frame.loc[frame["dataset"] == one.dataset, "status"].value_counts()
            rows.append(
                [
                    one.dataset,
                    f"{one.n_compared} of {one.n_classifiers}",
                    span(one.min_seeds, one.max_seeds),
                    *(f"{int(statuses.get(status, 0)):,}" for status in (OK, FAILED, TIMED_OUT)),
                    f"{one.n_missing:,}",
                ]
            )
        section.parts.append(
            Table(
                "missing",
                "Data sets that are compared in part: the classifiers and seeds that are compared, "
                "how fits ended, and how many were not run.",
                ["Data set", "classifiers", "seeds", "ok", "failed", "timed out", "not run"],
                rows,
            )
        )
    else:
        section.parts.append(
            "Nothing: every method has ended on every data set, with every classifier and seed."
        )
    present = set(frame["dataset"])
    absent = [name for name in PAPER_DATASETS if name not in present]
    if absent and len(absent) < len(PAPER_DATASETS):
        section.parts.append(
            f"Of the paper's {len(PAPER_DATASETS)} data sets, {count(len(absent), 'is', 'are')} "
            f"not in the store: {listing(absent)}."
        )
    failures = frame[frame["status"] != OK]
    kinds = failures.groupby(["dataset", "method", "status", "error"])["classifier"].agg(list)
    if len(kinds):
        first = kinds.head(_MAX_FAILURES).reset_index().itertuples(index=False)
        cut = f", the first {_MAX_FAILURES}" if len(kinds) > _MAX_FAILURES else ""
        section.parts.append(
            Table(
                "failures",
                f"Every kind of failure{cut}.",
                ["Data set", "method", "status", "error", "classifiers", "fits"],
                [
                    [*map(str, kind), listing(in_order(names, CLASSIFIERS)), str(len(names))]
                    for *kind, names in first
                ],
                words=5,
            )
        )
    section.parts += notes(frame).values()
    if older:
        section.parts.append(
            "Left out, because there are results of a newer version: "
            + "; ".join(f"{name} {listing(versions)}" for name, versions in older.items())
            + "."
        )
    return section
