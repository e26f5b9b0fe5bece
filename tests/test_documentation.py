"""The reference is complete: every public name is in it, with an example that runs."""

import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
LISTED = sorted(
    name
    for page in (DOCS / "api").glob("*.rst")
    for name in re.findall(r"^   (rectifold\.[\w.]+)$", page.read_text(), re.M)
)
#: Modules whose public names are the product's.
MODULES = [
    *("rectifold", "rectifold.dask", "rectifold.plot", "rectifold.bench"),
]


def found(name):
    """Import what a dotted name stands for; what an extra is missing for is skipped."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as problem:
        pytest.skip(str(problem))


@pytest.mark.parametrize("name", LISTED)
def test_every_name_of_the_reference_has_an_example(name):
    documentation = inspect.getdoc(found(name)) or ""
    assert ">>> " in documentation, f"{name} has no example"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    try:
        names = importlib.import_module(module).__all__
    except ImportError as problem:
        pytest.skip(str(problem))
    # Constants are told of where they are used.
    public = {
        f"{module}.{name}" for name in names if not name.startswith("_") and not name.isupper()
    }
    assert public <= set(LISTED)


def test_every_page_of_the_guide_is_in_its_table_of_contents():
    contents = (DOCS / "guide" / "index.md").read_text()
    pages = {page.stem for page in (DOCS / "guide").glob("*.md")} - {"index"}
    assert {page for page in pages if re.search(rf"^{page}$|<{page}>", contents, re.M)} == pages


def test_links_that_lead_nowhere_and_fetches_from_elsewhere_are_found(tmp_path):
    problems = runpy.run_path(str(DOCS / "check_links.py"))["problems"]
    (tmp_path / "other.html").write_text('<h1 id="here">other</h1>')
    (tmp_path / "one.html").write_text(
        '<a href="other.html#here">good</a> <a href="https://example.org">elsewhere</a>'
        '<a href="other.html#there">no place</a> <a href="none.html">no page</a>'
        '<script src="https://example.org/x.js"></script> <img src="a%20picture.png">'
    )
    (tmp_path / "a picture.png").touch()
    assert list(problems(tmp_path)) == [
        "one.html: other.html#there has no such place",
        "one.html: none.html leads nowhere",
        "one.html: fetches https://example.org/x.js",
    ]
