"""Small runs of the deep experiments: training data, stored rows, reports and commands."""

import json
import re
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

pytest.importorskip("torch", reason="the deep experiments need torch")
pytest.importorskip("safetensors", reason="the deep experiments need safetensors")
pytest.importorskip("filelock", reason="the experiments need their extra")

import torch

from experiments.deep import __main__ as command
from experiments.deep import ceiling, images, tabular
from experiments.deep import report as deep_report
from experiments.deep.longtail import METHODS, Recipe
from experiments.deep.records import DEEP, KEY, check_mixture, outdated
from experiments.deep.sets import SETS, Table, load, split
from experiments.deep.tabddpm import TabDDPM
from images import small
from rectifold import GMR
from rectifold.bench import BenchError, Store
from rectifold.bench.report import write_document
from rectifold.datasets import load_wine_quality
from rectifold.report._document_formats import to_markdown

MODEL = TabDDPM(timesteps=8, layers=(32,), embedding=16, iterations=60, device="cpu")


pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_published_report_is_made_from_the_results_beside_it():
    folder = Path(__file__).parents[2] / "results" / "deep"
    document = deep_report.document(Store(folder, DEEP).read(), ceiling.read(folder))
    assert to_markdown(document) == (folder / "report" / "README.md").read_text()


def call(*arguments):
    """Run `python -m experiments.deep` and return the exit code."""
    with pytest.raises(SystemExit) as ended:
        command.app(list(arguments))
    return ended.value.code


def wines(name="wines"):
    """Return the embedded data set with a categorical column made from one of its numbers."""
    X, y = load_wine_quality(return_X_y=True, as_frame=True)
    X = X.iloc[::6].reset_index(drop=True)
    X["kind"] = (X["alcohol"] > 10).astype(int)
    return Table(
        name, "poor against ordinary", X, (y.to_numpy()[::6] == "poor").astype(int), ("kind",)
    )


@pytest.fixture(scope="module")
def diffused():
    """Rows of a small experiment with TabDDPM."""
    rows = []
    tabular.run([wines()], [0, 1], model=MODEL, samples=2, record=rows.append)
    return rows


@pytest.fixture(scope="module")
def pictured():
    """Rows of a small experiment on images."""
    quick = {"epochs": 2, "recipe": Recipe(batch=32, width=4, blocks=1), "device": "cpu"}
    return list(images.run(small(), list(METHODS), [0, 1], **quick))


@pytest.fixture(scope="module")
def store(diffused, pictured, tmp_path_factory):
    """A store with the rows of both experiments."""
    store = Store(tmp_path_factory.mktemp("deep") / "store", DEEP)
    with store.writing():
        for row in [*diffused, *pictured]:
            store.add(row)
    return store


