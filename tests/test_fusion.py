"""RectifiedClassifier: the vote of the nearest training samples in its predictions."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    get_scorer,
    make_scorer,
)
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from rectifold import NeighborVoteClassifier, RectifiedClassifier, TableSpace
from rectifold.model_selection._fusion import as_probabilities, decision_scale


def moons(n=600, seed=0):
    """Return two interleaved arcs, which a line can't separate, one of them rare."""
    X, y = make_moons(n_samples=(n - n // 6, n // 6), noise=0.25, random_state=seed)
    return X, y


def three_classes(n=400):
    return make_classification(
        n_samples=n, n_informative=4, n_classes=3, weights=[0.7, 0.2], random_state=0
    )


class Noise(ClassifierMixin, BaseEstimator):
    """Random probabilities, which depend on the sample alone."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.modf(abs(np.sin(1e4 * np.asarray(X)).sum(axis=1)))[0]
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class TestPrediction:
    @pytest.mark.parametrize("weight", [0.3, 1])
    def test_it_is_the_weighted_average_of_classifier_and_vote(self, weight):
        X, y = moons()
        X, new, y, _ = train_test_split(X, y, random_state=0)
        inner = LogisticRegression()
        model = RectifiedClassifier(inner, param_grid=(), vote_weight=weight).fit(X, y)
        vote = NeighborVoteClassifier().fit(X, y).predict_proba(new)
        plain = clone(inner).fit(X, y).predict_proba(new)
        expected = (1 - weight) * plain + weight * vote
        assert model.vote_weight_ == weight
        assert_allclose(model.predict_proba(new), expected, rtol=0, atol=1e-15)
        assert_array_equal(model.predict(new), expected.argmax(axis=1))
        assert_allclose(model.decision_function(new), expected[:, 1] - expected[:, 0], atol=1e-15)

    def test_with_a_weight_of_0_it_is_the_classifier(self):
        X, y = moons()
        for inner in (LogisticRegression(), SVC(), DecisionTreeClassifier(random_state=0)):
            model = RectifiedClassifier(inner, param_grid=(), vote_weight=0).fit(X, y)
            plain = clone(inner).fit(X, y)
            assert model.vote_ is None
            assert hasattr(model, "predict_proba") == hasattr(plain, "predict_proba")
            for name in ("predict", "predict_proba", "decision_function"):
                if hasattr(plain, name):
                    assert_array_equal(getattr(model, name)(X), getattr(plain, name)(X))

    @pytest.mark.parametrize("ensemble", [None, 4])
    @pytest.mark.parametrize(
        "inner", [DecisionTreeClassifier(random_state=0), SVC(), RidgeClassifier()], ids=repr
    )
    def test_probabilities_of_any_classifier_sum_to_1(self, inner, ensemble):
        for X, y in (moons(300), three_classes()):
            model = RectifiedClassifier(inner, vote_weight=0.4, ensemble=ensemble, cv=3).fit(X, y)
            p = model.predict_proba(X)
            assert_allclose(p.sum(axis=1), 1)
            assert (p >= 0).all()
            assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])

    @pytest.mark.parametrize("ensemble", [None, 5])
    def test_a_prediction_does_not_depend_on_its_batch(self, ensemble):
        X, y = moons(400)
        tree = DecisionTreeClassifier(random_state=0)
        model = RectifiedClassifier(tree, vote_weight=0.5, ensemble=ensemble, cv=5).fit(X, y)
        new, _ = moons(200, seed=1)
        together = model.predict_proba(new)
        assert_array_equal(np.vstack([model.predict_proba(one[None]) for one in new]), together)
        assert_array_equal(model.predict_proba(new[::-1]), together[::-1])

    def test_the_vote_of_an_ensemble_is_added_to_the_average(self):
        X, y = moons()
        tree = DecisionTreeClassifier(random_state=0)
        model = RectifiedClassifier(tree, ensemble=6, vote_weight=0.5).fit(X, y)
        mean = np.mean([one.predict_proba(X) for one in model.estimators_], axis=0)
        assert_allclose(model.predict_proba(X), (mean + model.vote_.predict_proba(X)) / 2)

    def test_labels_may_be_strings(self):
        X, y = moons()
        names = np.array(["common", "rare"])
        one, other = (
            RectifiedClassifier(LogisticRegression(), vote_weight=0.5, param_grid=()).fit(X, labels)
            for labels in (y, names[y])
        )
        assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        assert_array_equal(names[one.predict(X)], other.predict(X))


class TestChoiceOfTheWeight:
    def test_a_vote_that_helps_is_chosen(self):
        X, y = moons(900)
        X, new, y, truth = train_test_split(X, y, stratify=y, random_state=0)
        inner = LogisticRegression()
        model = RectifiedClassifier(inner).fit(X, y)
        assert model.vote_weight_ > 0
        plain = clone(inner).fit(X, y).predict_proba(new)[:, 1]
        fused = model.predict_proba(new)[:, 1]
        score = average_precision_score
        assert score(truth, fused) > score(truth, plain) + 0.02
        assert brier_score_loss(truth, fused) < brier_score_loss(truth, plain)

    def test_a_vote_that_does_not_help_is_not_chosen(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=800), 30 * rng.normal(size=(800, 20))])
        y = (X[:, 0] > 1).astype(int)
        # One feature decides, and distances are noise in the others.
        voter = NeighborVoteClassifier(views=["standardized"])
        tree = DecisionTreeClassifier(random_state=0)
        model = RectifiedClassifier(tree, voter=voter).fit(X, y)
        assert model.vote_weight_ == 0
        assert model.vote_ is None
        assert_array_equal(model.predict_proba(X), clone(tree).fit(X, y).predict_proba(X))

    def test_a_useless_classifier_is_replaced_by_the_vote(self):
        X, y = moons()
        assert RectifiedClassifier(Noise(), param_grid=()).fit(X, y).vote_weight_ >= 0.9

    def test_the_guard_refuses_gains_within_the_error(self):
        X, y = moons()
        strict = RectifiedClassifier(LogisticRegression(), min_gain_se=1e9).fit(X, y)
        assert strict.vote_weight_ == 0
        assert strict.best_params_ is None

    @pytest.mark.parametrize("scoring", ["average_precision", "roc_auc", "neg_log_loss"])
    def test_the_gain_is_that_of_plain_cross_validation(self, scoring):
        X, y = moons()
        cv = StratifiedKFold(4)
        inner = LogisticRegression()
        model = RectifiedClassifier(inner, param_grid=(), cv=cv, scoring=scoring).fit(X, y)
        table = model.cv_results_
        shares = (0.25, 0.5, 0.75)
        plain, votes = np.zeros((len(y), 2)), {share: np.zeros((len(y), 2)) for share in shares}
        for train, test in cv.split(X, y):
            plain[test] = clone(inner).fit(X[train], y[train]).predict_proba(X[test])
            for share, vote in votes.items():
                voter = NeighborVoteClassifier(leaf_share=share).fit(X[train], y[train])
                vote[test] = voter.predict_proba(X[test])
        scorer = get_scorer(scoring)
        score = {
            (w, share): scorer._sign * scorer._score_func(y, ((1 - w) * plain + w * vote)[:, 1])
            for w in np.arange(11) / 10
            for share, vote in votes.items()
        }
        best = max(score, key=score.get)
        assert (table["vote_weight"][0], model.vote_.leaf_share) == best
        assert table["gain"][0] == pytest.approx(score[best] - score[0, 0.5])
        assert table["gain_without_vote"][0] == 0

    def test_the_share_of_the_leaves_is_chosen_unless_it_is_set(self):
        X, y = moons()
        for voter, expected in (
            (None, {0.25, 0.5, 0.75}),
            (NeighborVoteClassifier(leaf_share=0.9), {0.9}),
            (NeighborVoteClassifier(leaf_share=0), {0.0}),
        ):
            model = RectifiedClassifier(LogisticRegression(), voter=voter, cv=3).fit(X, y)
            assert model.vote_.leaf_share in expected

    def test_differences_of_rounding_are_no_gain(self):
        X, y = make_classification(n_samples=300, class_sep=5, flip_y=0, random_state=0)
        model = RectifiedClassifier(LogisticRegression(), min_gain_se=0).fit(X, y)
        assert model.cv_results_["gain"][0] < 1e-12
        assert model.vote_weight_ == 0

    def test_cleaning_must_gain_beyond_the_vote(self):
        # Cleaning helps this classifier much; the vote helps as much without it.
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2))
        truth = (X[:, 0] > 1.0).astype(int)
        y = np.where(rng.random(600) < 0.15, 1 - truth, truth)
        grid = [{"alpha": 0.5, "gamma": 1.0, "beta": 0.5}]
        tree = DecisionTreeClassifier(random_state=0)
        alone = RectifiedClassifier(tree, param_grid=grid, vote_weight=0).fit(X, y)
        fused = RectifiedClassifier(tree, param_grid=grid).fit(X, y)
        assert alone.best_params_ == grid[0]
        assert fused.vote_weight_ > 0
        table = fused.cv_results_
        assert table["gain_without_vote"][1] > 0
        assert fused.best_params_ is None or table["gain"][1] > table["gain"][0]

    def test_the_choice_does_not_depend_on_n_jobs(self):
        X, y = moons()
        for ensemble in (None, 5):
            one, two = (
                RectifiedClassifier(
                    DecisionTreeClassifier(random_state=0), cv=2, ensemble=ensemble, n_jobs=n
                ).fit(X, y)
                for n in (1, 2)
            )
            assert_array_equal(one.predict_proba(X), two.predict_proba(X))
            assert one.vote_weight_ == two.vote_weight_

    def test_groups_stay_together_in_votes(self):
        # All samples of a group are copies, so that votes across folds of other groups alone count.
        rng = np.random.default_rng(0)
        X = np.repeat(rng.normal(size=(60, 3)), 5, axis=0)
        y = np.repeat(rng.random(60) < 0.3, 5).astype(int)
        groups = np.repeat(np.arange(60), 5)
        inner = LogisticRegression()
        leaky = RectifiedClassifier(inner, param_grid=()).fit(X, y)
        sound = RectifiedClassifier(inner, param_grid=()).fit(X, y, groups=groups)
        assert leaky.cv_results_["gain"][0] > 0.3
        assert sound.cv_results_["gain"][0] < 0.2
        own = RectifiedClassifier(inner, param_grid=(), cv=StratifiedGroupKFold(3))
        assert own.fit(X, y, groups=groups).cv_results_["gain"][0] < 0.2

    def test_label_noise_in_the_minority_leaves_the_gain(self):
        X, y = moons(1200)
        X, new, y, truth = train_test_split(X, y, stratify=y, random_state=0)
        rare = np.flatnonzero(y)
        noisy = y.copy()
        noisy[rare[::10]] = 0
        tree = DecisionTreeClassifier(random_state=0)

        def gain(labels):
            plain, fused = (
                average_precision_score(truth, model.fit(X, labels).predict_proba(new)[:, 1])
                for model in (clone(tree), RectifiedClassifier(tree))
            )
            return fused - plain

        assert gain(noisy) > 0.8 * gain(y) > 0


class TestInput:
    def test_a_messy_table_needs_no_settings(self):
        pd = pytest.importorskip("pandas")
        X, y = moons()
        table = pd.DataFrame(X, columns=["a", "b"])
        table["kind"] = np.where(X[:, 0] > 0, "red", "green")
        table.loc[::7, "b"] = np.nan
        line = make_pipeline(TableSpace(), LogisticRegression())
        model = RectifiedClassifier(line, cv=3).fit(table, y)
        assert model.vote_weight_ > 0
        new = table.head().copy()
        new.loc[0, "kind"] = "never seen"
        assert np.isfinite(model.predict_proba(new)).all()
        assert model.predict_proba(table.iloc[[3]]) == pytest.approx(
            model.predict_proba(table)[3:4]
        )

    def test_missing_values_are_for_classifiers_that_take_them(self):
        X, y = moons()
        X[::9, 1] = np.nan
        model = RectifiedClassifier(DecisionTreeClassifier(random_state=0), cv=2)
        assert np.isfinite(model.fit(X, y).predict_proba(X)).all()
        with pytest.raises(ValueError, match="NaN"):
            RectifiedClassifier(LogisticRegression()).fit(X, y)

    def test_sparse_and_wide_input(self):
        rng = np.random.default_rng(0)
        X = sparse.random_array((300, 400), density=0.05, rng=rng, format="csr")
        y = (np.asarray(X[:, :40].sum(axis=1)).ravel() > 1.2).astype(int)
        model = RectifiedClassifier(LogisticRegression(), param_grid=(), vote_weight=0.5).fit(X, y)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    def test_sample_weights_go_to_the_classifier(self):
        X, y = moons()
        weight = np.linspace(0.1, 3, len(y))
        model = RectifiedClassifier(LogisticRegression(), param_grid=(), vote_weight=0.5)
        own = LogisticRegression().fit(X, y, sample_weight=weight).predict_proba(X)
        model.fit(X, y, sample_weight=weight)
        assert_allclose(2 * model.predict_proba(X) - own, model.vote_.predict_proba(X), atol=1e-14)

    def test_posteriors_are_corrected_before_the_fusion(self):
        X, y = moons()
        grid = [{"class_weight": "balanced", "gamma": 0}]
        settings = {"param_grid": grid, "min_gain_se": 0, "scoring": "recall"}
        plain, corrected = (
            RectifiedClassifier(
                LogisticRegression(), vote_weight=w, correct_posterior=True, **settings
            ).fit(X, y)
            for w in (0, 0.5)
        )
        assert corrected.best_params_ == plain.best_params_ == grid[0]
        vote = corrected.vote_.predict_proba(X)
        assert_allclose(corrected.predict_proba(X), (plain.predict_proba(X) + vote) / 2)


class TestModel:
    def test_a_pickled_model_keeps_one_small_copy_of_the_training_data(self):
        X, y = make_classification(n_samples=20_000, n_features=30, weights=[0.9], random_state=0)
        model = RectifiedClassifier(
            LogisticRegression(),
            param_grid=(),
            vote_weight=0.5,
            voter=NeighborVoteClassifier(leaf_share=0),
            cv=2,
        )
        stored = pickle.dumps(model.fit(X, y))
        assert len(stored) < 1.3 * X.astype(np.float32).nbytes
        assert_array_equal(pickle.loads(stored).predict_proba(X[:9]), model.predict_proba(X[:9]))
        model.set_params(vote_weight=0).fit(X, y)
        assert len(pickle.dumps(model)) < 100_000

    def test_cv_results_have_the_best_weight_of_every_setting(self):
        X, y = moons()
        table = RectifiedClassifier(LogisticRegression(), cv=3).fit(X, y).cv_results_
        assert (table["gain"] >= table["gain_without_vote"])[~np.isnan(table["gain"])].all()
        assert set(table["vote_weight"]) <= {step / 10 for step in range(11)}

    def test_a_random_forest_keeps_its_gain(self):
        X, y = moons()
        X, new, y, truth = train_test_split(X, y, stratify=y, random_state=0)
        forest = RandomForestClassifier(20, random_state=0)
        plain, fused = (
            average_precision_score(truth, model.fit(X, y).predict_proba(new)[:, 1])
            for model in (clone(forest), RectifiedClassifier(forest, cv=3, param_grid=()))
        )
        assert fused > plain - 0.01


class TestDecisionValues:
    def test_the_map_is_monotone_and_keeps_labels(self):
        rng = np.random.default_rng(0)
        values = 5 * rng.normal(size=500)
        codes = (values + 3 * rng.normal(size=500) > 0).astype(int)
        predictions = {"decision_function": values}
        p = as_probabilities(predictions, decision_scale(predictions, codes))[:, 1]
        assert (np.diff(p[np.argsort(values)]) >= 0).all()
        assert_array_equal(p > 0.5, values > 0)

    def test_the_scale_of_values_does_not_matter(self):
        rng = np.random.default_rng(0)
        values = rng.normal(size=500)
        codes = (values + rng.normal(size=500) > 0).astype(int)
        found = []
        for factor in (1e-6, 1, 1e6):
            predictions = {"decision_function": factor * values}
            found.append(as_probabilities(predictions, decision_scale(predictions, codes)))
        assert_allclose(found[0], found[1], atol=1e-3)
        assert_allclose(found[2], found[1], atol=1e-3)

    def test_log_odds_are_recognised(self):
        rng = np.random.default_rng(0)
        odds = 2 * rng.normal(size=20_000)
        codes = (rng.random(20_000) < 1 / (1 + np.exp(-odds))).astype(int)
        assert decision_scale({"decision_function": odds}, codes) == pytest.approx(1, abs=0.05)

    def test_constant_and_separating_values_are_finite(self):
        codes = np.array([0, 0, 1, 1])
        assert decision_scale({"decision_function": np.zeros(4)}, codes) == 1
        scale = decision_scale({"decision_function": np.array([-1.0, -1, 1, 1])}, codes)
        assert np.isfinite(scale)


class TestBadInput:
    @pytest.mark.parametrize("weight", [-0.1, 1.5, "half", None])
    def test_a_weight_out_of_range_is_refused(self, weight):
        X, y = moons(100)
        with pytest.raises(ValueError, match="'vote_weight' parameter"):
            RectifiedClassifier(LogisticRegression(), vote_weight=weight).fit(X, y)

    def test_another_voter_is_refused(self):
        X, y = moons(100)
        with pytest.raises(TypeError, match="it must be a NeighborVoteClassifier"):
            RectifiedClassifier(LogisticRegression(), voter=LogisticRegression()).fit(X, y)

    def test_a_fixed_weight_needs_probabilities_that_can_be_scored(self):
        X, y = moons(100)
        with pytest.raises(ValueError, match="set vote_weight=0"):
            RectifiedClassifier(
                LogisticRegression(), vote_weight=0.5, scoring=lambda model, X, y: 0.5
            ).fit(X, y)
        pairs = SVC(decision_function_shape="ovo")
        X, y = three_classes()
        with pytest.raises(ValueError, match="set vote_weight=0"):
            RectifiedClassifier(pairs, vote_weight=0.5, scoring="accuracy").fit(X, y)

    def test_a_function_of_the_estimator_turns_the_choice_off(self):
        X, y = moons(200)
        model = RectifiedClassifier(LogisticRegression(), scoring=lambda model, X, y: 0.5, cv=2)
        assert model.fit(X, y).vote_weight_ == 0
        scorer = make_scorer(average_precision_score, response_method="predict_proba")
        model = RectifiedClassifier(LogisticRegression(), scoring=scorer, param_grid=())
        assert model.fit(X, y).vote_weight_ > 0

    def test_scaling_inside_a_pipeline_works(self):
        X, y = moons(200)
        line = make_pipeline(StandardScaler(), SVC())
        assert (
            RectifiedClassifier(line, vote_weight=0.2, cv=2).fit(X, y).predict_proba(X).shape[1]
            == 2
        )
