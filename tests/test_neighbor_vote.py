"""NeighborVoteClassifier: exact votes in several views, for tables of all kinds."""

import copy
import inspect
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpydoc.docscrape import ClassDoc, FunctionDoc
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifold import GPU, HEOMSpace, NeighborVoteClassifier, TableSpace
from rectifold.neighbors._leaves import _part
from rectifold.neighbors._views import _QUANTILES

VIEWS = ("standardized", "weighted", "quantiles")


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        NeighborVoteClassifier(),
        NeighborVoteClassifier(3, views=["standardized"], n_jobs=2),
        NeighborVoteClassifier([1, 4], space=TableSpace()),
    ]
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "documented",
    [
        NeighborVoteClassifier,
        *(
            member
            for name, member in vars(NeighborVoteClassifier).items()
            if inspect.isfunction(member) and not name.startswith("_")
        ),
    ],
)
def test_documentation_names_the_parameters_of_the_signature(documented):
    doc = (ClassDoc if inspect.isclass(documented) else FunctionDoc)(documented)
    parameters = [name for name in inspect.signature(documented).parameters if name != "self"]
    if documented.__name__.startswith("set_"):
        return  # written by scikit-learn
    assert doc["Summary"]
    assert [parameter.name for parameter in doc["Parameters"]] == parameters


def test_documentation_names_all_fitted_attributes():
    X, y = data()
    fitted = NeighborVoteClassifier().fit(pd.DataFrame(X).rename(columns=str), y)
    documented = {attribute.name for attribute in ClassDoc(NeighborVoteClassifier)["Attributes"]}
    assert documented == {name for name in vars(fitted) if name.endswith("_") and name[0] != "_"}


def data(n=600, n_classes=2, seed=0, **more):
    """Return overlapping classes, the first by far the largest."""
    weights = [0.8, *[0.2 / (n_classes - 1)] * (n_classes - 1)]
    return make_classification(
        n,
        n_features=8,
        n_informative=4,
        n_redundant=1,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=weights,
        flip_y=0.1,
        random_state=seed,
        **more,
    )


def split(X, y, at=400):
    return X[:at], y[:at], X[at:]


def plain_votes(points, labels, queries, k, epsilon=1e-8):
    """Return the vote for every class from all distances, by a loop over the queries."""
    points, queries = points.astype(np.float64), queries.astype(np.float64)
    classes = np.unique(labels)
    votes = np.zeros((len(queries), len(classes)))
    for row, query in enumerate(queries):
        distances = np.sqrt(((points - query) ** 2).sum(axis=1))
        nearest = np.lexsort((np.arange(len(points)), distances))[:k]
        weights = 1 / (distances[nearest] + epsilon)
        for column, label in enumerate(classes):
            votes[row, column] = weights[labels[nearest] == label].sum() / weights.sum()
    return votes


def plain_view(train, labels, test, view):
    """Return training samples and queries in a view, each step as its description says."""
    scaler = StandardScaler().fit(train)
    train, test = (scaler.transform(some).astype(np.float32) for some in (train, test))
    if view == "standardized":
        return train, test
    information = []
    for column in train.astype(np.float64).T:
        edges = np.unique(np.quantile(column, np.arange(1, 16) / 16))
        bins = np.searchsorted(edges, column, side="right")
        freedom = (len(np.unique(bins)) - 1) * (len(np.unique(labels)) - 1)
        estimate = mutual_info_score(bins, labels) - freedom / (2 * len(labels))
        information.append(max(estimate, 0))
    weights = np.array(information) / np.mean(information) + 0.05
    if view == "quantiles":
        n_quantiles = min(_QUANTILES, len(train))
        quantiles = QuantileTransformer(n_quantiles=n_quantiles).fit(train.astype(np.float64))
        train, test = (quantiles.transform(some.astype(np.float64)) for some in (train, test))
    return tuple((some * weights).astype(np.float32) for some in (train, test))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("view", VIEWS)
def test_votes_equal_a_plain_computation(view, n_classes):
    X, y = data(n_classes=n_classes)
    train, labels, test = split(X, y)
    model = NeighborVoteClassifier((3, 15), views=[view]).fit(train, labels)
    points, queries = plain_view(train, labels, test, view)
    expected = sum(plain_votes(points, labels, queries, k) for k in (3, 15)) / 2
    # The order of a sum can change the last bit of a feature's weight, and of its products.
    tolerance = 1e-12 if view == "standardized" else 1e-5
    assert_allclose(model.predict_proba(test), expected, atol=tolerance)


