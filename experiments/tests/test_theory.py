"""The statements on the theory pages, and that the pages are made from the stored results."""

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose

from rectifold import GMR
from rectifold._core.rules import KEPT, Thresholds, decide
from rectifold._core.votes import ballot, size_order, weigh
from rectifold.posterior import posterior_shift

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from experiments.theory import lemma, page, proposition, theorem, worlds


@pytest.mark.parametrize("name", page.NAMES)
def test_the_tables_of_a_page_are_made_from_the_stored_result(name):
    pytest.importorskip("pyarrow")
    pytest.importorskip("scikit_posthocs")
    experiment = import_module(f"experiments.theory.{name}")
    assert page.written(name) == experiment.blocks(page.result(name))


@pytest.mark.parametrize("name", page.NAMES)
def test_a_page_shows_its_picture(name):
    text = (page.PAGES / f"{name}.md").read_text()
    assert f"../images/theory-{name}.png" in text
    assert (page.PICTURES / f"theory-{name}.png").is_file()


# The definition.


@given(st.floats(0.01, 0.99), st.floats(0.1, 1000))
def test_flagging_has_the_lower_expected_cost_exactly_above_the_threshold(p, cost):
    threshold = 1 / (1 + cost)
    assume(abs(p - threshold) > 1e-9)
    assert ((1 - p) < p * cost) == (p > threshold)


# The lemma.


@given(
    arrays.arrays(int, (2, 2), elements=st.integers(0, 60)),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_with_local_rates_the_lemma_is_exact(removed, kept_0, kept_1):
    removed_0, removed_1 = map(int, removed[0])
    n_0, n_1 = removed_0 + kept_0, removed_1 + kept_1
    shifted = posterior_shift(n_1 / (n_0 + n_1), r0=removed_0 / n_0, r1=removed_1 / n_1)
    assert shifted == pytest.approx(kept_1 / (kept_0 + kept_1))


def test_the_lemma_holds_for_uniform_removal_and_not_for_cleaning():
    X, y = worlds.two_gaussians(20_000, lemma.RATIO, seed=0)
    p = worlds.true_posterior(X, lemma.RATIO)
    removed = {
        name: lemma.removed_samples(name, X, y, np.random.default_rng(1)) for name in lemma.CLEANERS
    }
    found = {name: lemma.in_strips(p, y, rows) for name, rows in removed.items()}
    at_random = found["at random, r0 = 0.3"]
    assert_allclose(at_random["measured"], at_random["lemma"], atol=0.03)
    cleaned = found["GMR()"]
    assert cleaned["rates"][0] < cleaned["rates"][1]
    assert np.abs(cleaned["measured"] - cleaned["lemma"]).max() > 0.2
    shift = cleaned["measured"] - cleaned["share"]
    assert shift.min() < -0.02
    assert shift.max() > 0.2
    for row in found.values():
        assert_allclose(row["measured"], row["local"], atol=1e-12)


# The theorem.

distances = arrays.arrays(float, (1, 15), elements=st.floats(1e-3, 10))


def _weights(d):
    return weigh(d, np.zeros(d.shape, dtype=int), np.array([1]), epsilon=1e-8, class_weight=None)[0]


@given(distances, st.floats(0.01, 0.25))
def test_weights_never_lower_the_variance_under_constant_noise(d, v):
    w = _weights(d)
    assert (w**2 * v).sum() >= v / 15 * (1 - 1e-9)


@given(distances, arrays.arrays(float, 15, elements=st.floats(0.001, 0.25)))
def test_the_condition_of_the_theorem_is_equivalent_to_a_lower_variance(d, v):
    w = _weights(d)
    weighted, uniform = (w**2 * v).sum(), (v / 15**2).sum()
    assume(abs(weighted / uniform - 1) > 1e-9)
    effective = 1 / (w**2).sum()
    condition = (w**2 * v).sum() / (w**2).sum() < effective / 15 * v.mean()
    assert condition == (weighted < uniform)


def test_noise_in_the_probability_of_a_label_does_not_change_its_variance():
    rng = np.random.default_rng(0)
    p = 0.5 + rng.uniform(-0.4, 0.4, size=400_000)
    labels = rng.random(p.shape) < p
    assert labels.var() == pytest.approx(0.25, abs=0.001)


def test_votes_are_uniform_with_a_huge_epsilon(overlapping):
    X, y = overlapping
    gmr = GMR(epsilon=theorem.UNIFORM)
    gmr.fit_resample(X, y)
    votes = 15 * gmr.rectification_.majority_confidence
    assert_allclose(votes, votes.round(), atol=1e-6)


# The corollary.


def test_samples_of_equal_norm_have_the_same_neighbours_under_both_metrics(overlapping):
    X, y = overlapping
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    near = {}
    for metric in ("euclidean", "cosine"):
        gmr = GMR(metric=metric, epsilon=theorem.UNIFORM)
        gmr.fit_resample(X, y)
        near[metric] = gmr.rectification_.majority_confidence
    assert_allclose(near["euclidean"], near["cosine"], atol=1e-6)


# The proposition.


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.8, 10 / 11])
def test_with_perfect_votes_alpha_sets_the_boundary(alpha):
    """Strict samples are removed if their own vote is below alpha or below one half."""
    p = np.linspace(0.001, 0.999, 999)
    removed = np.maximum(alpha, 0.5) > 1 - p
    cleaned = np.where(removed, 1.0, p)
    boundary = p[cleaned > 0.5].min()
    assert boundary == pytest.approx(min(0.5, 1 - alpha), abs=0.0015)


