"""The report of a run: data first, then a page on which a person sees why each row went."""

from __future__ import annotations

import json
import tempfile
import webbrowser
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectifold._core.projection import check_embedding
from rectifold._core.trace import rows_of
from rectifold._core.utils import Ints
from rectifold._io import FileError, check_outputs, write_whole
from rectifold.report._messages import warnings_of
from rectifold.report._page import render, render_summary
from rectifold.report._subset import Budget
from rectifold.report._summary import Material, plain

if TYPE_CHECKING:
    from rectifold._core.rectification import Rectification

TITLE = "What GMR did"
#: Bytes of a page.
LARGEST = 8_000_000
#: A notebook keeps what it shows, so that its page holds less.
IN_A_NOTEBOOK = Budget(drawn=4_000, marked=10_000, next=1_000, told=500, cells=20_000)
#: Rows of which a smaller page would make no sense.
_LEAST = 100
_ENDINGS = (".html", ".htm", ".json")


class Report:
    """A report of one run, as data and as a page.

    It is made by `rectifold.Rectification.report`.

    Parameters
    ----------
    record : Rectification
        The record of the run.
    X : {array-like, dataframe, sparse matrix} of shape (n_rows, n_columns), default=None
        Its rows; None takes those that the record holds.
    embedding : array-like of shape (n_rows, 2), default=None
        Where to draw every row.
    title : str, default=None
        The headline.
    notes : sequence of str
        Warnings besides those that the record calls for.
    command : sequence of str or None
        The arguments of the command line that made the record, without thresholds.
    positions : ndarray of int or None
        The positions of the rows in the caller's table, if that has others too.
    budget : Budget
        How much the page may hold.

    Attributes
    ----------
    data : dict
        All that the report shows.

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
    >>> report = gmr.rectification_.report(title="What became of my rows")
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
        n_rows = len(record.certified)
        self._record = record
        self._X = rows_of(record._trace, n_rows, X)
        self._embedding = None if embedding is None else check_embedding(embedding, n_rows)
        self._told: dict[str, Any] = {
            "title": title or TITLE,
            "notes": notes,
            "command": command,
            "positions": positions,
        }
        self._budget = budget or Budget()

    @cached_property
    def _material(self) -> Material:
        return Material(self._record, self._X, embedding=self._embedding, **self._told)

    @cached_property
    def data(self) -> dict[str, Any]:
        """All that the report shows."""
        return self._material.summarise(self._budget)

    @cached_property
    def _page(self) -> str:
        budget, page = self._budget, render(self.data)
        while len(page.encode()) > LARGEST and budget.drawn > _LEAST:
            budget = budget.halved()
            page = render(self._material.summarise(budget))
        return page

    def html(self) -> str:
        """Give the page.

        Returns
        -------
        str
            One HTML document with all that it needs inside. Where it would be larger than
            8 MB, it holds fewer rows than `data`.
        """
        return self._page

    def json(self) -> str:
        """Give the data behind the page as JSON.

        Returns
        -------
        str
        """
        return json.dumps(plain(self.data), allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the report.

        Parameters
        ----------
        path : str or Path
            Ends in .html for the page, in .json for the data behind it.
        """
        path = check_path(path)
        write_whole(path, self.content(path))

    def content(self, path: Path) -> bytes:
        """Give what a file of this name shall hold.

        :meta private:

        Parameters
        ----------
        path : Path
            As for `save`.

        Returns
        -------
        bytes
        """
        return (self.json() if path.suffix.lower() == ".json" else self.html()).encode()

    def open(self) -> None:
        """Show the page in a browser."""
        with tempfile.NamedTemporaryFile("wb", suffix=".html", delete=False) as file:
            file.write(self.html().encode())
        webbrowser.open(Path(file.name).as_uri())


def notebook(record: Rectification) -> str | None:
    """Write what a notebook shows of a record.

    Parameters
    ----------
    record : Rectification
        The record.

    Returns
    -------
    str or None
        HTML: counts and warnings, and a smaller page in a frame where the rows are at hand. None,
        so that text is shown instead, where Jinja2 is not installed.
    """
    if find_spec("jinja2") is None:
        return None
    page, said = None, warnings_of(record)
    if record._trace is not None:
        try:
            page = Report(record, budget=IN_A_NOTEBOOK).html()
        except Exception as problem:
            # A cell that shows a record must show something, whatever became of its rows.
            said.append(f"The rows can't be shown: {problem}")
    return render_summary({"title": TITLE, "summary": record.summary(), "warnings": said}, page)


def check_path(path: str | Path, name: str = "path") -> Path:
    """Find whatever would keep a report from being written, before any work is done.

    Parameters
    ----------
    path : str or Path
        Where it goes.
    name : str
        What the caller calls it.

    Returns
    -------
    Path
    """
    path = Path(path)
    if path.suffix.lower() not in _ENDINGS:
        raise FileError(
            f"{name} {str(path)!r} must end in .html, for a page, or in .json, for its data"
        )
    check_outputs({name: path}, tables=False)
    return path
