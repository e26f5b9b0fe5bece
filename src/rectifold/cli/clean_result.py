"""The result of `rectifold clean`, on one machine or on a cluster, as a dict for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rectifold.cli.clean import Request


def result_of(
    request: Request,
    record: Any,
    *,
    n_features: int,
    n_rows: int,
    n_missing: int,
    seconds: dict[str, float],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return the summary of a record, and what was read from and written to files.

    `n_missing` of the `n_rows` rows have no label. `seconds` are those of reading, which come
    first in the result, and of writing.
    """
    from rectifold.report._messages import warnings_of

    summary = record.summary()
    n_dropped = n_missing if request.missing_target == "drop" else 0
    output, removed, report = (
        None if path is None else str(path)
        for path in (request.output, request.removed, request.report)
    )
    return {
        **summary,
        "seconds": {"read": seconds["read"], **summary["seconds"], **seconds},
        "warnings": warnings_of(record),
        "input": str(request.source),
        "output": output,
        "removed_file": removed,
        "report": report,
        "target": request.target,
        "features": n_features,
        "dropped_columns": list(request.drop),
        "ignored_columns": list(request.ignore),
        "missing_target": {"rows": n_missing, "action": request.missing_target},
        "missing_labels": list(request.missing_labels),
        "rows_in": n_rows,
        "rows_out": n_rows - summary["removed"] - n_dropped,
        "notes": list(notes),
    }
