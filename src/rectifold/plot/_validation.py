"""What callers pass to figures of a run: its record, places of rows, the position of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from rectifold._core.projection import check_embedding, picture
from rectifold._core.rectification import Rectification
from rectifold._core.trace import rows_of
from rectifold._core.utils import Floats


def record_of(gmr: Any) -> Rectification:
    """Give the record of a sampler, or the record itself."""
    record = getattr(gmr, "rectification_", gmr)
    if not isinstance(record, Rectification):
        raise ValueError(
            f"gmr must be a GMR after fit_resample, or its Rectification, and is {gmr!r:.80}."
        )
    return record


def coordinates(record: Rectification, X: Any, embedding: Any) -> tuple[Floats, tuple[str, str]]:
    """Find two coordinates for every row, and what to call them.

    Parameters
    ----------
    record : Rectification
        The record of a run.
    X, embedding
        As for `rectifold.plot.plot_rectification`.

    Returns
    -------
    points : ndarray of shape (n_rows, 2)
    axes : tuple of str
    """
    n = len(record.certified)
    if embedding is not None:
        return check_embedding(embedding, n), ("", "")
    found = picture(record, rows_of(record._trace, n, X))
    if found is None:
        raise ValueError(
            "with metric='precomputed' rows have no coordinates: pass embedding=, an array with "
            "two coordinates for every row."
        )
    return found.at(np.arange(n)), found.axes


def check_row(row: Any, n_rows: int) -> int:
    """Give the position of a row, or say in one sentence that there is none such."""
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
        raise ValueError(
            f"row={row!r} is not the position of a row: it must be in 0 to {n_rows - 1}."
        )
    return int(row)
