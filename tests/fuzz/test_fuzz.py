"""The fuzzer finds no difference in half a minute, and finds planted ones."""

import pytest

from fuzz.__main__ import run
from fuzz.kinds import KINDS
from rectifold._core import rules, votes


def test_all_ways_remove_the_samples_that_a_plain_reading_removes():
    differences, fits = run(30)
    assert differences == []
    assert len(fits) == len(KINDS)


@pytest.mark.parametrize(
    ("module", "name", "change"),
    [
        (votes, "TOLERANCE", lambda value: 0.1),
        (rules, "cap", lambda value: lambda gamma, size: value(gamma, size) + 1),
    ],
)
def test_planted_errors_are_found(module, name, change, monkeypatch):
    monkeypatch.setattr(module, name, change(getattr(module, name)))
    differences, _ = run(0, numbers=range(len(KINDS)), show=lambda _: None)
    assert differences
