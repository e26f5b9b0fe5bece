"""Memory stays bounded: never n x n."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import make_classification

from rectifold import GMR

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


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_500_fits_in_one_process_keep_less_than_five_megabytes():
    code = (
        "import sys; sys.path.insert(0, 'tests'); import soak; work = soak.tables();"
        "run = lambda n: [soak.clean(*work[name], 1) for _ in range(n) for name in work];"
        "run(10); before = soak.resident(); run(72); print(soak.resident() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        check=True,
        text=True,
    )
    assert float(done.stdout) < 5


def test_a_pickled_sampler_does_not_hold_its_input():
    X, y = make_classification(5_000, 30, weights=[0.9], random_state=0)
    sampler = GMR()
    sampler.fit_resample(X, y)
    assert len(pickle.dumps(sampler)) < 100 * len(X)
