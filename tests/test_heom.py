"""HEOMSpace: codes of a table, and the HEOM distances that follow from them."""

import datetime as dt
import pickle
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from rectifold import GMR
from rectifold.preprocessing._heom import HEOMSpace
from reference import votes

CELLS = {
    "age": [31, 45, None, 28, 60, 31],
    "income": [1e3, 2.5e3, None, -7.5, 4e9, 0.1],
    "city": ["Paris", "Lyon", None, "Paris", "Nice", "Lyon"],
    "member": [True, False, None, True, True, False],
    "seen": [dt.datetime(2024, 1, day, 12, 30, 1, 500) for day in range(1, 6)] + [None],
    "day": [dt.date(2024, 2, day) for day in (1, 9, 1, 29)] + [None, dt.date(1999, 1, 1)],
    "name": ["Ann", "Bob", "Cy", "Di", "Ed", None],
    "source": ["web"] * 6,
    "empty": [None] * 6,
}


def encode(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space = HEOMSpace()
        return space.fit_transform(X), space


def distances_of_codes(codes, categorical):
    """Return the distances of all pairs of samples, from their codes."""
    gaps = np.abs(codes[:, None] - codes[None])
    gaps[..., categorical] = np.where(np.isnan(gaps), np.nan, gaps != 0)[..., categorical]
    return np.sqrt((np.where(np.isnan(gaps), 1, gaps) ** 2).sum(axis=2))


def distance_of_cells(first, second, ranges):
    """Return the distance of two rows of Python objects, by the definition of HEOM."""
    total = 0.0
    for a, b, range_ in zip(first, second, ranges, strict=True):
        if a is None or b is None:
            total += 1
        elif range_ is None:
            total += float(a != b)
        elif range_:
            total += (abs(a - b) / range_) ** 2
    return total**0.5


def distances_of_cells(cells):
    """Return the distances of all pairs of rows of a table, by the definition of HEOM.

    Constant columns are excluded, as in HEOMSpace.
    """
    kept, ranges = [], []
    for column in cells.values():
        present = [value for value in column if value is not None]
        if len(set(column)) < 2:
            continue
        kept.append(column)
        words = any(isinstance(value, str | bool) for value in present)
        ranges.append(None if words else max(present) - min(present))
    rows = list(zip(*kept, strict=True))
    return np.array([[distance_of_cells(a, b, ranges) for b in rows] for a in rows])


# The distance.


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_distances_follow_the_definition(frame):
    codes, space = encode(frame(CELLS))
    assert distances_of_codes(codes, space.categorical_) == pytest.approx(distances_of_cells(CELLS))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_all_of_many_categories_count(frame):
    rng = np.random.default_rng(0)
    cells = {
        "many": [f"c{code}" for code in rng.integers(0, 60, 150)],
        "each": [f"id {row}" for row in range(150)],
        "size": rng.normal(size=150).tolist(),
        "born": [dt.date(1990, 1, 1) + dt.timedelta(int(day)) for day in rng.integers(0, 999, 150)],
    }
    cells = {
        name: [None if rng.random() < 0.1 else cell for cell in column]
        for name, column in cells.items()
    }
    codes, space = encode(frame(cells))
    assert codes.shape == (150, 4)
    assert distances_of_codes(codes, space.categorical_) == pytest.approx(distances_of_cells(cells))


NUMBERS = st.none() | st.integers(-9, 9) | st.floats(-1e6, 1e6)
TEXTS = st.none() | st.sampled_from(["a", "b", "c", "é", "A", "b "])
DAYS = st.none() | st.dates()
ROWS = st.lists(st.tuples(NUMBERS, TEXTS, st.none() | st.booleans(), DAYS), min_size=1, max_size=12)
SCHEMA = {"number": pl.Float64, "text": pl.String, "flag": pl.Boolean, "day": pl.Date, "row": int}


@given(rows=ROWS)
@settings(max_examples=60, deadline=None)
def test_distances_follow_the_definition_for_all_cells(rows):
    rows = [(*row, i) for i, row in enumerate([*rows, rows[0]])]
    frame = pl.DataFrame(rows, SCHEMA, orient="row")
    expected = distances_of_cells(dict(zip(SCHEMA, zip(*rows, strict=True), strict=True)))
    for X in (frame, frame.to_pandas()):
        codes, space = encode(X)
        found = distances_of_codes(codes, space.categorical_)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


# Numbers and dates.


def test_numbers_and_dates_are_scaled_by_their_range():
    days = ["2024-01-01", "2024-01-11", "2024-01-06", None]
    codes, space = encode(pl.DataFrame({"a": [2, 4, None, 3], "b": days}))
    assert codes[:, 0].tolist()[:2] == [0, 1]
    assert codes[3, 0] == codes[2, 1] == 0.5
    assert np.isnan(codes).tolist() == [[0, 0], [0, 0], [1, 0], [0, 1]]
    assert space.columns_ == {"a": "number", "b": "date"}


def test_numbers_in_transform_may_be_out_of_range_and_are_finite():
    space = HEOMSpace().fit([[1.0], [2], [5]])
    assert space.transform([[-3], [3], [9]]).ravel().tolist() == [-1, 0.5, 2]
    tiny = HEOMSpace().fit([[0.0], [5e-324]])
    codes = tiny.transform([[1.7e308], [-1.7e308]])
    assert np.isfinite((codes[0] - codes[1]) ** 2).all()


def test_infinities_are_at_the_ends_of_the_range():
    values = np.array([[0.0], [4], [np.inf], [-np.inf], [1]])
    codes, space = encode(values)
    assert codes.ravel().tolist() == [0, 1, 1, 0, 0.25]
    assert space.transform([[10**400], [-(10**400)], [8]]).ravel().tolist() == [1, 0, 2]


@pytest.mark.parametrize("values", [[5, np.inf, -np.inf], [5, 5, np.inf], [-np.inf, 5, 5]])
def test_a_single_number_is_half_way_between_the_infinities(values):
    codes, space = encode(np.array(values, dtype=float)[:, None])
    ends = {5: 0.5, np.inf: 1, -np.inf: 0}
    assert codes.ravel().tolist() == [ends[value] for value in values]
    assert space.transform([[77], [None]])[0] == 0.5


def test_infinities_and_missing_values_alone_are_scaled():
    codes, _ = encode(np.array([[np.inf], [-np.inf], [np.nan]]))
    assert codes[:2].ravel().tolist() == [1, 0]
    assert np.isnan(codes[2, 0])


def test_numbers_of_any_size_keep_a_finite_range():
    codes, _ = encode(np.array([[1.7e308], [-1.7e308], [0]]))
    assert codes.ravel().tolist() == [1, 0, 0.5]


def test_dirty_numbers_are_read_as_in_tablespace():
    values = [*(f"{i},5" for i in range(10)), "?"]
    space = HEOMSpace()
    with pytest.warns(
        UserWarning, match=r"other text as missing values: 'a' \(such as '\?'\)"
    ) as record:
        codes = space.fit_transform(pl.DataFrame({"a": values}))
    assert len(record) == 1
    assert codes[:10].ravel() == pytest.approx(np.arange(10) / 9)
    assert np.isnan(codes[10, 0])
    assert space.transform(pl.DataFrame({"a": ["9,5", "x"]}))[0] == 1


# Categories.


def test_categories_are_numbered_in_sorted_order_and_missing_is_nan():
    codes, space = encode(pl.DataFrame({"a": ["c", "a", None, "b", "a"]}))
    assert np.array_equal(codes.ravel(), [2, 0, np.nan, 1, 0], equal_nan=True)
    assert space.columns_ == {"a": "category"}


def test_booleans_and_categoricals_are_categories():
    frame = pd.DataFrame({"a": [True, False, True], "b": pd.Categorical([3, 12, 3])})
    codes, space = encode(frame)
    assert space.categorical_.tolist() == [True, True]
    assert codes.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert space.transform(pd.DataFrame({"a": [False], "b": [12.0]})).tolist() == [[0, 0]]


def test_unknown_categories_differ_from_all_others():
    space = HEOMSpace().fit(pl.DataFrame({"a": ["u", "v", None]}))
    codes = space.transform(pl.DataFrame({"a": ["z", "v", "x", "z", None, "u"]})).ravel()
    assert np.array_equal(codes, [3, 1, 2, 3, np.nan, 0], equal_nan=True)
    again = space.transform(pl.DataFrame({"a": ["u", "v"]}))
    assert again.ravel().tolist() == [0, 1]


def test_identifiers_and_free_text_count():
    codes, space = encode(pl.DataFrame({"name": [f"person {row}" for row in range(50)]}))
    assert space.columns_ == {"name": "category"}
    assert len(np.unique(codes)) == 50


# Columns.


def test_the_output_has_one_column_for_each_that_is_not_constant():
    codes, space = encode(pl.DataFrame(CELLS))
    kinds = ["number"] * 2 + ["category"] * 2 + ["date"] * 2 + ["category"] + ["constant"] * 2
    assert list(space.columns_.values()) == kinds
    assert space.categorical_.tolist() == [kind == "category" for kind in kinds[:7]]
    assert space.categorical_.dtype == bool
    assert space.get_feature_names_out().tolist() == list(CELLS)[:7]
    assert space.n_features_in_ == 9
    assert space.feature_names_in_.tolist() == list(CELLS)
    assert codes.shape == (6, 7)
    assert codes.dtype == np.float64
    assert codes.flags.c_contiguous


def test_one_value_with_missing_values_is_not_constant():
    codes, space = encode(pl.DataFrame({"a": [7, None, 7], "b": ["u", "u", None]}))
    assert space.columns_ == {"a": "number", "b": "category"}
    assert np.isnan(codes).tolist() == [[0, 0], [1, 0], [0, 1]]
    assert codes[0].tolist() == [0.5, 0]


def test_pandas_polars_arrow_and_lists_give_the_same_codes_bit_for_bit():
    expected, _ = encode(pl.DataFrame(CELLS))
    containers = {
        "pandas": pd.DataFrame(CELLS),
        "pandas objects": pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in CELLS.items()}),
        "pandas nullable": pd.DataFrame(CELLS).convert_dtypes(),
        "pandas categories": pd.DataFrame(CELLS).astype({"city": "category"}),
        "polars categories": pl.DataFrame(CELLS).with_columns(pl.col("city").cast(pl.Categorical)),
        "arrow": pl.DataFrame(CELLS).to_arrow(),
        "object array": np.array(list(CELLS.values()), dtype=object).T,
        "list of lists": [list(row) for row in zip(*CELLS.values(), strict=True)],
    }
    for name, X in containers.items():
        assert np.array_equal(encode(X)[0], expected, equal_nan=True), name


