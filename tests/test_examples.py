"""The gallery: every example runs, anywhere, without a warning, and begins as its page does."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
GALLERY = sorted(path.stem for path in EXAMPLES.glob("plot_*.py"))
#: The others are run by `make test-slow`, and by `make docs` as well.
QUICK = {"plot_mixed_table", "plot_report"}
#: Libraries of the lowest versions use what newer ones have deprecated; examples do not.
WARNINGS = ("error", "default::DeprecationWarning", "error::DeprecationWarning:__main__")


def test_there_is_a_gallery_and_its_front_page_has_a_title():
    assert len(GALLERY) >= 10
    assert set(GALLERY) >= QUICK
    purpose, _, title, rule = (EXAMPLES / "README.rst").read_text().splitlines()[:4]
    assert purpose.startswith(".. ")
    assert rule == "=" * len(title)


@pytest.mark.parametrize("name", GALLERY)
def test_an_example_begins_with_a_title_and_a_paragraph(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    title, rule, empty, *paragraph = ast.get_docstring(ast.parse(text), clean=False).splitlines()
    assert title.strip()
    assert rule == "=" * len(title)
    assert empty == ""
    assert paragraph
    assert paragraph[0].strip()
    assert text.count("\n# %%\n") >= 2


def test_an_example_that_another_names_is_there():
    for name in GALLERY:
        text = (EXAMPLES / f"{name}.py").read_text()
        named = [part.split("`")[0] for part in text.split(":doc:`plot_")[1:]]
        assert {f"plot_{one}" for one in named} <= {*GALLERY} - {name}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in GALLERY]
)
def test_an_example_runs_in_another_folder_without_a_warning(name, tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, *(f"-W{one}" for one in WARNINGS), EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert not [*tmp_path.iterdir()], "an example leaves nothing behind"
