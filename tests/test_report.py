"""The report: its contents and warnings, its errors, and that nothing from the data can run."""

import base64
import gzip
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.under_sampling import RandomUnderSampler
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from rectifold import GMR, Approximate
from rectifold._core.projection import sample_by_class
from rectifold._core.trace import keep_neighbours
from rectifold._core.votes import count_votes
from rectifold._io import FileError
from rectifold.cli import run
from rectifold.report import Report
from rectifold.report._contents import without_arrays
from rectifold.report._differences import compare_columns
from rectifold.report._messages import warnings_of
from rectifold.report._subset import Budget, choose_samples
from rectifold.report._table import Columns
from rectifold.report._thresholds import find_removable

HOSTILE = "<img src=x onerror=alert(1)>"


def cleaned(X, y, **settings):
    gmr = GMR(**settings)
    gmr.fit_resample(X, y)
    return gmr.rectification_


@pytest.fixture
def record(overlapping):
    X, y = overlapping
    return cleaned(pd.DataFrame(X, columns=["a", "b", "c"]), np.where(y == 1, "rare", "common"))


@pytest.fixture
def five():
    """Return five classes, of which the larger four overlap, so that all reasons occur."""
    rng = np.random.default_rng(3)
    sizes = [160, 90, 60, 40, 12]
    centres = rng.normal(0, 1.1, (5, 2))
    X = np.concatenate([rng.normal(c, 1.0, (n, 2)) for c, n in zip(centres, sizes, strict=True)])
    return X, np.repeat(list("vwxyz"), sizes)


def unpacked(page, name):
    text = re.search(rf'id="{name}">([^<]*)</script>', page)[1]
    return gzip.decompress(base64.b64decode(text))


