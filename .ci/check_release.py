"""Check that all files agree with the version and the dependencies in pyproject.toml.

    python .ci/check_release.py            # part of `make lint`
    python .ci/check_release.py v0.1.0     # a release: check tag and date too, print its changes

The version of CHANGELOG.md is the first that it lists. A section "Unreleased" may stand above it,
but not in a release.
"""

import re
import sys
import tomllib
from pathlib import Path

#: Where the version is repeated.
COPIES = {
    "CITATION.cff": r"^version: (\S+)$",
    "conda/recipe.yaml": r'^  version: "(\S+)"$',
    "CHANGELOG.md": r"^## \[(\d\S*)\]",
}
#: A section of CHANGELOG.md: its title, its date and its text.
SECTION = re.compile(r"^## \[(.+?)\](?: - (\S+))?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def check(root: Path, tag: str | None = None) -> tuple[list[str], str]:
    """Return a list of problems, and the newest section of the changelog."""
    texts = {name: (root / name).read_text("utf-8") for name in ("pyproject.toml", *COPIES)}
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    version = project["version"]

    def read(name: str, pattern: str) -> str | None:
        found = re.search(pattern, texts[name], re.MULTILINE)
        return found and found[1]

    problems = [
        f"{name} has the version {found}, pyproject.toml {version}"
        for name, pattern in COPIES.items()
        if (found := read(name, pattern)) != version
    ]
    problems += [
        f"conda/recipe.yaml lacks {need}"
        for need in project["dependencies"]
        if f"- {need.replace('>=', ' >=')}\n" not in texts["conda/recipe.yaml"]
    ]
    title, date, changes = SECTION.search(texts["CHANGELOG.md"]).groups()
    if tag is not None:
        if tag != f"v{version}":
            problems.append(f"the tag is {tag}, the version {version}")
        if title != version:
            problems.append(f"the first section of CHANGELOG.md is [{title}]")
        cited = read("CITATION.cff", r"^date-released: (\d{4}-\d\d-\d\d)$")
        if cited is None or date != cited:
            problems.append(f"the date is {date} in CHANGELOG.md, {cited} in CITATION.cff")
    return problems, changes.strip()


if __name__ == "__main__":
    problems, changes = check(Path(__file__).parents[1], *sys.argv[1:])
    if problems:
        sys.exit("\n".join(problems))
    if len(sys.argv) > 1:
        print(changes)
