"""The report of an experiment, from the rows of its store to files."""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from rectifold._io import whole_files
from rectifold.bench._comparison import Comparison, compare, in_order, newest
from rectifold.bench._protocols import TRAIN_ONLY, leaking
from rectifold.bench._statistics import ALPHA, MIN_BLOCKS, Contrast, against
from rectifold.bench._store import FAILED, OK, Store
from rectifold.bench.report import _coverage, _leak, _scores, _significance
from rectifold.bench.report._figures import NAMES
from rectifold.bench.report._latex import to_latex
from rectifold.model_selection._registry import METHODS, BenchError, method
from rectifold.report._document import GMR, NONE, Document, Section
from rectifold.report._document_formats import to_html, to_markdown
from rectifold.report._wording import count, equation, listing, number


@dataclass(frozen=True)
class Published:
    """Figures of a paper, to show beside those of a store."""

    citation: str
    #: Average ranks: a row for each method, a column for each classifier, and ``Avg``.
    ranks: pd.DataFrame
    #: AUPRC: a row for each data set, a column for each method.
    auprc: pd.DataFrame

    def ranks_among(self, methods: Iterable[str]) -> pd.DataFrame | None:
        """Return the average ranks, or None if other methods were ranked than in the paper."""
        return self.ranks if set(methods) == set(self.ranks.index) else None


def write_report(
    store: Store,
    folder: str | Path,
    *,
    methods: Sequence[str] = (),
    published: Published | None = None,
    sections: Sequence[Section] = (),
    latex: bool = False,
) -> list[Path]:
    """Write a report on the results of a store.

    Parameters
    ----------
    store : Store
        The results; a run may be adding to them.
    folder : path-like
        Folder of the report: ``index.html``, ``README.md``, ``figures`` and, with `latex`,
        ``tables``.
    methods : sequence of str
        Methods to compare; by default all.
    published : Published, optional
        Figures of a paper, to show beside those of the store.
    sections : sequence of Section
        Further sections.
    latex : bool, default=False
        Write each table as LaTeX too.

    Returns
    -------
    list of pathlib.Path
        The files, the page first. They appear all together or not at all.

    Examples
    --------
    A store is filled by `rectifold.bench.run`, or here by hand:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from rectifold.bench import Store
    >>> from rectifold.bench.report import write_report
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(Path(folder.name) / "results").writing() as store:
    ...     for method, auprc in [("None", 0.61), ("GMR", 0.63), ("SMOTE", 0.58)]:
    ...         store.add(
    ...             {"dataset": "loans", "method": method, "classifier": "LR", "seed": 42}
    ...             | {"protocol": "train-only", "method_version": "1"}
    ...             | {"status": "ok", "auprc": auprc}
    ...         )
    >>> files = write_report(store, Path(folder.name) / "report", latex=True)
    >>> files[0].relative_to(folder.name).as_posix()
    'report/index.html'
    >>> sorted({file.suffix for file in files})
    ['.html', '.md', '.svg', '.tex']
    """
    document = build_document(store.read(), methods, published=published, sections=sections)
    return write_document(document, folder, latex=latex)