def test_the_page_holds_all_it_needs_and_allows_nothing_else(record):
    page = record.report().html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert "connect-src 'none'" in policy
    (loader,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    packed = re.findall(r'class="code">([^<]*)</script>', page)
    assert len(packed) == 2
    scripts = [gzip.decompress(base64.b64decode(one)).decode() for one in packed]
    assert policy.count("sha256-") == 3
    for script in (loader, *scripts):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    # Nothing is fetched, and nothing runs that is not one of these three.
    markup = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", markup)
    assert not re.search(r"<[^>]+\son\w+=", markup)
    assert "@import" not in page
    assert not re.search(r"\beval\(|new Function\(", "".join(scripts))
    assert len(page) < 420_000


def test_the_summary_is_shown_without_a_script(record):
    page = record.report(title="My table").html()
    facts = record.summary()
    table = re.search(r'<table class="summary">(.*?)</table>', page, re.S)[1]
    for one in facts["classes"]:
        line = re.search(rf"<tr><th[^>]*>{one['label']}</th>.*?</tr>", table)[0]
        cells = re.findall(r"<td[^>]*>(.*?)</td>", line)
        shown = [one[key] for key in ("before", "after", "intrusion", "ambiguity", "deep_noise")]
        assert [cells[1], cells[2], *cells[4:7]] == [str(number) for number in shown]
        assert cells[7] == str(one["spared"])
    assert "<title>My table</title>" in page
    assert f"{facts['imbalance_ratio_before']:.2f}" in page
    assert "euclidean" in page
    assert "k = 15" in page
    assert "more candidates were spared" in page


def test_the_page_and_the_json_hold_the_same_data(record, tmp_path):
    report = record.report(tmp_path / "report.json")
    data = json.loads((tmp_path / "report.json").read_text())
    assert data == without_arrays(report.data)
    packed = json.loads(unpacked(report.html(), "facts"))
    assert packed["summary"] == data["summary"] == json.loads(json.dumps(record.summary()))
    arrays = unpacked(report.html(), "arrays")
    where = packed["points"]["row"]
    steps = np.frombuffer(arrays, np.int16, where["n"], where["start"])
    assert np.cumsum(steps).tolist() == data["points"]["row"] == list(range(460))


def test_names_labels_and_cells_are_escaped(overlapping):
    X, y = overlapping
    frame = pd.DataFrame(X, columns=[HOSTILE, "</script>", "日本語 🍷"])
    frame["{{ 7 * 7 }}"] = HOSTILE
    frame.index = [f"</td>{HOSTILE}{place}" for place in range(len(frame))]
    labels = np.where(y == 1, "</script><script>alert(2)</script>", f"🦙{HOSTILE}")
    record = cleaned(frame, labels, space="auto")
    for page in (
        record.report(title="</title><script>alert(3)</script>").html(),
        record._repr_html_(),
    ):
        assert "<img" not in page
        assert "<script>alert" not in page
        assert "🦙&lt;img" in page
    data = record.report().data
    assert [one["name"] for one in data["details"]["columns"]] == list(frame.columns)
    assert data["points"]["index"][0] == frame.index[0]


def test_lone_surrogates_can_be_written(overlapping, tmp_path):
    X, y = overlapping
    labels = np.where(y == 1, "caf\udce9", "b").astype(object)
    cleaned(X, labels).report(tmp_path / "report.html")
    assert "caf\\udce9" in (tmp_path / "report.html").read_text()


def test_a_record_from_a_pickle_needs_its_samples(record, overlapping, tmp_path):
    back = pickle.loads(pickle.dumps(record))
    assert back._trace is None
    with pytest.raises(ValueError, match=r"^this record does not hold the samples .* pass X"):
        back.report(tmp_path / "report.html")
    with pytest.raises(ValueError, match=r"^X has 10 samples and the record 460"):
        back.report(tmp_path / "report.html", X=overlapping[0][:10])
    assert os.listdir(tmp_path) == []
    report = back.report(tmp_path / "report.html", X=overlapping[0])
    assert report.data["summary"] == record.summary()
    assert not report.data["details"]["neighbours"]["known"].any()
    assert back._repr_html_().count("<iframe") == 0


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (np.zeros((460, 3)), r"embedding has the shape \(460, 3\): it must be an array of shape"),
        (np.zeros((459, 2)), r"\(459, 2\): it must be an array of shape \(460, 2\)"),
        (np.full((460, 2), np.nan), r"not finite at sample 0: .* finite numbers"),
        ([["a", "b"]] * 460, r"can't be read as numbers"),
    ],
)
def test_a_wrong_embedding_gets_one_sentence_and_no_file(record, embedding, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        record.report(tmp_path / "report.html", embedding=embedding)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_path_that_cannot_be_written_is_an_error_before_any_work(record, tmp_path, monkeypatch):
    monkeypatch.setattr(Report, "html", lambda self: pytest.fail("the page was rendered"))
    (tmp_path / "folder.html").mkdir()
    for path, message in (
        (tmp_path / "report.txt", "must end in .html"),
        (tmp_path / "no" / "report.html", "there is no folder"),
        (tmp_path / "folder.html", "is a directory"),
        ("/proc/report.html", "cannot be written to"),
    ):
        with pytest.raises(FileError, match=message):
            record.report(path)
    assert os.listdir(tmp_path) == ["folder.html"]


def test_samples_are_drawn_at_the_embedding(record):
    places = np.random.default_rng(0).normal(size=(460, 2))
    points = record.report(embedding=places).data["points"]
    np.testing.assert_allclose(np.column_stack((points["x"], points["y"])), places, rtol=1e-6)


def test_a_small_page_still_holds_all_removed_and_spared_samples(five):
    X, y = five
    record = cleaned(X, y, sampling_strategy="not minority", alpha=0.6)
    subset = choose_samples(record, find_removable(record), Budget(drawn=50, next=10, detailed=5))
    marked = np.flatnonzero(record.removed | record.spared)
    assert len(marked) > 60
    assert set(marked) <= set(subset.rows)
    assert subset.drawn.sum() == 50
    assert len(subset.detailed) == 5
    assert set(subset.detailed) <= set(marked)
    data = Report(record, budget=Budget(drawn=50, next=10, detailed=5)).data
    assert data["summary"] == record.summary()
    assert sum(map(sum, data["confidence"]["counts"])) == len(y)


def test_a_sample_by_class_has_equal_numbers_of_each_class():
    codes = np.repeat([0, 1, 2], [900, 60, 7])
    rows = sample_by_class(codes, np.bincount(codes), 100)
    assert np.bincount(codes[rows]).tolist() == [47, 46, 7]
    assert (np.diff(rows) > 0).all()
    assert len(sample_by_class(codes, np.bincount(codes), 5000)) == 967


def test_a_page_that_would_be_too_large_holds_fewer_samples(monkeypatch, record):
    monkeypatch.setattr("rectifold.report._MAX_BYTES", 600_000)
    whole = record.report(embedding=np.zeros((460, 2)))
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5000, 40)))
    y = (rng.random(5000) < 0.3).astype(int)
    big = cleaned(X, y).report()
    assert len(whole.data["points"]["row"]) == 460
    assert len(big.html()) <= 600_000
    held = json.loads(unpacked(big.html(), "facts"))
    assert held["details"]["count"] < big.data["details"]["count"] == 4000
    assert held["summary"] == big.data["summary"]


