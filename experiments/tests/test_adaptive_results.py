"""What is published on settings chosen from the data is made from the results beside it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("scikit_posthocs")

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "adaptive"


def printed(script, *arguments):
    command = [sys.executable, ROOT / "benchmarks" / script, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def test_the_report_is_that_of_the_store():
    told = printed("adaptive.py", "report")
    assert (RESULTS / "README.md").read_text() == told
    documented = (ROOT / "docs" / "guide" / "choosing.md").read_text()
    for line in told.splitlines():
        if line.startswith(("| None", "| GMR-", "| Subsampling", "| Bagging")):
            assert line in documented
    readme = (ROOT / "README.md").read_text()
    for name in ("GMR-adaptive", "GMR-ensemble", "Bagging"):
        rank = re.search(rf"\| {name} \| \*\*(\d+\.\d+)\*\*", told)[1]
        assert rank in readme


def test_the_candidates_are_those_of_the_pool():
    told = printed("candidates.py", "report")
    assert (RESULTS / "candidates.md").read_text() == told
    documented = (ROOT / "docs" / "guide" / "choosing.md").read_text()
    for gain in re.findall(r"\| ([+-]\d\.\d+) \|$", told.partition("\n\nWithout")[0], re.MULTILINE):
        assert gain in documented
