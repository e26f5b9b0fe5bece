"""What pictures show, in words: whole in Markdown, and told by an example that draws one.

An example says it in comments within the block that draws, which readers of the page don't see::

    # sphinx_gallery_alt = "Two curves,"
    # sphinx_gallery_alt = "one above the other."
"""

import re
from typing import Any

from matplotlib import style
from PIL import Image
from sphinx.application import Sphinx
from sphinx_gallery import gen_rst
from sphinx_gallery.scrapers import matplotlib_scraper


def _join(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the words of a picture on one line: MyST drops ends of lines, and leaves no space."""
    source[0] = re.sub(r"!\[[^\]]*\]\(", lambda found: found[0].replace("\n", " "), source[0])


def _scrape(block: Any, names: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Keep the figures of a block, with its words in place of their titles."""
    told = " ".join(re.findall(r'^# sphinx_gallery_alt = "(.+)"$', block[1], flags=re.MULTILINE))
    kept = matplotlib_scraper(block, names, gallery)
    return re.sub(r"(?<=:alt: ).*", lambda _: told, kept) if told else kept


def _fill(source: str, target: str, width: int, height: int) -> None:
    """Write a thumbnail: the upper part of a picture, large enough to tell it apart."""
    with Image.open(source) as picture:
        tall = min(picture.height, round(picture.width * height / width))
        part = picture.convert("RGB").crop((0, 0, picture.width, tall))
    part.thumbnail((width, height), Image.Resampling.LANCZOS)
    part.save(target)


def use_style(gallery: dict[str, Any], name: str) -> None:
    """Draw the figures of an example in the style of all figures."""
    style.use("rectifold.figures")


def _get_sg_image_scraper() -> Any:
    """Give it to sphinx-gallery, which asks by this name."""
    return _scrape


def setup(app: Sphinx) -> dict[str, bool]:
    """Join words as soon as a page is there."""
    app.connect("source-read", _join)
    gen_rst.scale_image = _fill
    return {"parallel_read_safe": True, "parallel_write_safe": True}