def test_neighbours_and_weights_are_those_that_voted(record):
    data = record.report().data
    details, points = data["details"], data["points"]
    near = details["neighbours"]
    assert near["known"].all()
    np.testing.assert_allclose(near["weight"].sum(axis=1), 1, rtol=1e-5)
    rows = points["row"][details["point"][: details["count"]]]
    codes = record._target.codes[points["row"][near["point"]]]
    own = np.where(codes == record._target.codes[rows][:, None], near["weight"], 0).sum(axis=1)
    np.testing.assert_allclose(own, record.confidence[rows], atol=1e-5)


def test_a_record_keeps_neighbours_within_the_memory_limit(overlapping):
    X, y = overlapping
    record = cleaned(X, y)
    distances, indices = NearestNeighbors(n_neighbors=16).fit(X).kneighbors(X)
    from rectifold._engines.contract import Neighbourhoods

    found = Neighbourhoods(np.arange(460), indices[:, 1:], distances[:, 1:], np.zeros(460, bool))
    votes = count_votes(found, record._target.codes, record._target.sizes)
    everything = keep_neighbours(found, votes.confidence)
    assert set(everything.rows) == set(np.flatnonzero(votes.confidence < 1))
    few = keep_neighbours(found, votes.confidence, room=20 * 15 * 12)
    assert len(few.rows) == 20
    assert votes.confidence[few.rows].max() <= np.sort(votes.confidence)[20]
    known, near, _ = few.of(np.array([few.rows[3], 459, few.rows[0]]))
    assert known.tolist() == [True, bool(459 in few.rows), True]
    np.testing.assert_array_equal(near[0], indices[few.rows[3], 1:])


@pytest.mark.parametrize("container", ["array", "frame", "polars", "sparse", "list", "wide"])
def test_samples_in_any_container_can_be_shown(overlapping, container):
    X, y = overlapping
    if container == "wide":
        X = np.random.default_rng(0).normal(size=(len(y), 130)) + y[:, None]
    given = {
        "frame": pd.DataFrame,
        "polars": lambda rows: pl.DataFrame(rows, schema=["a", "b", "c"]),
        "sparse": sparse.csr_array,
        "list": lambda rows: rows.tolist(),
    }.get(container, lambda rows: rows)(X)
    data = cleaned(given, y).report().data
    assert data["points"]["axes"] is not None
    assert np.isfinite(data["points"]["x"]).all()
    some = data["details"]["columns"][0]
    rows = data["points"]["row"][data["details"]["point"]]
    at = len(some["values"])
    column = 0 if container != "wide" else [f"column {i}" for i in range(130)].index(some["name"])
    np.testing.assert_allclose(some["values"], X[rows[:at], column])


def test_a_messy_table_can_be_shown():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=300),
            "gaps": np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300)),
            "word": rng.choice(["red", "green", None], 300),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 300), "D"),
            "flag": pd.array(rng.choice([True, False, None], 300), dtype="boolean"),
            "kind": pd.Categorical(rng.choice(["x", "y"], 300)),
            "constant": 1,
        }
    )
    y = np.where(rng.random(300) < 0.25, "rare", "common")
    frame.loc[y == "rare", "number"] += 1.5
    for space in ("auto", "heom"):
        report = cleaned(frame, y, space=space, alpha=0.7).report()
        json.loads(report.json())
        details = {one["name"]: one["values"] for one in report.data["details"]["columns"]}
        rows = report.data["points"]["row"][report.data["details"]["point"]]
        assert details["word"] == [None if pd.isna(w) else w for w in frame["word"].iloc[rows]]
        assert details["when"][0] == str(frame["when"].iloc[rows[0]])
        kinds = {one["name"]: one["kind"] for one in report.data["columns"][0]["columns"]}
        assert kinds["when"] == "date"
        assert kinds["word"] == kinds["flag"] == kinds["kind"] == "category"


def test_precomputed_distances_have_no_map_without_an_embedding(overlapping):
    X, y = overlapping
    graph = NearestNeighbors(n_neighbors=20).fit(X).kneighbors_graph(mode="distance")
    record = cleaned(graph, y, metric="precomputed")
    report = record.report(X=X)
    assert report.data["points"]["axes"] is None
    assert "pass embedding=" in report.data["points"]["note"]
    assert record.report(X=X, embedding=X[:, :2]).data["points"]["axes"] is not None


def test_two_columns_are_drawn_as_they_are(five):
    X, y = five
    frame = pd.DataFrame(X, columns=["width", "height"])
    points = cleaned(frame, y).report().data["points"]
    assert points["axes"] == ["width", "height"]
    np.testing.assert_allclose(points["x"], X[:, 0], rtol=1e-5)


