"""The section on data leakage: ranks if a method had resampled before the split."""

from dataclasses import replace

import pandas as pd

from rectifold.bench._comparison import Comparison, compare, compared
from rectifold.report._document import Part, Section, Table, file_name
from rectifold.report._wording import count, number


def sections(
    honest: pd.DataFrame,
    comparison: Comparison,
    leaked: pd.DataFrame,
    published: pd.DataFrame | None,
) -> list[Section]:
    """Rank each method with its leaked scores among the leak-free scores of the others.

    `honest` are the rows of the comparison, `leaked` those of the protocol that resamples before
    the split; without any, there is no section. `published` are average ranks to show beside them.
    """
    leaked = compared(leaked, comparison)
    parts: list[Part] = []
    for name in leaked["method"].unique():
        parts += _of_method(honest, comparison, leaked[leaked["method"] == name], published)
    if not parts:
        return []
    return [
        Section(
            "Data leakage: resampling before the split",
            [
                "No other result of this report uses these scores. Here the sampler saw the whole "
                "data set, test samples included, before it was split. A cleaning sampler then "
                "removes test samples that are hard to classify, and an oversampler creates "
                "training samples from test samples: scores rise without a better classifier. Each "
                "method below is ranked with its leaked scores among the leak-free scores of all "
                "others, on the data sets and seeds that have both.",
                *parts,
            ],
            warning=True,
        )
    ]


def _of_method(
    honest: pd.DataFrame,
    comparison: Comparison,
    leaked: pd.DataFrame,
    published: pd.DataFrame | None,
) -> list[Part]:
    name = str(leaked["method"].iloc[0])
    # Both sides average the same seeds.
    levels = list(comparison.cells.names)
    shared = honest.set_index(levels).index.isin(leaked.set_index(levels).index)
    both = compare(honest[shared], comparison.score, comparison.protocol)
    if name not in both.values.columns or both.values.empty:
        return []
    means = leaked.groupby(["dataset", "classifier"])[comparison.score].mean()
    swapped = both.values.assign(**{name: means.reindex(both.values.index)})
    before = both.rank_table()
    after = replace(both, values=swapped).rank_table()
    gain = (swapped[name] - both.values[name]).groupby(level="classifier").mean()
    n_sets = both.values.index.get_level_values("dataset").nunique()
    ranks = {
        "rank, resampled on the training split": before,
        "rank, resampled before the split (leak)": after,
    }
    if published is not None:
        ranks["rank printed in the paper"] = published
    cells = [
        [title, *(number(table.loc[name, column]) for column in before.columns)]
        for title, table in ranks.items()
    ]
    cells.append(
        [
            "AUPRC added by the leak",
            *(number(gain[column], 4, sign=True) for column in before.columns[:-1]),
            number(gain.mean(), 4, sign=True),
        ]
    )
    paper = "" if published is None else f"; the paper prints {number(published.loc[name, 'Avg'])}"
    return [
        f"{name} would have the average rank {number(after.loc[name, 'Avg'])} instead of "
        f"{number(before.loc[name, 'Avg'])}{paper}.",
        Table(
            f"leak-{file_name(name)}",
            f"{name}: average ranks over {count(n_sets, 'data set')}, without and with the leak.",
            ["", *before.columns],
            cells,
        ),
    ]
