"""The report on the collection: gains over no sampling, ranks and tests over families."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from experiments.unseen.sets import chosen_sets
from rectifold.bench import CLASSIFIERS, EXTRA_CLASSIFIERS, SEEDS, BenchError, method
from rectifold.bench._comparison import Comparison, compare, in_order, newest
from rectifold.bench._protocols import TRAIN_ONLY
from rectifold.bench._statistics import MIN_BLOCKS
from rectifold.bench._store import FAILED, OK, TIMED_OUT
from rectifold.bench.report._significance import against_reference
from rectifold.model_selection._scores import SCORES
from rectifold.report._document import NONE, Document, Section, Table, rows_of
from rectifold.report._document_formats import to_markdown
from rectifold.report._wording import NOTHING, count, number, span

#: The rectified classifier as one fit, and as an ensemble of ten.
ONE_FIT, ENSEMBLE = "GMR-adaptive", "GMR-ensemble"
#: The methods of results/unseen/PLAN.md: the subject, the peers, and the controls.
COMPARED = (
    *(NONE, ONE_FIT, ENSEMBLE),
    *("ClassWeights", "BalancedBagging", "SelfPacedEnsemble"),
    *("BalancedRandomForest", "EasyEnsemble", "RUSBoost"),
    *("Bagging", "Vote", "Chooser", "Fused-RF", "Fused-LR"),
)
FITTED = CLASSIFIERS | EXTRA_CLASSIFIERS
#: Losses in AUPRC above this are counted.
LOSS = 0.01
#: Scores beside AUPRC.
SECONDARY = ("roc_auc", "balanced_accuracy", "brier")
#: Markdown that stands under the title of the page.
INTRODUCTION = """
    python -m experiments.unseen run --store results/unseen
    python -m experiments.unseen report --store results/unseen

