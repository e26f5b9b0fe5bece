"""The newcomer's path: every snippet of docs/start.md does what the page says, copied as it is."""

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
    """Give every block of code, with the text that the page shows after it, if any."""
    following = [*BLOCKS[1:], ("", "")]
    for (language, code), (then, shown) in zip(BLOCKS, following, strict=True):
        if language in ("sh", "python"):
            yield language, code, shown if then == "text" else ""


def run(language, code, folder, path):
    """Run a block as one who copies it would, and give what it printed."""
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
    """Take all steps but the first, which installs."""
    for language, code, shown in list(steps())[1:]:
        printed = " ".join(run(language, code, folder, path).split())
        assert " ".join(shown.split()) in printed
    assert {"cleaned.csv", "removed.csv", "report.html"} <= {one.name for one in folder.iterdir()}


def test_the_page_shows_what_its_snippets_print(tmp_path):
    follow(tmp_path, f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
def test_the_path_from_nothing_but_a_checkout(tmp_path):
    checkout = tmp_path / "rectifold"
    ignored = shutil.ignore_patterns(".venv", "build", ".git", "results")
    shutil.copytree(ROOT, checkout, ignore=ignored)
    language, install, _ = next(iter(steps()))
    run(language, install, checkout, os.environ["PATH"])
    folder = tmp_path / "work"
    folder.mkdir()
    follow(folder, f"{checkout / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
