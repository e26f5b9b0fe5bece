"""How the site is built: `make docs`.

The whole repository is the source, so that a link from a page to results, benchmarks or code is the
same link in a checkout and on the site.
"""

import os
import sys
from pathlib import Path

import rectifold

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
# Examples are run in processes of the build's own; none of them draws on a screen.
os.environ.setdefault("MPLBACKEND", "Agg")

project = "rectifold"
author = "The rectifold developers"
project_copyright = f"2026, {author}"
version = release = rectifold.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "front",
    "snippets",
    "mathml",
    "members",
    "names",
    "pictures",
]
root_doc = "docs/index"
include_patterns = [
    *("docs/**", "results/**.md", "experiments/README.md"),
    *("CHANGELOG.md", "CONTRIBUTING.md", "RELEASE.md", "SECURITY.md", "CODE_OF_CONDUCT.md"),
]
exclude_patterns = ["docs/_*", "**/sg_execution_times*", "build", ".*", "rectifold-demo", "src"]
# As in docstrings of scikit-learn: `alpha` is a name in code.
default_role = "literal"
nitpicky = True
nitpick_ignore_regex = [
    # Attributes of the class whose page it is.
    (r"py:obj", r"\w+"),
    # Names of other libraries, which are not linked: that would need the network.
    (
        r"py:.*",
        r"(numpy|pandas|scipy|sklearn|imblearn|matplotlib|torch|dask|pyarrow|polars|distributed)\..*",
    ),
]

templates_path = [str(ROOT / "docs" / "_templates")]
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
maximum_signature_line_length = 70
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist", "attrs_inline"]
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "docs/gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "image_scrapers": ("pictures",),
    "reset_modules": ("matplotlib", "pictures.use_style"),
    "within_subsection_order": "order.InTeachingOrder",
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_signature": False,
    # What a build took says nothing to a reader.
    "min_reported_time": 3600,
}

# What is copied is what one types, without prompts and answers.
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "rectifold"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
        "text": "rectifold",
    },
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
}
# These have nothing beside them to go to.
_ALONE = ("docs/index", "docs/start", "docs/pitfalls", "CHANGELOG", "CONTRIBUTING")
html_sidebars = {name: [] for name in _ALONE}