def test_probabilities_are_the_mean_over_views_and_numbers_of_neighbours():
    train, labels, test = split(*data())
    whole = NeighborVoteClassifier((5, 15), leaf_share=0).fit(train, labels)
    assert whole.views_ == VIEWS
    parts = [
        NeighborVoteClassifier(k, views=[view]).fit(train, labels).predict_proba(test)
        for view in VIEWS
        for k in (5, 15)
    ]
    assert_allclose(whole.predict_proba(test), np.mean(parts, axis=0), atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_vote_of_the_leaves_is_that_of_all_training_samples_in_them(n_classes):
    train, labels, test = split(*data(n_classes=n_classes))
    model = NeighborVoteClassifier(views=["leaves"]).fit(train, labels)
    assert model.views_ == ("leaves",)
    points, queries = (model._encode(X) for X in (train, test))
    expected = np.zeros((len(test), n_classes))
    for tree in model._leaves._trees:
        together = tree.apply(queries)[:, None] == tree.apply(points)
        expected += together @ np.eye(n_classes)[labels] / together.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(test), expected / len(model._leaves._trees), atol=1e-12)


def test_the_leaves_have_their_share_of_the_vote():
    train, labels, test = split(*data())

    def vote(**settings):
        return NeighborVoteClassifier(**settings).fit(train, labels).predict_proba(test)

    nearest, leaves = vote(views=VIEWS), vote(views=["leaves"])
    assert_array_equal(vote(leaf_share=0), nearest)
    assert_array_equal(vote(leaf_share=1), leaves)
    assert_array_equal(vote(leaf_share=0.25), 0.75 * nearest + 0.25 * leaves)
    assert_array_equal(vote(), vote(leaf_share=0.5))
    assert abs(vote(random_state=1) - vote()).max() > 0


def test_trees_of_large_data_are_grown_on_all_samples_of_a_small_class():
    rng = np.random.default_rng(0)
    y = (np.arange(30_000) % 300 == 0).astype(int)
    X = rng.normal(size=(len(y), 2)) + 3 * y[:, None]
    drawn = np.arange(len(y))[_part(y, np.random.RandomState(0))]
    assert len(drawn) == len(np.unique(drawn)) == 10_000
    assert y[drawn].sum() == y.sum()
    # All samples vote, so that the votes are not those of the balanced part.
    model = NeighborVoteClassifier(views=["leaves"]).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.3)


def test_epsilon_is_added_to_distances():
    train, labels, test = split(*data())
    model = NeighborVoteClassifier(9, views=["standardized"], epsilon=0.5).fit(train, labels)
    points, queries = plain_view(train, labels, test, "standardized")
    expected = plain_votes(points, labels, queries, 9, epsilon=0.5)
    assert_allclose(model.predict_proba(test), expected, atol=1e-12)


def test_a_duplicate_of_a_training_sample_outvotes_all_others():
    X, y = data()
    X = np.unique(X, axis=0)
    model = NeighborVoteClassifier(views=VIEWS).fit(X, y[: len(X)])
    assert model.score(X, y[: len(X)]) == 1


def test_equal_votes_go_to_the_larger_class():
    X = np.array([[-1.0], [1.0], [9.0], [10.0], [11.0]])
    for labels in ([1, 0, 0, 0, 1], [0, 1, 1, 1, 0]):
        model = NeighborVoteClassifier(2, views=["standardized"]).fit(X, labels)
        assert_allclose(model.predict_proba([[0.0]]), [[0.5, 0.5]], atol=1e-6)
        assert model.predict([[0.0]]) == [labels[1]]


def test_all_training_samples_vote_if_there_are_fewer_than_neighbours():
    train, labels, test = split(*data())
    few = NeighborVoteClassifier(400, views=["standardized"]).fit(train, labels)
    many = NeighborVoteClassifier(10**6, views=["standardized"]).fit(train, labels)
    assert_array_equal(few.predict_proba(test), many.predict_proba(test))


