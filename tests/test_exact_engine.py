"""The exact engine: canonical neighbours and true certificates, by each search method."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_info

from rectifold import GMR
from rectifold._core.threads import Workers
from rectifold._engines import exact, partial_search, search
from rectifold._engines.exact import clouds, coordinates, costs, leaf_search, products
from rectifold._engines.exact.leaves import EMPTY, visits
from rectifold._engines.exact.products import Frame, build
from rectifold._engines.exact.top_k import count, kth_at_least
from rectifold._engines.rounding import Rounding, rounding
from rectifold._engines.settle import pair_distances
from rectifold.progress import listening
from reference import neighbours
from tables import COMPILED, HARD, check, cloud, points_of, use_compiled

METHODS = ("all pairs", "leaves", "tree", "double", "double in leaves", *COMPILED)


def force(method, monkeypatch):
    """Use one of the search methods, whatever the size of the table."""
    use_compiled(method, monkeypatch)
    monkeypatch.setattr(costs, "SMALL", 10**9 if method in ("all pairs", "double") else 0)
    monkeypatch.setattr(costs, "SPARSE_SMALL", costs.SMALL)
    monkeypatch.setattr(clouds, "SMALL", 0)
    monkeypatch.setattr(costs, "LEAF", ((np.inf, 16),))
    monkeypatch.setattr(costs, "SPARSE_LEAF", 16)
    monkeypatch.setattr(costs, "worth_a_trial", lambda *_: method == "tree")
    monkeypatch.setattr(costs, "affordable_visits", lambda *_: np.inf)
    if method.startswith("double"):
        monkeypatch.setattr(Frame, "usable", False)


@pytest.fixture(params=METHODS)
def method(request, monkeypatch):
    force(request.param, monkeypatch)
    return request.param


@pytest.mark.parametrize("k", [1, 15, 40])
@pytest.mark.parametrize("name", HARD)
def test_neighbours_are_canonical_and_certificates_true(name, k, method):
    check(HARD[name], k)


@pytest.mark.parametrize("name", HARD)
def test_certificates_are_true_where_classes_are_apart(name, method):
    X = HARD[name]
    # Each class is on one side, so that many samples may hold a certificate.
    check(X, 5, labels=(X[:, 0] > np.median(X[:, 0])).astype(np.intp))


@pytest.mark.parametrize("name", ["a grid", "every sample three times", "many features"])
def test_all_other_samples_can_be_neighbours(name, method):
    check(HARD[name][:50], 49)


@pytest.mark.parametrize("k", [1, 15, 200])
@pytest.mark.parametrize("d", [2, 120])
def test_cosine_neighbours_are_canonical_with_zero_vectors(d, k, method):
    X = cloud(d=d)
    X[::7] = 0
    X[::5] *= 3
    check(X, k, "cosine")


def test_cosine_neighbours_are_canonical_if_zero_vectors_are_nearer_than_others(method):
    X = np.concatenate((cloud(30, 3), -1e-3 * np.abs(cloud(30, 3)), np.zeros((40, 3))))
    check(X, 15, "cosine")
    check(np.zeros((1, 3)).repeat(20, 0) + np.eye(20, 3), 5, "cosine")


@pytest.mark.parametrize("seed", range(3))
def test_equal_samples_that_rounding_separates_do_not_certify_each_other(seed, method):
    # Proportional samples are equal after normalising, and their keys collide with others.
    rng = np.random.default_rng(seed)
    base = rng.integers(1, 9, size=(10, 200)).astype(float)
    X = base[rng.integers(0, 10, 300)] * rng.integers(1, 30, 300)[:, None]
    check(X, 1, "cosine", labels=rng.integers(0, 2, 300))


def test_an_enemy_at_a_distance_that_underflows_is_as_near_as_a_duplicate(method):
    X = np.array([[0.0], [1e-170], [1e-170], *([1e-165 * (row + 5)] for row in range(20))])
    check(X, 1, labels=np.array([1, 0, 0] + [1] * 20))


def test_a_zero_vector_prevents_certificates(method):
    # Orthogonal samples are as far from each other as from a zero vector, which comes first:
    # no sample has only its own class among its neighbours.
    X = np.concatenate((np.zeros((3, 60)), np.eye(60)))
    found = check(X, 2, "cosine", labels=np.repeat([1, 0], [3, 60]))
    assert not found.certified[3:].any()


def test_cosine_accepts_samples_of_any_length():
    X = cloud(d=20) * 10.0 ** np.random.default_rng(3).integers(-150, 150, size=(300, 1))
    points = points_of(X, "cosine")
    np.testing.assert_allclose((points.values**2).sum(axis=1), 1, rtol=1e-14)
    assert points.zero is None


@pytest.mark.parametrize("kept", ["as blocks", "as they are", "as they are, and wide"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_samples_have_the_neighbours_of_dense_ones_bit_for_bit(
    metric, form, kept, method, monkeypatch
):
    monkeypatch.setattr(products, "_BLOCK", 1 << 26 if kept == "as blocks" else 0)
    monkeypatch.setattr(coordinates, "_SPARSE", 0 if kept.endswith("wide") else 512)
    monkeypatch.setattr(coordinates, "_DENSITY", 2)
    X = np.round(cloud(d=50) - 0.8).clip(0)
    X[::9] = 0
    check(form(X), 15, metric)
    ours, dense = points_of(form(X), metric), points_of(X, metric)
    left, right = np.triu_indices(300, 1)
    np.testing.assert_array_equal(
        pair_distances(ours, left, right), pair_distances(dense, left, right)
    )


@pytest.mark.parametrize("n", [1500, 5000])
def test_sparse_samples_of_many_features_agree_with_the_reference(n):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.where(rng.random((n, 1500)) < 0.01, rng.normal(size=(n, 1500)), 0))
    assert coordinates.stays_sparse(X)
    labels = (np.arange(n) % 9 == 0).astype(np.intp)
    rows = np.arange(0, n, n // 50)
    found = search(exact.propose, points_of(X, "cosine"), labels, 15, n_jobs=2)
    indices, distances = neighbours(X.toarray(), 15, rows=rows, metric="cosine")
    _, mine, theirs = np.intersect1d(found.rows, rows, return_indices=True)
    assert len(mine) > 30
    np.testing.assert_array_equal(found.indices[mine], indices[theirs])
    np.testing.assert_array_equal(found.distances[mine], distances[theirs])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_neighbours_are_canonical_and_certificates_true_on_any_table(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d = data.draw(st.integers(2, 120)), data.draw(st.integers(1, 30))
    X = rng.normal(size=(n, d)) * 10.0 ** data.draw(st.integers(-8, 8))
    X += data.draw(st.sampled_from([0, 1, 1e8]))
    digits = data.draw(st.sampled_from([None, 0, 1]))
    X = X if digits is None else np.round(X, digits)
    X = X[rng.integers(0, n, size=n)] if data.draw(st.booleans()) else X
    if (X[0] == X).all():
        return
    labels = rng.integers(0, data.draw(st.integers(1, 4)), n)
    if data.draw(st.booleans()):
        labels = np.sort(labels)[np.argsort(np.argsort(X[:, 0]))]
    metric = data.draw(st.sampled_from(["euclidean", "cosine"]))
    with pytest.MonkeyPatch.context() as monkeypatch:
        force(data.draw(st.sampled_from(METHODS)), monkeypatch)
        check(X, data.draw(st.integers(1, n - 1)), metric, labels=labels)


@pytest.mark.parametrize("method", ["all pairs", "leaves"])
def test_double_precision_is_used_if_single_is_too_coarse(method, monkeypatch):
    force(method, monkeypatch)
    # Otherwise each cluster has coordinates of its own.
    monkeypatch.setattr(clouds, "SMALL", np.inf)
    calls = []
    finer = Frame.finer
    monkeypatch.setattr(Frame, "finer", lambda self: calls.append(self) or finer(self))
    check(HARD["a cloud"], 15)
    assert not calls
    check(HARD["tight clusters far apart"], 15)
    assert calls


def synthetic(number):
    """Return one of 20 tables of 1 to 400 dimensions, imbalance 1 to 1000, two to six classes."""
    rng = np.random.default_rng(number)
    d = int(np.round(np.geomspace(1, 400, 20))[number])
    classes = 2 + number % 5
    imbalance = 10.0 ** rng.uniform(0, 3)
    shares = np.geomspace(1, 1 / imbalance, classes)
    n = int(rng.integers(2500, 6000))
    y = rng.choice(classes, n, p=shares / shares.sum())
    centres = rng.normal(size=(classes, d)) * rng.uniform(0, 3)
    X = centres[y] + rng.normal(size=(n, d)) * rng.uniform(0.3, 2, d)
    if number % 3 == 0:
        X = np.round(X, 1)
    if number % 4 == 0:
        X[: n // 5] = X[-(n // 5) :]
    return X, y.astype(np.intp)


@pytest.mark.parametrize(
    "number", [*range(16), *(pytest.param(n, marks=pytest.mark.slow) for n in range(16, 20))]
)
def test_synthetic_tables_agree_with_the_reference_on_any_number_of_cores(number):
    X, y = synthetic(number)
    metric = "euclidean" if X.shape[1] <= 100 else "cosine"
    one = check(X, 15, metric, n_jobs=1, labels=y)
    two = search(exact.propose, points_of(X, metric), y, 15, n_jobs=2)
    for name in ("rows", "indices", "distances", "certified"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.pairs == two.pairs


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("two clouds far apart", 2),
        ("clouds at the corners of a square", 4),
        ("clouds of clouds", 2),
        ("ties in clouds far apart", 3),
        ("a cloud", 1),
        ("far from the origin", 1),
        ("two values", 1),
        ("every sample three times", 1),
    ],
)
def test_clouds_far_apart_are_found(name, expected, monkeypatch):
    monkeypatch.setattr(clouds, "SMALL", 0)
    with Workers(2) as workers:
        found = clouds.find_clouds(HARD[name], 5, workers)
    assert len(found) == expected
    assert sorted(np.concatenate([one.rows for one in found])) == list(range(len(HARD[name])))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_of_ties_among_duplicates_only_those_that_can_be_neighbours_are_proposed(
    form, metric, method
):
    rng = np.random.default_rng(0)
    # All are at the same distance, some of them doubled, and some at others.
    X = np.vstack(
        [np.eye(80)[rng.integers(80, size=500)], 2 * np.eye(80)[rng.integers(5, size=60)]]
    )
    points, labels = points_of(form(X), metric), rng.integers(2, size=len(X))
    check(form(X), 5, metric, labels=labels)
    proposals = [one for one in exact.propose(points, labels, 5) if hasattr(one, "candidates")]
    assert sum(len(one.candidates) for one in proposals) < len(X) * len(X) / 4


def two_clusters(n=6000, d=8, far=50.0):
    X = cloud(n, d)
    y = (np.arange(n) % 10 == 0).astype(np.intp)
    X[y == 1] += far
    return X, y


def test_most_samples_of_separate_classes_hold_a_certificate():
    X, y = two_clusters()
    found = search(exact.propose, points_of(X), y, 15)
    assert found.certified.mean() > 0.99
    assert found.pairs < 0.2 * len(y) ** 2
    assert search(exact.propose, points_of(X[:2000]), y[:2000], 15).certified.all()


def test_all_samples_of_a_single_class_are_certified():
    X = cloud(3000, 4)
    assert search(exact.propose, points_of(X), np.zeros(3000, dtype=np.intp), 15).certified.all()


def test_samples_of_small_classes_are_searched_for():
    X, y = cloud(4000, 6), np.random.default_rng(0).integers(0, 700, 4000)
    found = check(X, 3, labels=y)
    assert len(found.rows) > 3900


def test_duplicates_count_as_often_as_they_occur(method):
    # Three points, many times each: all neighbours of a sample lie on its own point.
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    found = check(X, 15, labels=np.repeat([0, 1, 2], 20))
    assert found.certified.all() or method not in ("all pairs", "double")


def test_a_point_with_samples_of_two_classes_certifies_none(method):
    X = np.repeat(cloud(40, 3), 2, axis=0)
    assert not check(X, 1, labels=np.arange(80) % 2).certified.any()


@pytest.mark.parametrize("k", [100, 200])
def test_many_neighbours(k):
    X, y = two_clusters(3000, 5, far=6.0)
    check(X, k, labels=y)


def test_large_tables_go_through_in_several_blocks(monkeypatch):
    force("leaves", monkeypatch)
    monkeypatch.setattr(leaf_search, "_PAIRS", 300)
    monkeypatch.setattr(leaf_search, "_QUERIES", 64)
    for name in ("a grid", "every sample three times", "two values"):
        check(HARD[name], 15)


def exact_squares(frame):
    """Return the squared distances of all places, in the units of the frame, without rounding."""
    values = frame.coordinates.values
    values = values.toarray() if sparse.issparse(values) else values
    factor = Fraction(frame.coordinates.factor)
    points = [[Fraction(float(v)) * factor for v in row] for row in values[frame.leaves.order]]
    return [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in points] for x in points]


HOSTILE = [
    *("a cloud", "a grid", "far from the origin", "one outlier", "near-ties", "huge", "tiny"),
    *("near-ties of single precision", "nearly equal samples far out"),
    "features of very different scale",
    *("tight clusters far apart", "every sample three times", "denormal squares", "a sphere"),
]


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_the_bounds_on_rounding_hold_against_exact_arithmetic(name, double):
    X = next(table for key, table in HARD.items() if key.startswith(name))
    X = np.concatenate((X[:10], X[100:110], X[-6:]))
    with Workers(1) as workers:
        frame = build(X, np.zeros(len(X), dtype=np.intp), None, workers, unit_length=False)
    frame = frame.finer() if double else frame
    everyone = next(visits(np.zeros(1, dtype=np.intp), np.ones((len(X), 1), dtype=bool), len(X)))
    places = np.arange(len(X))
    squares = exact_squares(frame)
    plain = frame.products(frame.queries(places), everyone)[0]
    for row in range(len(X)):
        only = np.full(len(X), row)
        for place, s in enumerate(squares[row]):
            at = plain[row, place : place + 1]
            assert Fraction(float(frame.at_least(at, only[:1])[0])) <= s
            assert s <= Fraction(float(frame.at_most(at, only[:1])[0]))
    # Rounding would decide for bounds at a distance and next to it.
    for shift in (1.0, 1 - 1e-15, 1 + 1e-15, 1 - 1e-7, 1 + 1e-7, 0.9, 1.1):
        for step in (1, 7):
            bounds = np.array(
                [float(squares[row][(row + step) % len(X)]) * shift for row in range(len(X))]
            )
            nearer = (
                frame.products(frame.queries(places, frame.below(bounds, places)), everyone)[0] > 0
            )
            near = (
                frame.products(frame.queries(places, frame.above(bounds, places)), everyone)[0] > 0
            )
            for row in range(len(X)):
                bound = Fraction(float(bounds[row]))
                for place, s in enumerate(squares[row]):
                    assert s < bound or not nearer[row, place]
                    assert s > bound or near[row, place]


def test_the_bounds_would_fail_without_their_margin(monkeypatch):
    monkeypatch.setattr(Rounding, "margin", lambda self, squares: 0.0 * squares)
    monkeypatch.setattr(
        products, "rounding", lambda *given: replace(rounding(*given), relative=0.0)
    )
    with pytest.raises(AssertionError):
        test_the_bounds_on_rounding_hold_against_exact_arithmetic("near-ties of single", False)


@pytest.mark.parametrize("d", [3, 40, 200])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_leaves_with_a_point_within_the_bound_are_not_skipped(d, scale, offset):
    X = (cloud(1500, d) * np.geomspace(1, 0.01, d) + offset) * scale
    X[:20] *= 1e3
    with Workers(1) as workers:
        frame = build(X, np.arange(1500) // 750, 16, workers, unit_length=False)
    order = frame.leaves.order
    places = np.flatnonzero(order != EMPTY)[::97]
    every = np.arange(frame.leaves.n)
    points = X * frame.coordinates.factor
    for place in places:
        squares = ((points - points[order[place]]) ** 2).sum(axis=1)
        for rank in (1, 15, 300):
            bound = np.sort(squares)[rank]
            inside = np.isin(order, np.flatnonzero(squares <= bound)).reshape(-1, 16).any(axis=1)
            near = frame.near(np.array([place]), np.array([bound]), every)[0]
            assert near[inside].all()


def test_most_leaves_are_skipped_if_data_have_clusters():
    X = np.repeat(cloud(30, 6) * 20, 100, axis=0) + cloud(3000, 6, 1)
    with Workers(1) as workers:
        frame = build(X, np.zeros(3000, dtype=np.intp), 24, workers, unit_length=False)
    places = np.arange(0, len(frame.leaves.order), 50)
    factor = frame.coordinates.factor
    near = frame.near(places, np.full(len(places), factor**2), np.arange(frame.leaves.n))
    assert near.mean() < 0.2


def test_every_point_has_a_place_and_leaves_have_one_class():
    X, y = cloud(2000, 4), np.random.default_rng(0).integers(0, 3, 2000)
    with Workers(2) as workers:
        leaves = build(X, y, 40, workers, unit_length=False).leaves
    real = leaves.order != EMPTY
    assert sorted(leaves.order[real].tolist()) == list(range(2000))
    assert (y[leaves.order[real]] == np.repeat(leaves.labels, 40)[real]).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 100), st.integers(1, 600), st.data())
def test_kth_at_least_is_a_tight_lower_bound(n, width, data):
    k = data.draw(st.integers(1, width))
    block = np.random.default_rng(n).normal(size=(n, width)).round(1).astype(np.float32)
    bound = kth_at_least(block, k)
    ordered = np.sort(block, axis=1)[:, ::-1]
    assert (bound <= ordered[:, k - 1]).all()
    # Few other entries exceed it.
    if n:
        assert np.mean((block > bound[:, None]).sum(axis=1)) < 1.5 * k + 3


@pytest.mark.parametrize("heaviest", [1, 5, 2**40])
def test_counting_is_by_weight(heaviest):
    rng = np.random.default_rng(0)
    mask, weights = rng.random((3, 7, 40)) < 0.5, rng.integers(0, heaviest + 1, (3, 40))
    expected = np.where(mask, weights[:, None], 0).sum(axis=2)
    if heaviest == 1:
        weights[:], expected = 1, mask.sum(axis=2)
    np.testing.assert_array_equal(count(mask, weights), expected)


def chosen_method(X, monkeypatch):
    """Return the method that the cost model chooses for samples without a certificate."""
    used = []
    monkeypatch.setattr(exact.tree, "search", lambda *a: used.append("tree") or iter(()))
    monkeypatch.setattr(exact.leaf_search, "search", lambda *a: used.append("leaves") or iter(()))
    use_compiled("numpy", monkeypatch)
    labels = np.arange(X.shape[0]) % 2
    for _ in exact.propose(points_of(X), labels, 15, n_jobs=1):
        pass
    return used


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (cloud(20_000, 2), ["tree"]),
        (cloud(20_000, 2) @ cloud(2, 12), ["tree"]),
        (cloud(20_000, 12), ["leaves"]),
        (cloud(5_000, 60), ["leaves"]),
        (sparse.csr_array(cloud(5_000, 2)), ["leaves"]),
    ],
    ids=["a plane", "a plane in more dimensions", "a cloud", "many dimensions", "sparse"],
)
def test_a_tree_is_used_if_it_visits_few_points(X, expected, monkeypatch):
    assert chosen_method(X, monkeypatch) == expected


def test_visits_of_a_tree_are_counted():
    X = cloud(2000, 3)
    tree = cKDTree(X)
    some = X[:10]
    squares = tree.query(some, k=16)[0][:, -1] ** 2
    visited = costs.visited(tree, some, squares, np.inf)
    assert 16 <= visited < 500
    assert costs.visited(tree, some, np.full(10, 1e9), np.inf) == 2000
    assert costs.visited(tree, some, squares, visited - 1) == np.inf


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_threads_are_restored_after_a_run_and_after_an_error():
    before = blas_threads()
    X, y = two_clusters()

    def stop(done, total):
        assert blas_threads() == [1] * len(before)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), listening(stop):
        GMR(n_jobs=2).fit_resample(X, y)
    assert blas_threads() == before
    GMR(n_jobs=2).fit_resample(X, y)
    assert blas_threads() == before


def test_progress_counts_all_samples():
    X, y = two_clusters(far=1.0)
    seen = []
    with listening(lambda done, total: seen.append((done, total))):
        GMR(n_jobs=2).fit_resample(X, y)
    done = [count for count, _ in seen]
    assert done == sorted(done)
    assert len(done) > 5
    assert seen[-1] == (6000, 6000)
    assert {total for _, total in seen} == {6000}


class TestPartialSearch:
    """Neighbours among a part of a table, and counts of nearer samples in it."""

    @pytest.mark.parametrize("method", ["leaves", "tree", "double in leaves"])
    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    @pytest.mark.parametrize("name", HARD)
    def test_neighbours_and_counts_are_those_of_all_pairs(self, name, metric, method, monkeypatch):
        force(method, monkeypatch)
        points, k = points_of(HARD[name], metric), 5
        rng = np.random.default_rng(0)
        for targets in (1, points.n // 2, points.n):
            rows = np.sort(rng.choice(points.n, min(points.n, 40), replace=False))
            left = np.repeat(rows, targets)
            right = np.tile(np.arange(targets), len(rows))
            distances = pair_distances(points, left, right).reshape(len(rows), -1)
            distances[rows[:, None] == np.arange(targets)] = np.inf
            order = np.argsort(distances, axis=1, kind="stable")[:, :k]
            true = np.full((len(rows), k), np.inf)
            true[:, : order.shape[1]] = np.take_along_axis(distances, order, axis=1)
            within = np.where(rng.random(len(rows)) < 0.5, true[:, -1], true[:, k // 2])
            for bound in (None, within):
                indices, found = partial_search.nearest(points, targets, rows, k, within=bound)
                there = true < np.inf if bound is None else true <= bound[:, None]
                there &= true < np.inf
                np.testing.assert_array_equal(found[there], true[there])
                np.testing.assert_array_equal(
                    indices[there], order[there[:, : order.shape[1]].nonzero()]
                )
            limits = np.where(np.isfinite(within), within, 1.0)
            counts = partial_search.count_nearer(points, targets, rows, limits, k)
            nearer = (distances < limits[:, None]).sum(axis=1)
            assert (np.minimum(counts, k) <= np.minimum(nearer, k)).all()