class TestDiffusion:
    def test_every_cell_has_a_row_with_scores(self, diffused):
        keys = [tuple(row[name] for name in KEY) for row in diffused]
        assert sorted(keys) == sorted(tabular.cells(["wines"], [0, 1], 2))
        assert len(keys) == len(set(keys)) == 2 * 2 * 5
        for row in diffused:
            assert 0 < row["auprc"] <= 1
            assert row["test_rows"] == 164
            assert set(row) <= set(DEEP.schema.names)
            if row["trained_on"] != "real":
                assert json.loads(row["settings"])["embedding_"] == MODEL.embedding

    def test_cleaning_and_the_control_use_the_training_part_only(self, diffused):
        table = wines()
        parts = split(table, 0)
        cleaned = tabular.clean(parts, table, "GMR")
        others = parts.X_test.sample(frac=1, random_state=0).reset_index(drop=True) * 0
        blind = tabular.clean(
            type(parts)(parts.X_train, parts.y_train, others, 1 - parts.y_test), table, "GMR"
        )
        pd.testing.assert_frame_equal(cleaned.X, blind.X)
        assert cleaned.facts["rows_after"] == len(cleaned.y) < len(parts.y_train)
        expected = tabular.score_classifier(cleaned.X, cleaned.y, parts, 0)["auprc"]
        (real,) = [
            row
            for row in diffused
            if (row["method"], row["trained_on"], row["seed"]) == ("GMR", "real", 0)
        ]
        assert real["auprc"] == expected
        assert json.loads(real["removed"]) == cleaned.facts["removed"]

    def test_distances_use_standardised_numbers_and_one_hot_categories(self):
        table = wines()
        parts = split(table, 0)
        numbers = parts.X_train.drop(columns="kind")
        numbers = (numbers - numbers.mean()) / numbers.std(ddof=0)
        named = pd.get_dummies(parts.X_train["kind"], dtype=float)
        gmr = GMR()
        gmr.fit_resample(np.hstack([numbers, named]), parts.y_train)
        cleaned = tabular.clean(parts, table, "GMR")
        pd.testing.assert_frame_equal(
            cleaned.X, parts.X_train.iloc[gmr.sample_indices_].reset_index(drop=True)
        )

    def test_a_run_resumes(self, diffused, monkeypatch):
        keys = tabular.cells(["wines"], [0, 1, 1], 2)
        missing = ("tabddpm", "wines", "None", "real", 0, 1)
        monkeypatch.setattr(TabDDPM, "fit", None)  # No synthetic sample is needed again.
        done, rows = set(keys) - {missing}, []
        tabular.run([wines()], [0, 1], model=MODEL, samples=2, done=done, record=rows.append)
        (before,) = [row for row in diffused if tuple(row[name] for name in KEY) == missing]
        assert [row["auprc"] for row in rows] == [before["auprc"]]

    def test_finished_fits_of_an_interrupted_run_are_kept(self, monkeypatch):
        under_way = threading.Event()
        score = tabular.score_classifier

        def slowly(*args):
            under_way.set()
            time.sleep(0.3)
            return score(*args)

        def stopped(self, *args, **kwargs):
            under_way.wait(60)
            raise KeyboardInterrupt

        monkeypatch.setattr(tabular, "score_classifier", slowly)
        monkeypatch.setattr(TabDDPM, "fit", stopped)
        rows = []
        with pytest.raises(KeyboardInterrupt):
            tabular.run([wines()], [0, 1], model=MODEL, samples=1, record=rows.append)
        assert [(row["trained_on"], row["method"]) for row in rows] == [("real", "None")]

    def test_failures_are_recorded_and_the_run_continues(self, monkeypatch):
        def diverged(self, *args, **kwargs):
            raise RuntimeError("the loss was nan after 3 iterations")

        monkeypatch.setattr(TabDDPM, "fit", diverged)
        rows = []
        tabular.run([wines()], [0], model=MODEL, samples=1, record=rows.append)
        assert len(rows) == len(tabular.cells(["wines"], [0], 1))
        for row in rows:
            real = row["trained_on"] == "real"
            assert row["status"] == ("ok" if real else "failed")
            assert ("settings" in row) == (not real)
        assert {row["error"] for row in rows if "error" in row} == {
            "RuntimeError: the loss was nan after 3 iterations"
        }

    def test_errors_name_missing_data_sets(self, tmp_path):
        with pytest.raises(
            BenchError, match="there is no data set 'creditcart'; did you mean 'creditcard'"
        ):
            load("creditcart", tmp_path)
        with pytest.raises(BenchError, match=r"no file .*creditcard.npz': pass its folder"):
            load("creditcard", tmp_path)

    def test_a_damaged_file_raises_a_short_error(self, tmp_path):
        path = tmp_path / "creditcard.npz"
        np.savez_compressed(path, X=np.ones((50, 3)), y=np.zeros(50))
        with pytest.raises(BenchError, match="lacks an array: feature_names"):
            load("creditcard", tmp_path)
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(BenchError, match="is damaged"):
            load("creditcard", tmp_path)

    @pytest.mark.parametrize(
        ("name", "rows", "positives"),
        [
            ("covtype", 581_012, 2747),
            ("creditcard", 284_807, 492),
            ("ecg_arrhythmia", 109_446, 18_857),
            ("nsl_kdd", 148_517, 4001),
            ("nsl_kdd_attacks", 148_517, 71_463),
            ("yelp_review", 10_000, 749),
        ],
    )
    def test_data_sets_have_the_documented_targets(self, name, rows, positives, large_data):
        table = load(name, large_data(SETS[name][0]).parent)
        assert (len(table.X), int(table.y.sum())) == (rows, positives)
        assert set(table.categorical) <= set(table.X.columns)

    def test_texts_are_encoded_by_the_training_part_only(self):
        texts = pd.DataFrame(
            {"text": [f"good food number{n % 9} word{n % 90}" for n in range(400)]}
        )
        y = (np.arange(400) % 5 == 0).astype(int)
        first = split(Table("t", "", texts, y, text="text"), 0)
        train, _ = train_test_split(np.arange(400), test_size=0.2, stratify=y, random_state=0)
        changed = texts.copy()
        changed.loc[~np.isin(np.arange(400), train), "text"] = "something else entirely"
        second = split(Table("t", "", changed, y, text="text"), 0)
        pd.testing.assert_frame_equal(first.X_train, second.X_train)


