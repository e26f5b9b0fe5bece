"""Votes and rules, on neighbourhoods small enough to check by hand."""

import numpy as np
import pytest

from rectifold._core.rules import DECISIONS, REASONS, Thresholds, cap, decide, guarded
from rectifold._core.votes import Votes, count_votes, size_order
from rectifold._engines.contract import Neighbourhoods


def neighbourhoods(indices, distances, certified=None):
    indices = np.array(indices)
    none = np.zeros(len(indices), dtype=bool)
    certified = none if certified is None else np.array(certified)
    rows = np.flatnonzero(~certified)
    return Neighbourhoods(rows, indices[rows], np.array(distances, dtype=float)[rows], certified)


def votes_of(predicted, confidence, larger, depth=None, majority=None):
    n = len(predicted)
    larger = np.array(larger, dtype=float)
    return Votes(
        predicted=np.array(predicted),
        confidence=np.array(confidence, dtype=float),
        majority_confidence=larger if majority is None else np.array(majority, dtype=float),
        larger=larger,
        depth=np.arange(n, dtype=float) if depth is None else np.array(depth, dtype=float),
    )


def reasons(decisions):
    return [
        f"{DECISIONS[d]} {REASONS[r]}".strip()
        for d, r in zip(decisions.decision, decisions.reason, strict=True)
    ]


def test_a_nearer_neighbour_has_more_weight():
    labels = np.array([0, 0, 1])
    votes = count_votes(
        neighbourhoods([[1, 2], [0, 2], [0, 1]], [[1, 3], [1, 1], [2, 2]]),
        labels,
        np.array([2, 1]),
        epsilon=1e-300,
    )
    np.testing.assert_allclose(votes.confidence, [0.75, 0.5, 0])
    np.testing.assert_allclose(votes.majority_confidence, [0.75, 0.5, 1])
    np.testing.assert_allclose(votes.larger, [0, 0, 1])
    np.testing.assert_allclose(votes.depth, [2, 1, 2])
    # Equal votes, those of the second sample, go to the larger class.
    assert votes.predicted.tolist() == [0, 0, 0]


def test_votes_that_differ_by_rounding_go_to_the_larger_class():
    labels = np.array([1, 1, 1, 0, 0])
    near = neighbourhoods([[1, 2, 3, 4]] * 5, [[0.1, 0.3, 0.3, 0.1 + 1e-17]] * 5)
    votes = count_votes(near, labels, np.array([3, 2]))
    assert votes.predicted[0] == 0
    votes = count_votes(near, labels, np.array([2, 3]))
    assert votes.predicted[0] == 1


def test_balanced_votes_give_a_rare_class_more_weight():
    labels = np.array([0, 0, 0, 1])
    near = neighbourhoods([[1, 3]] * 4, [[1, 1]] * 4)
    votes = count_votes(near, labels, np.array([3, 1]), class_weight="balanced")
    np.testing.assert_allclose(votes.confidence[0], 0.25)
    assert votes.predicted[0] == 1


def test_a_certificate_is_a_vote_of_one_for_the_class_of_the_sample():
    labels = np.array([0, 1, 1])
    near = neighbourhoods([[1, 2]] * 3, [[1, 1]] * 3, certified=[False, True, True])
    votes = count_votes(near, labels, np.array([1, 2]))
    assert votes.confidence.tolist() == [0, 1, 1]
    assert votes.predicted.tolist() == [1, 1, 1]
    assert votes.majority_confidence.tolist() == [1, 1, 1]
    assert np.isnan(votes.depth).tolist() == [False, True, True]


def test_classes_are_ordered_by_size_then_by_label():
    assert size_order(np.array([5, 9, 5, 9])).tolist() == [1, 3, 0, 2]


def test_strict_samples_are_removed_as_intrusion_or_ambiguity():
    labels = np.zeros(4, dtype=int)
    sizes = np.array([40, 30])
    votes = votes_of([0, 1, 0, 0], [0.9, 0.1, 0.29, 0.3], [0, 0, 0, 0])
    out = decide(
        votes, labels, sizes, frozenset({0}), frozenset({1}), Thresholds(), keep_floor=False
    )
    assert reasons(out) == ["kept", "removed intrusion", "removed ambiguity", "kept"]


def test_a_vote_at_the_threshold_does_not_exceed_it_whatever_the_rounding():
    labels = np.array([0, 1, 1])
    sizes = np.array([40, 30])
    votes = votes_of([0, 0, 0], [0.3 - 1e-16, 0, 0], [0, 0.7 + 1e-16, 0.7 + 1e-9])
    out = decide(
        votes, labels, sizes, frozenset({0}), frozenset({1}), Thresholds(), keep_floor=False
    )
    assert reasons(out) == ["kept", "kept", "removed deep noise"]


def test_the_cap_selects_by_vote_then_by_mean_distance():
    labels = np.ones(6, dtype=int)
    sizes = np.array([400, 30])
    larger = [0.8, 1.0, 1.0 - 1e-14, 1.0, 0.95, 0.6]
    votes = votes_of([0] * 6, 1 - np.array(larger), larger, depth=[1, 5, 3, 5, 1, 1])
    out = decide(
        votes, labels, sizes, frozenset({0}), frozenset({1}), Thresholds(), keep_floor=False
    )
    assert cap(0.1, 30) == 3
    assert reasons(out) == [
        "spared deep noise",
        "removed deep noise",
        "removed deep noise",
        "removed deep noise",
        "spared deep noise",
        "kept",
    ]
    out = decide(
        votes, labels, sizes, frozenset({0}), frozenset({1}), Thresholds(gamma=0.04),
        keep_floor=False,
    )  # fmt: skip
    # All three votes are 1 within 1e-12, and the second sample has the nearest neighbours.
    assert [i for i, r in enumerate(reasons(out)) if r.startswith("removed")] == [2]


def test_the_floor_keeps_the_most_confident_samples():
    labels = np.zeros(5, dtype=int)
    sizes = np.array([5, 3, 2])
    votes = votes_of([1, 1, 1, 1, 0], [0.4, 0.1, 0.2, 0.3, 0.9], [0] * 5)
    roles = frozenset({0}), frozenset({1, 2})
    out = decide(votes, labels, sizes, *roles, Thresholds(min_minority=0), keep_floor=True)
    assert reasons(out) == [
        "spared intrusion",
        "removed intrusion",
        "removed intrusion",
        "spared intrusion",
        "kept",
    ]


def test_min_minority_returns_the_data_unchanged_for_two_classes_only():
    assert guarded(np.array([100, 9]), 10)
    assert not guarded(np.array([100, 10]), 10)
    assert not guarded(np.array([100, 9, 9]), 10)


@pytest.mark.parametrize(
    ("gamma", "size", "most"),
    [(0.29, 100, 29), (0.1, 35, 3), (0.0, 50, 0), (1.0, 7, 7), (1 / 3, 3, 0), (1e-5, 100_000, 1)],
)
def test_the_cap_is_rounded_down_in_exact_decimals(gamma, size, most):
    assert cap(gamma, size) == most
