"""Parts of an experiment: names, data, protocols, scores, comparison, statistics."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from imblearn.base import BaseSampler
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

pd = pytest.importorskip("pandas")
pytest.importorskip("filelock")
pytest.importorskip("scikit_posthocs")

import rectifold.bench as bench  # noqa: E402
from rectifold._core.errors import ParameterError  # noqa: E402
from rectifold.bench import BenchError, Grid, Source  # noqa: E402
from rectifold.bench._comparison import compare, incomplete_datasets, newest  # noqa: E402
from rectifold.bench._data import Data, fetch, load  # noqa: E402
from rectifold.bench._grid import Task  # noqa: E402
from rectifold.bench._protocols import BEFORE_SPLIT, PAPER, TRAIN_ONLY, Split, prepare  # noqa: E402
from rectifold.bench._statistics import against, friedman, interval  # noqa: E402
from rectifold.bench._worker import _fit  # noqa: E402
from rectifold.model_selection._scores import SCORES, score  # noqa: E402


class Spy(BaseSampler):
    """Records its input, and keeps every other sample."""

    _sampling_type = "clean-sampling"
    _parameter_constraints: ClassVar = {}

    def _fit_resample(self, X, y):
        self.seen = X.copy(), y.copy()
        return X[::2], y[::2]


@pytest.fixture
def data(overlapping):
    X, y = overlapping
    return Data(X * [1, 10, 100] + 5, y.astype(np.intp), "")


def test_the_documentation_lists_every_name():
    text = (Path(__file__).parents[1] / "docs" / "guide" / "experiments.md").read_text()
    for entry in (*bench.METHODS.values(), *bench.CLASSIFIERS.values()):
        assert f"`{entry.name}`" in text
        assert f"`{entry.short}`" in text
    assert all(f"`{name}`" in text for name in bench.EXTRA_METHODS)


def test_bagging_averages_decision_functions_if_there_are_no_probabilities(data):
    bagging = bench.EXTRA_METHODS["Bagging"].wrap(SVC(), 0).fit(data.X, data.y)
    assert not hasattr(bagging, "predict_proba")
    mean = np.mean([one.decision_function(data.X) for one in bagging.estimators_], axis=0)
    np.testing.assert_allclose(bagging.decision_function(data.X), mean)
    assert (bagging.predict(data.X) == (mean > 0)).all()
    soft = bench.EXTRA_METHODS["Bagging"].wrap(LogisticRegression(), 0).fit(data.X, data.y)
    probable = soft.predict_proba(data.X)[:, 1] > 0.5
    assert (soft.predict(data.X) == probable).all()


@pytest.mark.parametrize("name", bench.METHODS)
def test_every_method_has_library_defaults_and_the_seed(name):
    entry = bench.METHODS[name]
    sampler = entry.make(7)
    if name == "None":
        assert sampler is None
        return
    changed = {
        key: value
        for key, value in sampler.get_params(deep=False).items()
        if repr(value) != repr(type(sampler)().get_params(deep=False)[key])
    }
    assert changed == ({"random_state": 7} if "random_state" in changed else {})
    assert ("random_state" in sampler.get_params()) == ("random_state" in changed)


@pytest.mark.parametrize("name", bench.CLASSIFIERS)
def test_every_classifier_has_library_defaults_one_thread_and_the_seed(name):
    classifier = bench.CLASSIFIERS[name].make(7)
    default = type(classifier)().get_params()
    changed = {
        key: value
        for key, value in classifier.get_params().items()
        if repr(value) != repr(default[key])
    }
    assert set(changed) <= {"random_state", "n_jobs"}
    assert changed.get("n_jobs", 1) == 1


def test_names_are_found_in_any_case_and_by_abbreviation():
    assert bench.method("enn").name == "EditedNearestNeighbours"
    assert bench.method("smote").name == "SMOTE"
    assert bench.classifier("xgb").name == "XGB"
    own = bench.method("mine=players:Keeper")
    assert (own.name, own.path) == ("mine", "players:Keeper")


@pytest.mark.parametrize(
    ("find", "name", "sentence"),
    [
        (
            bench.method,
            "SMOET",
            "no method 'SMOET'; did you mean 'SMOTE'? There are 'None'",
        ),
        (bench.method, "zzz", "there is no method 'zzz'; there are 'None', 'GMR', 'SMOTE'"),
        (bench.classifier, "XGBB", "there is no classifier 'XGBB'; did you mean 'XGB'?"),
        (bench.method, "nowhere:Thing", "'nowhere:Thing' can't be imported: No module"),
        (bench.method, "players:Thing", "can't be imported: 'players' has no 'Thing'"),
        (bench.method, "players:Quick", "is not a method: its result has no fit_resample"),
        (bench.classifier, "players:Keeper", "is not a classifier: its result has no predict"),
        (bench.method, "players:np", "is not a class or a function"),
        (
            bench.method,
            "players:not_an_estimator",
            "is not a method: its result has no fit_resample",
        ),
        (bench.method, "SMOTE=players:Keeper", "the name 'SMOTE' is taken by imblearn"),
        (bench.method, "rectifold:GMR", "the name 'GMR' is taken by rectifold:GMR"),
        (bench.method, "a b=players:Keeper", "there is no method"),
        (bench.method, "Avg=players:Keeper", "'Avg' is the name of averages in tables"),
        (bench.classifier, "players:Refusing", "can't be called without arguments: not today"),
    ],
)
def test_a_wrong_name_gets_the_nearest_and_the_list(find, name, sentence):
    with pytest.raises(BenchError) as caught:
        find(name)
    assert sentence in str(caught.value)


def test_a_wrong_data_set_gets_the_nearest_and_the_list(tmp_path):
    with pytest.raises(BenchError, match=r"'ecolli'; did you mean 'ecoli'\? There are 'ecoli', "):
        bench.paper_sources(["ecolli"])
    sources = bench.paper_sources(["ecoli", "oil"], tmp_path / "none")
    with pytest.raises(ParameterError, match=r"are not under .*: ecoli, oil; pass download to"):
        fetch(sources, download=False)
    assert not (tmp_path / "none").exists()


def test_missing_data_sets_are_downloaded_once_and_only_if_allowed(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("imblearn.datasets.fetch_datasets", lambda **how: asked.append(how) or {})
    sources = bench.paper_sources(["ecoli", "oil"], tmp_path)
    fetch(sources, download=True)
    assert asked == [{"data_home": str(tmp_path), "filter_data": ("ecoli", "oil")}]
    (tmp_path / "zenodo").mkdir()
    for number in (1, 18):
        (tmp_path / "zenodo" / f"x{number}data.npz").touch()
    fetch(sources, download=True)
    fetch(sources, download=False)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"methods": []}, "at least one method"),
        ({"seeds": (1, 1)}, "seed 1 is named twice"),
        ({"seeds": np.array([5_000_000_000])}, "a seed must be from 0 to 4294967295"),
        ({"sources": [Source("a"), Source("a")]}, "data set 'a' is named twice"),
        ({"protocols": ("train_only",)}, "'train_only'; did you mean 'train-only'"),
    ],
)
def test_an_invalid_grid_is_refused(change, sentence):
    with pytest.raises(BenchError, match=sentence):
        Grid(**{"sources": [Source("a")], **change})


def test_under_train_only_a_sampler_sees_the_training_split_alone(data):
    spy = Spy()
    prepared = prepare(data, spy, 42, TRAIN_ONLY)
    train, test, y_train, y_test = train_test_split(
        data.X, data.y, test_size=0.2, stratify=data.y, random_state=42
    )
    scaler = StandardScaler().fit(train)
    np.testing.assert_array_equal(spy.seen[0], scaler.transform(train))
    np.testing.assert_array_equal(spy.seen[1], y_train)
    np.testing.assert_array_equal(prepared.X_test, scaler.transform(test))
    np.testing.assert_array_equal(prepared.y_test, y_test)
    np.testing.assert_array_equal(prepared.X_train, scaler.transform(train)[::2])
    assert prepared.before == (320, 48)
    assert sum(prepared.after) == len(prepared.y_train) == 184
    plain = prepare(data, None, 42, TRAIN_ONLY)
    np.testing.assert_array_equal(plain.X_test, prepared.X_test)
    assert plain.before == plain.after


def test_under_before_split_a_sampler_sees_all_samples(data):
    spy = Spy()
    prepared = prepare(data, spy, 42, BEFORE_SPLIT)
    assert len(spy.seen[1]) == len(data.y)
    assert len(prepared.y_train) + len(prepared.y_test) == len(data.y) // 2
    assert prepared.before == (400, 60)


def test_under_paper_a_sampler_sees_raw_features_and_scaling_follows(data):
    spy = Spy()
    split = prepare(data, spy, 42, PAPER)
    train, test = train_test_split(data.X, test_size=0.2, stratify=data.y, random_state=42)
    np.testing.assert_array_equal(spy.seen[0], train)
    scaler = StandardScaler().fit(train[::2])
    np.testing.assert_array_equal(split.X_train, scaler.transform(train[::2]))
    np.testing.assert_array_equal(split.X_test, scaler.transform(test))


@pytest.mark.parametrize(("protocol", "weight"), [(PAPER, "balanced"), (TRAIN_ONLY, None)])
def test_under_paper_classes_are_weighted_by_classifiers_that_can(data, protocol, weight):
    split = prepare(data, None, 42, protocol)
    task = Task(Source("data"), data.fingerprint, bench.method("None"), "1", 42, protocol, ())
    for name in ("LR", "KNN"):
        entry = bench.classifier(name)
        model = entry.make(42)
        if name == "LR":
            model.set_params(class_weight=weight)
        expected = score(model.fit(split.X_train, split.y_train), split.X_test, split.y_test)
        row = _fit(task, entry, split)
        assert {name: row[name] for name in expected} == expected


def test_a_split_is_equal_after_saving_and_loading(data, tmp_path):
    prepared = replace(prepare(data, None, 0, TRAIN_ONLY), warnings=("UserWarning",))
    prepared.save(tmp_path / "rows.npz")
    again = Split.load(tmp_path / "rows.npz")
    np.testing.assert_array_equal(again.X_train, prepared.X_train)
    np.testing.assert_array_equal(again.y_test, prepared.y_test)
    assert (again.before, again.after) == (prepared.before, prepared.after)
    assert (again.seconds, again.warnings) == (prepared.seconds, prepared.warnings)


def test_a_sampler_that_leaves_one_class_fails(data):
    class Eraser(Spy):
        def _fit_resample(self, X, y):
            return X[y == 0], y[y == 0]

    with pytest.raises(ValueError, match="left one class only"):
        prepare(data, Eraser(), 0, TRAIN_ONLY)


@pytest.mark.parametrize("rows", [[0, 1, -1], [0, 1, 2, 3, 4, 5, -1, -2]])
def test_a_leak_that_leaves_a_part_with_one_class_fails(data, rows):
    class Few(Spy):
        def _fit_resample(self, X, y):
            order = np.argsort(y, kind="stable")[rows]
            return X[order], y[order]

    with pytest.raises(ValueError, match=r"one class only|least populated"):
        prepare(data, Few(), 0, BEFORE_SPLIT)


def test_a_sampler_that_changes_its_input_does_not_change_the_data(data):
    class InPlace(Spy):
        def _fit_resample(self, X, y):
            before = X.copy(), y.copy()
            X[:], y[:] = 0, 1
            return before

    X, y = data.X.copy(), data.y.copy()
    for protocol, before in ((TRAIN_ONLY, (320, 48)), (BEFORE_SPLIT, (400, 60))):
        assert prepare(data, InPlace(), 0, protocol).before == before
        np.testing.assert_array_equal(data.X, X)
        np.testing.assert_array_equal(data.y, y)


def test_a_sampler_that_returns_samples_and_labels_of_other_lengths_fails(data):
    class Odd:
        def fit_resample(self, X, y):
            return X.tolist(), y[:-1].tolist()

    with pytest.raises(ValueError, match="do not match"):
        prepare(data, Odd(), 0, TRAIN_ONLY)


def test_estimators_need_only_the_documented_methods(data):
    sampler = bench.method("players:PlainSampler").make(3)
    prepared = prepare(data, sampler, 0, TRAIN_ONLY)
    classifier = bench.classifier("players:PlainClassifier").make(3)
    classifier.fit(prepared.X_train, prepared.y_train)
    assert 0 < score(classifier, prepared.X_test, prepared.y_test)["auprc"] <= 1


def test_scores_that_are_not_finite_fail(data):
    model = LogisticRegression().fit(data.X, data.y)
    ordinary = data.y == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="is not a finite number"):
            score(model, data.X[ordinary], data.y[ordinary])


def test_a_changed_module_is_another_version(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = "from imblearn.under_sampling import TomekLinks as Mine\n"
    versions = []
    for content in (text, text + "# changed\n", text):
        (tmp_path / "versioned_module.py").write_text(content)
        versions.append(bench.method("versioned_module:Mine").version)
    assert versions[0] == versions[2] != versions[1]
    assert bench.METHODS["SMOTE"].version.startswith("imbalanced-learn 0.")


def test_other_options_are_another_version():
    smote = "imblearn.over_sampling:SMOTE"
    plain, few, many = (
        bench.Entry("mine", "mine", smote, options=options).version
        for options in ({}, {"k_neighbors": 3}, {"k_neighbors": 7})
    )
    assert plain == bench.METHODS["SMOTE"].version
    assert few == f"{plain}, k_neighbors=3"
    assert many != few
    # An object is called the same in all processes.
    by = [
        bench.Entry("mine", "mine", smote, options={"k_neighbors": type("Near", (), {})()}).version
        for _ in range(2)
    ]
    assert by[0] == by[1]


def test_a_module_that_cannot_be_imported_is_reported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_module.py").write_text("def (\n")
    with pytest.raises(BenchError, match="'broken_module:X' can't be imported: invalid syntax"):
        bench.method("broken_module:X")


def test_scores_are_those_of_scikit_learn(data):
    model = LogisticRegression().fit(data.X, data.y)
    found = score(model, data.X, data.y)
    assert list(found) == list(SCORES)
    ranking = model.predict_proba(data.X)[:, 1]
    assert found["auprc"] == average_precision_score(data.y, ranking)
    predicted = model.predict(data.X)
    sensitivity = (predicted[data.y == 1] == 1).mean()
    specificity = (predicted[data.y == 0] == 0).mean()
    assert found["g_mean"] == pytest.approx(np.sqrt(sensitivity * specificity))
    missed, alarms = (1 - sensitivity) * 60, (1 - specificity) * 400
    assert found["asymmetric_risk"] == pytest.approx((10 * missed + alarms) / 460)


def test_a_support_vector_machine_ranks_by_its_decision_function(data):
    model = SVC().fit(data.X, data.y)
    found = score(model, data.X, data.y)
    assert found["brier"] is None
    assert found["auprc"] == average_precision_score(data.y, model.decision_function(data.X))


def own(tmp_path, frame, name="own.csv"):
    frame.to_csv(tmp_path / name, index=False)
    return Source("own", str(tmp_path / name), "label")


def test_numbers_of_a_table_are_used_as_they_are_and_other_columns_are_encoded(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
    frame["label"] = np.where(np.arange(60) % 4 == 0, "rare", "common")
    mixed = load(own(tmp_path, frame))
    assert mixed.n_positives == 15
    prepared = prepare(mixed, Spy(), 0, TRAIN_ONLY)
    assert prepared.X_train.shape[1] > 1
    assert np.isfinite(prepared.X_test).all()
    numbers = load(own(tmp_path, frame.drop(columns="colour")))
    assert numbers.X.dtype == np.float64
    assert numbers.fingerprint != mixed.fingerprint
    assert load(own(tmp_path, frame)).fingerprint == mixed.fingerprint


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        (["a"] * 60, "has 1 classes, and an experiment needs two"),
        (["a", "b", "c"] * 20, "has 3 classes"),
        (["a"] * 58 + ["b"] * 2, "minority class 'b' of .* has 2 samples; at least 5"),
        ([None] * 3 + ["a"] * 40 + ["b"] * 17, "3 rows of .* have no label"),
    ],
)
def test_unusable_tables_are_refused(tmp_path, label, sentence):
    frame = pd.DataFrame({"x": np.arange(60.0), "label": label})
    with pytest.raises(BenchError, match=sentence):
        load(own(tmp_path, frame))


def test_categories_without_samples_do_not_count(tmp_path):
    label = pd.Categorical(["a"] * 40 + ["b"] * 20, categories=["a", "b", "c"])
    pd.DataFrame({"x": np.arange(60.0), "label": label}).to_parquet(tmp_path / "own.parquet")
    assert load(Source("own", str(tmp_path / "own.parquet"), "label")).n_positives == 20


def test_a_table_cannot_have_the_name_of_one_of_the_papers_data_sets():
    with pytest.raises(BenchError, match="'ecoli' is one of the paper's data sets"):
        Source("ecoli", "ecoli.csv", "label")


def test_a_table_without_its_target_is_refused(tmp_path):
    source = own(tmp_path, pd.DataFrame({"x": [1.0], "lable": ["a"]}))
    with pytest.raises(BenchError, match="no column 'label'; did you mean 'lable'"):
        load(source)
    with pytest.raises(BenchError, match="no column besides its target"):
        load(own(tmp_path, pd.DataFrame({"label": ["a", "b"]})))
    with pytest.raises(BenchError, match="there is no file"):
        load(Source("x", str(tmp_path / "x.csv"), "label"))


def rows(values, status="ok", finished="1", **facts):
    """Rows of a store from {(dataset, method, classifier, seed): auprc}."""
    columns = ["dataset", "method", "classifier", "seed", "auprc"]
    frame = pd.DataFrame([(*key, value) for key, value in values.items()], columns=columns)
    defaults = {"protocol": TRAIN_ONLY, "method_version": "1", "classifier_options": ""}
    defaults["brier"] = np.nan
    return frame.assign(status=status, finished=finished, **{**defaults, **facts})


def test_only_seeds_that_all_methods_have_are_averaged():
    values = {
        ("d", "None", "LR", 0): 0.5,
        ("d", "None", "LR", 1): 0.9,
        ("d", "GMR", "LR", 0): 0.6,
        ("e", "None", "LR", 0): 0.5,
    }
    comparison = compare(rows(values))
    assert comparison.values.to_dict("index") == {("d", "LR"): {"None": 0.5, "GMR": 0.6}}
    assert comparison.rank_table().loc["GMR", "Avg"] == 1
    incomplete = incomplete_datasets(rows(values), comparison)
    assert [(one.dataset, one.n_compared, one.max_seeds) for one in incomplete] == [
        ("d", 1, 1),
        ("e", 0, 0),
    ]


@pytest.mark.parametrize(("protocol", "shared"), [(TRAIN_ONLY, 1.5), (PAPER, 1)])
def test_methods_with_equal_scores_share_a_rank_whatever_the_rounding(protocol, shared):
    scores = {"None": 0.3, "GMR": 0.1 + 0.2, "SMOTE": 0.2}
    frame = rows({("d", name, "LR", 0): score for name, score in scores.items()}, protocol=protocol)
    ranks = compare(frame, protocol=protocol).ranks().iloc[0].to_dict()
    assert ranks == {"None": shared, "GMR": shared, "SMOTE": 3}


def test_a_method_that_failed_ranks_last_and_one_that_timed_out_leaves_the_block_out():
    good = rows({("d", "None", "LR", 0): 0.2, ("d", "SMOTE", "LR", 0): 0.1})
    failed = rows({("d", "GMR", "LR", 0): np.nan}, status="failed")
    comparison = compare(pd.concat([good, failed]))
    assert comparison.ranks().iloc[0].to_dict() == {"None": 1, "GMR": 3, "SMOTE": 2}
    late = rows({("d", "GMR", "LR", 0): np.nan}, status="timed out")
    assert compare(pd.concat([good, late, rows({("e", "GMR", "LR", 0): 0.5})])).values.empty


def test_equal_scores_share_their_rank():
    comparison = compare(rows({("d", m, "LR", 0): 0.5 for m in ("None", "GMR", "SMOTE")}))
    assert set(comparison.ranks().iloc[0]) == {2.0}


def test_the_average_is_the_mean_of_the_classifiers_columns_as_in_the_paper():
    values = {
        (d, m, c, 0): float(hash_)
        for hash_, (d, m, c) in enumerate(
            (d, m, c) for d in "abc" for m in ("None", "GMR") for c in ("LR", "DT")
        )
    }
    table = compare(rows(values)).rank_table()
    assert list(table.columns) == ["DT", "LR", "Avg"]
    assert table["Avg"].equals(table[["DT", "LR"]].mean(axis=1))


def test_the_newest_version_of_a_method_counts():
    old = rows({("d", "GMR", "LR", 0): 0.1}, finished="2026-01-01", method_version="1")
    new = rows({("d", "GMR", "LR", 0): 0.2}, finished="2026-02-01", method_version="2")
    kept, older = newest(pd.concat([new, old]))
    assert list(kept["auprc"]) == [0.2]
    assert older == {"GMR": ["1"]}
    kept, _ = newest(pd.concat([new.assign(protocol=BEFORE_SPLIT), old]))
    assert len(kept) == 2


def test_the_options_that_a_classifier_ran_with_last_count():
    values = {("d", method, "LR", 0): 0.1 for method in ("None", "GMR")}
    old, new = rows(values, finished="1"), rows(values, finished="2", classifier_options="C=9")
    other = rows({("d", "GMR", "DT", 0): 0.1}, finished="0")
    kept, older = newest(pd.concat([new, old, other]))
    assert sorted(kept["classifier_options"]) == ["", "C=9", "C=9"]
    assert older == {"LR": ["without options"]}


#: Demšar, Statistical comparisons of classifiers over multiple data sets (2006), table 6.
DEMSAR = pd.DataFrame(
    {
        name: [float(value) for value in values.split()]
        for name, values in {
            "C4.5": "763 599 954 628 882 936 661 583 775 1000 940 619 972 957",
            "+m": "768 591 971 661 888 931 668 583 838 1000 962 666 981 978",
            "+cf": "771 590 968 654 886 916 609 563 866 1000 965 614 975.1 946",
            "+m+cf": "798 569 967 657 898 931 685 625 875 1000 962 669 975 970",
        }.items()
    }
)


def test_friedman_and_nemenyi_give_what_demsar_worked_out_by_hand():
    test = friedman(DEMSAR)
    assert test.ranks.round(3).to_dict() == {
        "+m+cf": 1.964,
        "+m": 2.0,
        "+cf": 2.893,
        "C4.5": 3.143,
    }
    assert test.critical_difference == pytest.approx(1.25, abs=0.005)
    assert test.pvalue < 0.05
    assert test.n_blocks == 14
    flipped = friedman(-DEMSAR, greater_is_better=False)
    assert flipped.ranks.equals(test.ranks)


def test_contrasts_have_signs_that_a_reader_expects():
    rng = np.random.default_rng(0)
    base = rng.random(12)
    noise = rng.normal(scale=0.01, size=12)
    table = pd.DataFrame({"None": base, "up": base + 0.1 + noise, "down": base - 0.1, "same": base})
    found = against(table, "None")
    assert list(found) == ["up", "same", "down"]
    up, same, down = found.values()
    assert up.low < up.difference < up.high
    assert up.low > 0 > down.high
    assert up.effect == -down.effect == 1
    assert (same.difference, same.pvalue, same.effect) == (0, 1, 0)
    assert (up.wins, same.ties, down.losses) == (12, 12, 12)
    # Holm: the smallest p-value of three is multiplied by three.
    assert up.holm == pytest.approx(min(1, 3 * up.pvalue))
    worse = against(table, "None", greater_is_better=False)
    assert worse["up"].difference == -up.difference


def test_errors_of_rounding_are_ties_in_tests():
    rng = np.random.default_rng(0)
    base = rng.random(12)
    noise = rng.choice([-1e-16, 1e-16, 3e-16], size=12)
    table = pd.DataFrame({"None": base, "same": base + noise, "up": base + 0.1})
    same = against(table, "None")["same"]
    assert (same.pvalue, same.effect) == (1, 0)
    assert friedman(table).ranks.to_dict() == {"up": 1, "None": 2.5, "same": 2.5}


def test_small_differences_are_equivalent_and_others_not():
    rng = np.random.default_rng(0)
    base, noise = rng.random(20), rng.normal(scale=0.001, size=20)
    table = pd.DataFrame(
        {"None": base, "near": base + noise, "up": base + 0.006, "down": base - 0.006}
    )
    found = against(table, "None")
    assert found["near"].equivalence < 0.001
    assert min(found["up"].equivalence, found["down"].equivalence) > 0.99


def test_data_sets_of_one_source_are_one_block():
    values = {(name, "None", "LR", 0): score for name, score in (("abalone", 0.2), ("oil", 0.7))}
    comparison = compare(rows({**values, ("abalone_19", "None", "LR", 0): 0.4}))
    assert comparison.by_block()["None"].round(9).to_dict() == {"abalone": 0.3, "oil": 0.7}


def test_too_little_data_is_not_tested():
    assert friedman(DEMSAR.head(4)) is None
    assert friedman(DEMSAR[["C4.5", "+m"]]) is None
    assert against(DEMSAR.head(4), "C4.5") == {}
    assert interval(np.full(6, 0.25)) == (0.25, 0.25)
