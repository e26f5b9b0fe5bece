"""Which code a published result was measured with, and whether it has changed since."""

import shutil
import subprocess
from pathlib import Path

import pytest

import results_status
from results_status import RECORD, STUDIES, code_of, fingerprint

RESULTS = RECORD.parent
#: Made from other results, or lists of data.
MADE = ("README.md", "PLAN.md", "sets.csv", "tasks.csv", "measured.json")
CODE = "def f(x):\n    return x + 1\n"


def test_comments_docstrings_and_blank_lines_do_not_count():
    told = CODE.replace("    return", '    """Return more."""\n\n    # One more.\n    return')
    assert code_of(told) == code_of(CODE)
    assert code_of(CODE.replace("1", "2")) != code_of(CODE)
    assert code_of("x = '# no comment'") == "x = '# no comment'"


def test_a_fingerprint_follows_the_files_that_a_result_depends_on():
    files = {"src/rectifold/sampler.py": CODE, "src/rectifold/plot/x.py": CODE}

    def of(changed):
        return fingerprint("theory", files, (files | changed).get)

    assert of({"src/rectifold/plot/x.py": "y = 1"}) == of({})
    assert of({"src/rectifold/sampler.py": "y = 1"}) != of({})
    assert of({"src/rectifold/sampler.py": f"# Text.\n{CODE}"}) == of({})


@pytest.mark.parametrize("name", STUDIES)
def test_every_pattern_names_a_file(name):
    folder = Path(results_status.ROOT, "src", "rectifold")
    assert (RESULTS / name).exists()
    assert all(any(folder.glob(pattern)) for pattern in STUDIES[name][1])


@pytest.mark.skipif(shutil.which("git") is None, reason="git lists the published results")
def test_every_published_result_belongs_to_a_study():
    listed = subprocess.run(
        ["git", "ls-files", "."], cwd=RESULTS, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    raw = [one for one in listed if Path(one).suffix in (".json", ".jsonl", ".csv", ".parquet")]
    unknown = [
        one
        for one in raw
        if Path(one).name not in MADE and not any(one.startswith(name) for name in STUDIES)
    ]
    assert unknown == ["deep/embedding-128/results.parquet"] * bool(listed)


def test_a_change_of_the_code_is_reported(monkeypatch):
    monkeypatch.setattr(results_status, "present", lambda name: "0" * 16)
    assert len(results_status.stale()) == len(STUDIES)
    assert "make bench-theory" in results_status.stale()[-1]
