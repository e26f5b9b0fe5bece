"""TableSpace: messy tables as points."""

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
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from rectifold.preprocessing._cells import (
    as_number,
    as_seconds,
    family_of,
    find_dates,
    parse_number,
)
from rectifold.preprocessing._table_space import TableSpace

CELLS = {
    "age": [31, 45, None, 28, 60, 31],
    "income": [1e3, float("inf"), 2.5e3, None, float("-inf"), 4e9],
    "city": ["Paris", "Lyon", None, "Paris", "Nice", "Lyon"],
    "member": [True, False, None, True, True, False],
    "joined": ["28-Feb-97", "1-Mar-98", None, "31-Dec-99", "07-Jul-06", "28-Feb-97"],
    "seen": [dt.datetime(2024, 1, day, 12, 30, 1, 500) for day in range(1, 6)] + [None],
    "spent": ["12", " 3.5 ", "1e3", "", "nan", "inf"],
    "source": ["web"] * 6,
    "empty": [None] * 6,
}
KINDS = {
    "age": "number",
    "income": "number",
    "city": "category",
    "member": "category",
    "joined": "date",
    "seen": "date",
    "spent": "number",
    "source": "constant",
    "empty": "constant",
}


def fit(X, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return TableSpace(**settings).fit(X)


def points_of(X, **settings):
    return fit(X, **settings).transform(X)


def distance(points, first, second):
    return np.linalg.norm(points[first] - points[second])


def column(values, **settings):
    """Return the points of a table of one column of objects, and the kind of that column."""
    space = fit(pd.DataFrame({"a": pd.Series(values, dtype=object)}), **settings)
    return space.transform(pd.DataFrame({"a": pd.Series(values, dtype=object)})), space.columns_[
        "a"
    ]


# The same table in every container.


def test_each_column_gets_its_kind():
    assert fit(pl.DataFrame(CELLS)).columns_ == KINDS


def test_pandas_polars_arrow_and_lists_give_the_same_points_bit_for_bit():
    expected = points_of(pl.DataFrame(CELLS))
    frame = pd.DataFrame(CELLS)
    # pandas 2 casts infinity to an integer here.
    with np.errstate(invalid="ignore"):
        nullable = frame.convert_dtypes()
    containers = {
        "pandas": frame,
        "pandas objects": pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in CELLS.items()}),
        "pandas nullable": nullable,
        "pandas pyarrow": frame.astype({"city": "string[pyarrow]", "age": "int64[pyarrow]"}),
        "pandas categories": frame.astype({"city": "category", "joined": "category"}),
        "polars categories": pl.DataFrame(CELLS).with_columns(
            pl.col("city").cast(pl.Enum(["Lyon", "Nice", "Paris", "Rome"])),
            pl.col("joined").cast(pl.Categorical),
        ),
        "arrow": pl.DataFrame(CELLS).to_arrow(),
        "object array": np.array(list(CELLS.values()), dtype=object).T,
        "list of lists": [list(row) for row in zip(*CELLS.values(), strict=True)],
    }
    for name, X in containers.items():
        assert np.array_equal(points_of(X), expected), name


def test_points_are_finite_float64_and_contiguous():
    points = points_of(pd.DataFrame(CELLS))
    assert points.dtype == np.float64
    assert points.flags.c_contiguous
    assert np.isfinite(points).all()


def test_decimals_dates_times_zones_and_durations_agree_between_pandas_and_polars():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 3), None, dt.date(2021, 5, 5)]
    cells = {
        "price": [Decimal("1.10"), Decimal("2.25"), None, Decimal("99.99")],
        "day": days,
        "hour": [dt.time(1, 2, 3), dt.time(23), None, dt.time(12)],
        "stay": [dt.timedelta(hours=1), None, dt.timedelta(days=2), dt.timedelta(0)],
        "zoned": [day and dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) for day in days],
    }
    polars = pl.DataFrame(cells)
    pandas = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in cells.items()})
    space = fit(polars)
    assert list(space.columns_.values()) == ["number", "date", "date", "date", "date"]
    assert np.array_equal(space.transform(polars), points_of(pandas))
    assert np.array_equal(space.transform(polars), points_of(pd.DataFrame(cells)))