def test_differences_are_means_over_pooled_deviations(record, overlapping):
    table = Columns(record._trace.rows)
    (common, rare) = compare_columns(record, table)
    X = overlapping[0]
    for one in (common, rare):
        mine = record._target.codes == one["code"]
        a, b = X[mine & record.removed], X[mine & ~record.removed]
        size = (a.mean(0) - b.mean(0)) / np.sqrt((a.var(0) + b.var(0)) / 2)
        found = {column["name"]: column["difference"] for column in one["columns"]}
        np.testing.assert_allclose([found[name] for name in "abc"], size)
        sizes = [abs(column["difference"]) for column in one["columns"]]
        assert sizes == sorted(sizes, reverse=True)
        for column in one["columns"]:
            assert sum(column["removed_shares"]) == pytest.approx(1)
            assert sum(column["kept_shares"]) == pytest.approx(1)
    sparse_ones = compare_columns(record, Columns(sparse.csr_array(X)))
    for dense, other in zip((common, rare), sparse_ones, strict=True):
        np.testing.assert_allclose(
            [column["difference"] for column in dense["columns"]],
            [column["difference"] for column in other["columns"]],
        )


def test_the_category_that_differs_most_is_named(record):
    frame = record._trace.rows.assign(word="same")
    frame.loc[record.removed, "word"] = "other"
    frame.loc[[0, 1], "word"] = None
    for one in compare_columns(record, Columns(frame)):
        first = one["columns"][0]
        assert (first["name"], first["kind"]) == ("word", "category")
        assert first["level"] in ("other", "same")
        assert abs(first["removed_share"] - first["kept_share"]) > 0.9


def test_missing_values_of_removed_samples_are_a_difference(record):
    frame = record._trace.rows.assign(gaps=1.0)
    frame.loc[record.removed, "gaps"] = np.nan
    for one in compare_columns(record, Columns(frame)):
        first = one["columns"][0]
        assert (first["name"], first["removed_missing"], first["kept_missing"]) == ("gaps", 1, 0)
        assert first["kept_mean"] == 1
        assert "removed_mean" not in first


def test_warnings_name_caps_floors_and_thresholds_without_effect(overlapping, five):
    X, y = overlapping
    messages = warnings_of(cleaned(X, y))
    assert any(
        "cap of class 1 was reached" in one and "gamma = 0.1 allows 6" in one for one in messages
    )
    assert any("alpha = 0.3 has no effect" in one for one in messages)
    assert not any("alpha" in one for one in warnings_of(cleaned(X, y, alpha=0.6)))
    # A smaller class that is strict is removed by alpha alone.
    assert not any("alpha" in one for one in warnings_of(cleaned(X, y, sampling_strategy=[1])))
    assert not any("alpha" in one for one in warnings_of(cleaned(*five)))
    apart = X + 50 * y[:, None]
    assert warnings_of(cleaned(apart, y, alpha=0.9)) == [
        "Nothing was removed: no sample met the thresholds."
    ]
    with pytest.warns(UserWarning, match="nothing is cleaned"):
        guarded = cleaned(X, y, min_minority=100)
    assert len(warnings_of(guarded)) == 1
    assert "Class 1 has 60 samples" in warnings_of(guarded)[0]
    assert "nothing was cleaned" in warnings_of(guarded)[0]
    noise = np.random.default_rng(0).normal(size=X.shape)
    balanced = cleaned(noise, y, class_weight="balanced", alpha=1.0)
    assert any("The floor of class" in one for one in warnings_of(balanced))
    small = warnings_of(cleaned(*five, min_minority=20))
    assert any("Class 'z' has 12 samples, fewer than min_minority = 20" in one for one in small)


