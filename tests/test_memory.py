"""Memory stays bounded: never n x n."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read by getrusage")
def test_peak_memory_on_100000_rows_is_under_ten_times_the_input_plus_500_megabytes():
    script = Path(__file__).parents[1] / "benchmarks" / "memory.py"
    done = subprocess.run([sys.executable, script], capture_output=True, check=True, text=True)
    facts = json.loads(done.stdout)
    assert facts["rows"] == 100_000
    assert facts["peak_mb"] < 10 * facts["input_mb"] + 500
