"""Check a built site: every link within it leads somewhere, and nothing is asked of another server.

    python docs/check_links.py build/docs

Links to other sites are left alone: that needs a network.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser fetch something by itself.
_FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("link", "href"),
}

#: Problems that are shown; one wrong line in a template is one on every page.
_SHOWN = 40


class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note anchors and links of a tag."""
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        # Where the same page stands elsewhere, no browser goes by itself.
        if tag == "link" and given.get("rel") in ("canonical", "alternate"):
            return
        for key in ("href", "src"):
            if value := given.get(key):
                self.links.append((tag, key, value))


def problems(site: Path) -> Iterator[str]:
    """Give what is wrong with the links of a site.

    Parameters
    ----------
    site : Path
        The folder with its pages.

    Yields
    ------
    str
        The page, and what is wrong.
    """
    # What is in _static besides is the theme's, such as parts of its templates.
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path.read_text()) for path in sorted(found)}
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for tag, key, link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or link.startswith("//"):
                if (tag, key) in _FETCHED:
                    yield f"{where}: fetches {link}"
                continue
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{where}: {link} leads nowhere"
            elif parts.fragment and not _has(pages.get(target), unquote(parts.fragment)):
                yield f"{where}: {link} has no such place"


def _has(page: Page | None, anchor: str) -> bool:
    """Tell whether a page has a place; of what is no page nobody knows."""
    return page is None or anchor in page.anchors


def main(folder: str) -> int:
    """Print what is wrong, and fail if anything is."""
    site = Path(folder)
    if not any(site.rglob("*.html")):
        print(f"{folder} has no pages: build them with `make docs`")
        return 1
    found = list(problems(site))
    print("\n".join(found[:_SHOWN]) or "every link within the site leads somewhere")
    if len(found) > _SHOWN:
        print(f"and {len(found) - _SHOWN} more")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "build/docs"))
