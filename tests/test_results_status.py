"""Which code a published result was measured with, and whether it has changed since."""

import shutil
import subprocess
from pathlib import Path

import pytest

import behaviour
import results_status
from results_status import RECORD, STUDIES, code_of, fingerprint, recorded

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
        return fingerprint("memory.json", files, (files | changed).get)

    assert of({"src/rectifold/plot/x.py": "y = 1"}) == of({})
    assert of({"src/rectifold/sampler.py": "y = 1"}) != of({})
    assert of({"src/rectifold/sampler.py": f"# Text.\n{CODE}"}) == of({})


@pytest.mark.parametrize("name", STUDIES)
def test_every_pattern_names_a_file(name):
    folder = Path(results_status.ROOT, "src", "rectifold")
    assert (RESULTS / name).exists()
    assert all(any(folder.glob(pattern)) for pattern in STUDIES[name].files)


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


@pytest.mark.skipif(shutil.which("git") is None, reason="git tells what has changed")
def test_new_results_do_not_make_the_commit_dirty_but_new_code_does(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(("git", "-C", str(tmp_path), *arguments), check=True, capture_output=True)

    files = {name: tmp_path / name for name in ("results/scores.csv", "src/rectifold/sampler.py")}
    monkeypatch.setattr(results_status, "ROOT", tmp_path)
    for path in files.values():
        path.parent.mkdir(parents=True)
        path.write_text(CODE)
    git("init", "--quiet")
    git("add", ".")
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    git(*author, "commit", "--message", "x")

    def commit():
        return recorded(["memory.json"], None)["memory.json"]["commit"]

    clean = commit()
    files["results/scores.csv"].write_text("1")
    assert commit() == clean
    files["src/rectifold/sampler.py"].write_text("y = 1")
    assert commit() == f"{clean}-dirty"


def test_a_change_of_the_code_or_of_the_behaviour_is_reported(monkeypatch):
    monkeypatch.setattr(results_status, "fingerprint", lambda *_: "0" * 16)
    other = dict.fromkeys((kind for study in STUDIES.values() for kind in study.behaviour), "0")
    monkeypatch.setattr(results_status, "behaviour", lambda source: other)
    assert len(results_status.stale()) == len(STUDIES)
    assert "make bench-theory" in results_status.stale()[-1]


def test_earlier_code_is_run_to_compare_its_behaviour(monkeypatch):
    asked = []
    digests = {"cleaning": "1"}
    monkeypatch.setattr(results_status, "behaviour", lambda source: asked.append(source) or digests)
    try:
        found = recorded(["theory"], "HEAD")["theory"]
    except subprocess.CalledProcessError:
        pytest.skip("not in a repository")
    assert found["behaviour"] == digests
    assert asked[0].name == "src"
    assert asked[0].parent != results_status.ROOT


def test_every_kind_of_behaviour_has_a_digest_that_changes_with_it():
    kinds = {kind for study in STUDIES.values() for kind in study.behaviour}
    assert kinds <= set(behaviour._KINDS)
    first, again = (behaviour.digest(behaviour.cleaning()) for _ in range(2))
    assert first == again
    assert first != behaviour.digest(behaviour.approximate())