def test_the_same_instants_in_other_time_zones_give_the_same_points():
    utc = pd.Series(pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-05"], utc=True))
    paris = utc.dt.tz_convert("Europe/Paris")
    assert np.array_equal(points_of(utc.to_frame("a")), points_of(paris.to_frame("a")))


def test_numbers_in_an_array_are_named_by_position():
    space = fit(np.array([[1, 2], [3, 4], [3, 9]]))
    assert space.columns_ == {"x0": "number", "x1": "number"}
    assert space.get_feature_names_out().tolist() == ["x0", "x1"]
    assert not hasattr(space, "feature_names_in_")


def test_arrays_of_text_booleans_and_dates_are_read():
    texts = np.array([["a", "1"], ["b", "2.5"], ["nan", "7"]])
    assert fit(texts).columns_ == {"x0": "category", "x1": "number"}
    assert fit(np.array([[True], [False]])).columns_ == {"x0": "category"}
    days = np.array([["2024-01-01"], ["NaT"], ["2024-01-09"]], dtype="datetime64[ns]")
    assert fit(days).columns_ == {"x0": "date"}
    assert fit(days - days[0]).columns_ == {"x0": "date"}
    assert points_of(days)[:, 1].tolist() == [0, 1, 0]


def test_columns_may_be_named_by_integers():
    frame = pd.DataFrame({0: [1, 2, 3], 1: ["a", "b", "a"]})
    space = fit(frame)
    assert space.columns_ == {0: "number", 1: "category"}
    assert space.get_feature_names_out().tolist() == ["0", "1_b"]
    assert not hasattr(space, "feature_names_in_")
    assert np.array_equal(space.transform(frame[[1, 0]]), space.transform(frame))


# Kinds.


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["12", " 3.5 ", "1e3"], "number"),
        (["1", "2", "12", None], "number"),
        (["19970228", "20240101"], "number"),
        ([1, "2", 3.5, None], "number"),
        ([Decimal("1.5"), 2, np.float32(3), np.nan], "number"),
        (["12_34", "12_35"], "category"),
        (["12", "twelve"], "category"),
        ([True, False, np.nan], "category"),
        ([True, 0, 1, False], "category"),
        (["a", 3, 3.0, None], "category"),
        (["2024-01-31", "2024-02-01T10:00:00Z"], "date"),
        (["2024-01-31 10:11", None, " 2024-01-31 "], "date"),
        (["31/01/2024", "01/02/2024"], "date"),
        (["01/31/2024", "02/01/2024"], "date"),
        (["2024/01/31", "2024/02/01"], "date"),
        (["31.01.2024 10:30", "01.02.2024 11:00"], "date"),
        (["20240131 10:30:00", "20240201 11:00:00"], "date"),
        (["1/31/2024 9:05:00 AM", "2/1/2024 9:05:00 PM"], "date"),
        (["31/01/2024", "01/31/2024"], "category"),
        (["2024-01-31", "soon"], "category"),
        ([dt.date(2024, 1, 1), np.nan, pd.Timestamp(2024, 1, 2)], "date"),
        ([dt.date(2024, 1, 1), "2024-01-03"], "date"),
        (["", "  ", "nan", None, pd.NA, np.nan, "a"], "category"),
        (["a", "a"], "constant"),
        ([7, 7.0], "constant"),
        (["", None, np.nan, pd.NaT, pd.NA], "constant"),
    ],
)
def test_the_kind_depends_on_all_cells_of_the_column(values, kind):
    rest = np.arange(len(values))
    space = fit(pd.DataFrame({"a": pd.Series(values, dtype=object), "rest": rest}))
    assert space.columns_["a"] == kind


def test_all_representations_of_missing_values_are_equal():
    points, kind = column(["", "  ", "NaN", None, pd.NA, np.nan, pd.NaT, "a", "b", "c"])
    assert kind == "category"
    assert len(np.unique(points, axis=0)) == 4
    assert distance(points, 0, 6) == 0


def test_categoricals_of_digits_stay_categories():
    for X in (
        pd.DataFrame({"a": pd.Categorical(["1", "2", "12"])}),
        pd.DataFrame({"a": pd.Categorical([1, 2, 12])}),
        pl.DataFrame({"a": pl.Series(["19970228", "19970301", "20240101"], dtype=pl.Categorical)}),
    ):
        assert fit(X).columns_ == {"a": "category"}