def test_a_class_that_loses_much_gets_a_warning(overlapping):
    X, y = overlapping
    labels = np.where(y == 1, "rare", "common")
    for gamma, warns in ((0.25, False), (0.5, True)):
        record = cleaned(X, labels, beta=0.5, gamma=gamma)
        (rare,) = (one for one in record.summary()["classes"] if one["label"] == "rare")
        assert (rare["removed"] > 0.3 * rare["before"]) is warns
        share = f"{rare['removed'] / rare['before']:.0%}"
        messages = [one for one in warnings_of(record) if "loses" in one]
        assert [f"Class 'rare' loses {share} of its samples" in one for one in messages] == (
            [True] * warns
        )


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_alpha_decides_nothing_up_to_its_dead_zone_and_something_above(n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.choice(n_classes, 600, p=[0.4, *[0.6 / (n_classes - 1)] * (n_classes - 1)])
    record = cleaned(rng.normal(size=(600, 2)) + y[:, None] / 2, y, alpha=0.2)
    dead = record.report().data["thresholds"]["dead_zone_of_alpha"]
    assert dead == 1 / n_classes
    at_zero = record.redecide(alpha=0)
    assert at_zero.removed.any()
    np.testing.assert_array_equal(record.redecide(alpha=dead).decision, at_zero.decision)
    above = record.redecide(alpha=dead + 0.2)
    assert (above.removed | above.spared).sum() > (at_zero.removed | at_zero.spared).sum()
    every = cleaned(rng.normal(size=(600, 2)), y, sampling_strategy="all")
    assert every.report().data["thresholds"]["dead_zone_of_alpha"] == 0


def test_duplicates_are_counted_and_so_are_the_votes_they_decide(overlapping):
    X, y = overlapping
    common, rare = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    # A common sample three times, and a rare one that five common ones repeat.
    X = np.concatenate([X, X[[common] * 2], X[[rare] * 5]])
    y = np.append(y, [0] * 7)
    record = cleaned(pd.DataFrame(X, columns=["a", "b", "c"]), y, space=StandardScaler())
    found = record.report().data["duplicates"]
    assert (found["samples"], found["repeated"], found["conflicting"]) == (9, 7, 6)
    assert [one["samples"] for one in found["classes"]] == [8, 1]
    assert record.decision[rare] in ("removed", "spared")
    assert found["classes"][1][record.decision[rare]] == 1
    assert found["removed"] + found["spared"] == 1
    page = record.report().html()
    assert '<section id="duplicates"' in page
    assert "with a duplicate of another class" in page
    # Without the samples, there is nothing to count.
    bare = record.without_data().report(X=X)
    assert bare.data["duplicates"] is None
    assert 'id="duplicates"' not in bare.html()
    assert "No two samples are equal" in cleaned(*overlapping).report().html()


def held_shares(report):
    """Return the shares of the page's data, and the rows of the samples and of their neighbours."""
    details, points = report.data["details"], report.data["points"]
    near = details["neighbours"]
    known = np.flatnonzero(near["known"])[: len(near["shares"])]
    rows = points["row"][details["point"][known]]
    return near["shares"] / 100, rows, points["row"][near["point"][: len(known)]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_shares_are_parts_of_the_squared_distance(overlapping, metric):
    X, y = overlapping
    record = cleaned(X, y, metric=metric, alpha=0.6)
    shares, rows, near = held_shares(record.report())
    assert len(rows) == (record.removed | record.spared).sum() > 20
    points = X if metric == "euclidean" else X / np.linalg.norm(X, axis=1, keepdims=True)
    squares = (points[rows][:, None] - points[near]) ** 2
    np.testing.assert_allclose(shares, squares / squares.sum(axis=2, keepdims=True), atol=0.006)
    thin = held_shares(cleaned(sparse.csr_array(X), y, metric=metric, alpha=0.6).report())
    np.testing.assert_array_equal(thin[0], shares)


@pytest.mark.parametrize("space", ["auto", "heom"])
def test_shares_of_a_mixed_table_are_those_of_its_columns(overlapping, space):
    X, y = overlapping
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(
        word=rng.choice(["red", "green", "blue"], len(y)), gaps=np.where(y == 1, np.nan, X[:, 2])
    )
    record = cleaned(frame, y, space=space)
    shown = frame[["word", "gaps", "b", "a"]].assign(id=np.arange(len(y)))
    report = record.report(X=shown)
    columns = report.data["details"]["columns"]
    compared = {one["name"]: one["compared"] for one in columns}
    assert compared == {"word": True, "gaps": True, "b": True, "a": True, "id": False}
    shares, rows, near = held_shares(report)
    np.testing.assert_allclose(shares.sum(axis=2), 1, atol=0.03)
    share = {one["name"]: shares[:, :, place] for place, one in enumerate(columns)}
    assert not share["id"].any()
    same = frame["word"].to_numpy()[rows][:, None] == frame["word"].to_numpy()[near]
    assert not share["word"][same].any()
    assert (share["word"][~same] > 0.02).all()


def test_a_distance_that_is_not_a_sum_over_columns_has_no_shares(overlapping):
    X, y = overlapping
    for settings in ({"metric": "manhattan"}, {"space": PCA(2)}):
        details = cleaned(X, y, **settings).report().data["details"]
        assert len(details["neighbours"]["shares"]) == 0
        assert {one["compared"] for one in details["columns"]} == {None}


def test_few_removed_samples_are_listed_one_by_one(record):
    frame = record._trace.rows.assign(word=np.where(record.removed, "odd", "even"))
    kinds = {one["label"]: one for one in compare_columns(record, Columns(frame))}
    assert {one["removed"] < 20 for one in kinds.values()} == {True}
    for one in kinds.values():
        mine = record.label == one["label"]
        for column in one["columns"]:
            if column["name"] == "word":
                assert (
                    dict(zip(column["levels"], column["marks"], strict=True))["odd"]
                    == (one["removed"])
                )
                continue
            gone = frame[column["name"]][mine & record.removed]
            assert sorted(value for _, value in column["marks"]) == sorted(gone)
            assert all(0 <= place <= 1 for place, _ in column["marks"])
    many = compare_columns(record.redecide(alpha=0.8, gamma=1), Columns(frame))
    assert max(one["removed"] for one in many) >= 20
    for one in many:
        assert ("marks" in one["columns"][0]) == (one["removed"] < 20)


def test_a_notebook_shows_counts_and_the_page_in_a_frame(record):
    html = record._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in html
    assert "allow-same-origin" not in html
    assert "20 of 460" in html or f"{record.removed.sum()} of 460" in html
    assert len(html) < 700_000


def test_without_jinja2_a_notebook_shows_text_and_a_report_names_the_extra(record):
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "import numpy as np\n"
        "from rectifold import GMR\n"
        "rng = np.random.default_rng(0)\n"
        "gmr = GMR()\n"
        "gmr.fit_resample(rng.normal(size=(200, 2)), rng.random(200) < 0.2)\n"
        "assert gmr.rectification_._repr_html_() is None\n"
        "gmr.rectification_.report().html()\n"
    )
    # Data needs no template.
    code = code.replace("report().html()", "report().json(); gmr.rectification_.report().html()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: a report needs Jinja2: pip install 'rectifold[report]'."
    )


def test_a_report_opens_in_a_browser(record, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    record.report().open()
    assert opened[0].startswith("file://")
    path = opened[0].removeprefix("file://")
    assert os.path.getsize(path) > 300_000
    os.remove(path)


def test_the_arguments_of_the_sampler_are_written_as_in_python(overlapping):
    X, y = overlapping
    record = cleaned(X, y, space=StandardScaler(), n_neighbors=7, alpha=0.6)
    data = record.report().data
    assert data["arguments"] == [["n_neighbors", "7"], ["space", "StandardScaler()"]]
    assert "--n-neighbors 7" in data["command"]["text"]
    assert data["command"]["unsupported"] == ["space=StandardScaler()"]
    assert "--space" not in cleaned(X, y, space="auto").report().data["command"]["text"]
    assert "--space none" in cleaned(X, y).report().data["command"]["text"]
    engine = Approximate(recall=0.9, budget=60, prefer_exact=True)
    command = cleaned(X, y, engine=engine).report().data["command"]
    assert command["text"].endswith("--engine approximate --recall 0.9 --budget 60 --prefer-exact")
    assert command["unsupported"] == []


def test_a_pickled_sampler_does_not_hold_its_input(overlapping):
    X, y = overlapping
    gmr = GMR()
    gmr.fit_resample(X, y)
    secret = np.float64(X[17, 1]).tobytes()
    assert secret not in pickle.dumps(gmr)
    assert secret in pickle.dumps(RandomUnderSampler) + X.tobytes()


def test_a_report_does_not_change_the_input(overlapping):
    X, y = overlapping
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    before = frame.copy(deep=True)
    record = cleaned(frame, y, space=StandardScaler(copy=False))
    first = record.report().data["points"]["x"]
    record._repr_html_()
    pd.testing.assert_frame_equal(frame, before)
    np.testing.assert_array_equal(record.report().data["points"]["x"], first)


def test_dates_with_a_time_zone_are_dates(overlapping):
    X, y = overlapping
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["when"] = pd.date_range("2020-01-01", periods=len(y), tz="Europe/Berlin")
    frame.loc[3, "when"] = None
    data = cleaned(frame, y, space="auto").report().data
    kinds = {one["name"]: one["kind"] for one in data["columns"][0]["columns"]}
    assert kinds["when"] == "date"
    means = [one for one in data["columns"][0]["columns"] if one["name"] == "when"]
    assert means[0]["kept_mean"].startswith("2020-")


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint8])
def test_differences_are_equal_for_sparse_and_dense_input(overlapping, kind):
    X, y = overlapping
    values = (X > 0).astype(kind) if kind is np.bool_ else (np.clip(X * 40, 0, 120)).astype(kind)
    record = cleaned(X, y)
    dense, thin = (
        compare_columns(record, Columns(rows))
        for rows in (values.astype(float), sparse.csr_matrix(values))
    )
    for one, other in zip(dense, thin, strict=True):
        np.testing.assert_allclose(
            [column["difference"] for column in one["columns"]],
            [column["difference"] for column in other["columns"]],
            atol=1e-12,
        )
    json.loads(cleaned(sparse.csr_matrix(values), y).report().json())


