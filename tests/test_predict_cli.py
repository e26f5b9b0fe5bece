"""`rectifold predict`: the scored table, the report, what is printed, and early errors."""

import base64
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")
pytest.importorskip("rich")

from rectifold import GMR, RectifiedClassifier, TableSpace, cli  # noqa: E402
from tables import read_csv  # noqa: E402

FAST = ("--classifier", "DT", "--n-jobs", "1")
ADDED = ["prediction", "probability_common", "probability_rare"]
HOSTILE = "<img src=x onerror=alert(1)>"


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < 0.2
    frame = pd.DataFrame(rng.normal(size=(n, 2)).round(2), columns=["a", "b"])
    frame.loc[rare, "a"] += 1.5
    frame["kind"] = rng.choice(["red", "green", "017"], n)
    frame["label"] = np.where(rare, "rare", "common")
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("train.csv", index=False)
    table(40, seed=1).drop(columns="label").to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Run the command in this process: its exit code, and what it printed."""
    # One setting besides no cleaning, to save time.
    monkeypatch.setitem(RectifiedClassifier.__init__.__kwdefaults__, "param_grid", [{"gamma": 0}])

    def call(*arguments, train="train.csv", new="new.csv", target="label", fast=FAST):
        command = ["predict", train, new, "--target", target, *arguments, *fast]
        code = cli.run([str(argument) for argument in command])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def scores(name="scored.csv"):
    return read_csv(name) if name.endswith(".csv") else pd.read_parquet(name)


class TestOutput:
    def test_the_scores_are_those_of_the_classifier_in_python(self, run):
        code, _, _ = run("-o", "scored.csv", "--vote-weight", "0.5", "--seed", "7")
        assert code == 0
        train, new = read_csv("train.csv"), read_csv("new.csv")
        model = RectifiedClassifier(
            make_pipeline(TableSpace(), DecisionTreeClassifier(random_state=7)),
            sampler=GMR(space="auto"),
            vote_weight=0.5,
            random_state=7,
        ).fit(train.drop(columns="label"), train["label"])
        found = scores()
        np.testing.assert_array_equal(found[ADDED[1:]], model.predict_proba(new))
        assert found["prediction"].tolist() == model.predict(new).tolist()

    def test_the_table_keeps_its_cells_and_its_format(self, run):
        text = 'a;b;kind;note\r\n0.50;+1;"re""d";"x;y"\r\n-1e0;2;017; \r\n'
        Path("new.csv").write_bytes(text.encode())
        code, _, err = run("-o", "scored.csv")
        assert code == 0
        lines = Path("scored.csv").read_bytes().decode().split("\r\n")
        assert lines[0] == "a;b;kind;note;" + ";".join(ADDED)
        assert lines[1].startswith('0.50;+1;"re""d";"x;y";')
        assert lines[2].startswith("-1e0;2;017; ;")
        assert "column of new.csv that the classifier does not use: 'note'" in err
        assert "1 cell with a category that the training table does not have" in err

    def test_parquet_is_read_and_written_with_its_types(self, run):
        train = table().assign(label=lambda frame: (frame["label"] == "rare").astype("int8"))
        train.to_parquet("train.parquet")
        new = table(40, seed=1).drop(columns="label").astype({"kind": "category"})
        new.to_parquet("new.parquet")
        code, _, _ = run("-o", "scored.parquet", train="train.parquet", new="new.parquet")
        assert code == 0
        found = scores("scored.parquet")
        pd.testing.assert_frame_equal(found[["a", "b", "kind"]], new)
        assert found["prediction"].dtype.kind == "i"
        np.testing.assert_allclose(found[["probability_0", "probability_1"]].sum(axis=1), 1)

    def test_tables_can_have_different_formats(self, run):
        table(40, seed=1).drop(columns="label").to_parquet("new.parquet")
        assert run("-o", "scored.csv")[0] == 0
        assert run("-o", "other.parquet", new="new.parquet")[0] == 0
        pd.testing.assert_frame_equal(scores(), scores("other.parquet"), check_dtype=False)

    def test_text_that_looks_like_a_number_keeps_its_meaning(self, run):
        # All cells of the new table are digits, and would be read as the number 17.
        new = table(40, seed=1).drop(columns="label").assign(kind="017")
        new.to_csv("new.csv", index=False)
        _, _, err = run("-o", "scored.csv")
        assert "category" not in err
        as_text = new.assign(kind="red")
        as_text.to_csv("new.csv", index=False)
        run("-o", "red.csv")
        assert len(scores()) == len(scores("red.csv")) == 40

    def test_cells_of_another_kind_count_as_missing(self, run):
        new = table(40, seed=1).drop(columns="label").astype({"a": object})
        new.loc[3, "a"], new.loc[4, "a"], new.loc[5, "b"] = "n.k.", None, np.inf
        new.loc[6, "kind"] = None
        new.to_csv("new.csv", index=False)
        code, _, err = run("-o", "scored.csv")
        assert code == 0
        assert "column 'a' of new.csv: 1 cell that is not a number, such as 'n.k.', read as" in err
        assert "column 'b' of new.csv: 1 cell with an infinite number, read as missing" in err
        assert scores().notna()[ADDED].all(axis=None)

    def test_a_target_column_in_the_new_table_is_not_used(self, run):
        run("-o", "scored.csv")
        table(40, seed=1).assign(label="common").to_csv("labelled.csv", index=False)
        code, _, err = run("-o", "other.csv", new="labelled.csv")
        assert code == 0
        assert "labelled.csv has the target column 'label' too; it is not used" in err
        pd.testing.assert_frame_equal(scores()[ADDED], scores("other.csv")[ADDED])

    def test_dropped_columns_are_no_features_but_are_kept(self, run):
        table().assign(id=range(120)).to_csv("train.csv", index=False)
        new = table(40, seed=1).drop(columns="label").assign(id=[f"id{i}" for i in range(40)])
        new.to_csv("new.csv", index=False)
        code, _, err = run("-o", "scored.csv", "--drop", "id", "--report", "why.html")
        assert (code, err) == (0, "")
        assert scores()["id"].tolist() == new["id"].tolist()

    def test_the_report_shows_the_columns_that_are_no_features(self, run):
        table().assign(id=[f"past {i}" for i in range(120)]).to_csv("train.csv", index=False)
        new = table(40, seed=1).drop(columns="label").assign(id=[f"new {i}" for i in range(40)])
        new.to_csv("new.csv", index=False)
        options = ("--drop", "id", "--report", "why.html", "--vote-weight", "0.5")
        assert run(*options)[0] == 0
        assert not Path("scored.csv").exists()
        packed = re.search(r'id="facts">([^<]*)<', Path("why.html").read_text())[1]
        facts = json.loads(gzip.decompress(base64.b64decode(packed)))
        shown = facts["columns"][0]
        assert shown["name"] == "id"
        assert shown["cells"] == [f"new {row}" for row in facts["samples"]["row"]]
        assert shown["train"] == [f"past {row}" for row in facts["train"]["row"]]

    def test_scoring_the_training_table_is_noted(self, run):
        code, _, err = run("-o", "scored.csv", new="train.csv")
        assert code == 0
        assert "the scored table is the training table" in err

    def test_rows_without_a_label_are_left_out(self, run):
        train = table()
        train.loc[[3, 50], "label"] = ["", "unknown"]
        train.to_csv("train.csv", index=False)
        code, _, err = run("-o", "scored.csv", "--missing-label", "unknown")
        assert code == 2
        assert "2 of 120 rows have no label" in err
        options = ("--missing-target", "drop", "--missing-label", "unknown", "--json")
        code, out, _ = run("-o", "scored.csv", *options)
        assert code == 0
        facts = json.loads(out)
        assert facts["rows_train"] == 118
        assert facts["missing_target"] == {"rows": 2, "action": "drop"}

    def test_an_ensemble_of_another_classifier_can_be_fitted(self, run):
        options = ("--ensemble", "3", "-c", "sklearn.tree:ExtraTreeClassifier", "--n-jobs", "1")
        code, out, _ = run("-o", "scored.csv", *options, fast=())
        assert code == 0
        assert "ExtraTreeClassifier" in out
        assert "not estimated" in out or "over the classifier alone" in out

    def test_names_labels_and_cells_may_be_hostile(self, run):
        names = {"a": HOSTILE, "b": "</script>", "kind": "{{x}}\u202e"}
        train = table().rename(columns=names)
        train["label"] = np.where(train["label"] == "rare", HOSTILE, 'a "quoted", label')
        train.to_csv("train.csv", index=False)
        new = table(40, seed=1).drop(columns="label").rename(columns=names)
        new.loc[0, names["kind"]] = "\x1b[31mred\x07" + "x" * 3000
        new.to_csv("new.csv", index=False)
        code, out, err = run("-o", "scored.csv", "--report", "why.html", "--vote-weight", "0.4")
        assert code == 0
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err
        assert [*scores().columns[3:]] == [
            "prediction",
            f"probability_{HOSTILE}",
            'probability_a "quoted", label',
        ]
        page = Path("why.html").read_text()
        assert "<img" not in page
        assert "&lt;img" in page


class TestPrinting:
    def test_it_prints_the_choice_and_the_highest_rows(self, run):
        code, out, err = run("-o", "scored.csv", "--vote-weight", "0.5")
        assert (code, err) == (0, "")
        words = " ".join(out.split())
        sizes = pd.read_csv("train.csv")["label"].value_counts()
        assert f"120 rows with 3 features: {sizes['common']} common, {sizes['rare']} rare" in words
        assert "vote weight 0.5: 0.5 x classifier + 0.5 x vote of the neighbours" in words
        # The weight was set, so the gain is not that of the vote.
        assert re.search(r"estimated gain (none: no cleaning|.* over no cleaning)", words)
        assert "40 rows to scored.csv" in words
        order = scores()["probability_rare"].to_numpy().argsort(kind="stable")
        block = out[out.index("row  probability") :].splitlines()[1:11]
        shown = [int(line.split()[0]) for line in block]
        found = scores()["probability_rare"][shown].to_numpy()
        np.testing.assert_array_equal(found, scores()["probability_rare"][order[::-1][:10]])

    def test_the_gain_of_a_weight_that_was_chosen_is_that_over_the_classifier_alone(self, run):
        code, out, _ = run("-o", "scored.csv", "--json")
        assert code == 0
        facts = json.loads(out)
        assert facts["gain_over"] == "the classifier alone"
        _, out, _ = run("-o", "scored.csv")
        gain = f"{facts['gain']:+.4f} average precision over the classifier alone"
        assert (gain if facts["gain"] else "none: neither cleaning nor the vote") in out

    def test_json_is_all_that_is_printed(self, run):
        code, out, _ = run("-o", "scored.csv", "--json", "--report", "why.json")
        assert code == 0
        facts = json.loads(out)
        assert facts["output"] == "scored.csv"
        assert facts["rows"] == 40
        assert [one["label"] for one in facts["classes"]] == ["common", "rare"]
        assert sum(one["predicted"] for one in facts["classes"]) == 40
        assert 0 <= facts["vote_weight"] <= 1
        best = facts["highest"][0]
        assert best["probability"] == scores()["probability_rare"].max()
        report = json.loads(Path("why.json").read_text())
        assert report["samples"][0]["sample"] == best["row"]
        assert set(facts["seconds"]) == {"read", "fit", "predict", "write"}

    def test_quiet_prints_nothing(self, run):
        assert run("-o", "scored.csv", "--quiet") == (0, "", "")
        assert len(scores()) == 40

    def test_a_report_without_a_vote_says_so(self, run):
        code, _, err = run("--report", "why.html", "--vote-weight", "0")
        assert code == 0
        assert "the report shows no past rows" in err
        assert "has the weight 0" in Path("why.html").read_text()


def without(name):
    return lambda frame: frame.drop(columns=name)


BAD = {
    "nothing to do": (["--quiet"], None, "pass -o for the scored table, or --report"),
    "a column is missing": (["-o", "s.csv"], without("b"), "lacks the column 'b'"),
    "a column is misspelt": (
        ["-o", "s.csv"],
        lambda frame: frame.rename(columns={"kind": "kinds"}),
        "lacks the column 'kind'; did you mean 'kinds'?",
    ),
    "text for numbers": (
        ["-o", "s.csv"],
        lambda frame: frame.assign(a="word"),
        "column 'a' has numbers in the training table, and text in 'new.csv', such as 'word'",
    ),
    "a taken name": (
        ["-o", "s.csv"],
        lambda frame: frame.assign(prediction=1),
        "two columns named 'prediction': rename that of 'new.csv'",
    ),
    "a taken name of a class": (
        ["-o", "s.csv"],
        lambda frame: frame.assign(probability_rare=1),
        "two columns named 'probability_rare'",
    ),
    "no rows": (["-o", "s.csv"], lambda frame: frame[:0], "has a header but no rows"),
    "the output is the training table": (["-o", "train.csv"], None, "is the input itself"),
    "the output is the new table": (["-o", "new.csv"], None, "is the input itself"),
    "the report is the output": (
        ["-o", "s.csv", "--report", "s.csv"],
        None,
        "must end in .html, for the page, or in .json",
    ),
    "an unknown ending": (["-o", "s.xlsx"], None, "none of the known endings"),
    "no folder": (["-o", "none/s.csv"], None, "there is no folder 'none'"),
    "an unknown classifier": (["-o", "s.csv", "-c", "XYZ"], None, "there is no classifier 'XYZ'"),
    "a classifier without probabilities": (
        ["-o", "s.csv", "-c", "sklearn.linear_model:RidgeClassifier"],
        None,
        "has no probabilities",
    ),
    "a weight beyond 1": (["-o", "s.csv", "--vote-weight", "2"], None, "neither auto nor a"),
    "a weight in words": (["-o", "s.csv", "--vote-weight", "much"], None, "neither auto nor a"),
    "an unknown column to drop": (["-o", "s.csv", "--drop", "x"], None, "there is no column 'x'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence_and_no_file(run, case, monkeypatch):
    options, change, sentence = BAD[case]

    def fit(*_):
        raise AssertionError("long work")

    monkeypatch.setattr(RectifiedClassifier, "fit", fit)
    if change is not None:
        change(pd.read_csv("new.csv")).to_csv("new.csv", index=False)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    code, out, err = run(*options, fast=() if "-c" in options else FAST)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("", {}, "'train.csv' is empty"),
        ("a,b,kind,label\n", {}, "has a header but no rows"),
        ("a,b,kind,label\n1,2,x,y\n2,3,x,y\n", {}, "holds only one class: 'y'"),
        ("a,b,kind,label\n1,2,x,\n2,3,x,\n", {}, "no row has a label"),
        ("a,b,kind,label\n1,2,x,y\n", {"target": "lable"}, "did you mean 'label'?"),
        ("label\nx\ny\n", {}, "no feature is left"),
        ("a,b,kind,label\n" + 2 * "1,1,x,y\n1,1,x,z\n", {}, "has no column that distinguishes"),
        ("a,b,kind,label\n1,1,x,y\n", {"new": "none.csv"}, "there is no file 'none.csv'"),
        ("a,b,kind,label\n1,1,x,y\n", {"train": "train.txt"}, "none of the known endings"),
    ],
)
def test_bad_training_tables_get_one_sentence(run, content, options, sentence):
    Path("train.csv").write_text(content)
    code, out, err = run("-o", "scored.csv", **options)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert not Path("scored.csv").exists()


def test_a_predicted_label_that_could_be_a_formula_gets_an_apostrophe_in_text_files_only(run):
    labels = {"rare": "=1+1", "common": "-x"}
    table().replace({"label": labels}).to_csv("train.csv", index=False)
    assert run("-o", "scored.csv")[0] == 0
    scored = pd.read_csv("scored.csv")
    assert list(scored.columns[-3:]) == ["prediction", "probability_-x", "probability_=1+1"]
    assert set(scored["prediction"]) == {"'=1+1", "'-x"}
    assert run("-o", "scored.parquet")[0] == 0
    assert set(pd.read_parquet("scored.parquet")["prediction"]) == set(labels.values())


def test_predictions_of_negative_labels_are_numbers(run):
    table().replace({"label": {"rare": 1, "common": -1}}).to_csv("train.csv", index=False)
    assert run("-o", "scored.csv")[0] == 0
    assert set(pd.read_csv("scored.csv")["prediction"]) == {1, -1}


def test_a_delimiter_is_for_the_tables_that_are_text(run):
    table().to_parquet("train.parquet")
    Path("new.csv").write_text("a|b|kind\n1|2|red\n")
    assert run("-o", "scored.csv", "--delimiter", "|", train="train.parquet")[0] == 0
    assert Path("scored.csv").read_text().startswith("a|b|kind|prediction|")
    table(40).to_parquet("new.parquet")
    code, _, err = run("-o", "s.csv", "--delimiter", "|", train="train.parquet", new="new.parquet")
    assert code == 2
    assert "--delimiter is for text files" in err


def test_ctrl_c_leaves_nothing(folder):
    (folder / "patient.py").write_text(
        "import time\nfrom sklearn.tree import DecisionTreeClassifier\n"
        "class Patient(DecisionTreeClassifier):\n"
        "    def fit(self, X, y):\n"
        "        open('started', 'w').close()\n"
        "        for _ in range(600):\n"
        "            time.sleep(0.1)\n"
    )
    command = [sys.executable, "-m", "rectifold", "predict", "train.csv", "new.csv"]
    options = ["--target", "label", "-o", "scored.csv", "-c", "patient:Patient", "--n-jobs", "1"]
    process = subprocess.Popen(
        [*command, *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
        # A shell may have started the tests with SIGINT ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    for _ in range(600):
        if Path("started").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "rectifold: stopped; nothing was written\n"
    assert not Path("scored.csv").exists()
    assert not [path for path in Path().iterdir() if path.suffix == ".tmp"]