def test_categoricals_of_intervals_and_of_timestamps_are_read():
    cut = pd.DataFrame({"a": pd.cut([1, 5, 9, 1], 3)})
    points = points_of(cut)
    assert distance(points, 0, 1) == pytest.approx(1)
    assert distance(points, 0, 3) == 0
    stamps = pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-05", None]))
    assert fit(pd.DataFrame({"a": stamps})).columns_ == {"a": "date"}


def test_dates_in_text_equal_those_in_a_date_column():
    days = ["2024-01-31", "2024-02-01", None, "2023-12-05"]
    text = pl.DataFrame({"a": days})
    assert np.array_equal(points_of(text), points_of(text.with_columns(pl.col("a").str.to_date())))


def test_day_and_month_have_one_order_within_a_column():
    assert find_dates(["03/04/2024", "31/12/2024"])[0] == "%d/%m/%Y"
    assert find_dates(["03/04/2024", "12/31/2024"])[0] == "%m/%d/%Y"
    assert find_dates([*(["03/04/2024"] * 99), "31/31/2024"]) == (None, None)


def test_seconds_count_from_the_epoch_of_unix():
    assert as_seconds(dt.date(1970, 1, 2)) == 86400
    assert as_seconds(dt.datetime(1970, 1, 1, 0, 1)) == 60
    assert as_seconds(dt.time(1, 0, 1)) == 3601
    zone = dt.timezone(dt.timedelta(hours=1))
    assert as_seconds(dt.datetime(1970, 1, 1, 1, 0, 5, tzinfo=zone)) == 5


def test_one_warning_names_the_identifiers_that_are_excluded():
    frame = pl.DataFrame(
        {
            "Name": [f"person {i}" for i in range(50)],
            "Note": [f"text {i % 40}" if i else None for i in range(50)],
            "shop": [f"shop {i % 21}" for i in range(50)],
            "age": range(50),
        }
    )
    expected = "excluded from distances, because nearly all values are different: 'Name', 'Note'"
    with pytest.warns(UserWarning, match=expected) as record:
        space = TableSpace().fit(frame)
    assert len(record) == 1
    assert space.columns_ == {
        "Name": "identifier",
        "Note": "identifier",
        "shop": "category",
        "age": "number",
    }
    assert space.transform(frame.drop("Name", "Note")).shape == (50, 11)


def test_a_small_table_has_no_identifiers():
    assert fit(pl.DataFrame({"a": [f"person {i}" for i in range(20)]})).columns_["a"] == "category"


def test_identifier_share_decides_what_is_an_identifier():
    frame = pl.DataFrame({"shop": [f"shop {i % 21}" for i in range(50)], "age": range(50)})
    with pytest.warns(UserWarning, match="'shop'"):
        TableSpace(identifier_share=0.4).fit(frame)
    assert fit(frame, identifier_share=0.42).columns_["shop"] == "category"


# Dirty numbers.

OTHER_TEXT = "read as numbers, with other text as missing values: "
DIGITS = [str(i) for i in range(9)]


def dirty(values, *others):
    """Return a column of text, and the points of the same column with the others missing."""
    frame = pd.DataFrame({"a": pd.Series([*values, *others], dtype=object)})
    clean = pd.DataFrame({"a": pd.Series([*values, *[None] * len(others)], dtype=object)})
    return frame, points_of(clean)


@pytest.mark.parametrize("other", ["?", "abc", "unknown", "n/a", "-", "--", "1_2", "1,2,3", "2%"])
def test_one_cell_in_ten_may_be_other_text_among_numbers(other):
    frame, expected = dirty(DIGITS, other)
    with pytest.warns(UserWarning, match="read as numbers"):
        space = TableSpace().fit(frame)
    assert space.columns_ == {"a": "number"}
    assert np.array_equal(space.transform(frame), expected)


@pytest.mark.parametrize("word", ["?", "n/a", " NA ", "NULL", "None", "<NA>", "-", "unknown", "."])
def test_words_for_missing_values_may_be_in_any_number_of_cells(word):
    frame, expected = dirty(DIGITS, *[word] * 30)
    with pytest.warns(UserWarning, match="read as numbers, with other text as missing"):
        space = TableSpace().fit(frame)
    assert space.columns_ == {"a": "number"}
    assert np.array_equal(space.transform(frame), expected)


