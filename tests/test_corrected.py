"""CorrectedPosterior: probabilities after any sampler, put back to the true scale."""

import inspect

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import Pipeline, make_pipeline
from imblearn.under_sampling import EditedNearestNeighbours, RandomUnderSampler
from numpy.testing import assert_allclose, assert_array_equal
from numpydoc.docscrape import ClassDoc
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifold import GMR, CorrectedPosterior, RectifiedClassifier
from rectifold.posterior import undo_posterior_shift


def table(n=4_000, classes=2, seed=0):
    weights = [0.9] if classes == 2 else [0.7, 0.2]
    return make_classification(
        n, 6, n_informative=4, n_classes=classes, weights=weights, class_sep=0.7, random_state=seed
    )


def forest():
    return RandomForestClassifier(20, min_samples_leaf=5, random_state=0)


@parametrize_with_checks([CorrectedPosterior(Pipeline([("model", LogisticRegression())]))])
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "sampler",
    [
        RandomUnderSampler(random_state=0),
        RandomOverSampler(random_state=0),
        SMOTE(random_state=0),
        EditedNearestNeighbours(sampling_strategy="all"),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_probabilities_are_better_than_uncorrected_ones(sampler):
    X, X_test, y, y_test = train_test_split(*table(), stratify=table()[1], random_state=0)
    model = make_pipeline(sampler, LogisticRegression())
    plain = clone(model).fit(X, y).predict_proba(X_test)[:, 1]
    corrected = CorrectedPosterior(model).fit(X, y).predict_proba(X_test)[:, 1]
    assert brier_score_loss(y_test, corrected) < brier_score_loss(y_test, plain) + 1e-4
    assert log_loss(y_test, corrected) < log_loss(y_test, plain) + 1e-3
    assert corrected.mean() == pytest.approx(y.mean(), abs=0.03)
    assert_array_equal(np.argsort(corrected), np.argsort(plain))


def test_for_two_classes_it_is_the_inverse_of_the_lemma():
    X, y = table()
    model = make_pipeline(RandomUnderSampler(random_state=0), LogisticRegression())
    corrected = CorrectedPosterior(model, cv=None).fit(X, y)
    sizes = np.bincount(y)
    assert corrected.strength_ == 1
    assert_allclose(corrected.class_shares_, [sizes[1] / sizes[0], 1])
    plain = corrected.estimator_.predict_proba(X)[:, 1]
    expected = undo_posterior_shift(plain, 1 - sizes[1] / sizes[0], 0)
    assert_allclose(corrected.predict_proba(X)[:, 1], expected)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_strength_has_the_lowest_log_loss_out_of_fold(classes):
    X, y = table(1_000, classes)
    train, test = train_test_split(np.arange(len(y)), stratify=y, random_state=0)
    boosted = GradientBoostingClassifier(n_estimators=30, random_state=0)
    model = make_pipeline(StandardScaler(), SMOTE(random_state=0), boosted)
    weight = {"standardscaler__sample_weight": np.where(y == 0, 1.0, 2.0)}
    corrected = CorrectedPosterior(model, cv=[(train, test)]).fit(X, y, **weight)
    assert 0 < corrected.strength_ < 1
    part = CorrectedPosterior(model, cv=None)
    part.fit(X[train], y[train], standardscaler__sample_weight=np.where(y[train] == 0, 1.0, 2.0))

    def out_of_fold(strength):
        part.strength_ = strength
        return part.predict_proba(X[test])

    best = log_loss(y[test], out_of_fold(corrected.strength_))
    assert best <= min(log_loss(y[test], out_of_fold(s)) for s in np.linspace(0, 1, 21))
    if classes == 2:
        assert out_of_fold(corrected.strength_)[:, 1].mean() == pytest.approx(y[test].mean())


def test_a_forest_after_smote_is_not_corrected_too_much():
    X, X_test, y, y_test = train_test_split(*table(), stratify=table()[1], random_state=0)
    model = make_pipeline(SMOTE(random_state=0), forest())
    corrected = CorrectedPosterior(model).fit(X, y)
    full = clone(corrected).set_params(cv=None).fit(X, y)
    for loss in (brier_score_loss, log_loss):
        chosen, *others = (
            loss(y_test, one.predict_proba(X_test)[:, 1])
            for one in (corrected, full, corrected.estimator_)
        )
        assert chosen < min(others)


def test_the_strength_depends_on_the_folds_alone():
    X, y = table(800)
    model = make_pipeline(RandomUnderSampler(random_state=0), LogisticRegression())
    first, again, other = (
        CorrectedPosterior(model, cv=3, **settings).fit(X, y).strength_
        for settings in ({}, {"n_jobs": 2}, {"random_state": 1})
    )
    assert first == again
    assert first != other


def test_several_samplers_and_classes():
    X, y = table(classes=3)
    names = np.array(["a", "b", "c"])[y]
    model = make_pipeline(
        StandardScaler(), GMR(), RandomOverSampler(random_state=0), LogisticRegression()
    )
    corrected = CorrectedPosterior(model).fit(X, names)
    p = corrected.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    assert_allclose(p.mean(axis=0), np.bincount(y) / len(y), atol=0.03)
    assert_array_equal(corrected.predict(X), corrected.classes_[p.argmax(axis=1)])
    assert [name for name, _ in corrected.estimator_.steps] == [name for name, _ in model.steps]
    assert isinstance(corrected.estimator_[-1], LogisticRegression)


def test_without_a_sampler_nothing_changes():
    X, y = table(600)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    corrected = CorrectedPosterior(model).fit(X, y)
    assert_array_equal(corrected.class_shares_, [1, 1])
    assert_allclose(corrected.predict_proba(X), clone(model).fit(X, y).predict_proba(X))


def test_the_estimator_is_not_changed_and_searches_reach_its_steps():
    X, y = table(800)
    model = make_pipeline(RandomUnderSampler(random_state=0), LogisticRegression())
    grid = {"estimator__logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(CorrectedPosterior(model, cv=2), grid, scoring="neg_log_loss", cv=2)
    search.fit(X, y)
    assert search.best_estimator_.estimator_[-1].C in (0.1, 1.0)
    assert not hasattr(model[-1], "coef_")


def test_parameters_of_fit_reach_the_steps():
    X, y = table(800)
    weight = np.where(y == 1, 5.0, 1.0)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    weighted = CorrectedPosterior(model).fit(X, y, logisticregression__sample_weight=weight)
    expected = clone(model).fit(X, y, logisticregression__sample_weight=weight)
    assert_allclose(weighted.predict_proba(X), expected.predict_proba(X))
    with config_context(enable_metadata_routing=True):
        last = LogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = CorrectedPosterior(make_pipeline(scaler, last)).fit(X, y, sample_weight=weight)
        assert_allclose(routed.predict_proba(X), expected.predict_proba(X))


def test_rectified_classifiers_can_be_inside():
    X, y = table(600)
    inner = RectifiedClassifier(LogisticRegression(), cv=2, param_grid=())
    model = make_pipeline(RandomUnderSampler(random_state=0), inner)
    model = CorrectedPosterior(model, cv=None).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.05)


def test_what_cannot_be_corrected_is_refused():
    X, y = table(300)
    with pytest.raises(TypeError, match="must be a pipeline of imbalanced-learn"):
        CorrectedPosterior(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="must be a classifier with predict_proba"):
        CorrectedPosterior(make_pipeline(GMR(), RidgeClassifier())).fit(X, y)


def test_documentation_names_the_parameters_of_the_signature():
    names = [one.name for one in ClassDoc(CorrectedPosterior)["Parameters"]]
    assert names == list(inspect.signature(CorrectedPosterior).parameters)
