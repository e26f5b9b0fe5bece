"""Peers and controls of the experiments are scikit-learn estimators, and do what they say."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

import rectifold.bench as bench
from rectifold import GMR, RectifiedClassifier
from rectifold._core.errors import ParameterError
from rectifold.bench.controls import (
    Bagging,
    BalancedBagging,
    Chooser,
    ClassWeights,
    Fused,
    SelfPacedEnsemble,
)
from rectifold.bench.controls._choosing import CANDIDATES
from rectifold.bench.controls._self_paced import draw_by_hardness, share
from rectifold.model_selection._scores import SCORES
from rectifold.neighbors import NeighborVoteClassifier

CONTROLS = [
    Bagging(DecisionTreeClassifier(max_depth=2), n_estimators=2),
    BalancedBagging(DecisionTreeClassifier(max_depth=2), n_estimators=2),
    Chooser(GaussianNB(), cv=2),
    ClassWeights(LogisticRegression(tol=0.01)),
    # Without a guard the partner takes part.
    Fused(LinearSVC(), GaussianNB(), cv=2, min_gain_se=0),
    SelfPacedEnsemble(DecisionTreeClassifier(max_depth=2), n_estimators=3),
]
RANDOM = [
    Bagging(DecisionTreeClassifier(), n_estimators=3),
    BalancedBagging(DecisionTreeClassifier(), n_estimators=3),
    Chooser(DecisionTreeClassifier(random_state=0)),
    Fused(DecisionTreeClassifier(max_depth=2, random_state=0), "logistic"),
    SelfPacedEnsemble(DecisionTreeClassifier(), n_estimators=3),
]


_DRAWN = "samples are drawn by their weights, so that weights do not stand for repeated samples"
#: Checks that scikit-learn's bagging and imbalanced-learn's balanced bagging fail, too.
EXPECTED = {
    Bagging: {
        "check_sample_weight_equivalence_on_dense_data": _DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
    },
    BalancedBagging: {
        "check_dtype_object": "only the members check their samples",
        "check_estimators_nan_inf": "only the members check their samples",
        "check_decision_proba_consistency": "averages of the two rank samples differently",
    },
}


def name_of(model):
    return type(model).__name__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore::rectifold._core.errors.ParameterWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(
    CONTROLS, expected_failed_checks=lambda model: EXPECTED.get(type(model), {})
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", RANDOM, ids=name_of)
def test_the_same_random_state_gives_the_same_result(model, overlapping):
    X, y = overlapping
    model.set_params(random_state=3)
    first = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), first)


@pytest.mark.parametrize("model", [*RANDOM, ClassWeights(LogisticRegression())], ids=name_of)
def test_labels_are_strings_in_any_order(model, overlapping):
    X, y = overlapping
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    first, p = model.fit(X, y), model.predict_proba(X)
    predicted = first.predict(X)
    # The smaller class comes first.
    text = np.array(["usual", "fraud"])[y]
    second = model.fit(X, text)
    assert list(second.classes_) == ["fraud", "usual"]
    assert set(second.predict(X)) == {"fraud", "usual"}
    # A tree's ties are split by the order of classes.
    np.testing.assert_allclose(second.predict_proba(X).sum(axis=1), 1)
    if isinstance(model, Chooser | Fused | ClassWeights):
        np.testing.assert_allclose(second.predict_proba(X)[:, ::-1], p, atol=1e-4)
        assert (np.where(second.predict(X) == "fraud", 1, 0) == predicted).mean() > 0.99


@pytest.mark.parametrize(
    "model",
    [
        Bagging(SVC(), n_estimators=3, random_state=0),
        BalancedBagging(SVC(), n_estimators=3, random_state=0),
        SelfPacedEnsemble(SVC(), n_estimators=3, random_state=0),
    ],
    ids=name_of,
)
def test_decision_functions_are_averaged_without_probabilities(model, overlapping):
    X, y = overlapping
    text = np.array(["usual", "fraud"])[y]
    model.fit(X, text)
    assert not hasattr(model, "predict_proba")
    mean = np.mean([one.decision_function(X) for one in model.estimators_], axis=0)
    np.testing.assert_allclose(model.decision_function(X), mean)
    # Positive values are in favour of the second class.
    assert (model.predict(X) == np.where(mean > 0, "usual", "fraud")).all()


def test_bagging_without_probabilities_and_decisions_votes(overlapping):
    class Silent(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
            return self

        def predict(self, X):
            return (X[:, 0] > 0).astype(int)

    X, y = overlapping
    model = Bagging(Silent(), n_estimators=3).fit(X, y)
    assert (model.predict(X) == (X[:, 0] > 0)).all()
    assert set(np.unique(model.predict_proba(X))) == {0, 1}
    with pytest.raises(ParameterError, match="ranked by predict_proba or decision_function"):
        SelfPacedEnsemble(Silent()).fit(X, y)


def test_balanced_bagging_fits_its_members_on_balanced_samples(overlapping):
    X, y = overlapping
    model = BalancedBagging(DecisionTreeClassifier(), n_estimators=5, random_state=0).fit(X, y)
    for member in model.estimators_:
        sampler, tree = member.steps[0][1], member.steps[-1][1]
        sizes = tree.tree_.value[0, 0] * tree.tree_.weighted_n_node_samples[0]
        assert sizes[0] == sizes[1] > 0
        assert len(sampler.sample_indices_) == sizes.sum()


class Weighted(ClassifierMixin, BaseEstimator):
    """Records the weights that it is fitted with."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.weights_ = sample_weight
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.mark.parametrize("labels", [[0, 1], ["usual", "fraud"]])
def test_weights_of_samples_are_balanced_also_inside_pipelines(overlapping, labels):
    X, y = overlapping
    y = np.array(labels)[y]
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Weighted()))
    for model, inside in ((Weighted(), lambda m: m), (nested, lambda m: m[-1][-1])):
        weights = inside(ClassWeights(model).fit(X, y).estimators_[0]).weights_
        np.testing.assert_allclose(weights, compute_sample_weight("balanced", y))
        assert weights[y == labels[0]].sum() == pytest.approx(weights[y == labels[1]].sum())