def test_columns_with_other_text_are_named_in_one_warning_with_the_most_frequent_text():
    frame = pl.DataFrame(
        {
            "age": [*DIGITS * 10, "b", "?", "?", "a"],
            "income": [*DIGITS * 10, "n/a", "none", None, "x" * 200],
            "fine": [*DIGITS * 10, "", None, "nan", "1"],
        }
    )
    with pytest.warns(UserWarning, match=OTHER_TEXT) as record:
        space = TableSpace().fit(frame)
    expected = OTHER_TEXT + "'age' (such as '?'), 'income' (such as 'n/a')"
    assert [str(warning.message) for warning in record] == [expected]
    assert list(space.columns_.values()) == ["number"] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space.transform(frame)


def test_long_text_is_shortened_in_the_warning():
    with pytest.warns(UserWarning, match=r"such as 'x+\.\.\.x+'\)$") as record:
        TableSpace().fit(dirty(DIGITS, "x" * 500)[0])
    assert len(str(record[0].message)) < 100


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([*DIGITS[:8], "b"], "category"),
        ([*DIGITS, "b", "b"], "category"),
        ([*DIGITS, None, "", "b", "b"], "category"),
        ([*DIGITS, "?", "?", "b", "b"], "category"),
        (["7"] * 19 + ["?"], "category"),
        (["7", "7.0"] * 10 + ["?"], "category"),
        ([*["20240101", "20240301"] * 9, "2024-02-01"], "date"),
    ],
)
def test_other_text_among_few_numbers_or_among_dates_changes_nothing(values, kind):
    assert column(values)[1] == kind


def test_numbers_with_a_few_words_among_objects_are_numbers():
    values = [1, 2.5, Decimal(3), 10**400, *range(5, 14), "?"]
    with pytest.warns(UserWarning, match=r"'a' \(such as '\?'\)"):
        space = TableSpace().fit(pd.DataFrame({"a": pd.Series(values, dtype=object)}))
    assert space.columns_ == {"a": "number"}


def test_categoricals_with_a_few_words_stay_categories():
    frame = pd.DataFrame({"a": pd.Categorical([*DIGITS * 2, "?"])})
    assert fit(frame).columns_ == {"a": "category"}


def test_other_text_in_transform_is_missing_if_it_was_in_fit():
    frame, expected = dirty(DIGITS, "?")
    with pytest.warns(UserWarning, match=OTHER_TEXT):
        space = TableSpace().fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = space.transform(pl.DataFrame({"a": ["abc", "?", None]}))
    assert np.array_equal(points, expected[[9, 9, 9]])


def test_other_text_in_transform_is_missing_if_there_are_numbers():
    for known in ([1, 2, 9], ["1", "2", "9"]):
        space = fit(pl.DataFrame({"a": known}))
        with pytest.warns(UserWarning, match=OTHER_TEXT + r"'a' \(such as 'abc'\)"):
            points = space.transform(pl.DataFrame({"a": ["abc", "9", "abc"]}))
        assert points[0] == points[2] == 0 < points[1]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,5", "-0,25", "+3", " 12,0 "], [1.5, -0.25, 3, 12]),
        (["1,5e3", "2,5E-1", "7", "1e1"], [1500, 0.25, 7, 10]),
        (["1,234", "1,5", "1234,567"], [1.234, 1.5, 1234.567]),
        (["0,125", "1,234", "5"], [0.125, 1.234, 5]),
        (
            ["1,234", "-12,345,678", "+1,234.50", "3.5", "1,000."],
            [1234, -12345678, 1234.5, 3.5, 1e3],
        ),
        (["1,234", "999", "2,000"], [1234, 999, 2000]),
    ],
)
def test_commas_are_decimal_if_one_cell_shows_it_and_separate_thousands_otherwise(texts, numbers):
    for order in (1, -1):
        points, kind = column(texts[::order])
        assert kind == "number"
        assert np.array_equal(points, points_of(np.array(numbers)[::order, None]))


@pytest.mark.parametrize(
    ("values", "numbers", "other"),
    [
        (["1,234.50", "2,345.75"], [1234.5, 2345.75], "1,5"),
        (["1,5", "2,25"], [1.5, 2.25], "1,234.50"),
    ],
)
def test_the_more_frequent_meaning_of_commas_is_used(values, numbers, other):
    frame = pl.DataFrame({"a": [*values * 10, other]})
    with pytest.warns(UserWarning, match=f"such as '{other}'"):
        points = TableSpace().fit_transform(frame)
    assert np.array_equal(points, points_of(pl.DataFrame({"a": [*numbers * 10, None]})))