@pytest.mark.parametrize("factor", [1e40, 1e160, 1e-300])
def test_extreme_numbers_can_be_shown(overlapping, factor):
    X, y = overlapping
    data = json.loads(cleaned(X * factor, y, metric="manhattan").report().json())
    assert len(set(data["points"]["x"])) > 400
    assert "nan" not in data["points"]["axes"][0]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[::5, "c"] = sys.float_info.max
    json.loads(cleaned(frame, y, space="auto").report().json())


def test_coordinates_keep_their_resolution_far_from_zero(overlapping):
    X, y = overlapping
    page = cleaned(X, y).report(embedding=X[:, :2] + 1e12).html()
    facts = json.loads(unpacked(page, "facts"))
    where = facts["points"]["x"]
    assert where["array"] == "Float32Array"
    coded = np.frombuffer(unpacked(page, "arrays"), np.float32, where["n"], where["start"])
    low, step = facts["points"]["scale"][0]
    assert len(set(coded)) > 400
    np.testing.assert_allclose(low + coded.astype(float) * step - 1e12, X[:, 0], atol=1e-3)


def test_parameters_of_a_grid_search_are_written_as_plain_numbers(overlapping):
    X, y = overlapping
    record = cleaned(X, y, min_minority=np.int64(3), alpha=np.float32(0.75), epsilon=np.float32(1))
    data = json.loads(record.report().json())
    assert data["arguments"] == [["epsilon", "1.0"], ["min_minority", "3"]]
    assert data["summary"]["min_minority"] == 3