@pytest.mark.parametrize("labels", [["a", "b", "cc"], [7, 2, -3], [0.0, 1.0, 2.0]])
def test_labels_of_any_type(labels):
    X, y = data(n_classes=3)
    train, codes, test = split(X, y)
    names = np.array(labels)
    model = NeighborVoteClassifier().fit(train, names[codes])
    assert_array_equal(model.classes_, np.unique(names))
    of_codes = NeighborVoteClassifier().fit(train, codes)
    order = np.argsort(names)
    assert_allclose(model.predict_proba(test), of_codes.predict_proba(test)[:, order], atol=1e-15)
    assert_array_equal(model.predict(test), names[of_codes.predict(test)])


def test_labels_in_a_series():
    train, codes, test = split(*data())
    text = np.array(["no", "yes"])[codes]
    expected = NeighborVoteClassifier().fit(train, text).predict(test)
    for labels in (pd.Series(text, dtype="category"), pl.Series(text), text[:, None].tolist()):
        assert_array_equal(NeighborVoteClassifier().fit(train, labels).predict(test), expected)


def messy(n=500, seed=0):
    """Return a table of text, categories, dates and missing values, and labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    age = rng.normal(40 + 10 * y, 8)
    age[rng.random(n) < 0.1] = np.nan
    town = rng.choice(["Paris", "Lyon", "Nice"], n).astype(object)
    town[y == 1] = rng.choice(["Lyon", "Nice"], int(y.sum()))
    town[rng.random(n) < 0.05] = None
    table = pd.DataFrame(
        {
            "age": age,
            "town": town,
            "grade": pd.Categorical(rng.choice(["low", "high"], n)),
            "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "count": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "member": rng.random(n) < 0.5,
        }
    )
    table.loc[::17, "joined"] = pd.NaT
    table.loc[::13, "count"] = pd.NA
    return table, y


def missing_in_numbers(n=500):
    X, y = data(n)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, y


def wide_and_sparse(n=500, columns=300):
    rng = np.random.default_rng(3)
    y = (rng.random(n) < 0.2).astype(int)
    X = sparse.random(n, columns, density=0.04, format="lil", random_state=4)
    X[np.flatnonzero(y), rng.integers(0, 5, y.sum())] = 1
    X[::50] = 0
    return sparse.csr_array(X), y


TABLES = {
    "numbers": data,
    "four classes": lambda: data(n_classes=4),
    "ties": lambda: (np.round(data()[0]), data()[1]),
    "missing values": missing_in_numbers,
    "messy": messy,
    "sparse and narrow": lambda: (sparse.csr_matrix(np.round(data()[0]).clip(0)), data()[1]),
    "sparse and wide": wide_and_sparse,
}


@pytest.fixture(params=TABLES)
def table(request):
    """Return training samples, labels and test samples."""
    X, y = TABLES[request.param]()
    at = len(y) * 2 // 3
    return X[:at], y[:at], X[at:]


def test_a_prediction_depends_on_no_other_sample_and_on_no_number_of_threads(table):
    train, labels, test = table
    model = NeighborVoteClassifier().fit(train, labels)
    whole = model.predict_proba(test)
    one_by_one = [model.predict_proba(test[row : row + 1]) for row in range(whole.shape[0])]
    assert_array_equal(np.concatenate(one_by_one), whole)
    for n_jobs in (2, 3):
        again = NeighborVoteClassifier(n_jobs=n_jobs).fit(train, labels)
        assert_array_equal(again.predict_proba(test), whole)


def test_predictions_are_bitwise_equal_after_pickling(table):
    train, labels, test = table
    model = NeighborVoteClassifier().fit(train, labels)
    before = model.predict_proba(test)
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for other in (pickle.loads(pickle.dumps(model)), joblib.load(stream), copy.deepcopy(model)):
        assert_array_equal(other.predict_proba(test), before)
    # The search indexes stay where they are.
    assert set(model._indexes) == set(model.views_) - {"leaves"}


def test_shares_sum_to_one_and_explain_the_votes(table):
    train, labels, test = table
    model = NeighborVoteClassifier((2, 9)).fit(train, labels)
    shares = model.vote_shares(test)
    assert shares.shape == (test.shape[0], len(labels))
    if "leaves" not in model.views_:
        assert shares.nnz <= test.shape[0] * 9 * len(model.views_)
    assert shares.has_sorted_indices
    assert shares.data.min() >= 0
    assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    of_classes = np.stack([shares @ (labels == label) for label in model.classes_], axis=1)
    assert_allclose(of_classes, model.predict_proba(test), atol=1e-12)


def test_blocks_of_samples_change_nothing(table, monkeypatch):
    train, labels, test = table
    model = NeighborVoteClassifier().fit(train, labels)
    proba, shares = model.predict_proba(test), model.vote_shares(test)
    monkeypatch.setattr("rectifold.neighbors._classifier._QUERIES", 50)
    assert_array_equal(model.predict_proba(test), proba)
    assert_array_equal(model.vote_shares(test).toarray(), shares.toarray())


def test_the_input_is_not_changed(table):
    train, labels, test = table
    before = copy.deepcopy((train, test))
    NeighborVoteClassifier().fit(train, labels).predict(test)
    for some, same in zip((train, test), before, strict=True):
        if sparse.issparse(some):
            assert (some != same).nnz == 0
        else:
            pd.testing.assert_frame_equal(pd.DataFrame(some), pd.DataFrame(same))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_votes_are_probabilities_for_any_table(data):
    n, d = data.draw(st.integers(4, 40)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** data.draw(st.integers(-100, 100))
    X = rng.integers(-2, 3, (n, d)) * scale
    y = np.arange(n) % data.draw(st.integers(2, min(4, n // 2)))
    queries = rng.integers(-4, 5, (7, d)) * scale * data.draw(st.sampled_from([1, 1e-9, 1e9]))
    model = NeighborVoteClassifier(data.draw(st.integers(1, n + 3))).fit(X, y)
    votes = model.predict_proba(queries)
    assert_allclose(votes.sum(axis=1), 1, atol=1e-12)
    assert votes.min() >= 0
    assert_array_equal(model.predict_proba(queries[2:3]), votes[2:3])
    for row, label in enumerate(model.predict(queries)):
        assert votes[row, label] >= votes[row].max() - 1e-12


def test_a_pickle_has_little_more_than_the_training_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 30)), rng.integers(0, 2, 20_000)
    size = X.astype(np.float32).nbytes
    model = NeighborVoteClassifier(leaf_share=0).fit(X, y)
    model.predict(X[:1])
    assert len(pickle.dumps(model)) < 1.3 * size
    # The largest trees there are: the labels are noise.
    assert len(pickle.dumps(NeighborVoteClassifier().fit(X, y))) < 1.3 * size + 5e7


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas, lambda X: X.to_numpy().tolist()])
def test_messy_tables(frame):
    X, y = messy()
    train, test = frame(X[:350]), frame(X[350:])
    model = NeighborVoteClassifier().fit(train, y[:350])
    assert isinstance(model.space_, TableSpace)
    scores = model.predict_proba(test)[:, 1]
    assert scores[y[350:] == 1].mean() > scores[y[350:] == 0].mean() + 0.15


def test_a_category_that_was_not_in_fit_is_none_of_the_others():
    X, y = messy()
    model = NeighborVoteClassifier().fit(X, y)
    other = X[:20].assign(town="Brest")
    assert_allclose(model.predict_proba(other).sum(axis=1), 1, atol=1e-12)
    assert (model.predict_proba(other) != model.predict_proba(X[:20])).any()


def test_a_missing_value_of_a_feature_that_had_none_in_fit_counts_as_the_mean():
    train, labels, test = split(*data())
    model = NeighborVoteClassifier().fit(train, labels)
    assert isinstance(model.space_, StandardScaler)
    missing, mean = test.copy(), test.copy()
    missing[:, 2] = np.nan
    mean[:, 2] = model.space_.mean_[2]
    assert_array_equal(model.predict_proba(missing), model.predict_proba(mean))


def test_a_missing_value_of_a_sparse_feature_counts_as_zero():
    X, y = wide_and_sparse()
    for columns in (50, 300):
        some = X[:, :columns]
        model = NeighborVoteClassifier().fit(some, y)
        missing, zero = some[:50].tolil(), some[:50].tolil()
        missing[:, 3], zero[:, 3] = np.nan, 0
        assert_array_equal(
            model.predict_proba(sparse.csr_array(missing)), model.predict_proba(zero.tocsr())
        )


def test_other_columns_are_an_error():
    X, y = messy()
    model = NeighborVoteClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*missing:\n- age"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="X has 5 features, but NeighborVoteClassifier is exp"):
        NeighborVoteClassifier().fit(*data()).predict(data()[0][:, :5])
    names = [*"abcdefgh"]
    of_numbers = NeighborVoteClassifier().fit(pd.DataFrame(data()[0], columns=names), data()[1])
    with pytest.raises(ValueError, match=r"column 'a' of X holds text .* numeric in fit\.$"):
        of_numbers.predict(pd.DataFrame([["x"] * 8], columns=names))
    with pytest.raises(ValueError, match=r"column 0 of X holds infinite values"):
        NeighborVoteClassifier().fit(*data()).predict(np.full((1, 8), np.inf))


def test_many_sparse_features_are_compared_by_their_cosine():
    X, y = wide_and_sparse()
    model = NeighborVoteClassifier(5, views=["standardized"]).fit(X[:400], y[:400])
    assert model.space_ is None
    dense = X.toarray()
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    unit = dense / np.where(lengths == 0, 1, lengths)
    cosine = 1 - unit[400:] @ unit[:400].T
    for row in range(len(cosine)):
        nearest = np.argsort(cosine[row], kind="stable")[:5]
        if np.ptp(np.sort(cosine[row])[4:6]) < 1e-6:
            continue  # Rounding decides between the last neighbour and the next.
        weights = 1 / (cosine[row, nearest] + 1e-8)
        expected = weights @ (y[nearest] == 1) / weights.sum()
        assert_allclose(model.predict_proba(X[400 + row : 401 + row])[0, 1], expected, atol=1e-3)
    longer = X[400:] * 1000
    assert_allclose(model.predict_proba(longer), model.predict_proba(X[400:]), atol=1e-3)


def test_sparse_and_dense_queries_have_the_same_votes():
    for X, y in (wide_and_sparse(), (np.round(data()[0]).clip(0), data()[1])):
        model = NeighborVoteClassifier().fit(X[:300], y[:300])
        wide = sparse.csr_array(X[300:])
        assert_array_equal(model.predict_proba(wide), model.predict_proba(wide.toarray()))
        assert_array_equal(model.predict_proba(wide), model.predict_proba(sparse.coo_matrix(wide)))


def test_sparse_features_have_no_quantiles():
    X, y = wide_and_sparse()
    assert NeighborVoteClassifier().fit(X, y).views_ == VIEWS[:2]
    with pytest.raises(ValueError, match="'quantiles', which is not a view of sparse features"):
        NeighborVoteClassifier(views=["quantiles"]).fit(X, y)


def test_a_space_of_the_caller_is_cloned_and_fitted():
    X, y = data()
    space = FunctionTransformer(np.tanh)
    model = NeighborVoteClassifier(7, views=["standardized"], space=space).fit(X[:400], y[:400])
    assert model.space_ is not space
    points = np.tanh(X).astype(np.float32)
    expected = plain_votes(points[:400], y[:400], points[400:], 7)
    assert_allclose(model.predict_proba(X[400:]), expected, atol=1e-12)


def test_a_space_that_returns_its_input_leaves_it_unchanged():
    X, y = data()
    X *= 1e200
    before = X.copy()
    NeighborVoteClassifier(space=FunctionTransformer()).fit(X, y).predict(X)
    assert_array_equal(X, before)


def test_numbers_whose_squares_overflow_are_clipped():
    X, y = data()
    X[:, 0] *= 1e200
    model = NeighborVoteClassifier().fit(X, y)
    assert isinstance(model.space_, TableSpace)
    assert_allclose(model.predict_proba(X * 1e90).sum(axis=1), 1, atol=1e-12)


def test_a_space_may_return_sparse_queries_for_a_dense_training_set():
    X, y = data()
    space = FunctionTransformer(accept_sparse=True)
    model = NeighborVoteClassifier(space=space).fit(X[:400], y[:400])
    wide = sparse.csr_array(X[400:])
    assert_array_equal(model.predict_proba(wide), model.predict_proba(X[400:]))


def test_distances_of_pairs_are_those_of_the_standardized_view():
    train, labels, test = split(*data())
    model = NeighborVoteClassifier(views=["weighted"]).fit(train, labels)
    rows, columns = np.array([0, 3, 3, 1]), np.array([399, 7, 7, 0])
    points, queries = plain_view(train, labels, test, "standardized")
    difference = queries[rows].astype(np.float64) - points[columns]
    expected = np.sqrt((difference**2).sum(axis=1))
    assert_allclose(model.neighbor_distances(test, rows, columns), expected, rtol=1e-12)


def test_features_without_information_have_equal_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.tile([0, 1], 30)
    X[:30] = X[30:]
    y[30:] = 1 - y[:30]
    # Every sample is there once with each label.
    model = NeighborVoteClassifier(views=["standardized", "weighted"]).fit(X, y)
    assert_allclose(model._transformer.weights_, 1.05)


def test_sparse_features_are_weighted_by_their_presence():
    X, y = wide_and_sparse()
    model = NeighborVoteClassifier(views=["weighted"]).fit(X, y)
    present = X.toarray() != 0
    information = []
    for column in present.T:
        freedom = len(np.unique(column)) - 1
        information.append(max(mutual_info_score(column, y) - freedom / (2 * len(y)), 0))
    expected = np.array(information) / np.mean(information) + 0.05
    assert_allclose(model._transformer.weights_, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["numbers", "ties", "messy", "sparse and wide"])
def test_votes_are_bitwise_equal_on_a_device(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: rectifold[gpu]")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    X, y = TABLES[name]()
    exact, on_device = (
        NeighborVoteClassifier(engine=engine).fit(X[:400], y[:400])
        for engine in ("exact", GPU("cpu"))
    )
    assert_array_equal(on_device.predict_proba(X[400:]), exact.predict_proba(X[400:]))
    torch.set_num_threads(threads)


def test_use_within_scikit_learn():
    X, y = data()
    grid = {"n_neighbors": [3, (3, 9)], "views": ["auto", ["weighted"]]}
    search = GridSearchCV(NeighborVoteClassifier(), grid, cv=3, scoring="roc_auc").fit(X, y)
    assert search.best_score_ > 0.8
    model = make_pipeline(StandardScaler(), NeighborVoteClassifier(engine="exact"))
    votes = cross_val_predict(model, X, y, method="predict_proba", cv=3)
    assert votes.shape == (len(y), 2)
    fitted = NeighborVoteClassifier(np.array([3, 5])).fit(X, y)
    assert_array_equal(clone(fitted).n_neighbors, [3, 5])


def test_fitting_again_forgets_the_first_fit():
    X, y = data()
    model = NeighborVoteClassifier().fit(X[:300], y[:300])
    model.predict(X[300:])
    again = model.fit(X[300:], 1 - y[300:]).predict_proba(X[:50])
    fresh = NeighborVoteClassifier().fit(X[300:], 1 - y[300:]).predict_proba(X[:50])
    assert_array_equal(again, fresh)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"views": ["weigthed"]}, "did you mean 'weighted'"),
        ({"views": []}, "views names no view"),
        ({"views": "weighted"}, "'views' parameter"),
        ({"n_neighbors": []}, "must be a positive integer"),
        ({"n_neighbors": [3, 0]}, "must be a positive integer"),
        ({"n_neighbors": [2.5]}, "must be a positive integer"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"engine": "exactly"}, "engine='exactly' is not known"),
        ({"engine": 3}, "'engine' parameter"),
        ({"epsilon": 0}, "'epsilon' parameter"),
        ({"space": "heom"}, "'space' parameter"),
        ({"space": HEOMSpace()}, "NaN|categories"),
    ],
)
def test_a_wrong_parameter_is_named(settings, message):
    X, y = missing_in_numbers(100)
    with pytest.raises(ValueError, match=message):
        NeighborVoteClassifier(**settings).fit(X, y)


def test_wrong_data_are_an_error():
    X, y = data(50)
    with pytest.raises(ValueError, match="X has 50, y has 49"):
        NeighborVoteClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="only one class"):
        NeighborVoteClassifier().fit(X, np.zeros(50))
    with pytest.raises(ValueError, match="NeighborVoteClassifier requires y to be passed"):
        NeighborVoteClassifier().fit(X, None)
    holes = sparse.csr_array(X)
    holes.data[3] = np.nan
    with pytest.raises(ValueError, match=r"missing values .* fill them, or pass a dense array\.$"):
        NeighborVoteClassifier().fit(holes, y)