@pytest.mark.parametrize("texts", [["1,2,3", "2,3"], ["1,23,456", "7"], [",5", "1,"], ["a,b", "1"]])
def test_other_text_with_commas_stays_text(texts):
    assert column(texts)[1] == "category"


def test_the_meaning_of_commas_is_determined_in_fit():
    decimal = fit(pl.DataFrame({"a": ["1,5", "1,0", "2,0"]}))
    assert decimal.transform(pl.DataFrame({"a": ["1,500", "1.5"]})).tolist() == [[0], [0]]
    grouped = fit(pl.DataFrame({"a": ["1,500", "1,000", "2,000"]}))
    assert grouped.transform(pl.DataFrame({"a": ["1,500", "1500"]})).tolist() == [[0], [0]]
    with pytest.raises(ValueError, match="'a' was a number in fit"):
        grouped.transform(pl.DataFrame({"a": ["1,5"]}))
    with pytest.raises(ValueError, match="'a' was a number in fit"):
        fit(pl.DataFrame({"a": [1, 2]})).transform(pl.DataFrame({"a": ["1,5"]}))


def test_integers_beyond_the_range_of_floats_are_infinite():
    assert [as_number(10**400), as_number(-(10**400)), as_number(7)] == [np.inf, -np.inf, 7]
    points, kind = column([1, 2, 3, 10**400, -(10**400)])
    assert kind == "number"
    assert points[3:].ravel().tolist() == [3, -3]


@pytest.mark.parametrize("first", [Decimal(1), True, "a"])
def test_signalling_nans_are_missing(first):
    expected = column([first, None, Decimal(2)])
    points, kind = column([first, Decimal("sNaN"), Decimal(2)])
    assert kind == expected[1]
    assert np.array_equal(points, expected[0])


def test_numpy_dates_and_durations_among_objects_are_dates():
    days = [np.datetime64("2024-01-01"), np.datetime64("NaT"), np.datetime64("2024-01-09T12", "ns")]
    python = [dt.datetime(2024, 1, 1), None, dt.datetime(2024, 1, 9, 12)]
    stays = [np.timedelta64(1, "D"), np.timedelta64("NaT"), np.timedelta64(90, "m")]
    same = [dt.timedelta(1), None, dt.timedelta(minutes=90)]
    for numpy_cells, python_cells in ((days, python), (stays, same), ([*days, *stays], None)):
        points, kind = column(numpy_cells)
        assert kind == "date"
        if python_cells:
            assert np.array_equal(points, column(python_cells)[0])


def test_the_word_nan_is_missing_with_any_sign():
    points, kind = column(["1", "2", "-nan", "+NaN", "nan"])
    assert kind == "number"
    assert points[2:, 1].tolist() == [1, 1, 1]


# Coordinates of numbers.


def test_robust_scaling_clips_a_heavy_tail_and_keeps_the_middle():
    values = np.r_[np.linspace(-2, 2, 101), 1e12, -1e12]
    points = points_of(values[:, None]).ravel()
    z = values / np.subtract(*np.quantile(values, [0.75, 0.25]))
    assert points == pytest.approx(z / np.sqrt(1 + (z / 3) ** 2))
    assert np.abs(points).max() <= 3


def test_infinities_are_at_the_ends_of_the_scale():
    values = np.array([[0.0], [1], [2], [np.inf], [-np.inf], [3]])
    assert points_of(values)[3:5].ravel().tolist() == [3, -3]


def test_columns_of_mostly_zeros_fall_back_to_wider_quantiles():
    for share in (0.2, 0.04, 0.001):
        values = np.zeros(10_000)
        values[: int(share * 10_000)] = 5
        points = points_of(values[:, None])
        assert points[0, 0] == pytest.approx(1 / np.sqrt(1 + 1 / 9))
        assert points[-1, 0] == 0


def test_missing_numbers_are_at_the_median_and_have_an_indicator():
    values = np.array([[1.0], [2], [np.nan], [9]])
    space = fit(values)
    assert space.get_feature_names_out().tolist() == ["x0", "x0_missing"]
    points = space.transform(values)
    assert points[2].tolist() == [0, 1]
    assert points[1].tolist() == [0, 0]


