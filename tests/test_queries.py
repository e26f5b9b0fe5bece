"""Queries: the nearest training samples of other points are exact, whatever the batch."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rectifold import GPU, Approximate
from rectifold._core.errors import ParameterError
from rectifold._core.space import Points, comparable
from rectifold._engines import queries as queries_module
from rectifold._engines.exact import coordinates, costs, products, query_search
from rectifold._engines.exact.products import Frame
from rectifold._engines.queries import QueryIndex
from rectifold._engines.rounding import Rounding
from tables import COMPILED, HARD, cloud, use_compiled

#: Ways to search, each forced for tables of any size.
METHODS = ("one leaf", "leaves", "tree", "double", "double in leaves", *COMPILED)


def force(method, monkeypatch):
    """Use one way to search, whatever the size of the table."""
    use_compiled(method, monkeypatch)
    monkeypatch.setattr(costs, "SMALL", 10**9 if method in ("one leaf", "double") else 0)
    monkeypatch.setattr(costs, "SPARSE_SMALL", costs.SMALL)
    monkeypatch.setattr(costs, "LEAF", ((np.inf, 16),))
    monkeypatch.setattr(costs, "SPARSE_LEAF", 16)
    monkeypatch.setattr(costs, "worth_a_trial", lambda *_: method == "tree")
    monkeypatch.setattr(costs, "affordable_visits", lambda *_: np.inf)
    # So that small batches are split, too.
    monkeypatch.setattr(query_search, "_QUERIES", 64)
    monkeypatch.setattr(query_search, "_BATCH", 8)
    if method.startswith("double"):
        monkeypatch.setattr(Frame, "usable", False)


@pytest.fixture(params=METHODS)
def method(request, monkeypatch):
    force(request.param, monkeypatch)
    return request.param


def points_of(X, metric="euclidean"):
    values = sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X)
    return comparable(values, metric)


def plain(points, queries, k):
    """Return the k nearest samples from all distances, in the order (distance, index)."""
    X, Q = (
        (p.values.toarray() if sparse.issparse(p.values) else p.values).astype(np.float64)
        for p in (points, queries)
    )
    squares = np.zeros((len(Q), len(X)))
    with np.errstate(over="ignore"):
        for train, query in zip(X.T, Q.T, strict=True):
            squares += (query[:, None] - train) ** 2
    distances = squares if points.metric == "sqeuclidean" else np.sqrt(squares)
    if points.metric == "cosine":
        distances = squares / 2
        for axis, side in enumerate((queries, points)):
            if side.zero is not None:
                distances[(slice(None),) * axis + (side.zero,)] = 1.0
    every = np.broadcast_to(np.arange(len(X)), distances.shape)
    indices = np.lexsort((every, distances))[:, :k]
    return indices, np.take_along_axis(distances, indices, axis=1)


def queries_for(X, n=40, seed=5):
    """Return samples, their neighbourhood, points between them, and points far away."""
    rng = np.random.default_rng(seed)
    X = np.asarray(X, dtype=np.float64)
    one, other = X[rng.integers(len(X), size=n)], X[rng.integers(len(X), size=n)]
    spread = X.std(axis=0)
    return np.concatenate(
        (
            one,
            one + spread * rng.normal(size=one.shape) / 10,
            one / 2 + other / 2,
            X.mean(axis=0) + 30 * spread * rng.normal(size=(5, X.shape[1])),
            np.zeros((1, X.shape[1])),
        )
    )


def equal(left, right):
    for name in ("certified", "rows", "indices", "distances"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


def check(points, queries, k, labels=None, **options):
    """Compare answers with and without certificates, bit for bit, with a plain reading."""
    if labels is None:
        labels = np.random.default_rng(1).integers(0, 2, points.n)
    index = QueryIndex(points, labels, k, **options)
    indices, distances = plain(points, queries, k)
    found = index.query(queries, certify=False, n_jobs=options.get("n_jobs"))
    np.testing.assert_array_equal(found.rows, np.arange(queries.n))
    np.testing.assert_array_equal(found.certified, -1)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.distances, distances)
    answer = index.query(queries, n_jobs=options.get("n_jobs"))
    agreed = (labels[indices] == labels[indices][:, :1]).all(axis=1)
    np.testing.assert_array_equal(answer.certified, np.where(agreed, labels[indices[:, 0]], -1))
    np.testing.assert_array_equal(answer.rows, np.flatnonzero(~agreed))
    np.testing.assert_array_equal(answer.indices, indices[~agreed])
    np.testing.assert_array_equal(answer.distances, distances[~agreed])
    return index, answer


@pytest.mark.parametrize("name", HARD)
def test_answers_equal_a_plain_reading(name, method):
    X = HARD[name]
    check(points_of(X), points_of(queries_for(X)), 15)


@pytest.mark.parametrize("name", HARD)
def test_certificates_are_complete_where_classes_are_apart(name, method):
    X = HARD[name]
    labels = (X[:, 0] > np.median(X[:, 0])).astype(np.intp)
    check(points_of(X), points_of(queries_for(X)), 5, labels)


@pytest.mark.parametrize("name", ["a cloud", "a grid", "many features", "a line", "huge"])
def test_float32_samples_are_compared_in_float64(name, method):
    X = np.clip(HARD[name], -1e30, 1e30).astype(np.float32)
    queries = queries_for(X).astype(np.float32)
    check(Points(X, "euclidean"), Points(queries, "euclidean"), 15)


@pytest.mark.parametrize("k", [1, 50])
@pytest.mark.parametrize("name", ["a cloud", "a grid", "every sample three times", "two values"])
def test_one_and_all_samples_can_be_neighbours(name, k, method):
    X = HARD[name][:50]
    check(points_of(X), points_of(queries_for(X)), k)


@pytest.mark.parametrize("n_classes", [1, 3, 7])
def test_any_number_of_classes(n_classes, method):
    X = np.concatenate([cloud(100, 4, seed) + 3 * seed for seed in range(n_classes)])
    labels = np.repeat(np.arange(n_classes), 100)
    _, answer = check(points_of(X), points_of(queries_for(X)), 9, labels)
    assert (answer.certified >= 0).mean() > 0.5


def test_a_class_too_small_for_a_leaf_prevents_certificates(method):
    X = cloud(300, 6)
    labels = np.zeros(300, dtype=np.intp)
    labels[7] = 1
    check(points_of(X), points_of(queries_for(X)), 3, labels)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_metrics_and_sparse_samples(form, metric, method):
    X = np.round(cloud(200, 60) - 0.8).clip(0)
    X[::9] = 0
    queries = queries_for(X)
    queries[::7] = 0
    check(points_of(form(X), metric), points_of(form(queries), metric), 10)


@pytest.mark.parametrize("kept", ["as blocks", "as they are", "as they are, and wide"])
def test_forms_in_which_sparse_samples_are_kept(kept, method, monkeypatch):
    monkeypatch.setattr(products, "_BLOCK", 1 << 26 if kept == "as blocks" else 0)
    monkeypatch.setattr(coordinates, "_SPARSE", 0 if kept.endswith("wide") else 512)
    monkeypatch.setattr(coordinates, "_DENSITY", 2)
    X = np.round(cloud(300, 50) - 0.8).clip(0)
    # Queries with more entries than any training sample.
    queries = np.concatenate((queries_for(X), cloud(20, 50, 3)))
    for metric in ("euclidean", "cosine"):
        check(
            points_of(sparse.csr_array(X), metric), points_of(sparse.csr_array(queries), metric), 10
        )


def test_queries_may_be_sparse_where_samples_are_dense_and_the_reverse():
    X = np.round(cloud(200, 30) - 0.8).clip(0)
    queries = queries_for(X)
    labels = np.random.default_rng(1).integers(0, 2, len(X))
    dense, wide = points_of(X), points_of(sparse.csr_array(X))
    asked = points_of(queries), points_of(sparse.csr_array(queries))
    answers = [QueryIndex(p, labels, 10).query(q) for p in (dense, wide) for q in asked]
    for answer in answers[1:]:
        equal(answers[0], answer)


@pytest.mark.parametrize("k", [1, 15, 60])
@pytest.mark.parametrize("n_zero", [1, 40, 55, 60])
def test_zero_vectors_under_cosine_are_at_distance_one_from_all(n_zero, k, method):
    X = cloud(60, 5)
    X[np.random.default_rng(2).permutation(60)[:n_zero]] = 0
    queries = np.concatenate((-np.abs(cloud(30, 5, 1)), cloud(30, 5, 3), np.zeros((3, 5))))
    check(points_of(X, "cosine"), points_of(queries, "cosine"), k)


def test_zero_vectors_can_be_nearer_than_all_samples_of_another_class(method):
    X = np.concatenate((np.abs(cloud(200, 4)), np.zeros((20, 4))))
    labels = np.repeat([0, 1], [200, 20])
    queries = np.concatenate((-np.abs(cloud(40, 4, 1)), np.abs(cloud(40, 4, 2))))
    _, answer = check(points_of(X, "cosine"), points_of(queries, "cosine"), 9, labels)
    np.testing.assert_array_equal(answer.certified, np.repeat([1, 0], 40))


@pytest.mark.parametrize("far", [1e3, 1e12, 1e40, 1e148, 1e160, 1e250])
def test_queries_may_be_far_away(far, method):
    X = cloud(100, 6)
    queries = np.concatenate((far * cloud(10, 6, 2), queries_for(X)))
    for some in (queries, queries[:10]):
        check(points_of(X), Points(some, "euclidean"), 7, n_jobs=2)


def test_certificates_are_found_without_a_search():
    X = np.concatenate((cloud(4000, 8), cloud(3000, 8) + 20))
    labels = np.repeat([0, 1], [4000, 3000])
    index = QueryIndex(points_of(X), labels, 15)
    queries = points_of(np.concatenate((cloud(500, 8, 1), cloud(500, 8, 1) + 20)))

    def refuse(*_, **__):
        raise AssertionError("no distance has to be computed")

    index._settle = refuse
    answer = index.query(queries)
    np.testing.assert_array_equal(answer.certified, np.repeat([0, 1], 500))
    assert not len(answer.rows)


@pytest.fixture(scope="module")
def larger():
    """A table with leaves of the usual size, duplicates and ties, and queries of all kinds."""
    X = np.concatenate((np.round(cloud(4000, 6), 1), np.round(cloud(2000, 6) + 1.5)))
    labels = np.repeat([0, 1], [4000, 2000])
    queries = queries_for(X, 300)
    return points_of(X), labels, points_of(queries)


@pytest.fixture(scope="module")
def answered(larger):
    """Return an index of this table, and its answer to all queries at once."""
    points, labels, queries = larger
    index = QueryIndex(points, labels, 15)
    return index, index.query(queries)


def test_answers_equal_a_plain_reading_for_a_larger_table(larger):
    points, labels, queries = larger
    check(points, queries, 15, labels)
    check(points, queries, 15, labels, n_jobs=2)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 905), min_size=1, max_size=40), st.sampled_from([1, 2, 3]))
def test_an_answer_depends_on_no_other_query_and_on_no_number_of_threads(
    larger, answered, rows, n_jobs
):
    queries, (index, whole) = larger[2], answered
    answer = index.query(replace(queries, values=queries.values[rows]), n_jobs=n_jobs)
    np.testing.assert_array_equal(answer.certified, whole.certified[rows])
    place = np.searchsorted(whole.rows, np.array(rows)[answer.rows])
    np.testing.assert_array_equal(answer.indices, whole.indices[place])
    np.testing.assert_array_equal(answer.distances, whole.distances[place])


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_of_queries_do_not_change_the_answer(block, larger, answered, monkeypatch):
    queries, index = larger[2], answered[0]
    queries = replace(queries, values=queries.values[::5])
    whole = index.query(queries)
    monkeypatch.setattr(queries_module, "_QUERIES", block)
    equal(index.query(queries), whole)


def test_threads_may_share_an_index(larger, answered):
    index, whole = answered
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(index.query, [larger[2]] * 8):
            equal(answer, whole)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_lattices_with_many_ties_and_duplicates(data):
    n, d = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 4))
    seed = data.draw(st.integers(0, 2**32 - 1))
    scale = 2.0 ** data.draw(st.integers(-400, 400))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)) * scale
    queries = rng.integers(-1, 6, (data.draw(st.integers(1, 9)), d)) * (scale / 2)
    labels = rng.integers(0, data.draw(st.integers(1, 4)), n)
    metric = data.draw(st.sampled_from(["euclidean", "sqeuclidean", "cosine"]))
    k = data.draw(st.integers(1, n))
    with pytest.MonkeyPatch.context() as patch:
        force(data.draw(st.sampled_from(METHODS)), patch)
        check(points_of(X, metric), points_of(queries, metric), k, labels)


def test_equal_samples_have_the_same_neighbours_in_all_precisions():
    X = np.round(cloud(300, 5), 1).astype(np.float32)
    labels = np.random.default_rng(1).integers(0, 2, 300)
    found = [
        QueryIndex(Points(X.astype(dtype), "euclidean"), labels, 9).query(
            Points(X[:50].astype(other), "euclidean")
        )
        for dtype in (np.float32, np.float64)
        for other in (np.float32, np.float64)
    ]
    for answer in found[1:]:
        equal(found[0], answer)


def test_no_queries_get_an_empty_answer():
    X = cloud(30, 3)
    answer = QueryIndex(points_of(X), np.zeros(30, dtype=np.intp), 5).query(points_of(X[:0]))
    assert answer.indices.shape == (0, 5)
    assert not len(answer.certified)


def test_queries_and_samples_are_not_changed(method):
    X, labels = cloud(100, 4), np.zeros(100, dtype=np.intp)
    queries = cloud(30, 4, 1)
    before = X.copy(), queries.copy()
    QueryIndex(points_of(X), labels, 5).query(points_of(queries))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(queries, before[1])


def test_an_approximate_engine_is_replaced_by_the_exact_one():
    X = cloud(200, 5)
    check(points_of(X), points_of(queries_for(X)), 5, engine="approximate")
    check(points_of(X), points_of(queries_for(X)), 5, engine=Approximate(recall=0.5))


@pytest.mark.parametrize("k", [0, 31])
def test_a_number_of_neighbours_that_does_not_exist_is_an_error(k):
    with pytest.raises(ParameterError, match=f"n_neighbors={k} is out of range: there are 30"):
        QueryIndex(points_of(cloud(30, 3)), np.zeros(30, dtype=np.intp), k)


def test_other_metrics_are_an_error():
    points = Points(cloud(30, 3), "manhattan")
    with pytest.raises(ParameterError, match="metric='manhattan' is not supported"):
        QueryIndex(points, np.zeros(30, dtype=np.intp), 3)


def test_values_whose_squares_overflow_are_an_error():
    points = Points(cloud(30, 3) * 1e160, "euclidean")
    with pytest.raises(ParameterError, match="squares overflow"):
        QueryIndex(points, np.zeros(30, dtype=np.intp), 3)


class TestOnADevice:
    """The engine "gpu", on torch's CPU device and on a GPU."""

    DEVICES = ("cpu", pytest.param("cuda", marks=pytest.mark.gpu))
    #: Tables with ties, duplicates, near-ties of single precision, and many columns.
    DIFFICULT = (
        "a cloud",
        "a grid",
        "every sample three times",
        "many features",
        "one outlier beyond single precision",
        "near-ties of single precision",
    )
    MODES = ("small leaves", "float64", "small pieces", "few queries at once")

    @pytest.fixture(autouse=True)
    def _torch(self):
        torch = pytest.importorskip("torch", reason="PyTorch is not installed: rectifold[gpu]")
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(before)

    @pytest.fixture(params=MODES)
    def mode(self, request, monkeypatch):
        """Take one of the engine's code paths, for tables of any size."""
        from rectifold._engines import gpu
        from rectifold._engines.gpu import devices, leaf_search
        from rectifold._engines.gpu import query_search as on_device

        monkeypatch.setattr(gpu, "LEAF", 32)
        if request.param == "float64":
            monkeypatch.setattr(Rounding, "usable", False)
        if request.param == "small pieces":
            little = {"numbers": 1 << 16}
            monkeypatch.setattr(
                devices.Budget,
                "__init__",
                lambda self, where: vars(self).update(little, device=where),
            )
            monkeypatch.setattr(leaf_search, "_FEW", 1)
            monkeypatch.setattr(leaf_search, "_CROWD", 1)
        if request.param == "few queries at once":
            monkeypatch.setattr(on_device, "_VALUES", 100)

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("name", HARD)
    def test_answers_equal_a_plain_reading(self, name, device):
        X = HARD[name]
        check(points_of(X), points_of(queries_for(X)), 15, engine=GPU(device))

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("name", DIFFICULT)
    def test_answers_equal_a_plain_reading_in_all_modes(self, name, device, mode):
        X = HARD[name]
        check(points_of(X), points_of(queries_for(X)), 15, engine=GPU(device))

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("k", [1, 15, 60])
    @pytest.mark.parametrize("d", [3, 150])
    def test_metrics_and_zero_vectors(self, d, k, device):
        X = np.round(cloud(60, d), 1)
        X[::7] = 0
        queries = np.concatenate((queries_for(X), np.zeros((3, d))))
        for metric in ("euclidean", "sqeuclidean", "cosine"):
            for form in (np.asarray, sparse.csr_array):
                points, asked = points_of(form(X), metric), points_of(form(queries), metric)
                check(points, asked, k, engine=GPU(device))

    @pytest.mark.parametrize("device", DEVICES)
    def test_float32_samples_are_compared_in_float64(self, device):
        X = cloud(300, 7).astype(np.float32)
        queries = queries_for(X).astype(np.float32)
        check(Points(X, "euclidean"), Points(queries, "euclidean"), 15, engine=GPU(device))

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("far", [1e12, 1e40, 1e148, 1e160])
    def test_queries_may_be_far_away(self, far, device):
        X = cloud(100, 6)
        queries = np.concatenate((far * cloud(10, 6, 2), queries_for(X)))
        check(points_of(X), Points(queries, "euclidean"), 7, engine=GPU(device))

    @pytest.mark.parametrize("device", DEVICES)
    def test_answers_equal_those_of_the_cpu_for_a_larger_table(self, device, larger, answered):
        points, labels, queries = larger
        index = QueryIndex(points, labels, 15, engine=GPU(device))
        for n_jobs in (1, 2):
            equal(index.query(queries, n_jobs=n_jobs), answered[1])
        with ThreadPoolExecutor(3) as pool:
            for answer in pool.map(index.query, [queries] * 3):
                equal(answer, answered[1])

    @pytest.mark.parametrize("device", DEVICES)
    def test_samples_that_do_not_fit_the_device_stay_on_the_host(self, device, monkeypatch):
        from rectifold._engines.gpu import query_search as on_device

        homes = []

        def full(*arguments, **options):
            homes.append(arguments[3].type)
            if len(homes) == 1:
                raise RuntimeError("CUDA out of memory")
            return prepared(*arguments, **options)

        prepared = on_device._prepared
        monkeypatch.setattr(on_device, "_prepared", full)
        X = cloud()
        if device == "cpu":
            with pytest.raises(MemoryError, match="engine='exact'"):
                check(points_of(X), points_of(queries_for(X)), 5, engine=GPU(device))
            return
        check(points_of(X), points_of(queries_for(X)), 5, engine=GPU(device))
        assert homes == ["cuda", "cpu"]

    def test_torch_keeps_its_settings(self):
        import torch

        before = torch.backends.mkldnn.matmul.fp32_precision
        X = cloud()
        index = QueryIndex(points_of(X), np.zeros(300, dtype=np.intp), 5, engine=GPU("cpu"))
        index.query(points_of(queries_for(X)))
        assert torch.backends.mkldnn.matmul.fp32_precision == before
        assert not torch.is_inference_mode_enabled()
