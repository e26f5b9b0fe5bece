"""The instructions of CONTRIBUTING.md work as they are written."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rectifold import GMR, compare
from rectifold._engines import registry
from rectifold.model_selection import _registry, _scores

ROOT = Path(__file__).parents[1]


def following(title):
    """Run the code in a section of CONTRIBUTING.md, and return its names."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = re.search(rf"^## {title}$(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r"^( *)```python\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    names = {}
    for indent, code in blocks:
        exec(re.sub(f"^{indent}", "", code, flags=re.MULTILINE), names)
    return names


def test_an_engine_is_one_entry_and_one_module(overlapping, monkeypatch):
    spec = following("Add an engine")["spec"]
    monkeypatch.setattr(registry, "ENGINES", [*registry.ENGINES, spec])
    new, exact = GMR(engine=spec.name), GMR(engine="exact")
    new.fit_resample(*overlapping)
    exact.fit_resample(*overlapping)
    assert new.rectification_.summary()["engine"] == spec.name
    assert not new.rectification_.certified.any()
    for name in ("confidence", "majority_confidence", "decision", "reason"):
        one, other = (getattr(gmr.rectification_, name) for gmr in (new, exact))
        np.testing.assert_array_equal(one, other)


def test_a_baseline_is_one_entry(overlapping, monkeypatch):
    entry = following("Add a baseline")["entry"]
    monkeypatch.setitem(_registry.EXTRA_METHODS, entry.name, entry)
    assert _registry.method(entry.short) is entry
    found = compare(
        *overlapping, classifiers={"LR": LogisticRegression()}, methods=[entry.name], cv=2
    )
    assert entry.name in {result.method for result in found.results}


def test_a_metric_is_one_entry(overlapping, monkeypatch):
    score = following("Add a metric to the report")["score"]
    monkeypatch.setitem(_scores.SCORES, "mcc", score)
    X, y = overlapping
    model = LogisticRegression().fit(X, y)
    found = _scores.score(model, X, y)
    assert found["mcc"] == score.function(y, model.predict(X), model.predict_proba(X)[:, 1])


@pytest.mark.parametrize(
    "path", re.findall(r"`((?:src|tests)/[\w/.]+)`", (ROOT / "CONTRIBUTING.md").read_text())
)
def test_the_paths_in_the_instructions_exist(path):
    assert (ROOT / path).exists()
