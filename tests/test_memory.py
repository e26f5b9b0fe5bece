"""Memory stays bounded: never n x n."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "memory.py"


def measured(*size):
    command = [sys.executable, SCRIPT, *size]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read by getrusage")
def test_peak_memory_on_100000_rows_is_under_ten_times_the_input_plus_500_megabytes():
    facts = measured()
    assert facts["rows"] == 100_000
    assert facts["peak_mb"] < 10 * facts["input_mb"] + 500


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere peaks are not inherited")
def test_the_memory_of_the_parent_process_does_not_count():
    start = (
        "import subprocess, sys; ballast = b'x' * 1_000_000_000; "
        "print(subprocess.run(sys.argv[1:], capture_output=True, check=True, text=True).stdout)"
    )
    command = [sys.executable, "-c", start, sys.executable, SCRIPT, "100", "3"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout)["peak_mb"] < 700


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read by getrusage")
def test_peak_memory_on_a_million_rows_is_under_a_gigabyte_beyond_the_input():
    facts = measured("1000000", "30")
    assert facts["peak_mb"] - facts["input_mb"] < 1000
