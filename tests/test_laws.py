"""Laws that hold for any data, tried on data that hypothesis makes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rectifold import GMR
from rectifold._core.rules import cap
from reference import algorithm_1, many_classes, neighbours, votes

FEW = settings(max_examples=60, deadline=None)
SOME = settings(max_examples=30, deadline=None)


@st.composite
def tables(draw, classes=2, grid=None):
    """A table of overlapping classes, the first the largest; on a grid, full of ties, if asked."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = [draw(st.integers(60, 160))] + [draw(st.integers(10, 50)) for _ in range(classes - 1)]
    d = draw(st.integers(1, 6))
    y = np.repeat(np.arange(classes), sizes)
    X = rng.normal(y[:, None] * draw(st.floats(0, 2)), 1, size=(len(y), d))
    on_grid = draw(st.booleans()) if grid is None else grid
    X = np.round(X * 2) if on_grid else X
    order = rng.permutation(len(y))
    return X[order], y[order]


def removed(X, y, **parameters):
    gmr = GMR(**parameters)
    gmr.fit_resample(X, y)
    return gmr.rectification_.removed


@FEW
@given(tables(), st.integers(1, 25))
def test_two_classes_are_cleaned_as_algorithm_1_says(table, k):
    X, y = table
    if X.std() == 0:
        return
    expected = algorithm_1(votes(*neighbours(X, k), y), y)
    assert set(np.flatnonzero(removed(X, y, n_neighbors=k))) == expected


@FEW
@given(st.integers(3, 5).flatmap(lambda c: tables(classes=c)))
def test_more_classes_are_cleaned_as_the_rules_say(table):
    X, y = table
    expected = many_classes(votes(*neighbours(X, 15), y), y)
    assert set(np.flatnonzero(removed(X, y))) == expected


@SOME
@given(tables(grid=False), st.randoms(use_true_random=False))
def test_permuting_rows_permutes_the_answer(table, random):
    X, y = table
    order = np.array(random.sample(range(len(y)), len(y)))
    np.testing.assert_array_equal(removed(X[order], y[order]), removed(X, y)[order])


@SOME
@given(tables())
def test_renaming_the_classes_changes_nothing(table):
    X, y = table
    np.testing.assert_array_equal(removed(X, -y), removed(X, y))
    np.testing.assert_array_equal(removed(X, np.where(y == 1, "b", "a")), removed(X, y))


@SOME
@given(tables(), st.floats(-1e6, 1e6))
def test_a_constant_feature_changes_nothing(table, constant):
    X, y = table
    wider = np.column_stack((X, np.full(len(y), constant)))
    plain, widened = GMR(), GMR()
    plain.fit_resample(X, y)
    widened.fit_resample(wider, y)
    np.testing.assert_array_equal(
        plain.rectification_.confidence, widened.rectification_.confidence
    )
    np.testing.assert_array_equal(plain.rectification_.removed, widened.rectification_.removed)


@SOME
@given(tables())
def test_after_doubling_every_row_each_has_a_twin_that_vouches_for_it(table):
    X, y = table
    twice_X, twice_y = np.concatenate((X, X)), np.concatenate((y, y))
    k = 15
    expected = algorithm_1(votes(*neighbours(twice_X, k), twice_y), twice_y)
    found = removed(twice_X, twice_y, n_neighbors=k)
    assert set(np.flatnonzero(found)) == expected
    # The twin at distance zero outweighs all neighbours at a distance.
    alone = [(np.abs(X - x).max(axis=1) == 0).sum() == 1 for x in X]
    assert not found[np.concatenate((alone, alone))].any()


@SOME
@given(tables(grid=False), st.integers(-20, 20))
def test_scaling_by_a_power_of_two_changes_nothing_but_the_weight_of_epsilon(table, power):
    X, y = table
    scale = 2.0**power
    np.testing.assert_array_equal(
        removed(X * scale, y, epsilon=1e-8 * scale), removed(X, y, epsilon=1e-8)
    )


@SOME
@given(tables(), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_redeciding_is_what_cleaning_with_other_thresholds_gives(table, alpha, beta, gamma):
    X, y = table
    gmr = GMR()
    gmr.fit_resample(X, y)
    again = gmr.rectification_.redecide(alpha=alpha, beta=beta, gamma=gamma)
    fresh = GMR(alpha=alpha, beta=beta, gamma=gamma)
    fresh.fit_resample(X, y)
    np.testing.assert_array_equal(again.decision, fresh.rectification_.decision)
    np.testing.assert_array_equal(again.reason, fresh.rectification_.reason)


@SOME
@given(st.integers(2, 4).flatmap(lambda c: tables(classes=c)), st.floats(0, 1), st.floats(0, 1))
def test_gamma_bounds_what_a_protected_class_loses(table, gamma, beta):
    X, y = table
    gone = removed(X, y, gamma=gamma, beta=beta)
    for c in range(1, y.max() + 1):
        assert gone[y == c].sum() <= gamma * (y == c).sum() + 1e-9


@SOME
@given(tables(), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_alpha_never_keeps_more(table, one, other):
    X, y = table
    low, high = removed(X, y, alpha=min(one, other)), removed(X, y, alpha=max(one, other))
    assert not (low & ~high).any()


@SOME
@given(st.integers(2, 4).flatmap(lambda c: tables(classes=c)), st.floats(0, 1))
def test_balanced_votes_never_push_the_majority_below_the_largest_other_class(table, alpha):
    X, y = table
    gmr = GMR(class_weight="balanced", alpha=alpha)
    _, kept = gmr.fit_resample(X, y)
    sizes = np.bincount(kept)
    assert sizes[0] >= sizes[1:].max()


@given(st.integers(0, 100), st.integers(0, 10_000))
def test_the_cap_is_exact_for_percentages(percent, size):
    assert cap(percent / 100, size) == percent * size // 100


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_cores_changes_nothing(overlapping, n_jobs):
    X, y = overlapping
    X = np.round(X * 3)
    one, more = GMR(n_jobs=1), GMR(n_jobs=n_jobs)
    one.fit_resample(X, y)
    more.fit_resample(X, y)
    np.testing.assert_array_equal(one.rectification_.confidence, more.rectification_.confidence)
    np.testing.assert_array_equal(one.sample_indices_, more.sample_indices_)
