"""The reference is complete: every public name is in it, with an example that runs."""

import importlib
import inspect
import re
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
    *("rectifold.bench.deep.tabddpm", "rectifold.bench.deep.longtail"),
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
