"""Your own tables in the experiment with TabDDPM."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="the deep experiments need torch")
pytest.importorskip("safetensors", reason="the deep experiments need safetensors")
pytest.importorskip("filelock", reason="the experiments need their extra")

from experiments.deep import __main__ as command
from experiments.deep.own_table import load_own
from experiments.deep.records import DEEP
from experiments.deep.sets import split
from rectifold.bench import BenchError, Source, Store

pytestmark = pytest.mark.usefixtures("one_thread")


def call(arguments):
    with pytest.raises(SystemExit) as ended:
        command.app(arguments)
    return ended.value.code


def loans(n=120, rare=24):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": rng.lognormal(3, 1, n).round(2),
            "debt": rng.normal(size=n).round(3),
            "text": rng.choice(["own", "rent", "none of these"], n),
            "code": rng.integers(0, 6, n),
            "first": rng.integers(0, 2, n),
            "opened": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D"),
            "paid": np.where(np.arange(n) < rare, "no", "yes"),
        }
    )


@pytest.fixture
def saved(tmp_path):
    def save(frame, name="loans.parquet"):
        path = tmp_path / name
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        return Source(path.stem, str(path), "paid")

    return save


def test_text_bool_and_two_values_are_categorical_and_times_are_numbers(saved):
    frame = loans().assign(sure=lambda f: f["debt"] > 0)
    frame.loc[3, "text"] = None
    table = load_own(saved(frame))
    assert (table.name, table.target) == ("loans", "no against the rest")
    assert table.categorical == ("text", "first", "sure")
    np.testing.assert_array_equal(table.y, frame["paid"] == "no")
    assert not table.X.isna().any().any()
    # A missing text is a category of its own.
    assert table.X["text"].nunique() == 4
    assert pd.crosstab(table.X["text"], frame["text"].fillna("?")).astype(bool).sum().sum() == 4
    np.testing.assert_array_equal(table.X["income"], frame["income"])
    assert table.X["opened"].is_monotonic_increasing
    # A column named "text" is not read as texts.
    assert list(split(table, 0).X_train.columns) == [*frame.columns.drop("paid")]


def test_columns_of_numbers_can_be_declared_categorical(saved):
    table = load_own(saved(loans(), "loans.csv"), ["code"])
    # In a CSV file a date is text, and categorical.
    assert table.categorical == ("text", "code", "first", "opened")
    assert load_own(saved(loans())).categorical == ("text", "first")


@pytest.mark.parametrize(
    ("change", "categorical", "sentence"),
    [
        ({"income": np.nan}, (), "column 'income' of '.*' has 2 missing or infinite values: fill"),
        ({"debt": np.inf}, (), "column 'debt' of '.*' has 2 missing or infinite"),
        ({"opened": pd.NaT}, (), "column 'opened' of '.*' has 2 missing"),
        ({}, ("cod",), "has no column 'cod'; did you mean 'code'"),
    ],
)
def test_invalid_columns_are_refused(saved, change, categorical, sentence):
    frame = loans()
    for name, value in change.items():
        frame.loc[[3, 7], name] = value
    with pytest.raises(BenchError, match=sentence):
        load_own(saved(frame), categorical)


def test_too_many_categories_small_classes_and_reserved_names_are_refused(saved):
    many = loans(400).assign(text=[f"street {n}" for n in range(400)])
    with pytest.raises(BenchError, match=r"column 'text' of .* has 400 categories"):
        load_own(saved(many))
    with pytest.raises(BenchError, match=r"minority class 'no' of .* has 9 samples; at least 10"):
        load_own(saved(loans(rare=9)))
    with pytest.raises(BenchError, match="'covtype' is the name of one of the paper's data sets"):
        load_own(saved(loans(), "covtype.parquet"))


def test_the_command_accepts_your_own_table(tmp_path, capsys, saved):
    path = saved(loans().drop(columns="opened"), "loans.csv").path
    store = tmp_path / "store"
    quick = ["--seed", "0", "--samples", "1", "--iterations", "3", "--timesteps", "4"]
    start = ["tabddpm", "--csv", path, "-s", str(store), *quick]
    there = [*start, "--device", "cpu", "--target", "paid", "--categorical", "code"]
    assert call(there) == 0
    rows = Store(store, DEEP).read()
    assert set(rows["dataset"]) == {"loans"}
    assert len(rows) == 6
    assert set(rows["status"]) == {"ok"}
    for arguments, sentence in (
        (start, "--csv and --target, its target column, must be given together"),
        ([*there, "--csv", "abalone.csv"], "'abalone' is one of the paper's data sets"),
        ([*there, "--csv", "nowhere.csv"], "there is no file"),
        ([*there, "--csv", path], "have the same name: loans, loans"),
        (["tabddpm", "--categorical", "a"], "--categorical needs --csv"),
        (["tabddpm", "--target", "a"], "must be given together"),
    ):
        capsys.readouterr()
        assert call(arguments) == 2
        assert sentence in capsys.readouterr().err
