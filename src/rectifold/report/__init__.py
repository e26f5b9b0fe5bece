"""The report of a run: a dict of its contents, and an HTML page that shows them."""

from __future__ import annotations

import json
import tempfile
import webbrowser
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._core.errors import Param
from rectifold._core.projection import check_embedding
from rectifold._core.trace import rows_of
from rectifold._core.utils import Ints
from rectifold._io import FileError, check_outputs, write_whole
from rectifold.report._contents import Contents, without_arrays
from rectifold.report._messages import warnings_of
from rectifold.report._page import render, render_summary
from rectifold.report._subset import Budget

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

_TITLE = "What GMR did"
#: Maximum size of a page in bytes.
_MAX_BYTES = 8_000_000
#: A notebook stores its output, so its page is smaller.
_NOTEBOOK_BUDGET = Budget(drawn=4_000, marked=10_000, next=1_000, detailed=500, cells=20_000)
#: A page that draws no more samples than this is not made smaller.
_MIN_DRAWN = 100
_SUFFIXES = (".html", ".htm", ".json")


class Report:
    """A report on a run, as data and as an HTML page.

    It is made by `rectifold.Rectification.report`.

    Parameters
    ----------
    record : Rectification
        The record of the run.
    X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_columns), default=None
        The samples to show. None takes the input of the run; a record from a pickle does
        not have it.
    embedding : array-like of shape (n_samples, 2), default=None
        Coordinates at which samples are drawn. None takes the first two principal
        components of the space.
    title : str, default=None
        The heading.
    notes : sequence of str, default=()
        Warnings to show besides those about the record.
    command : sequence of str, default=None
        Arguments of the command that made the record, without the thresholds.
    positions : ndarray of int of shape (n_samples,), default=None
        Row numbers to show, ascending; None counts the samples from 0.
    budget : Budget, default=None
        Maximum numbers of samples and cells.

    Attributes
    ----------
    data : dict
        The contents of the report: numbers, strings, lists, dicts and arrays.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from rectifold import GMR
    >>> X, y = make_classification(n_samples=1000, n_features=4, weights=[0.85],
    ...                            flip_y=0.05, random_state=0)
    >>> gmr = GMR()
    >>> X_clean, y_clean = gmr.fit_resample(X, y)
    >>> report = gmr.rectification_.report(title="Which samples were removed")
    >>> report.data["summary"]["removed"], report.data["summary"]["spared"]
    (20, 13)
    >>> report.html()[:15]
    '<!doctype html>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.save(Path(folder) / "report.html")
    ...     report.save(Path(folder) / "report.json")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['report.html', 'report.json']
    """

    def __init__(
        self,
        record: Rectification,
        X: Any = None,
        *,
        embedding: Any = None,
        title: str | None = None,
        notes: Sequence[str] = (),
        command: Sequence[str] | None = None,
        positions: Ints | None = None,
        budget: Budget | None = None,
    ) -> None:
        n_samples = len(record.certified)
        self._record = record
        self._X = rows_of(record._trace, n_samples, X)
        self._options: dict[str, Any] = {
            "embedding": None if embedding is None else check_embedding(embedding, n_samples),
            "title": title or _TITLE,
            "notes": notes,
            "command": command,
            "positions": positions,
        }
        self._budget = budget or Budget()

    @cached_property
    def _contents(self) -> Contents:
        return Contents(self._record, self._X, **self._options)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The contents of the report: numbers, strings, lists, dicts and arrays."""
        return self._contents.within(self._budget)

    @cached_property
    def _page(self) -> str:
        budget, page = self._budget, render(self.data)
        while len(page.encode()) > _MAX_BYTES and budget.drawn > _MIN_DRAWN:
            budget = budget.halved()
            page = render(self._contents.within(budget))
        return page

    def html(self) -> str:
        """Return the page.

        Returns
        -------
        str
            A single HTML document that works offline. If it would exceed 8 MB, it holds
            fewer samples than `data`.
        """
        return self._page

    def json(self) -> str:
        """Return the data behind the page as JSON.

        Returns
        -------
        str
        """
        return json.dumps(without_arrays(self.data), allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the report to a file.

        Parameters
        ----------
        path : str or Path
            Output file: ``.html`` for the page, or ``.json`` for the data behind it.
        """
        path = check_path(path)
        write_whole(path, content_of(self, path))

    def open(self) -> None:
        """Show the page in a browser."""
        with tempfile.NamedTemporaryFile("wb", suffix=".html", delete=False) as file:
            file.write(self.html().encode())
        webbrowser.open(Path(file.name).as_uri())


def notebook(record: Rectification) -> str | None:
    """Return HTML for a notebook: counts, warnings and, if the samples are at hand, the page.

    Without Jinja2 it returns None, so that the notebook shows text instead.
    """
    if find_spec("jinja2") is None:
        return None
    page, messages = None, warnings_of(record)
    if record._trace is not None:
        try:
            page = Report(record, budget=_NOTEBOOK_BUDGET).html()
        except Exception as error:
            # The input may have been changed since, and the counts can be shown anyway.
            messages.append(f"The samples can't be shown: {error}")
    data = {"title": _TITLE, "summary": record.summary(), "warnings": messages}
    return render_summary(data, page)


def check_path(path: str | Path, name: str = "path") -> Path:
    """Return the path of a report if it can be written, or raise an error; `name` is for errors."""
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise FileError(
            "{} must end in .html, for the page, or in .json, for its data", Param(name, str(path))
        )
    check_outputs([(name, path)], tables=False)
    return path


def content_of(report: Report, path: Path) -> bytes:
    """Return the content of a file with the name `path`, JSON or a page."""
    return (report.json() if path.suffix.lower() == ".json" else report.html()).encode()
