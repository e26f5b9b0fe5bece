"""The report of an experiment: a page, the same as Markdown, its figures, tables for LaTeX."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rectifold._io import whole_files
from rectifold.bench._store import Store
from rectifold.bench.report._findings import find
from rectifold.bench.report._latex import to_latex
from rectifold.model_selection._registry import BenchError
from rectifold.report._document import Document, Section
from rectifold.report._document_formats import to_html, to_markdown

__all__ = ["Document", "find", "write_document", "write_report"]


def write_report(
    store: Store,
    folder: str | Path,
    *,
    sections: Sequence[Section] = (),
    methods: Sequence[str] = (),
    latex: bool = False,
) -> list[Path]:
    """Write what the results of a store show.

    Parameters
    ----------
    store : Store
        The results; a run may still be adding to them.
    folder : path-like
        Where: ``index.html``, ``README.md``, ``figures`` and, if asked for, ``tables``.
    sections : sequence of Section
        Further sections, appended to the report.
    methods : sequence of str
        Compare only these; by default all.
    latex : bool, default=False
        Write each table as LaTeX too.

    Returns
    -------
    list of pathlib.Path
        The files written, the page first. They appear all together or not at all.

    Examples
    --------
    The store is one that `rectifold.bench.run` has filled; here it is given some figures by hand.

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
    document = find(store.read(), methods)
    document = replace(document, sections=[*document.sections, *sections])
    return write_document(document, folder, latex=latex)


def write_document(document: Document, folder: str | Path, *, latex: bool = False) -> list[Path]:
    """Write a report as a page, as Markdown and with its figures, and return the files."""
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
