"""The published table of corrected probabilities is that of the stored scores."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_published_table_is_made_from_the_scores():
    command = [sys.executable, "-m", "experiments.posterior", "report"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    assert (ROOT / "results" / "posterior" / "README.md").read_text() == printed
