"""Every engine returns the k nearest samples in the canonical order, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from rectifold import GMR
from rectifold._core.space import Points
from rectifold._engines import choose, exact, search
from rectifold._engines.contract import Certified, Neighbourhoods, Proposal
from rectifold._engines.settle import settle
from rectifold._engines.user_neighbors import FromObject, as_graph, by_metric
from reference import neighbours, votes
from tables import cloud, points_of


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("euclidean", "exact"),
        ("sqeuclidean", "exact"),
        ("cosine", "exact"),
        ("nan_euclidean", "direct"),
        ("manhattan", "scikit-learn"),
    ],
)
def test_auto_chooses_an_engine_by_the_metric(metric, name):
    assert choose("auto", points_of(cloud(), metric))[1] == name
    assert choose("exact", points_of(cloud(), metric))[1] == name


def test_samples_with_a_certificate_are_not_searched_for():
    X = cloud(20)

    def engine(points, labels, k, *, n_jobs):
        yield Certified(np.arange(0, 20, 2))
        for row in range(1, 20, 2):
            yield Proposal(np.array([row]), np.array([0, 20]), np.arange(20))

    found = search(engine, points_of(X), np.zeros(20, dtype=np.intp), 3)
    indices, distances = neighbours(X, 3, rows=range(1, 20, 2))
    assert found.rows.tolist() == list(range(1, 20, 2))
    assert found.certified.tolist() == [True, False] * 10
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.distances, distances)


def test_settle_excludes_the_sample_by_index_not_by_position():
    X = np.zeros((4, 1))
    X[3] = 1
    proposal = Proposal(np.array([2]), np.array([0, 4]), np.array([3, 2, 1, 0]))
    indices, distances = settle(Points(X, "euclidean"), proposal, 2)
    assert indices.tolist() == [[0, 1]]
    assert distances.tolist() == [[0.0, 0.0]]


def test_settle_raises_an_error_for_too_few_candidates():
    proposal = Proposal(np.array([5]), np.array([0, 2]), np.array([5, 1]))
    with pytest.raises(ValueError, match="sample 5 has 1 neighbours where 3 are needed"):
        settle(Points(np.zeros((6, 1)), "euclidean"), proposal, 3)


def test_nearest_equals_a_search_for_fewer_neighbours():
    points = points_of(cloud())
    many = search(exact.propose, points, np.zeros(300, dtype=np.intp), 30)
    few = search(exact.propose, points, np.zeros(300, dtype=np.intp), 7)
    cut = many.nearest(7)
    np.testing.assert_array_equal(cut.indices, few.indices)
    np.testing.assert_array_equal(cut.distances, few.distances)
    with pytest.raises(ValueError, match="k=31 is out of range: 30 neighbours"):
        many.nearest(31)
    assert isinstance(cut, Neighbourhoods)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "canberra", "correlation"])
def test_other_metrics_of_scikit_learn_keep_the_canonical_order(metric):
    X = np.round(cloud(n=200) * 2) + (np.arange(5) == 0)
    found = search(by_metric, Points(X, metric), np.zeros(200, dtype=np.intp), 10)
    distances = pairwise_distances(X, metric=metric)
    np.fill_diagonal(distances, np.inf)
    for row in range(200):
        order = np.lexsort((np.arange(200), np.round(distances[row], 9)))[:10]
        np.testing.assert_allclose(found.distances[row], distances[row, order], atol=1e-9)
        if len(set(np.round(distances[row], 9))) == 200:
            np.testing.assert_array_equal(found.indices[row], order)


@pytest.mark.parametrize("metric", ["braycurtis", "dice", "sokalsneath"])
def test_metrics_without_the_triangle_inequality_are_not_searched_by_trees(metric):
    X = np.exp(cloud(1500, 3, seed=1) * 2)
    X = X if metric == "braycurtis" else X > 1
    X = np.column_stack((X, cloud(1500, 9) > 0.5))
    found = search(by_metric, Points(X.astype(float), metric), np.zeros(1500, dtype=np.intp), 10)
    brute = NearestNeighbors(metric=metric, algorithm="brute").fit(X)
    np.testing.assert_allclose(
        found.distances, brute.kneighbors(n_neighbors=10)[0], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("metric", ["sqeuclidean", "nan_euclidean"])
def test_distances_do_not_come_from_expanded_products(metric):
    X = 1e6 + 1e-2 * cloud(n=200, d=4)
    indices, distances = neighbours(X, 7, metric="euclidean")
    labels = np.arange(200) % 2
    found = search(choose("auto", points_of(X, metric))[0], points_of(X, metric), labels, 7)
    assert len(found.rows) > 150
    np.testing.assert_array_equal(found.indices, indices[found.rows])
    expected = distances**2 if metric == "sqeuclidean" else distances
    np.testing.assert_allclose(found.distances, expected[found.rows], rtol=1e-14)


def test_missing_values_are_ignored_pair_by_pair():
    X = cloud(60, 5)
    X[np.random.default_rng(5).random(X.shape) < 0.3] = np.nan
    X[0] = [0, np.nan, np.nan, np.nan, np.nan]
    X[1] = [np.nan, 0, np.nan, np.nan, np.nan]
    X[2:, 0] = np.where(np.isnan(X[2:, 0]), 0.5, X[2:, 0])
    points = Points(X, "nan_euclidean")
    found = search(choose("auto", points)[0], points, None, 59, n_jobs=2)
    expected = nan_euclidean_distances(X)
    expected[np.isnan(expected)] = 1e300
    for row in range(60):
        np.testing.assert_allclose(
            found.distances[row], expected[row, found.indices[row]], atol=1e-7
        )
        assert (np.diff(found.distances[row]) >= 0).all()
    assert found.indices[0, -1] == 1


def test_a_callable_metric_works(overlapping):
    X, y = overlapping
    ours, named = GMR(metric=lambda a, b: np.abs(a - b).sum()), GMR(metric="manhattan")
    ours.fit_resample(X, y)
    named.fit_resample(X, y)
    np.testing.assert_array_equal(ours.sample_indices_, named.sample_indices_)
    assert "lambda" in ours.rectification_.summary()["metric"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "minkowski"])
def test_a_search_object_gives_the_same_result_as_its_metric(overlapping, metric):
    X, y = overlapping
    plain = GMR(metric=metric)
    plain.fit_resample(X, y)
    given = GMR(n_neighbors=NearestNeighbors(n_neighbors=16, metric=metric))
    given.fit_resample(X, y)
    np.testing.assert_array_equal(given.sample_indices_, plain.sample_indices_)
    np.testing.assert_allclose(
        given.rectification_.confidence, plain.rectification_.confidence, atol=1e-12
    )
    assert given.metric_ == ("euclidean" if metric == "minkowski" else metric)
    assert given.rectification_.summary()["engine"] == "NearestNeighbors"
    assert given.rectification_.summary()["n_neighbors"] == 15


@pytest.mark.parametrize(
    "own",
    [
        NearestNeighbors(n_neighbors=16, p=1),
        NearestNeighbors(n_neighbors=16, p=3),
        NearestNeighbors(n_neighbors=16, metric_params={"w": [1.0, 100.0, 1.0]}),
        NearestNeighbors(n_neighbors=16, metric="seuclidean", metric_params={"V": [1.0, 9.0, 1.0]}),
        KNeighborsTransformer(n_neighbors=16, p=1),
    ],
)
def test_a_search_object_keeps_its_own_metric(overlapping, own):
    X, y = overlapping
    given = GMR(n_neighbors=own)
    given.fit_resample(X, y)
    distances, found = clone(own).fit(X).kneighbors()
    counted = votes(found[:, :15], distances[:, :15], y)
    expected = [vote[int(label)] for (vote, _), label in zip(counted, y, strict=True)]
    np.testing.assert_allclose(given.rectification_.confidence, expected, atol=1e-12)
    assert given.metric_ != "euclidean"


class OwnIndex:
    """A search object without scikit-learn's base class, which excludes the sample itself."""

    def __init__(self, n_neighbors):
        self.n_neighbors = n_neighbors

    def fit(self, X):
        self.index = NearestNeighbors().fit(X)
        self.known = {row.tobytes(): place for place, row in enumerate(X)}
        return self

    def kneighbors(self, X):
        d, i = self.index.kneighbors(X, n_neighbors=self.n_neighbors + 1)
        return d[:, 1:].astype(np.float32), i[:, 1:]