def test_weights_of_classes_are_those_of_the_last_step(overlapping):
    X, y = overlapping
    # The parameters `class_weight` of earlier steps are left as they are.
    chosen = SelectFromModel(LogisticRegression(), max_features=2)
    plain = make_imblearn_pipeline(GMR(), chosen, LogisticRegression())
    fitted = ClassWeights(plain).fit(X, y).estimators_[0]
    by_hand = make_imblearn_pipeline(GMR(), chosen, LogisticRegression(class_weight="balanced"))
    assert {name: str(value) for name, value in fitted.get_params().items()} == {
        name: str(value) for name, value in by_hand.get_params().items()
    }
    np.testing.assert_array_equal(fitted.predict_proba(X), by_hand.fit(X, y).predict_proba(X))
    assert plain[-1].class_weight is None
    # The last step has no class weights, so its samples are weighted.
    last = make_pipeline(SelectFromModel(LogisticRegression()), Weighted())
    weights = ClassWeights(last).fit(X, y).estimators_[0][-1].weights_
    np.testing.assert_allclose(weights, compute_sample_weight("balanced", y))


def test_a_classifier_without_weights_is_fitted_as_it_is(overlapping):
    X, y = overlapping
    model = ClassWeights(KNeighborsClassifier()).fit(X, y)
    alone = KNeighborsClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_class_weights_take_several_classes():
    X, y = make_classification(n_samples=300, n_classes=3, n_informative=4, random_state=0)
    model = ClassWeights(LogisticRegression()).fit(X, y)
    assert model.predict_proba(X).shape == (300, 3)


@pytest.mark.parametrize(
    "model", [Chooser(GaussianNB()), Fused(GaussianNB()), SelfPacedEnsemble(GaussianNB())]
)
def test_the_others_reject_several_classes(model):
    X, y = make_classification(n_samples=300, n_classes=3, n_informative=4, random_state=0)
    with pytest.raises(ParameterError, match="y has 3 classes"):
        model.fit(X, y)


def test_nothing_is_chosen_where_nothing_helps():
    # Samples and weights do not change the means of two normal distributions of equal variance.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.repeat([0, 1], [500, 100])
    X[y == 1] += 1
    alone = LogisticRegression().fit(X, y)
    model = Chooser(LogisticRegression(), min_gain_se=2).fit(X, y)
    assert model.best_ == "None"
    assert model.gains_["None"] == (0, 0)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("labels", [[0, 1], ["usual", "fraud"]])
def test_what_helps_is_chosen(labels):
    # With a strong penalty the machine gives the smaller class up, unless that weighs more.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(540, 2)), np.repeat([0, 1], [500, 40])
    X[y == 1] += [1.5, 0]
    y = np.array(labels)[y]
    model = Chooser(SVC(kernel="linear", C=0.01)).fit(X, y)
    assert list(model.gains_) == list(CANDIDATES)
    assert model.best_ in ("RandomOverSampler", "SMOTE", "ClassWeights")
    gain, error = model.gains_[model.best_]
    assert gain == max(gain for gain, _ in model.gains_.values())
    assert gain > error > 0
    assert not hasattr(model, "predict_proba")
    assert (model.predict(X) == labels[1]).any()


