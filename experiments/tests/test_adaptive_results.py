"""The published figures on settings chosen from the data are those of the stored results."""

import re
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
    printed = report_of("adaptive")
    assert (RESULTS / "README.md").read_text() == printed
    documented = (ROOT / "docs" / "guide" / "choosing.md").read_text()
    for line in printed.splitlines():
        if line.startswith(("| None", "| GMR-", "| Subsampling", "| Bagging")):
            assert line in documented
    readme = (ROOT / "README.md").read_text()
    for name in ("GMR-adaptive", "GMR-ensemble", "Bagging"):
        rank = re.search(rf"\| {name} \| \*\*(\d+\.\d+)\*\*", printed)[1]
        assert rank in readme


def test_the_published_candidates_are_made_from_the_recorded_cells():
    printed = report_of("candidates")
    assert (RESULTS / "candidates.md").read_text() == printed
    documented = (ROOT / "docs" / "guide" / "choosing.md").read_text()
    for gain in re.findall(
        r"\| ([+-]\d\.\d+) \|$", printed.partition("\n\nWithout")[0], re.MULTILINE
    ):
        assert gain in documented
