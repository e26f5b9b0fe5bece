"""The directive `public-names`: all names of the API reference in alphabetical order."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class PublicNames(SphinxDirective):
    """A table of all names that the pages beside this one list in `autosummary`."""

    def run(self) -> list[nodes.Node]:
        """Read the pages and return the table."""
        here = Path(self.env.doc2path(self.env.docname))
        names = []
        for page in sorted(here.parent.glob("*.rst")):
            self.env.note_dependency(str(page))
            names += re.findall(r"^   (rectifold\.[\w.]+)$", page.read_text(), re.M)
        names.sort(key=lambda name: (name.rpartition(".")[2].lower(), name))
        lines = "\n".join(f"   {name}" for name in names)
        return self.parse_text_to_nodes(f".. autosummary::\n\n{lines}\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