def test_a_sampler_that_cannot_be_tried_is_left_out(overlapping):
    X, y = overlapping
    few = np.sort(np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:6]]))
    with pytest.warns(FitFailedWarning, match="SMOTE could not be tried"):
        model = Chooser(GaussianNB()).fit(X[few], y[few])
    assert "SMOTE" not in model.gains_
    assert "RandomOverSampler" in model.gains_


@pytest.mark.parametrize(
    ("model", "seed"),
    [
        (LogisticRegression(), 0),
        (SVC(), 1),
        (DecisionTreeClassifier(max_depth=3), np.random.RandomState),
    ],
)
def test_gains_are_those_of_a_rectified_classifier(model, seed):
    # Every sample of the larger class has copies, so that cleaning removes nothing.
    rng = np.random.default_rng(1)
    many = np.repeat(rng.normal(size=(30, 3)), 12, axis=0)
    X, y = np.concatenate([many, rng.normal(1, 1, size=(60, 3))]), np.repeat([0, 1], [360, 60])

    def random_state():
        return seed if isinstance(seed, int) else seed(5)

    assert len(GMR(gamma=0).fit_resample(X, y)[1]) == len(y)
    chooser = Chooser(model, random_state=random_state()).fit(X, y)
    grid = [{"gamma": 0, "resampler": one()} for one in (RandomOverSampler, SMOTE)]
    rectified = RectifiedClassifier(
        model, param_grid=grid, vote_weight=0, random_state=random_state()
    ).fit(X, y)
    for key, position in (("gain", 0), ("gain_se", 1)):
        ours = [chooser.gains_[name][position] for name in ("None", "RandomOverSampler", "SMOTE")]
        np.testing.assert_allclose(ours, rectified.cv_results_[key], atol=1e-12)
        assert any(ours)