def test_a_subclass_with_other_arguments_can_be_fitted(overlapping):
    class Mild(GMR):
        def __init__(self, gamma=0.05):
            super().__init__(gamma=gamma)

    gmr = Mild()
    gmr.fit_resample(*overlapping)
    assert gmr.rectification_._setting.arguments == {"gamma": "0.05"}


def test_a_space_without_transform_is_drawn_at_its_points(overlapping):
    class Once(BaseEstimator):
        def fit_transform(self, X, y):
            self.places = np.random.default_rng(len(y)).normal(size=(len(X), 2)) + X[:, :2]
            return self.places

    X, y = overlapping
    record = cleaned(X, y, space=Once())
    places = record._trace.space.places
    points = record.report().data["points"]
    distances = [
        np.linalg.norm(rows - rows[0], axis=1)
        for rows in (places, np.column_stack((points["x"], points["y"])))
    ]
    np.testing.assert_allclose(*distances, rtol=1e-6)


def test_a_notebook_shows_counts_even_if_the_input_has_changed(overlapping):
    X, y = overlapping
    rows = X.tolist()
    record = cleaned(rows, y)
    del rows[:5]
    html = record._repr_html_()
    assert "The samples can&#39;t be shown: X has 455 samples and the record 460" in html
    assert "<iframe" not in html


def test_a_note_names_the_space_of_the_components(overlapping):
    X, y = overlapping
    record = cleaned(X, y, space=StandardScaler())
    assert "in which distances were computed" in record.report().data["points"]["note"]
    bare = record.without_data()
    assert "not of the space" in bare.report(X=X).data["points"]["note"]


