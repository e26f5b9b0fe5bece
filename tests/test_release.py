"""A release whose version, tag, date or dependencies disagree between files is not published."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / ".ci" / "check_release.py"))
check = SCRIPT["check"]


@pytest.fixture
def release(tmp_path):
    """A copy of the files that carry the version, ready for the release of 1.2.0."""
    (tmp_path / "conda").mkdir()
    (tmp_path / "pyproject.toml").write_text('project = {version = "1.2.0", dependencies = []}')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.0\ndate-released: 2026-12-01\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [1.2.0] - 2026-12-01\n\n### Added\n- News.\n\n## [1.1.0] - 2026-11-19\n"
    )
    (tmp_path / "conda" / "recipe.yaml").write_text('context:\n  version: "1.2.0"\n')
    return tmp_path


def change(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def test_the_changes_of_a_release_are_its_section_of_the_changelog(release):
    assert check(release, "v1.2.0") == ([], "### Added\n- News.")


def test_a_tag_of_another_version_is_a_problem(release):
    assert check(release, "v1.2.1")[0] == ["the tag is v1.2.1, the version 1.2.0"]


@pytest.mark.parametrize("name", SCRIPT["COPIES"])
def test_a_file_with_another_version_is_a_problem(release, name):
    change(release / name, "1.2.0", "1.1.9")
    assert check(release)[0] == [f"{name} has the version 1.1.9, pyproject.toml 1.2.0"]


def test_a_section_of_unreleased_changes_is_a_problem_of_a_release_alone(release):
    change(release / "CHANGELOG.md", "## [1.2.0]", "## [Unreleased]\n\n## [1.2.0]")
    assert check(release)[0] == []
    assert "the first section of CHANGELOG.md is [Unreleased]" in check(release, "v1.2.0")[0]


def test_a_date_that_is_not_cited_is_a_problem(release):
    change(release / "CHANGELOG.md", "2026-12-01", "unreleased")
    assert check(release)[0] == []
    problem = "the date is unreleased in CHANGELOG.md, 2026-12-01 in CITATION.cff"
    assert check(release, "v1.2.0")[0] == [problem]


def test_a_dependency_that_the_recipe_lacks_is_a_problem(release):
    change(release / "pyproject.toml", "[]", '["numpy>=2.2"]')
    assert check(release)[0] == ["conda/recipe.yaml lacks numpy>=2.2"]
