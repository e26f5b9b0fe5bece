"""Does it help my data? The comparison: without leaks, in figures, in words, on a page."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE
from imblearn.under_sampling import EditedNearestNeighbours
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")

from rectifold import GMR, RectifiedClassifier, cli, compare  # noqa: E402
from rectifold.model_selection._evaluation import (  # noqa: E402
    SCORES,
    Evaluation,
    MethodResult,
    corrected_t_test,
    holm,
)
from rectifold.progress import listening  # noqa: E402

MODEL = {"tree": DecisionTreeClassifier(max_depth=3)}


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < 0.25
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame.loc[rare, "a"] += 1.5
    frame["label"] = np.where(rare, "rare", "common")
    return frame


@pytest.fixture
def frame():
    return table()


def compared(frame, **more):
    settings = {"classifiers": MODEL, "methods": ["GMR"], "cv": 3, **more}
    return compare(frame.drop(columns="label"), frame["label"], **settings)


@pytest.mark.parametrize(
    ("differences", "tone"), [((0.02, 0.1), "good"), ((0.02, -0.1), "bad"), ((0.02, -0.02), "")]
)
def test_the_page_has_its_verdict_in_colour(differences, tone):
    pytest.importorskip("jinja2")
    scores = dict.fromkeys(SCORES, 0.5)
    results = [MethodResult("tree", "None", scores)]
    for name, difference in zip("ab", differences, strict=True):
        pvalue = 0.001 if abs(difference) > 0.05 else 0.5
        ends = {"low": difference - 0.03, "high": difference + 0.03}
        measured = {"difference": difference, "pvalue": pvalue, "pvalue_holm": pvalue, **ends}
        results.append(MethodResult("tree", name, scores, **measured))
    page = Evaluation(results, [], "rare", 100, 10, 5).to_html()
    assert f'<div class="statement card {tone}">' in page
    shown = {"good": "helps", "bad": "hurts"}.get(tone)
    assert re.findall(r'<td class="word (?:good|bad)">(.*?)</td>', page) == [shown] * bool(shown)


class TestCompare:
    def test_cleaning_is_fitted_on_training_samples_only(self, frame, monkeypatch):
        seen = []
        original = GMR.fit_resample

        def watched(self, X, y, **params):
            seen.append(len(y))
            return original(self, X, y, **params)

        monkeypatch.setattr(GMR, "fit_resample", watched)
        found = compared(frame)
        assert seen == [160, 160, 160]
        tested = {line.method: line for line in found.results}
        assert list(tested) == ["None", "GMR"]

    def test_duplicates_are_in_one_part(self, frame, monkeypatch):
        twice = pd.concat([frame, frame], ignore_index=True)
        sides = []
        from rectifold.model_selection import _folds

        original = _folds.standardize

        def watched(X, train, test):
            sides.append((X, train, test))
            return original(X, train, test)

        monkeypatch.setattr(_folds, "standardize", watched)
        compared(twice)
        numbers = twice.drop(columns="label").to_numpy()
        compare(numbers, twice["label"], classifiers=MODEL, methods=["GMR"], cv=3)
        assert len(sides) == 6
        for _, train, test in sides:
            assert not set(train % len(frame)) & set(test % len(frame))

    def test_duplicates_and_groups_stay_together_in_inner_folds(self, frame, monkeypatch):
        seen = []
        original = RectifiedClassifier.fit

        def watched(self, X, y, **params):
            seen.append((X, params["groups"]))
            return original(self, X, y, **params)

        monkeypatch.setattr(RectifiedClassifier, "fit", watched)
        twice = pd.concat([frame, frame], ignore_index=True)
        compared(twice, methods=["GMR-adaptive"], cv=2, groups=np.arange(480) // 3)
        for X, groups in seen:
            _, copies = np.unique(X, axis=0, return_inverse=True)
            assert len(np.unique(groups)) < len(np.unique(copies.ravel()))
            for copy in np.unique(copies):
                assert len(np.unique(groups[copies.ravel() == copy])) == 1

    @pytest.mark.parametrize("kind", ["list", "polars", "gaps", "words", "nullable"])
    def test_any_table_is_accepted(self, frame, kind):
        X = frame[["a", "b", "c"]]
        if kind == "gaps":
            X = X.to_numpy(copy=True)
            X[::7, 1] = np.nan
            X[3, 2] = np.inf
        elif kind == "words":
            X = np.column_stack((X.to_numpy().astype(object), np.where(X["a"] > 0, "x", "y")))
        elif kind == "nullable":
            X = X.round().astype("Int64")
        elif kind == "polars":
            X = pytest.importorskip("polars").from_pandas(X)
        else:
            X = X.to_numpy().tolist()
        found = compare(X, frame["label"], classifiers=MODEL, methods=["GMR"], cv=2)
        assert found.n_samples == 240

    def test_noise_makes_no_clear_difference(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 4)), np.arange(300) % 4 == 0
        found = compare(X, y, classifiers=MODEL, methods=["GMR", "RandomUnderSampler"], cv=3)
        assert found.verdict.startswith("Leave your data alone: no method clearly helps")

    def test_the_verdict_names_the_method_that_helps(self):
        lines = [
            MethodResult("tree", "None", {"auprc": 0.5}),
            MethodResult("tree", "GMR", {"auprc": 0.62}, 0.12, 0.08, 0.16, 0.01, 0.001, 0.002),
        ]
        found = Evaluation(lines, [], "rare", 100, 10, 5)
        assert found.verdict.startswith("GMR helps tree: AUPRC 0.500 without, 0.620 with it")
        lucky = MethodResult("tree", "GMR", {"auprc": 0.62}, 0.12, 0.01, 0.23, 0.05, 0.04, 0.4)
        found = Evaluation([lines[0], lucky, lucky], [], "rare", 100, 10, 5)
        assert "may be due to chance among 2 comparisons (95 % interval +0.010" in found.verdict
        hurt = MethodResult("tree", "SMOTE", {"auprc": 0.4}, -0.1, -0.2, -0.05, 0.01, 0.001, 0.002)
        assert hurt.verdict == "hurts"
        found = Evaluation([lines[0], hurt], [], "rare", 100, 10, 5)
        assert (
            found.verdict
            == "Leave your data alone: no method clearly helps; the others are worse on average."
        )

    def test_every_kind_of_method_and_classifier(self, frame):
        X, y = frame.drop(columns="label").to_numpy(), frame["label"]
        found = compare(X, y, classifiers=["DT"], methods=["ENN", "Bagging", "GMR-adaptive"], cv=2)
        assert [line.method for line in found.results] == [
            *("None", "EditedNearestNeighbours", "Bagging", "GMR-adaptive")
        ]
        own = compare(
            X,
            y,
            classifiers={"svm": SVC(), "lr": LogisticRegression()},
            methods={"mine": EditedNearestNeighbours()},
            cv=2,
        )
        assert own.results[1].scores["brier"] is None
        assert_allclose(
            [line.scores["auprc"] for line in own.results[:2]],
            [
                np.mean(
                    [
                        fit["auprc"]
                        for fit in own.fits
                        if fit["classifier"] == "svm" and fit["method"] == name
                    ]
                )
                for name in ("None", "mine")
            ],
        )

    def test_the_result_does_not_depend_on_n_jobs(self, frame):
        assert compared(frame).to_dict() == compared(frame, n_jobs=2).to_dict()

    def test_a_messy_table_and_one_class_against_the_rest(self, frame):
        frame["kind"] = np.where(frame["a"] > 0, "x", "y")
        frame.loc[::5, "b"] = np.nan
        frame.loc[:20, "label"] = "third"
        with pytest.raises(ValueError, match="y has 3 classes: name the positive one with"):
            compared(frame)
        found = compared(frame, positive="rare")
        assert found.positive == "rare"
        assert found.n_positives == (frame["label"] == "rare").sum()

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"positive": "rar"}, "positive='rar' is not a label of y"),
            ({"cv": 1}, "cv=1 and n_repeats=1"),
            ({"cv": 200}, "cv=200 folds need 400: lower cv"),
            ({"methods": ["SMOT"]}, "there is no method 'SMOT'; did you mean 'SMOTE'"),
            ({"classifiers": ["RFF"]}, "there is no classifier 'RFF'"),
            ({"methods": {"x": 3}}, "is not a sampler"),
            ({"methods": {"None": EditedNearestNeighbours()}}, "stands for no sampling"),
            ({"classifiers": []}, "classifiers is empty"),
            ({"random_state": None}, "random_state=None must be an integer"),
            ({"groups": [1, 2]}, "groups has 2 entries and X has 240 samples"),
            ({"groups": np.arange(240) // 120}, "2 groups of samples that must stay together"),
        ],
    )
    def test_errors_are_raised_before_any_fit(self, frame, settings, sentence):
        with pytest.raises((ValueError, TypeError), match=sentence):
            compared(frame, **settings)

    def test_input_that_is_not_a_table_is_refused(self, frame):
        with pytest.raises(ValueError, match="X has 240 samples and y has 239"):
            compare(frame[["a"]], frame["label"][1:])
        for X, why in (
            (frame[["a", "a"]], "more than one column named 'a'"),
            (frame[[]], "no columns"),
            (frame["a"].to_numpy(), "must be two-dimensional"),
            (sparse.csr_array(frame[["a"]].to_numpy()), "X is sparse"),
        ):
            with pytest.raises(ValueError, match=why):
                compare(X, frame["label"])

    def test_a_failed_fit_is_named(self, frame):
        with pytest.raises(ValueError, match="mine with tree failed: Expected n_neighbors"):
            compared(frame, methods={"mine": SMOTE(k_neighbors=200)})

    def test_warnings_of_methods_are_in_the_notes(self, frame):
        few = frame.drop(frame.index[frame["label"] == "rare"][13:])
        found = compared(few, cv=2)
        assert any("fewer than min_minority=10" in note for note in found.notes)

    def test_progress_counts_folds(self, frame):
        seen = []
        with listening(lambda done, total: seen.append((done, total))):
            compared(frame)
        assert seen == [(1, 3), (2, 3), (3, 3)]

    def test_it_prints_as_a_table_and_returns_a_frame(self, frame):
        found = compared(frame)
        said = str(found)
        assert "classifier" in said
        assert said.endswith(found.verdict)
        assert found.to_frame().shape[0] == 2

    def test_the_standard_error_is_corrected_for_shared_training_samples(self):
        gains = np.array([0.1, 0.3, 0.1, 0.3])
        found = corrected_t_test(gains, 2)
        assert found["difference"] == pytest.approx(0.2)
        assert found["standard_error"] == pytest.approx(np.std(gains, ddof=1) * np.sqrt(1 / 4 + 1))
        assert found["low"] < 0.2 < found["high"]
        assert corrected_t_test(np.zeros(4), 2)["pvalue"] == 1
        assert corrected_t_test(np.ones(4), 2)["pvalue"] == 0

    def test_holm_equals_statsmodels(self):
        multitest = pytest.importorskip("statsmodels.stats.multitest")
        given = [0.04, 0.001, 0.03, 0.5, 0.03]
        assert_allclose(holm(given), multitest.multipletests(given, method="holm")[1])


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        table().to_csv("data.csv", index=False)

        def call(*arguments):
            code = cli.run(["compare", *(str(argument) for argument in arguments)])
            said = capsys.readouterr()
            return code, said.out, said.err

        return call

    QUICK = ("--target", "label", "-c", "DT", "-m", "GMR", "--cv", "2", "--n-jobs", "1")

    def test_it_prints_a_table_and_a_verdict(self, run):
        code, out, err = run("data.csv", *self.QUICK)
        assert (code, err) == (0, "")
        assert "Does cleaning help to find rare?" in out
        assert "Leave your data alone" in out or "helps" in out

    def test_json_prints_the_result_only(self, run):
        code, out, _ = run("data.csv", *self.QUICK, "--json", "--positive", "common")
        found = json.loads(out)
        assert (code, found["positive"], len(found["results"]), len(found["fits"])) == (
            0,
            "common",
            2,
            4,
        )

    def test_the_page_works_offline_and_escapes_names(self, run, tmp_path):
        pytest.importorskip("jinja2")
        frame = table()
        frame["label"] = frame["label"].replace("rare", "<b>rare</b>")
        frame.to_csv("data.csv", index=False)
        code, out, _ = run("data.csv", *self.QUICK, "--html", "page.html")
        assert code == 0
        assert "page.html" in out
        text = (tmp_path / "page.html").read_text()
        assert "<b>rare" not in text
        assert "&lt;b&gt;rare" in text
        assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")

    def test_rows_without_a_label_can_be_dropped(self, run):
        frame = table()
        frame.loc[:4, "label"] = None
        frame["id"] = range(len(frame))
        frame.to_csv("data.csv", index=False)
        assert run("data.csv", *self.QUICK)[0] == 2
        code, out, err = run("data.csv", *self.QUICK, "--missing-target", "drop", "--json")
        assert (code, json.loads(out)["n_samples"]) == (0, 235)
        assert "column 'id'" in err
        assert "--drop" in err
        assert run("data.csv", *self.QUICK, "--missing-target", "drop", "--drop", "id", "-q") == (
            0,
            "",
            "",
        )

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("none.csv", "-t", "label"), "there is no file 'none.csv'"),
            (
                ("data.csv", "-t", "lable"),
                "--target: there is no column 'lable'; did you mean",
            ),
            (("data.csv", "-t", "label", "--drop", "x"), "--drop: there is no column 'x'"),
            (
                ("data.csv", "-t", "label", "--positive", "rar"),
                "--positive: there is no class 'rar'",
            ),
            (("data.csv", "-t", "label", "--cv", "1"), "--cv"),
            (("data.csv", "-t", "label", "-m", "SMOT"), "there is no method 'SMOT'"),
            (("data.csv", "-t", "label", "--html", "no/page.html"), "--html"),
            (("data.csv", "-t", "label", "--cv", "99"), "lower --cv"),
        ],
    )
    def test_errors_are_one_sentence(self, run, tmp_path, arguments, sentence):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("rectifold: ")
        assert sentence in err
        assert len(err.splitlines()) == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv"]


MISSING = """
import sys

class Missing:
    names = {"pandas", "pyarrow", "typer", "rich", "filelock", "jinja2", "matplotlib",
             "statsmodels", "scikit_posthocs", "xgboost"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def test_compare_works_without_the_extras():
    script = MISSING + (
        "from sklearn.datasets import make_classification\n"
        "from rectifold import compare\n"
        "X, y = make_classification(200, weights=[0.8], random_state=0)\n"
        "found = compare(X, y, classifiers=['DT'], methods=['GMR', 'SMOTE'], cv=2)\n"
        "print(found.n_folds)\n"
        "try: found.to_html()\n"
        "except ImportError as problem: print(problem)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    folds, sentence = done.stdout.splitlines()
    assert folds == "2"
    assert sentence.startswith("the page needs ")