def test_numpy_dates_and_signalling_nans_among_objects_are_read():
    rows = [[np.datetime64("2024-01-01"), Decimal("sNaN")], [np.datetime64("2024-01-03"), 1]]
    codes, space = encode([*rows, [np.datetime64("NaT"), 2]])
    assert space.columns_ == {"x0": "date", "x1": "number"}
    assert np.array_equal(codes, [[0, np.nan], [1, 0], [np.nan, 1]], equal_nan=True)


def test_columns_are_matched_by_name_and_arrays_by_position():
    frame = pd.DataFrame(CELLS)
    codes, space = encode(frame)
    shuffled = frame[frame.columns[::-1]].assign(more=1)
    assert np.array_equal(space.transform(shuffled), codes, equal_nan=True)
    assert np.array_equal(space.transform(frame.to_numpy()), codes, equal_nan=True)
    with pytest.raises(ValueError, match="X has 1 features, but HEOMSpace is expecting 9"):
        space.transform([[1]])
    with pytest.raises(ValueError, match="X is missing columns that were seen in fit: 'age'"):
        space.transform(frame.drop(columns="age"))


@pytest.mark.parametrize(
    ("known", "new"),
    [([1, 2], ["abc"]), (["31/12/2024", "30/12/2024"], ["soon"]), (["a", "b"], [dt.date.today()])],
)
def test_values_that_can_not_be_read_as_in_fit_are_rejected(known, new):
    space = HEOMSpace().fit(pl.DataFrame({"a": known}))
    with pytest.raises(ValueError, match=r"Column 'a' was a .* in fit, and its values can't be"):
        space.transform(pl.DataFrame({"a": new}))


