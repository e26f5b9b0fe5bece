"""What the results of a store show, as a document."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from rectifold.bench._comparison import Comparison, compare, in_order, newest
from rectifold.bench._protocols import BEFORE_SPLIT, TRAIN_ONLY
from rectifold.bench._statistics import ALPHA, LEAST_BLOCKS, against
from rectifold.bench._store import FAILED, OK
from rectifold.bench.paper import CITATION, paper_ranks_of
from rectifold.bench.report import _agreement, _coverage, _leak, _ranks, _significance
from rectifold.model_selection._registry import METHODS, BenchError, method
from rectifold.report._document import GMR, NONE, Document, Section
from rectifold.report._wording import count, equation, listing, number, span


def find(frame: pd.DataFrame, methods: Sequence[str] = ()) -> Document:
    """Work out what results show.

    Parameters
    ----------
    frame : pandas.DataFrame
        All rows of a store.
    methods : sequence of str
        Compare only these; by default all that the store has.

    Returns
    -------
    Document
        The report.
    """
    frame, older = newest(_chosen(frame, methods))
    honest = frame[frame["protocol"] == TRAIN_ONLY]
    if honest.empty:
        raise BenchError(
            f"the store has no results under the protocol {TRAIN_ONLY!r}, and a report is of those"
        )
    comparison = compare(honest)
    if comparison.values.empty:
        raise BenchError(_nothing(honest))
    table = comparison.rank_table()
    sections = [
        _ranks.section(comparison, table),
        _significance.section(comparison),
        *_agreement.sections(honest, comparison, table),
        _ranks.by_score(honest, table),
        _coverage.samplers(honest),
        *_leak.sections(comparison, frame[frame["protocol"] == BEFORE_SPLIT]),
        _coverage.missing(honest, comparison, older),
        _agreement.every_dataset(honest, comparison),
    ]
    return Document(
        "Samplers compared, without leaks",
        _statement(comparison, table),
        [_what_was_run(honest, comparison), *sections],
    )


def _nothing(frame: pd.DataFrame) -> str:
    if not (frame["status"] == OK).any():
        return "every fit in the store failed or timed out; `rectifold bench status` shows why"
    ended = frame[frame["status"].isin([OK, FAILED])]
    nowhere = in_order(set(frame["method"]) - set(ended["method"]), METHODS)
    why = f", and {listing(nowhere)} nowhere at all" if nowhere else ""
    return (
        "there is no data set on which every method of the store has ended with the same "
        f"classifier and seed{why}: let the run go on, or choose methods with --method"
    )


def _chosen(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    known = in_order(frame["method"].unique(), METHODS)
    wanted = []
    for name in names:
        wanted.append(name if name in known else method(name).name)
        if wanted[-1] not in known:
            raise BenchError(f"the store has no results of {name!r}; it has {listing(known)}")
    return frame[frame["method"].isin(wanted)] if wanted else frame


def _statement(comparison: Comparison, table: pd.DataFrame) -> list[str]:
    n_sets = comparison.values.index.get_level_values("dataset").nunique()
    over = f"over {count(n_sets, 'data set')} and {count(table.shape[1] - 1, 'classifier')}"
    if GMR not in table.index or NONE not in table.index:
        best = table.index[0]
        return [
            f"With every sampler confined to the training split, {best} has the best average rank "
            f"{over}: {number(table['Avg'].iloc[0])} of {len(table)}."
        ]
    printed = paper_ranks_of(table.index)
    sentences = []
    for name, says in (
        (GMR, "With every sampler confined to the training split, GMR at its defaults has the "),
        (NONE, "No sampling at all has the "),
    ):
        place = int((table["Avg"] < table.loc[name, "Avg"]).sum()) + 1
        beside = ""
        if printed is not None:
            beside = f"; the paper prints {number(printed.loc[name, 'Avg'])}"
        here = f"average rank {number(table.loc[name, 'Avg'])} of {len(table)} here"
        where = f" {over}" if name == GMR else ""
        first = "first" if place == 1 else f"place {place}"
        sentences.append(f"{says}{here}{where} ({first}){beside}.")
    one = against(comparison.by_dataset()[[GMR, NONE]], NONE).get(GMR)
    if one is None:
        return [*sentences, f"With fewer than {LEAST_BLOCKS} data sets, nothing more can be said."]
    verdict = "no significant difference"
    if one.pvalue < ALPHA:
        # The test is of ranks, and so is its direction; the mean can point the other way.
        verdict = f"GMR is significantly {'better' if one.effect > 0 else 'worse'}"
        if one.effect * one.difference < 0:
            verdict += " on most data sets, though not on average"
    sentences.append(
        f"GMR against no sampling, with data sets as blocks: {verdict} (Wilcoxon "
        f"{equation(one.pvalue)}; mean AUPRC {number(one.difference, 4, sign=True)}, "
        f"95\N{NO-BREAK SPACE}% interval {number(one.low, 4, sign=True)} to "
        f"{number(one.high, 4, sign=True)}; "
        f"{count(one.wins, 'win')}, {count(one.ties, 'tie')}, "
        f"{count(one.losses, 'loss', 'losses')})."
    )
    return sentences


def _what_was_run(frame: pd.DataFrame, comparison: Comparison) -> Section:
    ended = frame["status"].value_counts()
    names = {
        what: frame[column].nunique()
        for what, column in (
            ("data set", "dataset"),
            ("method", "method"),
            ("classifier", "classifier"),
            ("seed", "seed"),
        )
    }
    grid = listing([count(n, what) for what, n in names.items()])
    others = [
        count(int(n), f"fit {status}", f"fits {status}")
        for status, n in ended.items()
        if status != OK
    ]
    seeds = comparison.seeds
    n_sets = seeds.index.get_level_values("dataset").nunique()
    versions = pd.Series([json.loads(text) for text in frame["versions"].dropna().unique()])
    libraries = sorted({(name, version) for one in versions for name, version in one.items()})
    return Section(
        "What was run",
        [
            f"{grid}: {count(len(frame), 'fit')} recorded"
            f"{', ' + listing(others) if others else ', none failed'}. Each data set is split "
            "80/20, stratified, once for each seed; features are standardised and samplers fitted "
            "on the training part alone; the paper's methods and classifiers have library "
            "defaults; the seed goes to whatever takes one.",
            f"Methods are compared on {count(len(seeds), 'pair')} of data set and classifier "
            f"({count(n_sets, 'data set')}) where every method has ended, over the seeds on which "
            f"all have: {span(seeds.min(), seeds.max())} of them. A method that failed there ranks "
            "last.",
            "Libraries: "
            + ", ".join(f"{name} {version}" for name, version in libraries)
            + f". The paper: {CITATION}.",
        ],
    )