class TestCeiling:
    def test_the_fixed_classifier_is_compared_with_a_tuned_one(self, tmp_path):
        rows = list(ceiling.run([wines()], [0], tmp_path))
        assert [row["classifier"] for row in rows] == [
            *(ceiling.PRESENT, ceiling.BEFORE, ceiling.TUNED)
        ]
        parts = split(wines(), 0)
        expected = tabular.score_classifier(parts.X_train, parts.y_train, parts, 0)["auprc"]
        assert rows[0]["auprc"] == pytest.approx(expected, abs=1e-6)
        assert json.loads(rows[2]["settings"]) in ceiling.CANDIDATES

        stored = ceiling.read(tmp_path)
        assert list(ceiling.run([wines()], [0], tmp_path)) == []
        pd.testing.assert_frame_equal(stored, ceiling.read(tmp_path))

    def test_the_test_part_does_not_choose_the_settings(self):
        parts = split(wines(), 0)
        blind = type(parts)(parts.X_train, parts.y_train, parts.X_test * 0, 1 - parts.y_test)
        assert ceiling.chosen(parts, 0, 1) == ceiling.chosen(blind, 0, 1)

    def test_the_published_classifier_is_near_the_ceiling_on_all_sets(self):
        folder = Path(__file__).parents[2] / "results" / "deep"
        table = ceiling.read(folder).pivot_table("auprc", "dataset", "classifier")
        assert set(table.index) == set(SETS)
        assert (table[ceiling.TUNED] - table[ceiling.PRESENT]).max() <= 0.02


class TestImages:
    def test_every_method_has_a_row_for_every_seed(self, pictured):
        keys = [tuple(row[name] for name in KEY) for row in pictured]
        assert sorted(keys) == sorted(images.cells(small(), list(METHODS), [0, 1]).values())
        for row in pictured:
            assert 0 <= row["balanced_accuracy"] <= 1
            assert set(row) <= set(DEEP.schema.names)
            assert row["few"] is None
        cleaned = [row for row in pictured if row["method"] == "GMR-Feature"]
        assert all(row["metric"] == "euclidean" and row["columns"] == 16 for row in cleaned)

    def test_stored_rows_are_not_trained_again(self, pictured):
        done = set(images.cells(small(), list(METHODS), [0, 1]).values())
        assert list(images.run(small(), list(METHODS), [0, 1], done=done, epochs=2)) == []


class TestOutdatedRows:
    def test_rows_of_the_present_code_are_not_outdated(self, store):
        assert not outdated(store.read()).any()

    def test_a_report_names_the_classifier_and_the_loss_of_outdated_rows(self, store):
        frame = store.read()
        old = frame.assign(classifier="HistGradientBoostingClassifier", settings=None)
        assert set(old.loc[outdated(old), "experiment"]) == {"tabddpm", "longtail"}
        assert set(old.loc[outdated(old) & (old["experiment"] == "longtail"), "method"]) == {"CB"}
        text = to_markdown(deep_report.document(old))
        assert "HistGradientBoostingClassifier" in text
        assert "are to be trained again" in text
        present = to_markdown(deep_report.document(frame))
        assert "HistGradientBoostingClassifier" not in present
        assert "are to be trained again" not in present

    def test_new_rows_of_a_set_replace_outdated_ones_in_a_report(self, store):
        frame = store.read()
        frame = frame[frame["experiment"] == "tabddpm"]
        old = frame.assign(classifier="HistGradientBoostingClassifier", auprc=0.123, seed=7)
        assert to_markdown(deep_report.document(pd.concat([old, frame]))) == to_markdown(
            deep_report.document(frame)
        )


