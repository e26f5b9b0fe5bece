"""Probabilities of a Dask collection are those in memory, bit for bit."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="needs the extra 'dask'")

import dask
import dask.array as da
import dask.dataframe as dd
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from rectifold import RectifiedClassifier
from rectifold.dask import predict_proba

NAMES = ["a", "b", "<img src=x>"]


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    y = np.where(X[:, 0] + rng.normal(size=n) > 1.2, "rare", "common")
    return pd.DataFrame(X, columns=NAMES, index=np.arange(n) * 2), y


@pytest.fixture(scope="module")
def model():
    X, y = table()
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    return RectifiedClassifier(tree, param_grid=[], vote_weight=0.5).fit(X, y)


@pytest.fixture(autouse=True)
def at_home():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_the_probabilities_of_a_frame_are_those_in_memory(model):
    X, _ = table(seed=1)
    lazy = predict_proba(model, dd.from_pandas(X, npartitions=5))
    assert isinstance(lazy, dd.DataFrame)
    assert [*lazy.columns] == ["common", "rare"]
    assert (lazy.dtypes == np.float64).all()
    found = lazy.compute()
    np.testing.assert_array_equal(found.to_numpy(), model.predict_proba(X))
    assert found.index.equals(X.index)
    pd.testing.assert_frame_equal(found.iloc[:0], lazy._meta)


def test_the_probabilities_of_an_array_are_those_in_memory():
    X, y = table()
    X = X.to_numpy()
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = RectifiedClassifier(tree, param_grid=[], vote_weight=0.5).fit(X, y)
    # Chunks that divide the features too.
    lazy = predict_proba(model, da.from_array(X, chunks=(70, 2)))
    assert lazy.chunks == ((70, 70, 70, 30), (2,))
    np.testing.assert_array_equal(lazy.compute(), model.predict_proba(X))
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), model.predict_proba(X))


def test_nothing_is_computed_before_the_result_is(model):
    def fail(part):
        raise AssertionError("computed")

    X, _ = table()
    lazy = predict_proba(model, dd.from_pandas(X, npartitions=2).map_partitions(fail, meta=X[:0]))
    with pytest.raises(AssertionError, match="computed"):
        lazy.compute()


def test_empty_partitions_have_no_probabilities(model):
    X, _ = table()
    frame = dd.from_pandas(X, npartitions=4)
    lazy = predict_proba(model, frame[frame["a"] > 1.5])
    chosen = X[X["a"] > 1.5]
    np.testing.assert_array_equal(lazy.compute(), model.predict_proba(chosen))
    none = predict_proba(model, frame[frame["a"] > 1e9]).compute()
    assert none.shape == (0, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.to_numpy(), r"^X is a ndarray: pass a DataFrame or an Array of Dask"),
        (lambda X: dd.from_pandas(X[["a", "b"]], npartitions=1), r"^X has 2 columns.* with 3\.$"),
        (
            lambda X: dd.from_pandas(X.rename(columns={"b": "c"}), npartitions=1),
            r"^X lacks the column 'b', which the model was fitted with\.$",
        ),
        (lambda X: dd.from_pandas(X[["b", "a", NAMES[2]]], npartitions=1), r"in another order"),
        (lambda X: da.from_array(X["a"].to_numpy()), r"^X has 1 dimensions"),
    ],
)
def test_wrong_input_gets_one_sentence(model, change, message):
    with pytest.raises(ValueError, match=message) as caught:
        predict_proba(model, change(table()[0]))
    assert "\n" not in str(caught.value)


def test_a_model_without_probabilities_gets_one_sentence():
    X, y = table()
    with pytest.raises(ValueError, match=r"^model has no predict_proba"):
        predict_proba(RidgeClassifier().fit(X, y), dd.from_pandas(X, npartitions=1))