def test_a_table_of_constants_is_rejected():
    with pytest.raises(
        ValueError, match=r"distinguishes its 2 sample.*all columns are constant or empty\."
    ):
        HEOMSpace().fit(pl.DataFrame({"a": [1, 1], "b": [None, None]}))


# Compatibility with scikit-learn.


def test_the_estimator_checks_of_scikit_learn_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(HEOMSpace(), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_it_has_no_parameters_clones_pickles_and_names_its_output():
    assert HEOMSpace().get_params() == {}
    space = clone(HEOMSpace()).set_output(transform="pandas")
    frame = pd.DataFrame(CELLS)
    output = space.fit_transform(frame)
    assert output.columns.tolist() == space.get_feature_names_out().tolist()
    assert pickle.loads(pickle.dumps(space)).transform(frame).equals(output)


def test_an_unfitted_space_raises_not_fitted_error():
    assert not hasattr(HEOMSpace(), "categorical_")
    for method in (HEOMSpace().get_feature_names_out, lambda: HEOMSpace().transform([[1]])):
        with pytest.raises(NotFittedError):
            method()


def test_a_second_fit_replaces_the_first():
    space = HEOMSpace().fit(pd.DataFrame(CELLS)).fit([[1], [2]])
    assert space.columns_ == {"x0": "number"}
    assert space.categorical_.tolist() == [False]
    assert not hasattr(space, "feature_names_in_")


def test_the_module_does_not_import_pandas_or_polars():
    module = sys.modules["rectifold.preprocessing._heom"]
    assert not {"pandas", "pd", "polars", "pl", "pyarrow"} & set(vars(module))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_gmr_votes_with_the_distances_of_the_definition(library):
    rng = np.random.default_rng(3)
    n = 120
    y = (np.arange(n) % 4 == 0).astype(int)
    makers = {
        "number": lambda i: float(rng.normal(y[i])),
        "count": lambda i: int(rng.integers(0, 30)),
        "category": lambda i: str(rng.choice(list("abcdefghijklmno"))),
    }
    cells = {
        name: [None if rng.random() < 0.1 else make(i) for i in range(n)]
        for name, make in makers.items()
    }
    gmr = GMR(space="heom", n_neighbors=7)
    gmr.fit_resample(library(cells), y)
    distances = distances_of_cells(cells)
    np.fill_diagonal(distances, np.inf)
    near = np.array([np.lexsort((np.arange(n), np.round(row, 12)))[:7] for row in distances])
    counted = votes(near, np.take_along_axis(distances, near, axis=1), y)
    expected = [vote[int(label)] for (vote, _), label in zip(counted, y, strict=True)]
    np.testing.assert_allclose(gmr.rectification_.confidence, expected, atol=1e-9)
    assert (gmr.metric_, gmr.rectification_.summary()["engine"]) == ("heom", "direct")
