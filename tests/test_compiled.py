"""The compiled searches: built from source, optional, and equal to NumPy's to the last bit."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from rectifold import GMR, NeighborVoteClassifier
from rectifold._engines import compiled
from rectifold._engines.compiled import build
from rectifold._engines.exact import clouds, leaf_search
from tables import LEVELS, use_compiled

needs_library = pytest.mark.skipif(compiled.library() is None, reason="nothing is compiled")


def outcome(X, y, **settings):
    sampler = GMR(**settings)
    sampler.fit_resample(X, y)
    record = sampler.rectification_
    return np.column_stack([record.confidence, record.removed, record.spared])


def probabilities(X, y, queries):
    model = NeighborVoteClassifier(views=("standardized",), leaf_share=0)
    return model.fit(X, y).predict_proba(queries)


def queries_of(X):
    return np.concatenate((X[::7] + 0.01, X[:50], 5 * X[:50]))


@pytest.fixture(scope="module")
def tables():
    """Return tables with certificates for some samples, and NumPy's results."""
    rng = np.random.default_rng(0)
    y = (rng.random(2600) < 0.1).astype(int)
    near = rng.normal(size=(2600, 6)) + 2 * y[:, None]
    wide = rng.normal(size=(2600, 130)) + y[:, None]
    results = []
    with pytest.MonkeyPatch.context() as patch:
        use_compiled("numpy", patch)
        for X in (near, wide, np.round(near[:, :4]), near[:, :2] + 1e7):
            results.append((X, y, outcome(X, y), probabilities(X, y, queries_of(X))))
    return results


@needs_library
@pytest.mark.parametrize("method", LEVELS)
def test_votes_and_decisions_are_those_of_numpy(method, tables, monkeypatch):
    use_compiled(method, monkeypatch)
    for X, y, expected, expected_of_queries in tables:
        np.testing.assert_array_equal(outcome(X, y), expected)
        np.testing.assert_array_equal(probabilities(X, y, queries_of(X)), expected_of_queries)


@needs_library
@pytest.mark.parametrize("n_jobs", [2, 3, 16])
def test_results_do_not_depend_on_the_number_of_threads(n_jobs, tables):
    for X, y, expected, _ in tables:
        np.testing.assert_array_equal(outcome(X, y, n_jobs=n_jobs), expected)


@needs_library
def test_points_equally_near_are_left_to_numpy_if_they_are_too_many(monkeypatch):
    # All samples are equally far from each other, so that each is a candidate of each.
    X = np.eye(300).repeat(2, axis=0)
    y = np.arange(600) % 2
    crowded = []

    def search(*arguments):
        crowded.append(arguments)
        raise compiled.CrowdedError

    use_compiled("numpy", monkeypatch)
    expected = outcome(X, y, metric="euclidean")
    use_compiled("compiled", monkeypatch)
    monkeypatch.setattr(leaf_search.CompiledFrame, "search", search)
    monkeypatch.setattr("rectifold._engines.exact.costs.SMALL", 0)
    np.testing.assert_array_equal(outcome(X, y, metric="euclidean"), expected)
    assert crowded


@needs_library
def test_distances_beyond_single_precision_are_told_apart(monkeypatch):
    # Two clouds, 10^7 times as far from each other as they are wide, searched as one.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 5)) * 1e-7
    X[::2] += 1
    y = (rng.random(3000) < 0.3).astype(int)
    monkeypatch.setattr(clouds, "SMALL", np.inf)
    use_compiled("numpy", monkeypatch)
    expected = outcome(X, y)
    use_compiled("compiled", monkeypatch)
    np.testing.assert_array_equal(outcome(X, y), expected)


@pytest.mark.skipif(build.compiler() is None, reason="there is no C compiler")
def test_the_library_is_built_into_a_folder(tmp_path):
    built = build.build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [build.NAME]
    assert compiled.load(str(built)) is not None


@pytest.mark.parametrize(
    "command", ["/nonexistent/cc", f"{sys.executable} -c raise(SystemExit(1))"]
)
def test_without_a_working_compiler_nothing_is_built(command, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", command)
    assert build.build(tmp_path / "new") is None
    assert not (tmp_path / "new").exists()


def test_numpy_is_used_without_a_library_and_with_one_of_another_version(tmp_path, monkeypatch):
    assert compiled.load(str(tmp_path / "none.so")) is None
    source = tmp_path / "other.c"
    source.write_text("int version(void) { return -1; }\n")
    if build.compiler() is not None:
        other = tmp_path / "other.so"
        subprocess.run(
            [*build.compiler(), "-shared", "-fPIC", "-o", str(other), str(source)], check=True
        )
        assert ctypes.CDLL(str(other)).version() == -1
        assert compiled.load(str(other)) is None
    monkeypatch.setenv(compiled.SWITCH, "0")
    assert compiled.library() is None