def test_three_majority_samples_for_one_minority_sample_may_be_a_lower_rate():
    assert posterior_shift(0.5, r0=30 / 1000, r1=10 / 100) < 0.5


def test_cleaning_moves_the_boundary_towards_the_majority_but_less_than_costs_ask_for():
    runs = {(run["model"], run["cleaner"]): run for run in proposition.one_run("overlap", seed=0)}
    for model in proposition.MODELS:
        before, after, strict, moved = (
            runs[model, cleaner]["threshold"]
            for cleaner in (
                *("no cleaning", "GMR()", "GMR(alpha=10/11, gamma=0)"),
                "no cleaning, threshold 1/11",
            )
        )
        assert moved < strict < after < before


# The thresholds.


@st.composite
def neighbourhoods(draw, most=6):
    """Draw samples with random neighbours, whose distances often tie, of 2 to `most` classes."""
    n_classes = draw(st.integers(2, most))
    sizes = np.array(draw(st.lists(st.integers(20, 90), min_size=n_classes, max_size=n_classes)))
    k = draw(st.integers(1, 9))
    n = 12
    d = draw(arrays.arrays(float, (n, k), elements=st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0])))
    labels = draw(arrays.arrays(int, (n, k), elements=st.integers(0, n_classes - 1)))
    own = draw(arrays.arrays(int, n, elements=st.integers(0, n_classes - 1)))
    weight = draw(st.sampled_from([None, "balanced"]))
    votes = ballot(np.sort(d, axis=1), labels, own, sizes, epsilon=1e-8, class_weight=weight)
    return votes, own, sizes


def removed_mask(table, **thresholds):
    """Return which samples are removed without a cap; the largest class is strict."""
    votes, own, sizes = table
    order = size_order(sizes)
    strict, protected = frozenset(order[:1].tolist()), frozenset(order[1:].tolist())
    settings = Thresholds(**{"gamma": 1.0, **thresholds})
    made = decide(votes, own, sizes, strict, protected, settings, keep_floor=False)
    return made.decision != KEPT


@given(neighbourhoods(most=2), st.floats(0, 0.5))
def test_with_two_classes_alpha_up_to_one_half_has_no_effect(table, alpha):
    assert (removed_mask(table, alpha=alpha) == removed_mask(table, alpha=0)).all()


@given(neighbourhoods(most=2), st.floats(0, 0.499999))
def test_with_two_classes_beta_below_one_half_has_no_effect(table, beta):
    assert (removed_mask(table, beta=beta) == removed_mask(table, beta=0)).all()


@given(neighbourhoods(), st.floats(0, 1))
def test_with_more_classes_alpha_up_to_one_over_their_number_has_no_effect(table, share):
    alpha = share / len(table[2])
    assert (removed_mask(table, alpha=alpha) == removed_mask(table, alpha=0)).all()


@given(neighbourhoods(), st.floats(0, 0.999999))
def test_with_more_classes_beta_below_its_bound_has_no_effect(table, share):
    _, own, sizes = table
    smaller = len(sizes) - 1 - np.argsort(size_order(sizes))[own]
    for b in set(smaller.tolist()):
        beta = share * float(Fraction(1, 2 + b))
        same = removed_mask(table, beta=beta) == removed_mask(table, beta=0)
        assert same[smaller == b].all()


def test_beyond_these_bounds_thresholds_have_an_effect():
    d = np.ones((1, 10))
    sizes = np.array([90, 50, 40, 30])

    def is_removed(labels, own, **thresholds):
        votes = ballot(
            d, np.array([labels]), np.array([own]), sizes, epsilon=1e-8, class_weight=None
        )
        return bool(removed_mask((votes, np.array([own]), sizes), **thresholds)[0])

    # The largest class leads with 0.4; alpha has an effect between 1/4 and 1/2.
    four = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3]
    assert not is_removed(four, 0, alpha=0.39)
    assert is_removed(four, 0, alpha=0.45)
    # One class is larger and two are smaller: a vote of 0.3 for the larger one leads.
    middle = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert is_removed(middle, 1, beta=0.25)
    assert not is_removed(middle, 1, beta=0.35)


def test_with_all_classes_strict_alpha_has_an_effect_from_zero_on():
    X, y = worlds.two_gaussians(600, 5, seed=0, apart=1)
    gmr = GMR(sampling_strategy="all")
    gmr.fit_resample(X, y)
    removed = [gmr.rectification_.redecide(alpha=alpha).removed.sum() for alpha in (0, 0.2, 0.4)]
    assert removed[0] < removed[1] < removed[2]