def test_a_constant_with_missing_values_becomes_the_indicator_only():
    space = fit(np.array([[7.0], [np.nan], [7]]))
    assert space.columns_ == {"x0": "number"}
    assert space.transform([[7], [None], [1e9]]).tolist() == [[0, 0], [0, 1], [0, 0]]


def test_numbers_missing_only_in_transform_are_at_the_median():
    space = fit(np.array([[1.0], [2], [9]]))
    assert space.transform([[None], [2]]).tolist() == [[0], [0]]


# Coordinates of categories.


@pytest.mark.parametrize("categories", [2, 3, 9])
def test_any_two_categories_are_at_distance_one(categories):
    points, _ = column([f"c{i}" for i in range(categories)])
    for other in range(1, categories):
        assert distance(points, 0, other) == pytest.approx(1, abs=1e-15)
    assert points.shape[1] == (1 if categories == 2 else categories)


def test_missing_values_are_a_category_even_if_rare():
    values = [f"c{i}" for i in range(30) for _ in range(5)] + [None, None, "rare"]
    points, _ = column(values, max_categories=3)
    assert points.shape[1] == 4
    assert distance(points, -2, -3) == 0
    assert distance(points, -1, -2) == pytest.approx(1)


def test_rare_categories_are_merged():
    frame = pl.DataFrame({"a": list("aaabbbcde")})
    space = fit(frame, max_categories=3)
    assert space.get_feature_names_out().tolist() == ["a_a", "a_b", "a_infrequent"]
    points = space.transform(frame)
    assert distance(points, -1, -2) == 0
    assert distance(points, 0, -1) == pytest.approx(1)


def test_an_unknown_category_equals_the_rare_ones():
    space = fit(pl.DataFrame({"a": list("aaabbbcde")}), max_categories=3)
    points = space.transform(pl.DataFrame({"a": ["never", "c", None]}))
    assert np.array_equal(points[0], points[1])
    assert np.array_equal(points[0], points[2])


def test_an_unknown_category_is_equally_far_from_all_if_none_is_rare():
    for known in (["a", "b"], ["a", "b", "c"]):
        space = fit(pl.DataFrame({"a": known}))
        points = space.transform(pl.DataFrame({"a": ["never", *known]}))
        gaps = {round(distance(points, 0, row), 12) for row in range(1, len(points))}
        assert len(gaps) == 1
        assert gaps.pop() > 0.4


def test_numbers_in_transform_match_categories_in_fit():
    space = fit(pd.DataFrame({"a": pd.Categorical([1, 2, 3])}))
    as_numbers = space.transform(pd.DataFrame({"a": [1.0, 2.0, 3.0]}))
    assert np.array_equal(as_numbers, space.transform(pl.DataFrame({"a": ["1", "2", "3"]})))


def test_names_of_coordinates_are_all_different():
    space = fit(pl.DataFrame({"a": ["missing", "missing_", "x", None]}))
    names = space.get_feature_names_out().tolist()
    assert names == ["a_missing", "a_missing_", "a_x", "a_missing__"]


# Tables in transform.


def test_columns_are_matched_by_name_and_others_are_ignored():
    frame = pd.DataFrame(CELLS)
    space = fit(frame)
    shuffled = frame[frame.columns[::-1]].assign(more=1)
    assert np.array_equal(space.transform(shuffled), space.transform(frame))
    assert np.array_equal(space.transform(pl.DataFrame(CELLS)), space.transform(frame))
    assert space.feature_names_in_.tolist() == list(CELLS)
    assert space.n_features_in_ == 9


def test_an_array_is_matched_by_position():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["u", "v", "u"]})
    space = fit(frame)
    assert np.array_equal(space.transform(frame.to_numpy()), space.transform(frame))
    assert np.array_equal(fit(frame.to_numpy()).transform(frame), space.transform(frame))
    with pytest.raises(ValueError, match="X has 1 features, but TableSpace is expecting 2"):
        space.transform([[1]])


