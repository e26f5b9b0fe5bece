"""Errors for bad input: one sentence that says what is wrong and what would be right."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from rectifold import GMR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3))
y = np.repeat([0, 1], [70, 30])


def with_value(value):
    changed = X.copy()
    changed[5, 1] = value
    return changed


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
WRONG = {
    "one class only": (X, np.zeros(100, dtype=int), "at least two classes.*only one class: 0"),
    "a class of one": (X, np.r_[np.zeros(99, dtype=int), 1], "class 1 of y has a single sample"),
    "a class of one row, named": (X, ["a"] * 99 + ["b"], "class 'b' of y has a single sample"),
    "fewer rows than neighbours": (X[60:75], y[60:75], "n_neighbors=15 needs at least 16 samples"),
    "NaN in y": (X, np.r_[y[:-1], np.nan], "y has 1 missing values.*first in row 99"),
    "None in y": (X, ["a"] * 50 + [None] + ["b"] * 49, "y has 1 missing.*first in row 50"),
    "nan among names in y": (X, ["a"] * 50 + [np.nan] + ["b"] * 49, "y has 1 missing"),
    "NA in y": (X, pd.Series([*y[:-1], pd.NA], dtype="Int64"), "y has 1 missing values"),
    "null in y": (X, pl.Series([*y[:-1].tolist(), None]), "y has 1 missing values"),
    "null among names in y": (X, pl.Series(["a"] * 50 + ["b"] * 49 + [None]), "y has 1 missing"),
    "NaN in categorical y": (X, pd.Series(["a", "b", None] * 33 + ["a"], dtype="category"), "33 m"),
    "mixed labels": (X, np.array(["a"] * 50 + [1] * 50, dtype=object), "mixes labels.*int, str"),
    "a regression target": (X, RNG.normal(size=100), "Unknown label type: continuous"),
    "a regression target of ints": (X, np.arange(100), "100 distinct values in 100 samples"),
    "names as labels": (X, [f"id{i}" for i in range(100)], "looks like a regression target or an"),
    "no y": (X, None, "requires y to be passed"),
    "more labels than rows": (X, np.r_[y, 0], "inconsistent numbers of samples"),
    "inf in X": (with_value(np.inf), y, r"column 1 of X holds infinite values \(inf\).*auto"),
    "NaN in X": (with_value(np.nan), y, r"column 1 of X holds missing values \(NaN\).*auto"),
    "NaN in a frame": (FRAME.where(FRAME < 1), y, "column 'a' of X holds missing values"),
    "inf in a sparse matrix": (sparse.csr_matrix(with_value(-np.inf)), y, "column 1 of X.*inf"),
    "NaN in a sparse matrix": (sparse.csc_matrix(with_value(np.nan)), y, "column 1 of X.*NaN"),
    "constant features": (np.ones((100, 3)), y, "every column of X is constant"),
    "constant sparse features": (sparse.csr_matrix(np.ones((100, 3))), y, "every column of X"),
    "no entries at all": (sparse.csr_matrix((100, 3)), y, "every column of X is constant"),
    "names used twice": (FRAME.set_axis(["a", "b", "a"], axis=1), y, "one column named 'a'"),
    "text": (FRAME.assign(b="red"), y, "column 'b' of X holds text or categories.*space='auto'"),
    "text in polars": (pl.DataFrame({"b": ["r"] * 100}), y, "column 'b' of X holds text"),
    "dates": (FRAME.assign(b=datetime.datetime(2024, 1, 1)), y, "column 'b' of X holds dates"),
    "text in an array": (np.where(X > 0, "red", "blue"), y, "column 0 of X holds text.*'auto'"),
    "text in a list": ([[1.0, "red"]] * 100, y, "column 1 of X holds text, such as 'red'"),
    "numbers as text": (X.astype(str), y, "column 0 of X holds text"),
    "NaT in y": (X, np.array(["2020", "NaT"] * 50, dtype="datetime64[D]"), "y has 50 missing"),
    "one label for all": (X, "a", "y must be an array or a list of labels"),
    "text in objects": (X.astype(object) + np.array([0, 0, 0j]), y, "omplex|argument"),
    "values beyond squares": (X * 1e200, y, "values beyond 1e\\+150"),
    "one dimension": (X[:, 0], y, "Expected 2D array"),
    "no rows": (X[:0], y[:0], "0 sample|at least|minimum of 1"),
    "no columns": (X[:, :0], y, "0 feature"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_is_an_error_in_one_sentence(name):
    rows, labels, message = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}") as caught:
        GMR().fit_resample(rows, labels)
    assert str(caught.value).strip()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_neighbors", -1),
        ("n_neighbors", 0),
        ("n_neighbors", 2.5),
        ("n_neighbors", "3"),
        ("alpha", -0.1),
        ("alpha", 1.1),
        ("beta", 2),
        ("gamma", -1),
        ("gamma", float("nan")),
        ("epsilon", 0),
        ("epsilon", 1e-310),
        ("min_minority", -1),
        ("metric", 3),
        ("metric_threshold", 1.5),
        ("class_weight", "inverse"),
        ("space", "scaled"),
        ("n_jobs", 1.5),
        ("sampling_strategy", "minority"),
        ("sampling_strategy", len),
    ],
)
def test_wrong_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of GMR must be"):
        GMR(**{parameter: value}).fit_resample(X, y)


def test_the_error_for_an_unknown_engine_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"engine='quantum' is not known; there are 'auto', .*"):
        GMR(engine="quantum").fit_resample(X, y)


@pytest.mark.parametrize("alpha", [-0.01, 1.01])
def test_redeciding_with_a_threshold_out_of_range_is_an_error(alpha):
    gmr = GMR()
    gmr.fit_resample(X, y)
    with pytest.raises(ValueError, match=r"alpha=.* must be in \[0, 1\]"):
        gmr.rectification_.redecide(alpha=alpha)


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_a_metric_with_parameters_needs_a_search_object(metric):
    with pytest.raises(ValueError, match="NearestNeighbors\\(n_neighbors=16"):
        GMR(metric=metric).fit_resample(X, y)


def test_an_empty_strategy_is_an_error():
    with pytest.raises(ValueError, match="names no class"):
        GMR(sampling_strategy=[]).fit_resample(X, y)


def test_a_sample_without_any_value_is_an_error():
    rows = X.copy()
    rows[3] = np.nan
    with pytest.raises(ValueError, match="sample 3 of X has no value at all"):
        GMR(metric="nan_euclidean").fit_resample(rows, y)
    with pytest.raises(ValueError, match="needs a dense array"):
        GMR(metric="nan_euclidean").fit_resample(sparse.csr_matrix(X), y)


def test_an_unknown_metric_is_an_error():
    with pytest.raises(ValueError, match="metric='as the crow flies' is not known"):
        GMR(metric="as the crow flies").fit_resample(X, y)
