"""The shift of probabilities, its inverse, and the asymmetric risk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rectifold.metrics import asymmetric_risk, asymmetric_risk_scorer
from rectifold.posterior import posterior_shift, reweighted, undo_posterior_shift

removed = st.floats(0, 0.999)
probability = st.floats(0, 1)


@pytest.mark.parametrize(
    ("r0", "r1", "ratio", "before", "after"),
    [(0.2, 0.05, 10, 0.091, 0.106), (0.3, 0.05, 20, 0.0476, 0.0635)],
)
def test_the_examples_of_the_paper(r0, r1, ratio, before, after):
    p = 1 / (1 + ratio)
    digits = 3 if ratio == 10 else 4
    assert round(p, digits) == before
    assert round(posterior_shift(p, r0, r1), digits) == after


@given(probability, removed, removed)
def test_undoing_a_shift_is_its_inverse(p, r0, r1):
    there = posterior_shift(p, r0, r1)
    assert 0 <= there <= 1
    # Near 1 a shifted probability has lost digits, as many as the shift is large.
    slack = 1e-15 * max((1 - r0) / (1 - r1), (1 - r1) / (1 - r0))
    assert undo_posterior_shift(there, r0, r1) == pytest.approx(p, rel=1e-9, abs=4 * slack)
    back = undo_posterior_shift(p, r0, r1)
    assert posterior_shift(back, r0, r1) == pytest.approx(p, rel=1e-9, abs=4 * slack)


@given(st.lists(probability, min_size=2, max_size=5), removed, removed)
def test_order_is_kept_and_removing_more_of_the_majority_raises_probabilities(p, r0, r1):
    p = np.sort(p)
    shifted = posterior_shift(p, r0, r1)
    assert (np.diff(shifted) >= 0).all()
    raised = shifted >= p - 1e-12 if r0 >= r1 else shifted <= p + 1e-12
    assert raised.all()


@given(probability, removed, removed)
def test_two_columns_of_many_classes_are_the_lemma(p, r0, r1):
    both = reweighted(np.array([[1 - p, p]]), np.array([1 - r0, 1 - r1]))
    assert_allclose(both, [[1 - posterior_shift(p, r0, r1), posterior_shift(p, r0, r1)]], atol=1e-9)


def test_a_row_of_zeros_is_left_as_it_is():
    assert reweighted(np.zeros((1, 3)), np.ones(3)).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("shift", [posterior_shift, undo_posterior_shift])
def test_values_that_are_not_probabilities_are_refused(shift):
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="p must hold probabilities"):
            shift([0.5, wrong], 0.1, 0.1)
    with pytest.raises(ValueError, match="r0=1 must be the removed fraction"):
        shift(0.5, 1, 0.1)
    with pytest.raises(ValueError, match=r"r1=-0\.1 must be the removed fraction"):
        shift(0.5, 0.1, -0.1)


def test_asymmetric_risk_weighs_missed_positives():
    assert asymmetric_risk(["a", "b"], ["b", "b"], cost_fn=3, pos_label="a") == 1.5
    assert asymmetric_risk([0, 1], [1, 1], cost_fn=3, cost_fp=0.5) == 0.25
    assert asymmetric_risk([0, 1], [1, 0], sample_weight=[3, 1]) == (3 * 1 + 10) / 4
    with pytest.raises(ValueError, match="cost_fn=0 must be a finite number above 0"):
        asymmetric_risk([0, 1], [0, 1], cost_fn=0)
    with pytest.raises(ValueError, match="cost_fp=nan must be a finite number above 0"):
        asymmetric_risk_scorer(cost_fp=np.nan)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        asymmetric_risk([0, 1], [0])
    for labels in (["a", "b"], [0, 1, 2]):
        with pytest.raises(ValueError, match="there must be two, and pos_label=1 one of them"):
            asymmetric_risk(labels, labels)
    assert asymmetric_risk([0, 0], [0, 0]) == 0