def test_the_error_names_missing_columns():
    space = fit(pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]}))
    with pytest.raises(ValueError, match="X is missing columns that were seen in fit: 'a', 'c'"):
        space.transform(pd.DataFrame({"b": [1]}))


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ([1, 2], ["abc"]),
        ([1, 2], [dt.date(2024, 1, 1)]),
        (["1", "2"], ["abc"]),
        (["31/12/2024", "30/12/2024"], ["12/31/2024"]),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], ["soon"]),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], [5]),
        (["a", "b"], [dt.date(2024, 1, 1)]),
    ],
)
def test_values_that_can_not_be_read_as_in_fit_are_rejected(known, new):
    space = fit(pl.DataFrame({"a": known}))
    with pytest.raises(ValueError, match=r"Column 'a' was a .* in fit, and its values can't be"):
        space.transform(pl.DataFrame({"a": new}))


def test_cells_of_another_type_with_the_same_meaning_are_accepted():
    numbers = fit(pl.DataFrame({"a": [1, 2, 4]}))
    assert numbers.transform(pl.DataFrame({"a": ["2", ""]})).tolist() == [[0], [0]]
    days = fit(pl.DataFrame({"a": [dt.date(2024, 1, day) for day in (1, 2, 5)]}))
    assert days.transform(pl.DataFrame({"a": ["02/01/2024", None]})).tolist() == [[0], [0]]
    assert days.transform(pl.DataFrame({"a": [None, None]})).tolist() == [[0], [0]]
    assert days.transform(pl.DataFrame({"a": [float("nan")]})).tolist() == [[0]]
    words = fit(pl.DataFrame({"a": ["u", "v", None]}))
    nothing = pl.DataFrame({"a": [None]})
    for dtype in (pl.Date, pl.Float64, pl.Null, pl.String):
        assert np.array_equal(words.transform(nothing.cast(dtype)), words.transform(nothing))


# Errors.


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"fine": [1, 2], "bad": [[1], [2]]}),
        pl.DataFrame({"fine": [1, 2], "bad": [{"a": 1}, {"a": 2}]}),
        pd.DataFrame({"fine": [1, 2], "bad": [[1], None]}),
        pd.DataFrame({"fine": [1, 2], "bad": [b"a", b"b"]}),
        pd.DataFrame({"fine": [1, 2], "bad": pd.period_range("2024", periods=2, freq="M")}),
    ],
)
def test_the_error_names_the_column_and_type_of_nested_and_unknown_objects(frame):
    with pytest.raises(ValueError, match=r"Column 'bad' holds objects of type '\w+'.*drop it, or"):
        TableSpace().fit(frame)


@pytest.mark.parametrize("X", [[1, 2], np.arange(3), np.zeros((2, 2, 2)), [[1, 2], [3]]])
def test_input_that_is_not_two_dimensional_is_rejected(X):
    with pytest.raises(ValueError, match="X must be 2-D"):
        TableSpace().fit(X)


@pytest.mark.parametrize("X", [sparse.eye(3, format="csr"), pl.LazyFrame({"a": [1]}), "text", 3])
def test_lazy_and_sparse_tables_are_rejected(X):
    with pytest.raises(TypeError, match=f"X is a {type(X).__name__}, and must be a DataFrame"):
        TableSpace().fit(X)


def test_columns_of_the_same_name_are_rejected():
    with pytest.raises(ValueError, match=r"several columns of the same name.*'a' 2 times"):
        TableSpace().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize("X", [pl.DataFrame({"a": []}), pd.DataFrame({"a": []}), np.zeros((0, 3))])
def test_a_table_without_samples_is_rejected(X):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        TableSpace().fit(X)


def test_a_table_of_constants_is_rejected():
    with pytest.raises(ValueError, match="X has no column that distinguishes its 2 sample"):
        TableSpace().fit(pl.DataFrame({"a": [1, 1], "b": [None, None]}))


@pytest.mark.parametrize("wrong", [{"max_categories": 1}, {"identifier_share": 1.5}])
def test_the_error_names_an_invalid_parameter(wrong):
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter of TableSpace"):
        TableSpace(**wrong).fit([[1], [2]])


# Compatibility with scikit-learn.


