"""The published figures on settings chosen from the data are those of the stored results."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("scikit_posthocs")

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "adaptive"


def report_of(module):
    """Return what `python -m experiments.adaptive.MODULE report` prints."""
    command = [sys.executable, "-m", f"experiments.adaptive.{module}", "report"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout


def test_the_published_report_is_made_from_the_store():
    assert (RESULTS / "README.md").read_text() == report_of("grid")


def test_the_published_candidates_are_made_from_the_recorded_cells():
    assert (RESULTS / "candidates.md").read_text() == report_of("candidates")


def test_the_published_table_of_leaves_is_made_from_the_recorded_scores():
    assert (RESULTS / "leaves.md").read_text() == report_of("leaves")


@pytest.mark.skipif(not (RESULTS / "views.csv").exists(), reason="it was not recorded")
def test_the_published_table_of_votes_is_made_from_the_recorded_scores():
    assert (RESULTS / "views.md").read_text() == report_of("views_report")