class TestReport:
    def test_both_experiments_have_a_figure_and_a_table(self, store, tmp_path):
        files = write_document(deep_report.document(store.read()), tmp_path, latex=True)
        assert {path.name for path in files} >= {"tabddpm.svg", "tabddpm.tex", "images-stripes.svg"}
        text = (tmp_path / "README.md").read_text()
        assert "wines" in text
        assert "raw | cleaned | difference" in text
        frame = store.read()
        frame = frame[(frame["trained_on"] == "synthetic") & (frame["method"] == "GMR")]
        by_seed = frame.groupby("seed")["auprc"].mean()
        assert f"{by_seed.mean():.4f} ± {by_seed.std():.4f}" in text
        assert "GMR-Feature" in text

    def test_a_report_of_half_an_experiment_draws_no_conclusion(self, diffused, pictured, tmp_path):
        some = [row for row in diffused if row["trained_on"] == "real"][:1]
        some += [row for row in pictured if row["method"] == "CB"]
        some.append(dict(some[0], seed=9, status="failed", error="RuntimeError: <b>no</b>"))
        store = Store(tmp_path / "half", DEEP)
        with store.writing():
            for row in some:
                store.add(row)
        write_document(deep_report.document(store.read()), tmp_path / "report")
        text = (tmp_path / "report" / "README.md").read_text()
        assert "synthetic samples only is not known yet" in text
        assert "What failed" in text
        assert "<b>" not in (tmp_path / "report" / "index.html").read_text()

    def test_a_store_of_another_kind_is_refused(self, store):
        with pytest.raises(BenchError, match="has format deep 1, and format 1 is needed"):
            Store(store.folder).check()

    def test_the_command_writes_the_report_and_prints_its_path(self, store, tmp_path, capsys):
        out = tmp_path / "out"
        assert call("report", "--store", str(store.folder), "-o", str(out)) == 0
        assert str(out / "index.html") in capsys.readouterr().out
        assert not re.search(r'(src|href)="https?:', (out / "index.html").read_text())


def test_status_shows_the_fits_of_both_experiments(store, capsys):
    assert call("status", "-s", str(store.folder)) == 0
    message = capsys.readouterr().out
    assert "tabddpm: 1 data set, 2 methods" in message
    frame = store.read()
    for experiment in ("tabddpm", "longtail"):
        rows = frame[frame["experiment"] == experiment]
        assert re.search(rf"{rows['dataset'].iloc[0]}\s+{len(rows)}\s+0\s+\d+", message)


class TestCommands:
    def refused(self, capsys, sentence, *arguments):
        assert call(*arguments) == 2
        assert sentence in capsys.readouterr().err

    def test_bad_input_is_refused_before_any_work(self, capsys, tmp_path):
        home = ("--data-home", str(tmp_path), "-s", str(tmp_path / "store"))
        self.refused(capsys, "there is no data set 'cover'", "tabddpm", "-d", "cover", *home)
        self.refused(
            capsys, "creditcard.npz': pass its folder", "tabddpm", "-d", "creditcard", *home
        )
        self.refused(
            capsys,
            "Invalid value for '--samples'",
            "tabddpm",
            "--samples",
            "0",
            *home,
        )
        self.refused(capsys, "--embedding must be even", "tabddpm", "--embedding", "7", *home)
        self.refused(capsys, "--data must be cifar10-lt100", "longtail", "-d", "mnist", *home)
        self.refused(capsys, "there is no method 'LDM'", "longtail", "-m", "LDM", *home)
        self.refused(capsys, "cifar10_lt100.npz", "longtail", *home)

    def test_results_of_other_settings_are_not_mixed(self, store, capsys, large_data):
        home = large_data("yelp_reviews_10k.parquet").parent
        where = ("--data-home", str(home), "-s", str(store.folder))
        self.refused(
            capsys, "--ratio is for cifar10 and cifar100 only", "longtail", "--ratio", "10", *where
        )
        options = ("-d", "yelp_review", "--seed", "0")
        with pytest.raises(BenchError, match="has results with iterations 60, and these"):
            check_mixture(store, "tabddpm", {"iterations": 70}, {"wines": wines().fingerprint})
        with pytest.raises(BenchError, match="has results on other values of 'wines'"):
            check_mixture(store, "tabddpm", {}, {"wines": "another"})
        with pytest.raises(BenchError, match="with embedding 16, and these would have the def"):
            check_mixture(store, "tabddpm", {"embedding": None}, {"wines": wines().fingerprint})
        check_mixture(store, "tabddpm", {"iterations": 60}, {"wines": wines().fingerprint})
        self.refused(
            capsys, "--seed must be a whole number below", "tabddpm", *options, "--seed", "9" * 12
        )

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
    def test_a_missing_device_is_refused_first(self, capsys, tmp_path, large_data):
        home = large_data("yelp_reviews_10k.parquet").parent
        where = ("--data-home", str(home), "-s", str(tmp_path / "store"))
        sentence = "device='cuda' is not a device that torch can use here"
        self.refused(capsys, sentence, "tabddpm", "-d", "yelp_review", "--device", "cuda", *where)
