"""The record of a run and its forms: arrays, a summary, frames, JSON and text."""

import gc
import json
import pickle
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rectifold import GMR


@pytest.fixture
def record(overlapping):
    X, y = overlapping
    gmr = GMR()
    gmr.fit_resample(X, np.where(y == 1, "rare", "common"))
    return gmr.rectification_


def test_it_holds_the_decision_on_every_sample_and_its_reason(record, overlapping):
    y = np.where(overlapping[1] == 1, "rare", "common")
    np.testing.assert_array_equal(record.label, y)
    assert set(record.predicted) == {"rare", "common"}
    assert set(record.decision) == {"kept", "removed", "spared"}
    assert set(record.reason) == {"", "intrusion", "deep noise"}
    assert (record.reason[record.removed & (y == "common")] == "intrusion").all()
    assert (record.predicted[record.removed] != record.label[record.removed]).all()
    assert (record.majority_confidence[record.reason == "deep noise"] > 0.7).all()
    np.testing.assert_array_equal(record.removed, record.decision == "removed")
    np.testing.assert_array_equal(record.spared, record.decision == "spared")
    own = np.where(y == "common", record.majority_confidence, 1 - record.majority_confidence)
    np.testing.assert_allclose(record.confidence, own, atol=1e-12)


def test_the_summary_counts_add_up_and_are_ready_for_json(record):
    facts = json.loads(json.dumps(record.summary()))
    assert facts["n_samples"] == 460
    assert facts["kept"] + facts["removed"] == facts["n_samples"]
    for one in facts["classes"]:
        assert one["before"] - one["removed"] == one["after"]
        assert one["intrusion"] + one["ambiguity"] + one["deep_noise"] == one["removed"]
    common, rare = facts["classes"]
    assert (common["label"], common["role"]) == ("common", "strict")
    assert (rare["label"], rare["role"]) == ("rare", "protected")
    assert facts["spared"] == rare["spared"] == record.spared.sum()
    assert facts["imbalance_ratio_before"] == 400 / 60
    assert facts["imbalance_ratio_after"] == common["after"] / rare["after"]
    assert (facts["metric"], facts["n_neighbors"], facts["engine"]) == ("euclidean", 15, "exact")
    assert facts["certified"] == record.certified.sum()
    assert set(facts["seconds"]) == {"space", "search", "votes", "rules"}
    assert all(seconds >= 0 for seconds in facts["seconds"].values())


def test_frames_have_a_row_per_sample(record):
    frame = record.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 460
    counts = frame.groupby("reason").size()
    assert counts["intrusion"] == (record.reason == "intrusion").sum()
    other = record.to_frame("polars")
    assert isinstance(other, pl.DataFrame)
    assert other.columns == frame.columns.tolist()
    assert other["confidence"].to_list() == frame["confidence"].tolist()
    with pytest.raises(ValueError, match="'pandas' or 'polars'"):
        record.to_frame("excel")


def test_json_holds_the_whole_record(record, tmp_path):
    whole = json.loads(record.to_json())
    assert whole["summary"] == json.loads(json.dumps(record.summary()))
    assert whole["samples"]["confidence"] == record.confidence.tolist()
    assert whole["samples"]["decision"] == record.decision.tolist()
    path = tmp_path / "record.json"
    assert record.to_json(path) is None
    assert json.loads(path.read_text(encoding="utf-8")) == whole
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]


def test_labels_of_other_types_become_text_in_json(overlapping):
    X, y = overlapping
    gmr = GMR()
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    gmr.fit_resample(X, days[y].astype(str))
    assert json.loads(gmr.rectification_.to_json())["samples"]["label"][0].startswith("2024")


def test_redecide_keeps_the_votes_and_does_not_change_the_record(record):
    before = record.decision.copy()
    milder = record.redecide(gamma=0)
    np.testing.assert_array_equal(record.decision, before)
    assert milder._votes is record._votes
    assert milder._thresholds.gamma == 0
    assert milder._thresholds.alpha == record._thresholds.alpha
    assert not milder.removed[milder.label == "rare"].any()
    stricter = record.redecide(alpha=0.9)
    assert "ambiguity" in set(stricter.reason)


def test_it_can_be_pickled(record):
    again = pickle.loads(pickle.dumps(record))
    assert repr(again) == repr(record)
    np.testing.assert_array_equal(again.redecide(gamma=0).removed, record.redecide(gamma=0).removed)


def test_without_data_drops_the_input_and_the_neighbours(overlapping):
    X, y = overlapping[0].copy(), overlapping[1]
    gmr = GMR()
    gmr.fit_resample(X, y)
    removed, input_of_the_run = gmr.rectification_.removed, weakref.ref(X)
    del X
    assert input_of_the_run() is not None
    gmr.rectification_ = gmr.rectification_.without_data()
    gc.collect()
    assert input_of_the_run() is None
    assert gmr.rectification_._trace is None
    np.testing.assert_array_equal(gmr.rectification_.redecide().removed, removed)


def test_it_prints_as_a_table(record):
    text = repr(record)
    assert "samples removed" in text
    assert "common  strict" in text
    assert "imbalance ratio 6.67 ->" in text


def test_text_mentions_an_empty_class(overlapping):
    X, y = overlapping
    gmr = GMR(sampling_strategy="all", alpha=1.0)
    gmr.fit_resample(X, y)
    facts = gmr.rectification_.summary()
    if min(one["after"] for one in facts["classes"]) == 0:
        assert facts["imbalance_ratio_after"] is None
        assert "a class is empty" in repr(gmr.rectification_)
