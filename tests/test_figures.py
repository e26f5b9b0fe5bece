"""Figures on README and the site's pages are those of the results."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("pandas")

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = runpy.run_path(str(DOCS / "figures.py"))


@pytest.mark.parametrize("page", FIGURES["pages"](), ids=lambda page: page.stem)
def test_the_figures_of_a_page_are_up_to_date(page):
    text = page.read_text()
    assert FIGURES["filled"](text) == text, "make figures"


def test_every_block_of_figures_is_on_a_page():
    text = "".join(page.read_text() for page in FIGURES["pages"]())
    assert {name for name in FIGURES["_BLOCKS"] if f"figures: {name} -->" not in text} == set()


def test_a_changed_figure_is_noticed():
    page = "<!-- figures: memory -->\n\n| 1 MB |\n\n<!-- end of figures -->"
    assert "| 1 MB |" not in FIGURES["filled"](page)