def test_the_farthest_neighbour_is_dropped_if_a_search_object_excludes_the_sample_itself(
    overlapping,
):
    X, y = overlapping
    given, plain = GMR(n_neighbors=OwnIndex(16)), GMR()
    given.fit_resample(X, y)
    plain.fit_resample(X, y)
    np.testing.assert_array_equal(given.sample_indices_, plain.sample_indices_)
    assert FromObject(OwnIndex(16)).k == 15
    assert given.metric_ == "given"


class GraphMaker(BaseEstimator):
    """A transformer that returns a graph of neighbours and has no `kneighbors`."""

    def __init__(self, n_neighbors=15, metric="euclidean"):
        self.n_neighbors = n_neighbors
        self.metric = metric

    def fit_transform(self, X, y=None):
        maker = KNeighborsTransformer(n_neighbors=self.n_neighbors, metric=self.metric)
        return maker.fit_transform(X).astype(np.float32)


class TooFew(OwnIndex):
    """A search object that pads with -1, as faiss and hnswlib do."""

    def kneighbors(self, X):
        d, i = super().kneighbors(X)
        d[:, 5:], i[:, 5:] = np.inf, -1
        return d, i


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (TooFew(16), "has 5 neighbours where 15 are needed"),
        (NearestNeighbors(n_neighbors=1), "at least two"),
        (NearestNeighbors, "must be an integer, or an object"),
        (StandardScaler(), "must be an integer, or an object"),
    ],
)
def test_an_unusable_search_object_raises_an_error(overlapping, own, message):
    with pytest.raises(ValueError, match=message):
        GMR(n_neighbors=own).fit_resample(*overlapping)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_a_transformer_that_returns_a_graph_can_search(overlapping, metric):
    X, y = overlapping
    given, plain = GMR(n_neighbors=GraphMaker(metric=metric)), GMR(metric=metric)
    given.fit_resample(X, y)
    plain.fit_resample(X, y)
    np.testing.assert_array_equal(given.sample_indices_, plain.sample_indices_)
    assert given.rectification_.summary()["n_neighbors"] == 15