def write_document(document: Document, folder: str | Path, *, latex: bool = False) -> list[Path]:
    """Write a document as a page, as Markdown and with its figures, and return the files."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise BenchError(f"{str(folder)!r} is a file, and a report is a folder")
    contents = {
        folder / "index.html": to_html(document),
        folder / "README.md": to_markdown(document),
    }
    for figure in document.figures():
        contents[folder / "figures" / f"{figure.name}.svg"] = figure.svg
    if latex:
        for table in document.tables():
            contents[folder / "tables" / f"{table.name}.tex"] = to_latex(table)
    for path in contents:
        os.makedirs(path.parent, exist_ok=True)
    with whole_files(list(contents)) as files:
        for file, text in zip(files, contents.values(), strict=True):
            file.write(text.encode())
    return list(contents)


def build_document(
    frame: pd.DataFrame,
    methods: Sequence[str] = (),
    *,
    protocol: str = TRAIN_ONLY,
    published: Published | None = None,
    sections: Sequence[Section] = (),
    repeats: Collection[int] = (),
) -> Document:
    """Return the report on the rows of a store under a protocol, and on those with its leak.

    `repeats` are further seeds that only some data sets have. The other parameters are those of
    `write_report`.
    """
    frame, older = newest(_select_methods(frame, methods))
    honest = frame[frame["protocol"] == protocol]
    if honest.empty:
        raise BenchError(
            f"the store has no results under the protocol {protocol!r}, which a report needs"
        )
    comparison = compare(honest, protocol=protocol)
    if comparison.values.empty:
        raise BenchError(_why_empty(honest))
    table = comparison.rank_table()
    ranks = None if published is None else published.ranks_among(table.index)
    auprc = None if published is None else published.auprc
    leaked = frame[frame["protocol"] == leaking(protocol)]
    return Document(
        "Comparison of samplers without data leakage",
        _statement(comparison, table, ranks),
        [
            _coverage.what_was_run(
                honest, comparison, published.citation if published else "", repeats
            ),
            _scores.average_ranks(comparison, table, ranks),
            _significance.section(comparison),
            _scores.other_scores(honest, table, protocol),
            _coverage.samplers(honest),
            *_leak.sections(honest, comparison, leaked, ranks),
            _coverage.missing(honest, comparison, older, repeats),
            *sections,
            _scores.every_dataset(honest, comparison, auprc),
        ],
        tone=_tone(comparison),
        names={name: title for name, title in NAMES.items() if name in {*table.columns}},
    )


def _select_methods(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    known = in_order(frame["method"].unique(), METHODS)
    wanted = []
    for name in names:
        wanted.append(name if name in known else method(name).name)
        if wanted[-1] not in known:
            raise BenchError(f"the store has no results of {name!r}; it has {listing(known)}")
    return frame[frame["method"].isin(wanted)] if wanted else frame


def _why_empty(frame: pd.DataFrame) -> str:
    """Return the message of the error if there is nothing to compare."""
    if not (frame["status"] == OK).any():
        return "every fit of the store has failed or timed out; `rectifold bench status` shows why"
    ended = frame[frame["status"].isin([OK, FAILED])]
    never = in_order(set(frame["method"]) - set(ended["method"]), METHODS)
    which = f" ({listing(never)} on none at all)" if never else ""
    return (
        "there is no data set on which every method of the store has ended with the same "
        f"classifier and seed{which}: continue the run, or choose fewer methods"
    )


def _contrast(comparison: Comparison) -> Contrast | None:
    """Return the comparison of GMR with no sampling, if there are enough data sets."""
    blocks = comparison.by_block()
    if not {GMR, NONE} <= set(blocks.columns):
        return None
    return against(blocks[[GMR, NONE]], NONE).get(GMR)


def _tone(comparison: Comparison) -> str:
    contrast = _contrast(comparison)
    if contrast is None or contrast.pvalue >= ALPHA:
        return ""
    return "good" if contrast.effect > 0 else "bad"


def _statement(
    comparison: Comparison, table: pd.DataFrame, published: pd.DataFrame | None
) -> list[str]:
    """Return the sentences that sum up the report."""
    n_sets = comparison.values.index.get_level_values("dataset").nunique()
    over = f"over {count(n_sets, 'data set')} and {count(table.shape[1] - 1, 'classifier')}"
    if GMR not in table.index or NONE not in table.index:
        return [
            f"With samplers fitted on the training split alone, {table.index[0]} has the best "
            f"average rank {over}: {number(table['Avg'].iloc[0])} of {len(table)}."
        ]
    sentences = []
    for name, subject, scope in (
        (
            GMR,
            "With samplers fitted on the training split alone, GMR with default parameters",
            f" {over}",
        ),
        (NONE, "No sampling", ""),
    ):
        place = int((table["Avg"] < table.loc[name, "Avg"]).sum()) + 1
        paper = (
            ""
            if published is None
            else (f"; the paper prints {number(published.loc[name, 'Avg'])}")
        )
        sentences.append(
            f"{subject} has the average rank {number(table.loc[name, 'Avg'])} of {len(table)} "
            f"here{scope} ({'first' if place == 1 else f'place {place}'}){paper}."
        )
    contrast = _contrast(comparison)
    if contrast is None:
        return [*sentences, f"Tests of significance need at least {MIN_BLOCKS} data sets."]
    verdict = "no significant difference"
    if contrast.pvalue < ALPHA:
        # The test is of ranks, and so is its direction; the mean can have the other sign.
        verdict = f"GMR is significantly {'better' if contrast.effect > 0 else 'worse'}"
        if contrast.effect * contrast.difference < 0:
            verdict += " on most data sets, though not on average"
    sentences.append(
        f"GMR against no sampling, with data sets as blocks: {verdict} (Wilcoxon "
        f"{equation(contrast.pvalue)}; mean AUPRC {number(contrast.difference, 4, sign=True)}, "
        f"95\N{NO-BREAK SPACE}% interval {number(contrast.low, 4, sign=True)} to "
        f"{number(contrast.high, 4, sign=True)}; "
        f"{count(contrast.wins, 'win')}, {count(contrast.ties, 'tie')}, "
        f"{count(contrast.losses, 'loss', 'losses')})."
    )
    return sentences
