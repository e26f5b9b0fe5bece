"""Pages as one line each, and the results that they cite."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"


def text(path):
    """Read a page as one line, so that no figure is broken by the end of one."""
    return " ".join((ROOT / path).read_text().split())


def loaded(path):
    return json.loads((RESULTS / path).read_text())


def rows_of(path):
    """Give the rows of a benchmark by the data that they are on."""
    return {row["data"]: row for row in loaded(path)["rows"]}