@pytest.mark.slow
def test_pynndescent_can_search(overlapping):
    pynndescent = pytest.importorskip("pynndescent")
    X, y = overlapping
    index = pynndescent.PyNNDescentTransformer(n_neighbors=15, random_state=0)
    given, plain = GMR(n_neighbors=index), GMR()
    given.fit_resample(X, y)
    plain.fit_resample(X, y)
    assert (given.rectification_.removed == plain.rectification_.removed).mean() > 0.99


def test_a_metric_beside_a_search_object_raises_an_error(overlapping):
    with pytest.raises(ValueError, match="n_neighbors has its own metric"):
        GMR(n_neighbors=NearestNeighbors(n_neighbors=4), metric="cosine").fit_resample(*overlapping)


@pytest.mark.parametrize("dense", [False, True])
def test_a_precomputed_graph_gives_the_same_result(overlapping, dense):
    X, y = overlapping
    if dense:
        graph = pairwise_distances(X)
    else:
        graph = KNeighborsTransformer(n_neighbors=20).fit_transform(X)
    given, plain = GMR(metric="precomputed"), GMR()
    kept, labels = given.fit_resample(graph, y)
    plain.fit_resample(X, y)
    np.testing.assert_array_equal(given.sample_indices_, plain.sample_indices_)
    m = len(given.sample_indices_)
    assert kept.shape == (m, m)
    assert len(labels) == m


def test_a_precomputed_graph_may_be_a_data_frame_or_have_repeated_entries(overlapping):
    X, y = overlapping
    distances = pairwise_distances(X)
    plain, frame, parts = (GMR(metric="precomputed") for _ in range(3))
    plain.fit_resample(distances, y)
    kept, _ = frame.fit_resample(pd.DataFrame(distances), y)
    n = len(y)
    halves = np.concatenate((distances, distances), axis=1) / 2
    summed = sparse.csr_matrix(
        (halves.ravel(), np.tile(np.arange(n), 2 * n), np.arange(n + 1) * 2 * n), shape=(n, n)
    )
    parts.fit_resample(summed, y)
    np.testing.assert_array_equal(frame.sample_indices_, plain.sample_indices_)
    np.testing.assert_array_equal(parts.sample_indices_, plain.sample_indices_)
    assert kept.index.tolist() == kept.columns.tolist() == plain.sample_indices_.tolist()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (sparse.csr_array((5, 4)), "square graph of distances"),
        (np.full((30, 30), -1.0), "not negative"),
        (np.full((30, 30), np.nan), "NaN or inf"),
        (sparse.eye_array(30, format="csr"), "row 0 of X, the precomputed graph, has 0 neighbours"),
    ],
)
def test_an_invalid_graph_raises_an_error(graph, message):
    with pytest.raises(ValueError, match=message):
        as_graph(graph, 5)


def test_precomputed_raises_an_error_for_parameters_that_it_would_ignore(overlapping):
    X, y = overlapping
    graph = KNeighborsTransformer(n_neighbors=20).fit_transform(X)
    with pytest.raises(ValueError, match="pass space=None"):
        GMR(metric="precomputed", space="auto").fit_resample(graph, y)
