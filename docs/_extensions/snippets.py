"""Code on pages without the empty line at its end, which a doctest in Markdown needs."""

from docutils import nodes
from sphinx.application import Sphinx


def _trim(app: Sphinx, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        # A block that was highlighted beforehand has more than its text.
        if all(isinstance(child, nodes.Text) for child in block.children):
            text = block.astext().rstrip("\n")
            block.rawsource = text
            block.children = []
            block += nodes.Text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Trim code as soon as a page is read."""
    app.connect("doctree-read", _trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