def two_signals(n=600, seed=0):
    """Samples whose class depends on the first two of four features."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)), (np.arange(n) % 6 == 0).astype(int)
    X[y == 1, :2] += 1.5
    return X, y


def on(columns, model):
    """The model on some of the features."""
    return make_pipeline(FunctionTransformer(operator.itemgetter((slice(None), columns))), model)


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
def test_a_partner_that_is_noise_has_no_weight(model):
    X, y = two_signals()
    fused = Fused(on([0, 1], model), on([2, 3], LogisticRegression())).fit(X, y)
    assert fused.weight_ == 0
    assert fused.gains_[1.0][0] < -0.3
    alone = on([0, 1], model).fit(X, y)
    assert len(fused.estimators_) == 1
    np.testing.assert_array_equal(fused.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(fused.predict(X), alone.predict(X))
    assert hasattr(fused, "predict_proba") == hasattr(model, "predict_proba")


@pytest.mark.parametrize("labels", [[0, 1], ["usual", "fraud"]])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(), GaussianNB()])
def test_a_partner_that_is_much_better_has_a_weight(model, labels):
    X, y = two_signals()
    text = np.array(labels)[y]
    fused = Fused(on([2, 3], model), on([0, 1], LogisticRegression())).fit(X, text)
    assert fused.weight_ > 0
    gain, error = fused.gains_[fused.weight_]
    assert gain > error
    p = fused.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    rare = p[:, list(fused.classes_).index(labels[1])]
    assert average_precision_score(y, rare) > 0.6
    assert (fused.predict(X) == np.array(labels)[(rare > 0.5).astype(int)]).all()
    if hasattr(fused, "decision_function"):
        np.testing.assert_allclose(fused.decision_function(X), p[:, 1] - p[:, 0])
    if not isinstance(model, LinearSVC):
        own, other = (one.predict_proba(X) for one in fused.estimators_)
        np.testing.assert_allclose(p, (1 - fused.weight_) * own + fused.weight_ * other)


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(max_depth=3)])
def test_fusion_with_the_neighbour_vote_is_that_of_a_rectified_classifier(model):
    X, y = two_signals()
    voter = NeighborVoteClassifier(leaf_share=0)
    fused = Fused(model, voter, random_state=1).fit(X, y)
    rectified = RectifiedClassifier(model, param_grid=(), voter=voter, random_state=1).fit(X, y)
    assert fused.weight_ == rectified.vote_weight_
    best = max(fused.gains_.values(), key=operator.itemgetter(0))
    expected = [rectified.cv_results_[name][0] for name in ("gain", "gain_se")]
    np.testing.assert_allclose(best, expected, atol=1e-12)
    np.testing.assert_allclose(fused.predict_proba(X), rectified.predict_proba(X), atol=1e-12)


def test_the_weight_is_chosen_by_samples_that_no_model_has_seen():
    # A partner that knows its training samples by heart, and nothing else.
    X, y = two_signals()
    X[:, 2:] = np.random.default_rng(1).normal(size=(len(y), 2))
    by_heart = on([2, 3], KNeighborsClassifier(1))
    assert average_precision_score(y, by_heart.fit(X, y).predict_proba(X)[:, 1]) == 1
    assert Fused(on([0, 1], LogisticRegression()), by_heart).fit(X, y).weight_ == 0


@pytest.mark.parametrize("model", [DecisionTreeClassifier(max_depth=3), SVC()])
def test_members_of_a_self_paced_ensemble_are_fitted_on_balanced_samples(model, overlapping):
    X, y = overlapping
    spe = SelfPacedEnsemble(model, random_state=0).fit(X, y)
    assert len(spe.estimators_) == 10
    for samples in spe.estimators_samples_:
        assert len(np.unique(samples)) == len(samples) == 120
        assert set(np.flatnonzero(y == 1)) <= set(samples)
    assert len({tuple(samples) for samples in spe.estimators_samples_}) == 10


def test_a_self_paced_ensemble_moves_towards_hard_samples(overlapping):
    X, y = overlapping
    spe = SelfPacedEnsemble(GaussianNB(), random_state=0).fit(X, y)
    hardness = spe.predict_proba(X)[:, 1]
    of_member = [hardness[samples[y[samples] == 0]].mean() for samples in spe.estimators_samples_]
    # The first member is random, and most samples are easy.
    assert of_member[0] < min(of_member[1:])
    assert np.mean(of_member[1:4]) < np.mean(of_member[4:7]) < np.mean(of_member[7:])


def test_bins_are_drawn_from_as_in_the_paper():
    rng = np.random.RandomState(0)
    # Two bins of a thousand samples each, with hardness 0.1 and 0.9.
    hardness = np.repeat([0.1, 0.9], 1000)
    for factor in (0.01, 0.2, 1e16):
        drawn = draw_by_hardness(hardness, 100, factor, 20, rng)
        expected = 100 * (1 / (0.1 + factor)) / (1 / (0.1 + factor) + 1 / (0.9 + factor))
        assert abs((hardness[drawn] == 0.1).sum() - expected) < 1
        assert len(np.unique(drawn)) == 100
    drawn = draw_by_hardness(np.full(50, 0.3), 20, 0.5, 20, rng)
    assert len(np.unique(drawn)) == 20


@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=25).filter(any),
    data=st.data(),
)
def test_shares_fill_the_subset_and_no_bin_is_overdrawn(sizes, data):
    sizes = np.array(sizes)
    weights = data.draw(arrays(float, len(sizes), elements=st.floats(1e-17, 1e3)))
    n = data.draw(st.integers(0, int(sizes.sum())))
    counts = share(n, weights, sizes)
    assert counts.sum() == n
    assert (counts >= 0).all()
    assert (counts <= sizes).all()


def test_ensembles_with_trees_of_their_own_replace_the_classifier():
    for name in ("BalancedRandomForest", "EasyEnsemble", "RUSBoost"):
        entry = bench.EXTRA_METHODS[name]
        one, other = entry.wrap(LogisticRegression(), 3), entry.wrap(SVC(), 3)
        assert type(one).__name__ == f"{name}Classifier"
        assert str(one.get_params()) == str(other.get_params())
        changed = {k for k, v in one.get_params().items() if v != type(one)().get_params()[k]}
        assert changed <= {"n_jobs", "random_state"}
        assert one.random_state == 3


def test_every_extra_method_is_fitted_beside_every_classifier_with_finite_scores(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("filelock")
    X, y = two_signals(120)
    path = tmp_path / "table.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_csv(path, index=False)
    grid = bench.Grid(
        [bench.Source("table", str(path), "label")],
        methods=list(bench.EXTRA_METHODS.values()),
        classifiers=[bench.classifier(name) for name in ("LR", "DT", "SVM")],
        seeds=(42,),
    )
    store = bench.Store(tmp_path / "store")
    bench.run(grid, store, n_jobs=1)
    rows = store.read()
    assert len(rows) == len(grid) == 3 * len(bench.EXTRA_METHODS)
    assert set(rows["status"]) == {"ok"}, rows["error"].dropna().tolist()
    assert np.isfinite(rows[[name for name in SCORES if name != "brier"]]).all(axis=None)
    # Some methods give the SVM probabilities, which it does not have by itself.
    assert np.isfinite(rows.loc[rows["classifier"] != "SVM", "brier"]).all()
