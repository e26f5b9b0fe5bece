"""The parameter cheat sheet has the parameters, defaults and values that the code accepts."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from rectifold import GMR, Approximate, NeighborVoteClassifier, RectifiedClassifier

PAGE = Path(__file__).parents[1] / "docs" / "cheatsheet.md"
NAMES = {kind.__name__: kind for kind in (GMR, Approximate, NeighborVoteClassifier, StandardScaler)}


def rows(kind):
    """Return the cells of the table below the heading of a class, without its first two lines."""
    section = PAGE.read_text().partition(f"\n## {kind.__name__}\n")[2].partition("\n## ")[0]
    table = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in table[2:]]


def made(kind, arguments):
    """Return an estimator with parameters written as in a call."""
    parameters = {
        given.arg: eval(ast.unparse(given.value), NAMES)
        for given in ast.parse(f"f({arguments})", mode="eval").body.keywords
    }
    first = () if kind is GMR else (LogisticRegression(),)
    return kind(*first, **parameters)


@pytest.mark.parametrize("kind", [GMR, RectifiedClassifier])
def test_the_cheat_sheet_has_every_parameter_with_its_default(kind):
    listed = {(row[1], row[2]) for row in rows(kind)}
    defaults = {
        (name, one.default)
        for name, one in inspect.signature(kind).parameters.items()
        if one.default is not one.empty
    }
    assert {(name.strip("`"), ast.literal_eval(value.strip("`"))) for name, value in listed} == (
        defaults
    )


@pytest.mark.parametrize("kind", [GMR, RectifiedClassifier])
def test_the_values_to_try_are_accepted_and_begin_with_the_parameter_of_the_row(kind):
    for _, parameter, default, values in rows(kind):
        tried = [text for text in re.findall(r"`([^`]+)`", values) if "=" in text]
        assert tried, parameter
        for text in tried:
            made(kind, text)._validate_params()
        assert any(
            made(kind, text).get_params(deep=False)[parameter.strip("`")]
            != ast.literal_eval(default.strip("`"))
            for text in tried
        ), f"{values} leaves {parameter} as it is"