def test_a_page_counts_the_marks_that_it_draws(overlapping):
    X, y = overlapping
    record = cleaned(X, y, alpha=0.9)
    n_marked = int((record.removed | record.spared).sum())
    few = Report(record, budget=Budget(drawn=50, marked=20, next=0, detailed=5)).data["points"]
    assert 20 <= few["n_marked"] < n_marked
    assert record.report().data["points"]["n_marked"] == n_marked


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (5, "X must be a table"),
        ([[1, 2], [3]] * 230, "rows of different lengths"),
        (np.zeros((460, 2, 2)), "has 3 dimensions"),
        (pd.DataFrame(np.zeros((460, 2)), columns=["a", "a"]), "more than one column named 'a'"),
    ],
)
def test_input_that_is_not_a_table_is_an_error(record, X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        record.report(X=X).json()


# ---- the command line ----


@pytest.fixture
def table(tmp_path, overlapping, monkeypatch):
    X, y = overlapping
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).round(4)
    frame.insert(0, "id", [f"row-{place}" for place in range(len(y))])
    frame["label"] = np.where(y == 1, "rare", "common")
    frame.to_csv(tmp_path / "table.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return frame


def clean(options):
    return run(["clean", *options.split()])


def test_clean_writes_a_report_with_the_ignored_columns(table, capsys):
    assert (
        run(
            [
                "clean",
                "table.csv",
                "--target",
                "label",
                "-o",
                "c.csv",
                "--report",
                "r.json",
                "--ignore",
                "id",
            ]
        )
        == 0
    )
    data = json.loads(Path("r.json").read_text())
    names = [one["name"] for one in data["details"]["columns"]]
    assert names == ["id", "a", "b", "c"]
    assert data["title"] == "What GMR did to table.csv"
    rows = [data["points"]["row"][at] for at in data["details"]["point"]]
    assert data["details"]["columns"][0]["values"] == [f"row-{row}" for row in rows]
    assert "the report to r.json" in capsys.readouterr().out


def test_the_command_in_a_report_repeats_the_result(table):
    options = "--ignore id --alpha 0.8 -k 9 --space none --removed gone.csv --n-jobs 1"
    assert clean(f"table.csv --target label -o c.csv --report r.json {options}") == 0
    first = Path("c.csv").read_text()
    text = json.loads(Path("r.json").read_text())["command"]["text"]
    os.remove("c.csv")
    assert "--alpha" not in text
    assert run([*text.split()[1:], "--alpha", "0.8"]) == 0
    assert Path("c.csv").read_text() == first


def test_a_report_needs_no_other_output(table, capsys):
    assert (
        run(["clean", "table.csv", "--target", "label", "--report", "r.html", "--ignore", "id"])
        == 0
    )
    assert sorted(os.listdir()) == ["r.html", "table.csv"]
    assert "the report to r.html" in capsys.readouterr().out


def test_a_dry_run_writes_no_report(table):
    assert (
        run(
            [
                "clean",
                "table.csv",
                "--target",
                "label",
                "--report",
                "r.html",
                "--ignore",
                "id",
                "--dry-run",
            ]
        )
        == 0
    )
    assert os.listdir() == ["table.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-o c.csv --report r.txt", "--report r.txt must end in .html"),
        ("-o c.csv --report no/r.html", "there is no folder 'no'"),
        ("-o c.csv --removed r.csv --report table.csv", "must end in .html"),
        ("", "--report for a page"),
    ],
)
def test_a_report_that_cannot_be_written_is_an_error_of_one_sentence(
    table, capsys, options, message
):
    assert clean(f"table.csv --target label {options}") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert os.listdir() == ["table.csv"]


def test_the_summary_as_json_has_the_warnings(table, capsys):
    assert (
        run(["clean", "table.csv", "--target", "label", "--ignore", "id", "--dry-run", "--json"])
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert any("The cap of class 'rare' was reached" in one for one in result["warnings"])
    assert result["report"] is None


def test_row_numbers_count_rows_without_a_label(table):
    table.loc[[0, 5], "label"] = None
    table.to_csv("table.csv", index=False)
    command = "table.csv --target label --report r.json --ignore id --missing-target drop"
    assert clean(f"{command} -o c.csv --removed gone.csv") == 0
    data = json.loads(Path("r.json").read_text())
    assert data["points"]["index"] is None
    rows = [data["points"]["row"][at] for at in data["details"]["point"]]
    ids = data["details"]["columns"][0]["values"]
    assert ids == [f"row-{row}" for row in rows]
    gone = pd.read_csv("gone.csv").query("rectifold_reason != 'missing target'")
    assert (
        dict(zip(gone["id"], gone["rectifold_row"], strict=True)).items()
        <= dict(zip(ids, rows, strict=True)).items()
    )


def test_a_report_does_not_change_the_other_outputs(table):
    table["id"] = [f"{place:04d}" for place in range(len(table))]
    table["label"] = np.where(table["label"] == "rare", "01", "02")
    table.to_csv("table.csv", index=False)
    command = "table.csv --target label --ignore id -o {0}.parquet --removed {0}-gone.parquet"
    assert clean(command.format("a")) == 0
    assert clean(command.format("b") + " --report r.json") == 0
    for one, other in (("a", "b"), ("a-gone", "b-gone")):
        pd.testing.assert_frame_equal(*(pd.read_parquet(f"{n}.parquet") for n in (one, other)))
    ids = json.loads(Path("r.json").read_text())["details"]["columns"][0]["values"]
    assert all(len(value) == 4 for value in ids)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("table.csv.gz", "-o cleaned.csv.gz"),
        ("cleaned.csv", "-o more-cleaned.csv"),
        ("./-table.csv", "clean ./-table.csv"),
    ],
)
def test_the_command_in_a_report_names_usable_files(table, source, output):
    table.to_csv(source, index=False)
    assert clean(f"{source} --target label --ignore id --report r.json") == 0
    assert output in json.loads(Path("r.json").read_text())["command"]["text"]
