"""Approximate neighbours: reproducible, with the recall asked for, and a correct error estimate."""

import json
import pickle
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.neighbors import NearestNeighbors

from rectifold import GMR, Approximate
from rectifold._core.accuracy import Share, _share, in_words, percent
from rectifold._core.errors import ParameterError
from rectifold._core.space import to_points
from rectifold._core.threads import Workers
from rectifold._engines import choose, search
from rectifold._engines.approximate.clusters import gather
from rectifold.model_selection import rectify_all


def clusters(n, columns=32, seed=0, noise=0.15):
    """Overlapping clusters with wrong labels, where certificates are few."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((50, columns))
    cluster = rng.integers(50, size=n)
    X = centres[cluster] + 0.7 * rng.standard_normal((n, columns))
    return X, ((cluster < 5) ^ (rng.random(n) < noise)).astype(int)


@pytest.fixture(scope="module")
def data():
    return clusters(14_000)


@pytest.fixture(scope="module")
def exact(data):
    return cleaned(*data, engine="exact")


@pytest.fixture(scope="module")
def approximate(data):
    return cleaned(*data, engine="approximate")


def cleaned(X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gmr = GMR(**settings)
        gmr.fit_resample(X, y)
    return gmr.rectification_


def same(left, right):
    """Return whether two records have equal decisions, and equal votes bit for bit."""
    return all(
        np.array_equal(getattr(left._votes, name), getattr(right._votes, name), equal_nan=True)
        for name in left._votes.__dataclass_fields__
    ) and np.array_equal(left._decisions.decision, right._decisions.decision)


def test_the_recall_reaches_the_target(approximate):
    assert approximate._setting.engine == "approximate"
    assert approximate.accuracy.recall.value >= 0.985
    assert approximate.accuracy.sampled == 2000


def test_the_measured_error_is_correct(data, exact):
    """At least four of six 95 % confidence intervals contain the true value."""
    held = {"votes": 0, "decisions": 0}
    for seed in range(6):
        found = cleaned(*data, engine=Approximate(recall=0.8), random_state=seed)
        votes = (np.abs(found.confidence - exact.confidence) > 1e-12).mean()
        decisions = (found.removed != exact.removed).mean()
        for name, truth in (("votes", votes), ("decisions", decisions)):
            share = getattr(found.accuracy, name)
            held[name] += share.low <= truth <= share.high
    assert min(held.values()) >= 4, held


def test_the_search_does_not_depend_on_the_sample():
    """If the sample provided the centres of cells, its recall would be higher."""
    X = np.random.default_rng(0).standard_normal((40_000, 10))
    labels = np.arange(40_000) % 4
    points = to_points(X, "euclidean")
    engine = choose(Approximate(recall=0.6), points).search
    found = search(engine, points, labels, 15, n_jobs=2)
    at = found.truth.rows
    measured = (found.distances[at] <= found.truth.distances[:, -1:]).mean()
    rows = np.random.default_rng(9).choice(40_000, 2000, replace=False)
    last = NearestNeighbors(n_neighbors=16).fit(X).kneighbors(X[rows])[0][:, -1:]
    others = (found.distances[rows] <= last * (1 + 1e-12)).mean()
    assert measured == pytest.approx(others, abs=0.03)


def test_most_votes_are_exact(exact, approximate):
    alike = approximate.confidence == exact.confidence
    assert alike.mean() > 0.8


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_are_reproducible_with_any_number_of_cores(data, approximate, n_jobs):
    for _ in range(3 if n_jobs == 1 else 2):
        assert same(cleaned(*data, engine="approximate", n_jobs=n_jobs), approximate)


def test_another_seed_gives_another_result(data, approximate):
    other = cleaned(*data, engine="approximate", random_state=1)
    assert not same(other, approximate)
    assert abs(other.accuracy.recall.value - approximate.accuracy.recall.value) < 0.01


def test_a_lower_target_gives_a_lower_recall(data, approximate):
    lower = cleaned(*data, engine=Approximate(recall=0.7))
    assert 0.69 <= lower.accuracy.recall.value < approximate.accuracy.recall.value
    assert lower.accuracy.decisions.value > approximate.accuracy.decisions.value


def test_a_warning_reports_a_recall_that_a_short_budget_prevents(data):
    gmr = GMR(engine=Approximate(budget=1e-3, prefer_exact=True))
    with pytest.warns(UserWarning, match=r"recall=0.99 was not reached: .* true neighbours"):
        gmr.fit_resample(*data)
    record = gmr.rectification_
    assert record._setting.engine == "approximate"
    assert record.accuracy.met is False


def test_a_long_budget_does_not_change_an_approximate_search(data, approximate):
    assert same(cleaned(*data, engine=Approximate(budget=1e6)), approximate)


def test_a_long_budget_allows_an_exact_search_if_preferred(data, exact):
    record = cleaned(*data, engine=Approximate(budget=1e6, prefer_exact=True))
    assert record._setting.engine == "exact"
    assert record.accuracy is None
    assert same(record, exact)


def test_a_recall_of_one_is_searched_exactly(data, exact):
    record = cleaned(*data, engine=Approximate(recall=1.0))
    assert record._setting.engine == "exact"
    assert same(record, exact)


def test_small_tables_are_searched_exactly():
    X, y = clusters(1500)
    record = cleaned(X, y, engine="approximate")
    assert record._setting.engine == "exact"
    assert same(record, cleaned(X, y, engine="exact"))


def test_each_duplicate_counts_as_a_neighbour(data):
    X, y = data
    twice = np.repeat(X, 2, axis=0)
    record = cleaned(twice, np.repeat(y, 2), engine="approximate", n_neighbors=7)
    assert record._setting.engine == "approximate"
    assert record.accuracy.recall.value >= 0.985
    # Duplicates have the same neighbours except for each other.
    assert (record.confidence[::2] == record.confidence[1::2]).mean() > 0.9


def test_two_distinct_points_are_accepted_and_a_single_one_is_rejected():
    y = (np.arange(20_000) % 10 == 0).astype(int)
    X = np.ones((20_000, 8))
    with pytest.raises(ValueError, match="every column of X is constant"):
        GMR(engine="approximate").fit_resample(X, y)
    X[::3] = 2
    assert same(cleaned(X, y, engine="approximate"), cleaned(X, y, engine="exact"))


def test_zero_samples_have_exact_neighbours_under_the_cosine_metric(data):
    X, y = data[0].copy(), data[1]
    X[::7] = 0
    record = cleaned(X, y, engine="approximate", metric="cosine")
    truth = cleaned(X, y, engine="exact", metric="cosine")
    assert record._setting.engine == "approximate"
    assert np.array_equal(record.confidence[::7], truth.confidence[::7])
    assert record.accuracy.recall.value >= 0.985


def test_sparse_matrices_are_searched():
    X, y = clusters(7000, columns=12)
    wide = sparse.random(7000, 900, density=0.004, random_state=0, format="csr")
    rows = sparse.hstack([sparse.csr_matrix(np.maximum(X, 0)), wide], format="csr")
    record = cleaned(rows, y, engine="approximate", metric="euclidean")
    truth = cleaned(rows, y, engine="exact", metric="euclidean")
    assert record._setting.engine == "approximate"
    assert (record.removed == truth.removed).mean() > 0.99


def test_more_neighbours_than_a_cell_holds_are_found_in_others(data):
    record = cleaned(*data, engine=Approximate(recall=0.3), n_neighbors=120)
    assert record._setting.engine == "approximate"
    assert record._setting.n_neighbors == 120
    assert record.accuracy.recall.value > 0.25


def test_the_search_is_exact_if_k_is_large_relative_to_the_number_of_points():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((2600, 6)), 2, axis=0)
    y = (rng.random(len(X)) < 0.3).astype(int)
    record = cleaned(X, y, engine="approximate", n_neighbors=200)
    assert record._setting.engine == "exact"


def test_tight_clusters_inside_a_cell_keep_their_neighbours():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((400, 10)) * 1e6
    X = centres[rng.integers(400, size=12_000)] + 1e-3 * rng.standard_normal((12_000, 10))
    y = (rng.random(12_000) < 0.2).astype(int)
    record = cleaned(X, y, engine="approximate", n_jobs=2)
    if record.accuracy is not None:
        assert record.accuracy.recall.value >= 0.98


def test_points_far_from_the_origin_keep_their_neighbours(data, approximate):
    X, y = data
    record = cleaned(X + 1e4, y, engine="approximate")
    assert record.accuracy.recall.value >= 0.98


@pytest.mark.parametrize(
    "options",
    [
        {"recall": 0},
        {"recall": 1.5},
        {"recall": float("nan")},
        {"recall": "all"},
        {"budget": 0},
        {"budget": float("inf")},
        {"prefer_exact": True},
    ],
)
def test_options_out_of_range_are_rejected(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        Approximate(**options)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engine": "approximate", "metric": "haversine"}, "can't search with metric='haversine'"),
        ({"engine": Approximate(budget=5), "metric": "manhattan"}, "budget needs estimates"),
        ({"engine": "approximate", "n_neighbors": NearestNeighbors(n_neighbors=9)}, "by itself"),
        ({"engine": "approximate", "space": "heom"}, "can't search with metric='heom'"),
        ({"random_state": "x"}, "random_state"),
        ({"engine": "approximate", "n_neighbors": 14_000}, "needs at least 14001 samples"),
    ],
)
def test_options_that_do_not_fit_are_rejected(data, settings, words):
    with pytest.raises(ValueError, match=words):
        GMR(**settings).fit_resample(*data)


def test_the_error_names_a_missing_library_and_its_extra(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ValueError, match=r"needs pynndescent for metric='l1': .*rectifold\[ann\]"):
        GMR(engine="approximate", metric="l1").fit_resample(*small)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["manhattan", "correlation"])
def test_other_metrics_are_searched_with_pynndescent(metric):
    pytest.importorskip("pynndescent")
    X, y = clusters(8000, columns=12)
    record = cleaned(X, y, engine="approximate", metric=metric)
    truth = cleaned(X, y, metric=metric)
    assert record._setting.engine == "approximate"
    assert record.accuracy.recall.value >= 0.98
    assert (record.removed != truth.removed).mean() <= record.accuracy.decisions.high
    assert same(record, cleaned(X, y, engine="approximate", metric=metric, n_jobs=2))


def test_settings_that_share_a_search_have_the_records_of_separate_runs(data):
    settings = [{"gamma": 0.2}, {"n_neighbors": 5}]
    together = rectify_all(GMR(engine="approximate"), settings, *data)
    alone = [cleaned(*data, engine="approximate", **setting) for setting in settings]
    assert all(same(*pair) for pair in zip(together, alone, strict=True))
    assert together[1].accuracy == alone[1].accuracy


# The measured accuracy.


class Half:
    """A search object that indexes every second sample only."""

    metric, n_neighbors = "euclidean", 16

    def fit(self, X):
        self.index = NearestNeighbors(n_neighbors=16).fit(X[::2])
        return self

    def kneighbors(self, X):
        distances, found = self.index.kneighbors(X)
        return distances, 2 * found


@pytest.fixture(scope="module")
def small():
    return clusters(3000, columns=6)


def test_an_exact_search_object_has_a_recall_of_one(small):
    record = cleaned(*small, n_neighbors=NearestNeighbors(n_neighbors=16))
    assert record.accuracy.recall.value == 1
    assert record.accuracy.decisions.value == 0
    # None of 2,000 samples differs, so less than 0.2 % of all do.
    assert record.accuracy.decisions.high < 0.002
    assert record.accuracy.met is None


def test_the_recall_of_a_search_object_that_misses_half_is_measured(small):
    record = cleaned(*small, n_neighbors=Half())
    assert 0.4 < record.accuracy.recall.value < 0.6
    truth = cleaned(*small, engine="exact")
    differ = (record.removed != truth.removed).mean()
    assert record.accuracy.decisions.low <= differ <= record.accuracy.decisions.high


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_the_recall_is_measured_under_every_metric(small, metric):
    searching = NearestNeighbors(n_neighbors=16, metric=metric)
    record = cleaned(small[0] + 100, small[1], n_neighbors=searching)
    assert record.accuracy.recall.value > 0.999


class Same(Half):
    """A search object that repeats one neighbour."""

    def kneighbors(self, X):
        distances, found = self.index.kneighbors(X)
        return distances[:, 1:2].repeat(16, axis=1), 2 * found[:, 1:2].repeat(16, axis=1)


def test_a_repeated_neighbour_counts_once(small):
    record = cleaned(*small, n_neighbors=Same())
    assert record.accuracy.recall.value <= 1 / 15


def test_the_accuracy_of_a_graph_is_not_measured(small):
    graph = NearestNeighbors(n_neighbors=16).fit(small[0]).kneighbors_graph(mode="distance")
    assert cleaned(graph, small[1], metric="precomputed").accuracy is None


def test_redecide_updates_the_accuracy(small):
    record = cleaned(*small, n_neighbors=Half())
    stricter = record.redecide(alpha=0.9)
    assert stricter.accuracy.recall == record.accuracy.recall
    assert stricter.accuracy.decisions.value > record.accuracy.decisions.value
    assert pickle.loads(pickle.dumps(record)).accuracy == record.accuracy


def test_the_summary_contains_the_accuracy(small):
    record = cleaned(*small, n_neighbors=Half())
    summary = json.loads(json.dumps(record.summary()))["accuracy"]
    assert summary["recall"]["value"] == record.accuracy.recall.value
    assert summary["sampled"] == 2000
    assert summary["searched"] == 3000
    assert in_words(summary) in repr(record)
    assert cleaned(*small).summary()["accuracy"] is None


def test_intervals_are_those_of_clopper_and_pearson():
    for hits, n in ((0, 50), (3, 50), (50, 50)):
        values = np.arange(n) < hits
        interval = binomtest(hits, n).proportion_ci(0.95, "exact")
        share = _share(values, 10 * n)
        assert share.value == hits / n
        assert np.allclose((share.low, share.high), interval)


def test_a_sample_of_everything_has_no_interval():
    assert _share(np.array([0.5, 1.0]), 2) == Share(0.75, 0.75, 0.75)


def test_small_fractions_are_not_rounded_to_zero():
    assert [percent(share) for share in (0, 1e-6, 0.5, 0.99999, 1)] == [
        "0 %",
        "under 0.01 %",
        "50 %",
        "over 99.99 %",
        "100 %",
    ]


# Warnings before long work.


@pytest.fixture
def warn_early(monkeypatch):
    monkeypatch.setattr("rectifold._engines.exact.estimates.LONG", 0.0)
    monkeypatch.setattr("rectifold._engines.exact.estimates._WORTH_TIMING", 0.0)


def test_a_long_exact_search_suggests_an_approximate_one(warn_early):
    gmr = GMR(n_jobs=2)
    match = (
        r"exact search will take about .* seconds?; .*engine='approximate' takes about .* second"
    )
    with pytest.warns(UserWarning, match=match):
        gmr.fit_resample(*clusters(30_000))
    assert gmr.rectification_._setting.engine == "exact"


def test_an_explicit_exact_search_does_not_warn(warn_early, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GMR(engine="exact").fit_resample(*data)


# Cells.


def test_every_point_is_in_one_cell_and_no_cell_is_empty_or_huge():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((6000, 5)).astype(np.float32)
    points[:5000] *= 1e-3
    with Workers(1) as workers:
        cells = gather(points, 100, np.random.default_rng(0), workers)
    assert np.array_equal(np.sort(cells.order), np.arange(6000))
    assert cells.counts.min() > 0
    assert cells.counts.max() <= 4 * 6000 // 100
    assert np.array_equal(np.repeat(np.arange(cells.n), cells.counts), cells.cell)


def test_equal_points_do_not_make_splitting_fail():
    points = np.zeros((3000, 4), dtype=np.float32)
    with Workers(1) as workers:
        cells = gather(points, 20, np.random.default_rng(0), workers)
    assert cells.counts.sum() == 3000


def test_a_record_without_a_check_is_exact(exact):
    assert exact.accuracy is None
    assert replace(exact, _check=None).accuracy is None