def test_the_estimator_checks_of_scikit_learn_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(TableSpace(), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_it_clones_pickles_and_names_its_output():
    space = clone(TableSpace(max_categories=3)).set_output(transform="pandas")
    frame = pd.DataFrame(CELLS)
    output = space.fit_transform(frame)
    assert output.columns.tolist() == space.get_feature_names_out().tolist()
    assert pickle.loads(pickle.dumps(space)).transform(frame).equals(output)


def test_a_second_fit_replaces_the_first():
    space = fit(pd.DataFrame(CELLS)).fit([[1], [2]])
    assert space.columns_ == {"x0": "number"}
    assert not hasattr(space, "feature_names_in_")


def test_the_module_does_not_import_pandas_or_polars():
    module = sys.modules["rectifold.preprocessing._table_space"]
    assert not {"pandas", "pd", "polars", "pl", "pyarrow"} & set(vars(module))


def test_families_of_python_types():
    types = [
        bool,
        np.bool_,
        int,
        np.float32,
        Decimal,
        dt.datetime,
        pd.Timestamp,
        str,
        np.str_,
        np.datetime64,
        np.timedelta64,
        list,
    ]
    families = ["boolean"] * 2 + ["number"] * 3 + ["date"] * 2 + ["text"] * 2 + ["date"] * 2
    families.append(None)
    assert [family_of(type_) for type_ in types] == families


def test_text_that_is_not_a_number_is_parsed_as_nan():
    assert [parse_number(text) for text in ("1", "-inf", "1e-3")] == [1, -np.inf, 1e-3]
    assert np.isnan([parse_number(text) for text in ("x", "1_2", "1,5", "")]).all()


def test_a_hundred_thousand_rows_of_text_take_seconds_at_most():
    rng = np.random.default_rng(0)
    days = np.datetime64("1990-01-01") + rng.integers(0, 9000, 100_000)
    frame = pl.DataFrame(
        {
            "day": pl.Series(days).dt.strftime("%d-%b-%y").cast(pl.Categorical),
            "city": rng.integers(0, 30_000, 100_000).astype(str),
            "shop": pl.Series(rng.integers(0, 500, 100_000)).cast(pl.String) + " shop",
        }
    )
    space = fit(frame)
    assert space.columns_ == {"day": "date", "city": "number", "shop": "category"}
    assert space.transform(frame).shape == (100_000, 12)


# Properties.

NUMBERS = st.none() | st.floats() | st.sampled_from([0.0, 1.0, 5e-324, 1.7e308, -1.7e308])
TEXTS = st.none() | st.sampled_from(["a", "b", "c", "", "nan", "1", "inf", "2024-01-01", "é"])
ROWS = st.lists(st.tuples(NUMBERS, TEXTS, st.none() | st.booleans()), min_size=1, max_size=30)
SCHEMA = {"number": pl.Float64, "text": pl.String, "flag": pl.Boolean, "row": pl.Int64}


def table(rows):
    return pl.DataFrame([(*row, i) for i, row in enumerate([*rows, rows[0]])], SCHEMA, orient="row")


@given(rows=ROWS)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:read as numbers")
def test_points_are_finite_for_all_cells(rows):
    points = TableSpace().fit_transform(table(rows))
    assert np.isfinite(points).all()
    assert np.abs(points).max() <= 3


@given(rows=ROWS)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore:read as numbers")
def test_pandas_and_polars_agree_for_all_cells(rows):
    frame = table(rows)
    expected = TableSpace().fit_transform(frame)
    assert np.array_equal(TableSpace().fit_transform(frame.to_pandas()), expected)


@given(rows=ROWS, data=st.data())
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore:read as numbers")
def test_permuted_samples_give_permuted_points(rows, data):
    frame = table(rows)
    order = data.draw(st.permutations(range(len(frame))))
    space, permuted = TableSpace().fit(frame), TableSpace().fit(frame[order])
    assert permuted.columns_ == space.columns_
    assert permuted.get_feature_names_out().tolist() == space.get_feature_names_out().tolist()
    assert np.array_equal(permuted.transform(frame[order]), space.transform(frame)[order])


@given(texts=st.lists(st.none() | st.sampled_from("abcdefg"), min_size=2, max_size=30))
@settings(max_examples=60, deadline=None)
def test_samples_that_differ_in_one_category_are_at_distance_one(texts):
    frame = pl.DataFrame({"a": texts, "b": range(len(texts))}, {"a": pl.String, "b": pl.Int64})
    space = fit(frame)
    points = space.transform(frame.with_columns(b=pl.lit(0)))
    for row, text in enumerate(texts):
        assert distance(points, 0, row) == pytest.approx(float(text != texts[0]), abs=1e-12)
