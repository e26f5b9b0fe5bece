"""RectifiedClassifier: the choice of a setting, ensembles, and use within scikit-learn."""

import numpy as np
import pytest
import sklearn
from imblearn.over_sampling import SMOTE, RandomOverSampler
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifold import GMR, RectifiedClassifier
from rectifold._core import pipeline
from rectifold.metrics import asymmetric_risk_scorer
from rectifold.model_selection import rectify_all
from rectifold.posterior import undo_posterior_shift
from rectifold.progress import listening


def data(n=400, seed=0, noise=0.15, **more):
    settings = {"n_features": 5, "n_informative": 3, "weights": [0.85], "class_sep": 0.8, **more}
    return make_classification(n_samples=n, flip_y=noise, random_state=seed, **settings)


class LabelsOnly(ClassifierMixin, BaseEstimator):
    """It predicts labels, without probabilities or a decision function."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def split_scores(model):
    """Return the scores of all candidates (rows) on all folds (columns)."""
    results = model.cv_results_
    return np.array([results[key] for key in results if key.startswith("split")]).T


def tree(**more):
    """Return a tree after cleaning, without votes unless they are asked for."""
    settings = {"vote_weight": 0, "random_state": 0, **more}
    return RectifiedClassifier(DecisionTreeClassifier(random_state=0), **settings)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [RectifiedClassifier(LogisticRegression(tol=0.01), cv=2, param_grid=[{"n_neighbors": 3}])]
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        RectifiedClassifier(LogisticRegression()),
        RectifiedClassifier(LogisticRegression(), cv=2, ensemble=3, correct_posterior=True),
    ]
)
def test_scikit_learn_checks_pass_with_all_candidates_and_for_ensembles(estimator, check):
    check(estimator)


class TestRectifyAll:
    SETTINGS = (
        {},
        {"gamma": 0},
        {"n_neighbors": 3, "alpha": 0.8},
        {"class_weight": "balanced", "n_neighbors": 30},
        {"metric": "cosine"},
        {"space": StandardScaler(), "beta": 0.5},
        {"metric": "manhattan", "n_neighbors": 4},
    )

    @pytest.mark.parametrize("classes", [2, 3])
    def test_every_record_is_what_the_sampler_alone_records(self, classes):
        X, y = data(n_classes=classes, n_informative=4, n_redundant=1, weights=None)
        found = rectify_all(GMR(alpha=0.6), self.SETTINGS, X, y)
        for setting, record in zip(self.SETTINGS, found, strict=True):
            alone = GMR(**{"alpha": 0.6, **setting})
            alone.fit_resample(X, y)
            assert_array_equal(record.removed, alone.rectification_.removed)
            # A certificate for fewer neighbours stands for a sum that is 1 but for rounding.
            assert_allclose(record.confidence, alone.rectification_.confidence, rtol=0, atol=1e-14)
            assert record._setting.n_neighbors == alone.rectification_._setting.n_neighbors

    def test_settings_of_one_geometry_share_one_search(self, monkeypatch):
        searches = []
        plain = pipeline.search

        def counted(engine, points, labels, k, **more):
            searches.append(k)
            return plain(engine, points, labels, k, **more)

        monkeypatch.setattr(pipeline, "search", counted)
        X, y = data()
        rectify_all(
            GMR(), [{"n_neighbors": k, "alpha": a} for k in (5, 20) for a in (0.3, 0.9)], X, y
        )
        assert searches == [20]
        rectify_all(GMR(), [{}, {"metric": "cosine"}], X, y)
        assert searches == [20, 15, 15]

    def test_a_search_object_is_not_mixed_with_plain_numbers(self):
        from sklearn.neighbors import NearestNeighbors

        X, y = data()
        sampler = GMR(n_neighbors=NearestNeighbors(n_neighbors=6))
        own, plain = rectify_all(sampler, [{}, {"n_neighbors": 9}], X, y)
        assert (own._setting.n_neighbors, plain._setting.n_neighbors) == (5, 9)


class TestChoice:
    def test_without_a_gain_nothing_is_cleaned(self):
        X, y = make_classification(
            n_samples=300, weights=[0.8], class_sep=5, flip_y=0, random_state=0
        )
        model = RectifiedClassifier(LogisticRegression(), random_state=0).fit(X, y)
        assert model.sampler_ is None
        assert model.best_params_ is None
        assert model.rectification_ is None
        assert model.cv_results_["chosen"].tolist() == [True, *[False] * 3]
        plain = LogisticRegression().fit(X, y)
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))

    def test_label_noise_is_cleaned_for_a_nearest_neighbour_classifier(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2))
        truth = (X[:, 0] > 1.0).astype(int)
        y = np.where(rng.random(600) < 0.15, 1 - truth, truth)
        nearest = KNeighborsClassifier(1)
        grid = [{"alpha": 0.5, "gamma": 1.0, "beta": 0.5}]
        model = RectifiedClassifier(nearest, param_grid=grid, vote_weight=0).fit(X, y)
        assert model.best_params_ == grid[0]
        fresh = rng.normal(size=(2000, 2))
        found = (fresh[:, 0] > 1.0).astype(int)
        assert model.score(fresh, found) > clone(nearest).fit(X, y).score(fresh, found) + 0.05

    def test_min_gain_se_decides(self):
        X, y = data(600)
        loose = tree(min_gain_se=0).fit(X, y)
        table = loose.cv_results_
        assert table["gain"][0] == 0
        assert table["gain"][table["chosen"]] == table["gain"].max()
        strict = tree(min_gain_se=1e9).fit(X, y)
        assert strict.best_params_ is None

    def test_only_candidates_ahead_are_tried_in_the_second_repeat(self):
        X, y = data(600)
        # A tree is worse without most of the majority class.
        grid = [{"alpha": 1.0, "gamma": 0}, {"beta": 0.5, "gamma": 0.3}]
        model = tree(param_grid=grid).fit(X, y)
        missing = np.isnan(split_scores(model))
        assert missing.shape == (3, 10)
        assert not missing[0].any()
        dropped = missing[:, 5:].all(axis=1)
        assert dropped.tolist() == [False, *(model.cv_results_["gain"][1:] <= 0)]
        assert dropped.any()

    def test_cv_results_has_the_keys_of_scikit_learn(self):
        X, y = data(600)
        model = tree().fit(X, y)
        results = model.cv_results_
        assert all(len(values) == 8 for values in results.values())
        scores = split_scores(model)
        assert_allclose(results["mean_test_score"], np.nanmean(scores, axis=1))
        assert_allclose(results["std_test_score"], np.nanstd(scores, axis=1))
        best = results["gain"].argmax()
        assert results["rank_test_score"][best] == 1
        assert results["params"][0] is None
        assert results["chosen"].sum() == 1
        alone = tree(param_grid=[]).fit(X, y).cv_results_
        assert not [key for key in alone if key.startswith("split")]
        assert np.isnan(alone["mean_test_score"][0])

    def test_cv_results_make_a_data_frame(self):
        pd = pytest.importorskip("pandas")
        X, y = data()
        frame = pd.DataFrame(tree(cv=3).fit(X, y).cv_results_)
        assert frame["setting"].tolist()[:3] == ["None", "GMR(gamma=0)", "GMR()"]

    def test_results_are_reproducible_by_default(self):
        X, y = data()
        model = RectifiedClassifier(RandomForestClassifier(5), ensemble=3, cv=3)
        assert_array_equal(*(clone(model).fit(X, y).predict_proba(X) for _ in range(2)))

    def test_gains_are_those_of_plain_cross_validation(self):
        X, y = data(600)
        grid = [{"alpha": 0.9, "gamma": 0}]
        cv = StratifiedKFold(4)
        model = RectifiedClassifier(LogisticRegression(), param_grid=grid, cv=cv, vote_weight=0)
        model.fit(X, y)
        table = model.cv_results_
        decisions = np.zeros((2, len(y)))
        for fold, (train, test) in enumerate(cv.split(X, y)):
            for place, sampler in enumerate((None, GMR(**grid[0]))):
                rows = (
                    (X[train], y[train])
                    if sampler is None
                    else sampler.fit_resample(X[train], y[train])
                )
                fitted = LogisticRegression().fit(*rows)
                decisions[place, test] = fitted.decision_function(X[test])
                expected = average_precision_score(y[test], decisions[place, test])
                assert table[f"split{fold}_test_score"][place] == pytest.approx(expected)
        plain, cleaned = (average_precision_score(y, one) for one in decisions)
        assert table["gain"][1] == pytest.approx(cleaned - plain)

    def test_candidates_that_keep_the_same_samples_share_a_fit(self):
        X, y = data()
        same = [{"gamma": 0, "alpha": alpha} for alpha in (0.1, 0.2, 0.3, 0.4, 0.5)]
        model = RectifiedClassifier(
            LogisticRegression(), param_grid=same, cv=StratifiedKFold(3)
        ).fit(X, y)
        assert model.n_fits_ == 3 * 2 + 1

    def test_the_smaller_class_is_the_positive_one_whatever_its_name(self):
        X, y = data()
        chosen = []
        for names in (("common", "rare"), ("z", "a"), (0, 1), (1, 0)):
            labels = np.array(names)[y]
            model = tree().fit(X, labels)
            chosen.append(model.cv_results_["gain"].tolist())
            assert_array_equal(model.classes_, np.unique(labels))
        for one in chosen[1:]:
            assert_allclose(one, chosen[0])

    def test_the_result_does_not_depend_on_n_jobs(self):
        X, y = data()
        one, two = tree(ensemble=6).fit(X, y), tree(ensemble=6, n_jobs=2).fit(X, y)
        assert_array_equal(one.predict_proba(X), two.predict_proba(X))
        for key, values in one.cv_results_.items():
            if key != "params":
                assert_array_equal(values, two.cv_results_[key])

    def test_more_than_two_classes(self):
        X, y = data(600, n_classes=3, n_informative=4, n_redundant=1, weights=[0.7, 0.2])
        model = tree(scoring="balanced_accuracy").fit(X, y)
        assert model.predict_proba(X).shape == (600, 3)
        assert tree(ensemble=4).fit(X, y).predict_proba(X).shape == (600, 3)

    @pytest.mark.parametrize(
        "param_grid",
        [
            {"alpha": [0.3, 0.9], "gamma": 0},
            [{"alpha": 0.3, "gamma": 0}, {"alpha": 0.9, "gamma": 0}, None],
            lambda X, y: [{"alpha": 0.3, "gamma": 0}, {"alpha": 0.9, "gamma": 0}],
        ],
    )
    def test_custom_candidates(self, param_grid):
        X, y = data()
        table = tree(param_grid=param_grid).fit(X, y).cv_results_
        assert table["setting"].tolist() == [
            "None",
            *(f"GMR(alpha={alpha}, gamma=0)" for alpha in (0.3, 0.9)),
        ]

    def test_cleaning_may_be_followed_by_over_sampling(self):
        X, y = data(600)
        grid = [{"gamma": 0, "resampler": SMOTE()}]
        model = tree(param_grid=grid, min_gain_se=0, scoring="recall").fit(X, y)
        assert model.best_params_ == grid[0]
        assert model.class_shares_[0, 1] > 2
        assert model.cv_results_["setting"][1] == "GMR(gamma=0) + SMOTE()"

    def test_a_messy_table_needs_a_space(self):
        pd = pytest.importorskip("pandas")
        X, y = data()
        frame = pd.DataFrame(X, columns=list("abcde"))
        frame["kind"] = np.where(X[:, 0] > 0, "red", "green")
        frame.loc[::7, "b"] = np.nan
        from rectifold import TableSpace

        line = make_pipeline(TableSpace(), DecisionTreeClassifier(random_state=0))
        model = RectifiedClassifier(line, sampler=GMR(space="auto"), random_state=0).fit(frame, y)
        assert list(model.feature_names_in_) == list(frame.columns)
        assert model.predict(frame).shape == (400,)

    def test_sparse_input(self):
        X, y = data()
        grid = [{"alpha": 0.9, "gamma": 0}]
        model = RectifiedClassifier(LogisticRegression(), param_grid=grid, vote_weight=0)
        dense = clone(model).fit(X, y).cv_results_["gain"]
        assert_allclose(model.fit(sparse.csr_array(X), y).cv_results_["gain"], dense, atol=1e-6)

    def test_verbose_prints_the_choice(self, capsys):
        X, y = data()
        tree(verbose=2).fit(X, y)
        out = capsys.readouterr().out
        assert "[rectifold] GMR(gamma=0), vote 0: gain" in out
        assert "[rectifold] chosen: " in out

    def test_progress_counts_folds(self):
        X, y = data()
        seen = []
        with listening(lambda done, total: seen.append((done, total))):
            tree(cv=3).fit(X, y)
        assert seen == [(i, 6) for i in range(1, 7)]


class TestEnsemble:
    def test_estimators_are_fits_on_bootstrap_samples_and_are_averaged(self):
        X, y = data()
        model = tree(ensemble=7).fit(X, y)
        assert len(model.estimators_) == 7
        # A tree learns its own samples by heart, and a bootstrap sample has two thirds of them.
        shares = [one.score(X, y) for one in model.estimators_]
        assert 0.6 < min(shares) < max(shares) < 1
        mean = np.mean([one.predict_proba(X) for one in model.estimators_], axis=0)
        assert_allclose(model.predict_proba(X), mean)
        assert_array_equal(model.predict(X), model.classes_[mean.argmax(axis=1)])

    def test_every_member_has_samples_of_every_class(self):
        X, y = data()
        rare = np.flatnonzero(y == 1)[2:]
        X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
        with pytest.warns(UserWarning, match="2 folds are used"):
            model = tree(ensemble=20, param_grid=[], vote_weight=0.5).fit(X, y)
        assert all(len(one.classes_) == 2 for one in model.estimators_)

    def test_members_are_fitted_on_cleaned_data_with_their_weights(self):
        X, y = data(800)
        grid = [{"class_weight": "balanced", "gamma": 0}]
        settings = {"param_grid": grid, "min_gain_se": 0, "scoring": "recall"}
        model = tree(ensemble=3, **settings).fit(X, y, sample_weight=np.ones(800))
        assert model.best_params_ == grid[0]
        assert (model.class_shares_[:, 0] < 0.95).all()
        assert (model.class_shares_[:, 1] == 1).all()

    def test_it_ranks_better_than_one_tree(self):
        X, y = data(1200)
        X, new, y, truth = train_test_split(X, y, stratify=y, random_state=0)
        scores = [
            average_precision_score(truth, tree(ensemble=m).fit(X, y).predict_proba(new)[:, 1])
            for m in (None, 10)
        ]
        assert scores[1] > scores[0] + 0.02

    def test_decision_functions_are_averaged_where_there_are_no_probabilities(self):
        X, y = data()
        model = RectifiedClassifier(SVC(), ensemble=5, vote_weight=0).fit(X, y)
        assert not hasattr(model, "predict_proba")
        mean = np.mean([one.decision_function(X) for one in model.estimators_], axis=0)
        assert_allclose(model.decision_function(X), mean)
        assert_array_equal(model.predict(X), (mean > 0).astype(int))

    def test_without_candidates_it_is_averaging_alone(self):
        X, y = data()
        model = tree(ensemble=5, param_grid=[]).fit(X, y)
        assert model.sampler_ is None
        assert (model.class_shares_ == 1).all()

    def test_predictions_that_cannot_be_averaged_are_refused(self):
        X, y = data()
        with pytest.raises(ValueError, match="averages predict_proba or decision_function"):
            RectifiedClassifier(LabelsOnly(), ensemble=3, scoring="accuracy").fit(X, y)
        assert RectifiedClassifier(LabelsOnly(), scoring="accuracy").fit(X, y).sampler_ is None
        X, y = data(n_classes=3, n_informative=4, n_redundant=1, weights=None)
        pairs = SVC(decision_function_shape="ovo")
        with pytest.raises(ValueError, match="set decision_function_shape='ovr'"):
            RectifiedClassifier(pairs, ensemble=3, scoring="accuracy").fit(X, y)


class TestPosterior:
    def test_probabilities_are_corrected_by_the_lemma(self):
        X, y = data(800)
        grid = [{"class_weight": "balanced", "gamma": 0}]
        plain = RectifiedClassifier(
            LogisticRegression(), param_grid=grid, min_gain_se=0, scoring="recall", vote_weight=0
        ).fit(X, y)
        assert plain.best_params_ == grid[0]
        corrected = clone(plain).set_params(correct_posterior=True).fit(X, y)
        r0, r1 = 1 - plain.class_shares_[0]
        assert r0 > 0.1
        back = undo_posterior_shift(plain.predict_proba(X)[:, 1], r0, r1)
        assert_allclose(corrected.predict_proba(X)[:, 1], back)
        assert_array_equal(corrected.predict(X), (back > 0.5).astype(int))
        # Cleaning moved the mean away from the share of the class.
        truth = y.mean()
        assert abs(back.mean() - truth) < abs(plain.predict_proba(X)[:, 1].mean() - truth)

    def test_corrected_probabilities_are_scored(self):
        X, y = data(600)
        grid = [{"class_weight": "balanced", "gamma": 0}]
        settings = {"param_grid": grid, "scoring": "neg_log_loss", "vote_weight": 0, "cv": 3}
        plain, corrected = (
            RectifiedClassifier(LogisticRegression(), correct_posterior=one, **settings).fit(X, y)
            for one in (False, True)
        )
        gains = [one.cv_results_["gain"][1] for one in (plain, corrected)]
        assert gains[1] > gains[0]
        with pytest.raises(ValueError, match="corrects probabilities, and RidgeClassifier has"):
            RectifiedClassifier(RidgeClassifier(), correct_posterior=True).fit(X, y)

    def test_without_cleaning_nothing_is_corrected(self):
        X, y = data()
        model = tree(min_gain_se=1e9, correct_posterior=True).fit(X, y)
        assert_array_equal(model.predict_proba(X), tree(min_gain_se=1e9).fit(X, y).predict_proba(X))


class TestScikitLearn:
    def test_in_a_grid_search_and_a_pipeline(self):
        X, y = data()
        line = make_pipeline(StandardScaler(), tree(cv=3))
        grid = {"rectifiedclassifier__estimator__max_depth": [2, 4]}
        found = GridSearchCV(line, grid, cv=2, scoring="average_precision").fit(X, y)
        assert found.predict(X).shape == (400,)

    def test_under_calibration_and_a_tuned_threshold(self):
        X, y = data()
        for wrapper in (
            CalibratedClassifierCV(tree(cv=3), cv=2),
            TunedThresholdClassifierCV(tree(cv=3), cv=2),
        ):
            assert wrapper.fit(X, y).predict(X).shape == (400,)

    def test_in_cross_validation(self):
        X, y = data()
        assert (cross_val_score(tree(cv=3), X, y, cv=2, scoring="roc_auc") > 0.4).all()

    def test_sample_weights_follow_their_samples(self):
        X, y = data()
        weight = np.linspace(0.1, 3, len(y))
        grid = [{"alpha": 0.9, "gamma": 0}]
        model = RectifiedClassifier(
            LogisticRegression(), param_grid=grid, min_gain_se=0, scoring="recall", vote_weight=0
        ).fit(X, y, sample_weight=weight)
        kept = model.sampler_.sample_indices_
        assert len(kept) < len(y)
        plain = LogisticRegression().fit(X[kept], y[kept], sample_weight=weight[kept])
        assert_allclose(model.predict_proba(X), plain.predict_proba(X))

    def test_sample_weights_exclude_over_sampling(self):
        X, y = data()
        weight = np.ones(len(y))
        names = tree().fit(X, y, sample_weight=weight).cv_results_["setting"]
        assert not any("Over" in name for name in names)
        with pytest.raises(ValueError, match="synthetic samples have no entry in sample_weight"):
            tree(param_grid=[{"resampler": RandomOverSampler()}]).fit(X, y, sample_weight=weight)

    def test_groups_stay_together(self):
        X, y = data()
        groups = np.arange(len(y)) // 4
        seen = []

        class Watching(LogisticRegression):
            def fit(self, X, y, sample_weight=None):
                seen.append(len(y))
                return super().fit(X, y)

        RectifiedClassifier(Watching(), cv=4, param_grid=[]).fit(X, y, groups=groups)
        assert all(n % 4 == 0 for n in seen)
        RectifiedClassifier(LogisticRegression(), cv=GroupKFold(3)).fit(X, y, groups=groups)

    def test_metadata_is_routed(self):
        X, y = data()
        weight, groups = np.linspace(0.1, 3, len(y)), np.arange(len(y)) // 4
        n_weights = []

        def weighed(y_true, y_pred, sample_weight=None):
            n_weights.append(len(sample_weight))
            return float(np.average(y_true == y_pred, weights=sample_weight))

        with sklearn.config_context(enable_metadata_routing=True):
            model = RectifiedClassifier(
                LogisticRegression().set_fit_request(sample_weight=True),
                cv=GroupKFold(4),
                param_grid=[],
                ensemble=4,
                scoring=make_scorer(weighed).set_score_request(sample_weight=True),
            ).fit(X, y, sample_weight=weight, groups=groups)
        assert sum(n_weights) >= len(y)
        assert len(model.estimators_) == 4

    def test_a_scorer_of_costs(self):
        X, y = data()
        model = tree(scoring=asymmetric_risk_scorer(cost_fn=50)).fit(X, y)
        assert (split_scores(model)[0] < 0).all()


class TestBadInput:
    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"param_grid": "best"}, "param_grid='best' is not known: it must be 'auto'"),
            (
                {"param_grid": [{"alfa": 1}]},
                "param_grid sets 'alfa', which GMR does not have; did you mean 'alpha'",
            ),
            ({"param_grid": [3]}, "param_grid has a setting 3: it must be a dict"),
            ({"param_grid": lambda X, y: 3}, "param_grid returned a int: it must be a list"),
            (
                {"param_grid": [{"alpha": 7}]},
                "The 'alpha' parameter of GMR must be a float in the range",
            ),
            (
                {"param_grid": [{"resampler": 3}]},
                "param_grid has resampler=3: it must be",
            ),
            ({"param_grid": [{"n_neighbors": 390}]}, "n_neighbors must be smaller"),
            ({"sampler": SMOTE()}, "sampler is a SMOTE: it must be a GMR"),
            ({"scoring": "average_percision"}, "did you mean 'average_precision'"),
            ({"cv": 1}, "The 'cv' parameter of RectifiedClassifier must be an int"),
            ({"ensemble": 1}, "The 'ensemble' parameter of RectifiedClassifier must be"),
            ({"min_gain_se": -1}, "The 'min_gain_se' parameter"),
        ],
    )
    def test_errors_are_raised_before_any_fit(self, settings, sentence):
        class Never(DecisionTreeClassifier):
            def fit(self, X, y):
                raise AssertionError("it was fitted")

        X, y = data()
        with pytest.raises((ValueError, TypeError), match=sentence.replace("(", r"\(")):
            RectifiedClassifier(Never(), **settings).fit(X, y)

    def test_an_estimator_without_scores_is_refused(self):
        X, y = data()
        sentence = "needs decision_function or predict_proba, and LabelsOnly has none"
        with pytest.raises(ValueError, match=sentence):
            RectifiedClassifier(LabelsOnly()).fit(X, y)
        # Some have their methods only once they are fitted.
        late = StackingClassifier([("labels", LabelsOnly())], final_estimator=LinearSVC())
        with pytest.raises(ValueError, match="needs predict_proba, and StackingClassifier has"):
            RectifiedClassifier(late, scoring="neg_log_loss", param_grid=[{}], cv=2).fit(X, y)
        RectifiedClassifier(
            StackingClassifier([("tree", DecisionTreeClassifier(max_depth=2))]),
            param_grid=[{}],
            cv=2,
        ).fit(X, y)

    def test_a_regressor_is_refused(self):
        X, y = data()
        with pytest.raises(ValueError, match="LinearRegression, which is not a class"):
            RectifiedClassifier(LinearRegression()).fit(X, y)

    def test_a_scorer_that_fails_or_returns_nan(self):
        def fails(estimator, X, y):
            raise KeyError("no such thing")

        X, y = data()
        with pytest.raises(KeyError) as raised:
            tree(scoring=fails).fit(X, y)
        assert "while scoring samples that a fold held out" in raised.value.__notes__[0]
        with pytest.raises(
            ValueError, match="scoring returned nan: a scorer must return a finite number"
        ):
            tree(scoring=lambda *_: np.nan).fit(X, y)

    def test_a_minority_class_smaller_than_cv_makes_fewer_folds(self):
        X, y = data(200, noise=0)
        rare = np.flatnonzero(y == 1)
        kept = np.setdiff1d(np.arange(200), rare[12:])
        with pytest.warns(
            UserWarning, match="class 1 has 12 samples, fewer than cv=15 folds: 12 folds"
        ):
            model = tree(cv=15).fit(X[kept], y[kept])
        assert split_scores(model).shape[1] >= 12

    def test_a_very_small_minority_class_is_not_cleaned(self):
        X, y = data(200, noise=0)
        kept = np.setdiff1d(np.arange(200), np.flatnonzero(y == 1)[6:])
        with pytest.warns(UserWarning, match="fewer than min_minority=10: nothing is cleaned"):
            model = tree().fit(X[kept], y[kept])
        assert model.sampler_ is None
        assert model.n_fits_ == 1

    def test_folds_without_a_class(self):
        X, y = data(200)
        order = np.argsort(y, kind="stable")
        halves = [(np.arange(100), np.arange(100, 200))]
        with pytest.raises(ValueError, match="fold 0 of cv trains on no sample of class 1"):
            tree(cv=halves).fit(X[order], y[order])

    def test_over_samplers_with_other_parameters_are_other_candidates(self):
        X, y = data(300)
        grid = [{"gamma": 0, "resampler": SMOTE(k_neighbors=k)} for k in (3, 7)]
        names = tree(param_grid=grid, cv=2).fit(X, y).cv_results_["setting"]
        assert names[1:].tolist() == [f"GMR(gamma=0) + SMOTE(k_neighbors={k})" for k in (3, 7)]

    def test_folds_without_a_standard_error(self):
        X, y = data(120)
        for cv in (LeaveOneOut(), ShuffleSplit(1, random_state=0)):
            with pytest.raises(ValueError, match="fewer than two folds of cv score samples"):
                tree(cv=cv, param_grid=[{"alpha": 0.7}]).fit(X, y)
        model = tree(
            cv=ShuffleSplit(1, random_state=0), min_gain_se=0, scoring="recall", param_grid=[{}]
        )
        table = model.fit(X, y).cv_results_
        assert table["chosen"].tolist() == [table["gain"][1] <= 0, table["gain"][1] > 0]
        with pytest.raises(ValueError, match="cv yields no folds"):
            tree(cv=[]).fit(X, y)
        half = np.arange(120) % 2 == 0
        assert tree(cv=[(half, ~half), (~half, half)], param_grid=[{}]).fit(X, y).n_fits_ >= 3

    def test_a_function_of_the_estimator_is_averaged_over_folds(self):
        X, y = data()

        def backwards(estimator, X, y):
            return (estimator.predict(X[::-1]) == y[::-1]).mean()

        model = tree(scoring=backwards, param_grid=[{"alpha": 0.9}], cv=3).fit(X, y)
        plain, cleaned = split_scores(model)
        assert model.cv_results_["gain"][1] == pytest.approx(np.nanmean(cleaned - plain))

    def test_precomputed_distances_are_refused(self):
        X, y = data()
        with pytest.raises(ValueError, match="metric='precomputed' needs distances between"):
            tree(sampler=GMR(metric="precomputed")).fit(X, y)

    def test_an_over_sampler_that_fails_is_not_chosen(self):
        X, y = data(300)
        with pytest.warns(sklearn.exceptions.FitFailedWarning, match="could not be tried"):
            model = tree(param_grid=[{"resampler": SMOTE(k_neighbors=10_000)}]).fit(X, y)
        assert model.sampler_ is None

    def test_a_setting_that_removes_a_class_of_all_samples_is_not_used(self):
        rng = np.random.default_rng(0)
        common, rare = rng.normal(size=(60, 2)), rng.normal(size=(15, 2)) + 2
        # Samples that no fold has, each next to a common one.
        above = common[rng.choice(60, 44, replace=False)] + 1e-9
        X, y = np.vstack([common, rare, above]), np.repeat([0, 1, 1], [60, 15, 44])
        seen = np.arange(75)
        cv = [(np.setdiff1d(seen, seen[i::3]), seen[i::3]) for i in range(3)]
        model = tree(
            param_grid=[{"alpha": 1.0, "gamma": 0}],
            cv=cv,
            min_gain_se=0,
            scoring=lambda e, X, y: float(e.predict_proba(X)[:, 1].mean()),
        )
        with pytest.warns(UserWarning, match="keeps no sample of a class when all"):
            model.fit(X, y)
        assert model.sampler_ is None
        assert model.cv_results_["chosen"].tolist() == [True, False]
        assert model.predict_proba(X).shape == (119, 2)

    def test_a_setting_that_removes_a_class_in_a_fold_is_not_chosen(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(80, 2)), np.arange(80) % 2
        model = RectifiedClassifier(
            RandomForestClassifier(5, random_state=0), param_grid=[{"alpha": 1.0}], random_state=0
        ).fit(X, y)
        assert set(model.predict(X)) == {0, 1}