The first command fills the store, the second writes this page from it. The data sets, methods and
tests were [written down](PLAN.md) before anything was run. No view and no setting is chosen by
these data sets, but that a forest takes part in the vote was decided after one seed of them had
been seen (PLAN.md, "Changes").
"""


def build(frame: pd.DataFrame, methods: tuple[str, ...] = ()) -> Document:
    """Return the report on the rows of a store, by default on all planned methods that it has."""
    sets = chosen_sets()
    planned = {"dataset": sets["task"], "classifier": list(FITTED), "seed": SEEDS}
    for column, values in (*planned.items(), ("method", methods or COMPARED)):
        frame = frame[frame[column].isin(values)]
    frame, _ = newest(frame[frame["protocol"] == TRAIN_ONLY])
    comparison = compare(frame)
    if NONE not in comparison.values.columns or comparison.values.empty:
        raise BenchError(
            "there is no family, classifier and seed on which no sampling and every other method "
            "of the store have ended: continue the run, or choose fewer methods"
        )
    table = comparison.rank_table()
    names = [name for name in table.index if name != NONE]
    coverage = _coverage(frame, comparison, methods or COMPARED)
    title = "A public collection of unseen data sets"
    if not names:
        return Document(title, [], [coverage])
    inseparable = sets.loc[sets["one_feature"] < 1, "task"]
    apart = compare(frame[frame["dataset"].isin(inseparable)])
    sections = [
        coverage,
        Section("Methods", [_summary(comparison, "methods", "All families.")]),
        _tests(comparison.by_dataset()),
        Section("Classifiers", [_by_classifier(comparison, names)]),
        Section("Families", [_by_family(comparison, names)]),
        Section("Other scores", [_other_scores(frame, names)]),
    ]
    if len(apart.values):
        scope = (
            "Without the families in which a threshold on one feature separates the classes, so "
            "that nothing can be gained."
        )
        sections.append(Section("Families with room", [_summary(apart, "inseparable", scope)]))
    statement = [_sentence(comparison, name) for name in (ONE_FIT, ENSEMBLE) if name in names]
    return Document(title, statement, sections)


def to_page(document: Document) -> str:
    """Return the report as Markdown, with the commands that make it."""
    title, _, rest = to_markdown(document).partition("\n")
    return f"{title}\n{INTRODUCTION}{rest}"


def _sentence(comparison: Comparison, name: str) -> str:
    gains, ranks = _gains(comparison)[name], comparison.rank_table()["Avg"]
    by_classifier = gains.groupby(level="classifier").mean()
    worst = by_classifier.idxmin()
    return (
        f"{name}: mean AUPRC {number(gains.mean(), 4, sign=True)} over no sampling, ahead in "
        f"{_share(_by_block(gains) > 0)} families; {_share(_loses(gains))} pairs of family and "
        f"classifier lose more than {LOSS:g}; the smallest mean gain of a classifier is "
        f"{number(by_classifier[worst], 4, sign=True)} ({worst}); average rank "
        f"{number(ranks[name])} of {len(ranks)}."
    )


def _tests(blocks: pd.DataFrame) -> Section:
    """Test all methods against no sampling, the ensemble and the single fit."""
    if len(blocks) < MIN_BLOCKS:
        return Section("Tests", [f"The tests need {MIN_BLOCKS} families with all classifiers."])
    references = [name for name in (NONE, ENSEMBLE, ONE_FIT) if name in blocks.columns]
    return Section(
        "Tests",
        [
            "Families are the blocks: the AUPRC of the classifiers on one family is averaged "
            "first. Only families with all classifiers take part. Holm's correction is for the "
            "number of methods in a table.",
            *(against_reference(blocks, name) for name in references),
        ],
    )


def _coverage(frame: pd.DataFrame, comparison: Comparison, methods: tuple[str, ...]) -> Section:
    """Describe what is recorded, and count what is not."""
    n_each = len(chosen_sets()) * len(FITTED) * len(SEEDS)
    rows = []
    for name in methods:
        statuses = frame.loc[frame["method"] == name, "status"].value_counts()
        counts = [int(statuses.get(status, 0)) for status in (OK, FAILED, TIMED_OUT)]
        rows.append([name, *(f"{n:,}" for n in (*counts, n_each - sum(counts)))])
    n_missing = n_each * len(methods) - len(frame)
    families = comparison.values.index.get_level_values("dataset").nunique()
    seeds = comparison.seeds
    return Section(
        "What was run",
        [
            f"{count(len(frame), 'fit')} of {n_each * len(methods):,} recorded, {n_missing:,} "
            f"missing. Methods are compared on the {count(len(seeds), 'pair')} of family and "
            f"classifier ({count(families, 'family', 'families')}) on which every method of the "
            "store has ended, over the seeds on which all have: "
            f"{span(int(seeds.min()), int(seeds.max()))} of {len(SEEDS)}. Data sets are split "
            "80/20, stratified; features are standardised, and methods fitted, on the training "
            "split alone. A method that failed ranks last.",
            Table(
                "recorded",
                "Fits by method.",
                ["Method", "ended", "failed", "timed out", "missing"],
                rows,
            ),
        ],
    )


def _gains(comparison: Comparison) -> pd.DataFrame:
    """Return the gains over no sampling, positive if better, in the form of the values."""
    sign = 1 if SCORES[comparison.score].greater_is_better else -1
    return sign * comparison.values.sub(comparison.values[NONE], axis=0)


def _loses(gains: Any) -> Any:
    """Return which pairs lose too much; a method that failed does."""
    return ~(gains >= -LOSS)


def _by_block(gains: Any) -> Any:
    """Return gains averaged over the classifiers of each family."""
    return gains.groupby(level="dataset", sort=False).mean()


def _share(values: pd.Series) -> str:
    """Write how many values are true, and their share."""
    return f"{int(values.sum())} of {len(values)} ({100 * values.mean():.0f} %)"


def _summary(comparison: Comparison, name: str, scope: str) -> Table:
    """Show gain, families ahead, pairs that lose, and average rank of every method."""
    ranks, gains = comparison.rank_table()["Avg"], _gains(comparison)
    blocks = _by_block(gains)
    rows = []
    for one in ranks.index:
        facts = [NOTHING] * 3
        if one != NONE:
            facts = [
                number(gains[one].mean(), 4, sign=True),
                _share(blocks[one] > 0),
                _share(_loses(gains[one])),
            ]
        rows.append([str(one), number(ranks[one]), *facts])
    return Table(
        name,
        f"{scope} Average rank by AUPRC among the {count(len(rows), 'method')} (1 is best, ties "
        "share the mean of their ranks); mean gain in AUPRC over no sampling; families with a gain "
        "above 0, averaged over classifiers; and pairs of family and classifier that lose more "
        f"than {LOSS:g}, or on which the method failed.",
        ["Method", "rank", "gain", "families ahead", f"pairs losing > {LOSS:g}"],
        rows,
        marked=_marked(ranks.index),
    )


def _by_classifier(comparison: Comparison, names: list[str]) -> Table:
    gains = _gains(comparison).groupby(level="classifier", sort=False).mean()
    classifiers = in_order(gains.index, FITTED)
    return Table(
        "classifiers",
        "Mean gain in AUPRC over no sampling by classifier, over families.",
        ["Method", *classifiers],
        [
            [name, *(number(gains.loc[one, name], 4, sign=True) for one in classifiers)]
            for name in names
        ],
        marked=_marked(names),
    )


def _by_family(comparison: Comparison, names: list[str]) -> Table:
    families = chosen_sets().set_index("task")["family"]
    plain = comparison.values[NONE].groupby(level="dataset").mean()
    gains = _by_block(_gains(comparison))
    seeds = comparison.values.groupby(level="dataset").size()
    rows = [
        [
            families[task],
            task,
            str(seeds[task]),
            number(plain[task], 4),
            *(number(gains.loc[task, name], 4, sign=True) for name in names),
        ]
        for task in in_order(plain.index, families.index)
    ]
    short = [method(name).short for name in names]
    return Table(
        "families",
        "Number of classifiers that are compared; AUPRC without sampling, averaged over them; and "
        "the gain of each method.",
        ["Family", "task", "classifiers", NONE, *short],
        rows,
        words=2,
    )


def _other_scores(frame: pd.DataFrame, names: list[str]) -> Table:
    """Show gains and families ahead by other scores, for classifiers that have them unwrapped."""
    columns, cells = ["Method"], {name: [] for name in names}
    for score in SECONDARY:
        plain = frame[(frame["method"] == NONE) & frame[score].notna()]
        comparison = compare(frame[frame["classifier"].isin(plain["classifier"])], score)
        title = SCORES[score].title
        columns += [f"{title}, gain", "families ahead"]
        if comparison.values.empty:
            cells = {name: [*row, NOTHING, NOTHING] for name, row in cells.items()}
            continue
        gains = _gains(comparison)
        blocks = _by_block(gains)
        for name, row in cells.items():
            row += [number(gains[name].mean(), 4, sign=True), _share(blocks[name] > 0)]
    return Table(
        "other-scores",
        "Mean gain over no sampling, positive if better, also of the Brier score, which is better "
        "if smaller; and families ahead. The Brier score leaves out classifiers that have no "
        "probabilities without a method, such as the SVM. Balanced accuracy is that of predicted "
        "labels.",
        columns,
        [[name, *row] for name, row in cells.items()],
        marked=_marked(names),
    )


def _marked(names: Iterable[str]) -> frozenset[int]:
    return rows_of(list(names), (ONE_FIT, ENSEMBLE))
