"""Every snippet of docs/start.md runs as it is and prints what the page shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("filelock", reason="the page installs the extra 'bench'")

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / "start.md").read_text(), re.M | re.S)


def steps():
    """Yield every block of code with the output that the page shows after it, if any."""
    following = [*BLOCKS[1:], ("", "")]
    for (language, code), (next_language, text) in zip(BLOCKS, following, strict=True):
        if language in ("sh", "python"):
            yield language, code, text if next_language in ("text", "none") else ""


def run(language, code, folder, path):
    """Run a block of code in a shell or in Python, and return its output."""
    command = (
        ["bash", "-e", "-c", code] if language == "sh" else ["python", "-W", "error", "-c", code]
    )
    environment = {**os.environ, "PATH": path, "COLUMNS": "200"}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def follow(folder, path):
    """Run all steps but the first, which installs the package."""
    for language, code, expected in list(steps())[1:]:
        output = " ".join(run(language, code, folder, path).split())
        assert " ".join(expected.split()) in output
    assert {"cleaned.csv", "removed.csv", "report.html"} <= {file.name for file in folder.iterdir()}


def test_the_page_shows_what_its_snippets_print(tmp_path):
    pytest.importorskip("sklearn", minversion="1.7", reason="its classifiers had other scores")
    follow(tmp_path, f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
def test_the_page_works_in_a_new_environment(tmp_path):
    checkout = tmp_path / "rectifold"
    ignored = shutil.ignore_patterns(".venv", "build", ".git", "results")
    shutil.copytree(ROOT, checkout, ignore=ignored)
    language, install, _ = next(iter(steps()))
    run(language, install, checkout, os.environ["PATH"])
    folder = tmp_path / "work"
    folder.mkdir()
    follow(folder, f"{checkout / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
