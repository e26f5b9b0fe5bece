"""The command line: what it writes and prints, and its error messages."""

import inspect
import io
import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")
pytest.importorskip("rich")

import rectifold  # noqa: E402
from rectifold import GMR, GPU, Approximate, __version__, cli  # noqa: E402
from rectifold._core.errors import Param, ParameterError, ParameterWarning  # noqa: E402
from rectifold.cli import entry  # noqa: E402
from rectifold.cli.clean import ADDED_COLUMNS  # noqa: E402
from rectifold.cli.clean_report import as_command  # noqa: E402
from rectifold.cli.commands import clean as clean_command  # noqa: E402
from rectifold.cli.errors import sentence_of, visible  # noqa: E402
from tables import read_csv  # noqa: E402


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < 0.15
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame.loc[rare, "a"] += 1.0
    frame["kind"] = rng.choice(["red", "green"], n)
    frame["label"] = np.where(rare, "rare", "common")
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("data.csv", index=False)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run the command line in this process: its exit code, and what it printed."""

    def call(*arguments):
        code = cli.run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def clean(run):
    def call(*arguments, source="data.csv"):
        return run("clean", source, "--target", "label", "-o", "out.csv", *arguments)

    return call


class TestClean:
    def test_the_accuracy_of_approximate_neighbours_is_printed_and_in_the_json(self, run):
        rng = np.random.default_rng(0)
        centres, cluster = rng.standard_normal((30, 24)), rng.integers(30, size=12_000)
        rows = centres[cluster] + 0.7 * rng.standard_normal((12_000, 24))
        labels = np.where((cluster < 3) ^ (rng.random(12_000) < 0.1), "rare", "common")
        pd.DataFrame(rows.round(3)).assign(label=labels).to_csv("data.csv", index=False)
        options = ["--engine", "approximate", "--recall", "0.9", "--random-state", "7"]
        command = ["clean", "data.csv", "--target", "label", "--dry-run", *options]
        code, out, _ = run(*command)
        assert code == 0
        assert "of the true neighbours were found" in " ".join(out.split())
        code, out, _ = run(*command, "--json")
        result = json.loads(out)
        assert result["engine"] == "approximate"
        assert result["accuracy"]["recall"]["value"] > 0.85
        assert result["accuracy"]["target_recall"] == 0.9

    def test_the_kept_rows_are_those_of_the_sampler_and_a_diff_shows_removed_lines(self, clean):
        code, out, err = clean()
        assert (code, err) == (0, "")
        frame = table()
        gmr = GMR(space="auto")
        gmr.fit_resample(pd.read_csv("data.csv").drop(columns="label"), frame["label"])
        before = Path("data.csv").read_text().splitlines(keepends=True)
        kept = [before[0], *(before[1 + i] for i in gmr.sample_indices_)]
        assert Path("out.csv").read_text() == "".join(kept)
        assert len(kept) < len(before)
        assert f"{len(kept) - 1:,} rows to out.csv" in out

    def test_removed_rows_are_written_with_their_reasons(self, clean):
        code, out, _ = clean("--removed", "removed.csv")
        assert code == 0
        removed = pd.read_csv("removed.csv")
        original = pd.read_csv("data.csv", dtype=str)
        assert list(removed.columns) == [*original.columns, *ADDED_COLUMNS]
        assert set(removed["rectifold_reason"]) <= {"intrusion", "ambiguity", "deep noise"}
        as_text = pd.read_csv("removed.csv", dtype=str)[list(original.columns)]
        assert as_text.equals(original.iloc[removed["rectifold_row"]].reset_index(drop=True))
        assert len(removed) + len(pd.read_csv("out.csv")) == len(original)
        assert f"{len(removed)} removed rows to removed.csv" in out
        assert removed["rectifold_confidence"].between(0, 1).all()

    def test_json_is_all_that_is_printed_and_holds_the_summary(self, clean):
        code, out, err = clean("--json", "--removed", "r.parquet")
        assert (code, err) == (0, "")
        facts = json.loads(out)
        assert facts["rows_out"] == len(pd.read_csv("out.csv"))
        assert facts["removed"] == len(pd.read_parquet("r.parquet"))
        assert [one["label"] for one in facts["classes"]] == ["common", "rare"]
        assert facts["target"] == "label"
        assert facts["notes"] == []
        assert set(facts["seconds"]) == {"read", "space", "search", "votes", "rules", "write"}

    def test_a_label_that_could_be_a_formula_is_copied_but_not_added_as_one(self, run):
        labels = {"rare": '=HYPERLINK("x")', "common": "@SUM(1)"}
        table().replace({"label": labels}).to_csv("formulas.csv", index=False)
        options = ("-t", "label", "-o", "out.csv", "--removed", "removed.csv", "-q")
        assert run("clean", "formulas.csv", *options) == (0, "", "")
        before = Path("formulas.csv").read_text().splitlines()
        assert set(Path("out.csv").read_text().splitlines()) <= set(before)
        removed = pd.read_csv("removed.csv")
        assert set(removed["label"]) == set(labels.values())
        assert set(removed["rectifold_predicted"]) == {f"'{text}" for text in labels.values()}
        added = pd.read_csv("removed.csv", dtype=str)[list(ADDED_COLUMNS)].to_numpy().ravel()
        assert not [cell for cell in added if cell[0] in "=+-@"]

    def test_quiet_prints_nothing(self, clean):
        assert clean("--quiet") == (0, "", "")

    def test_a_dry_run_writes_nothing(self, run, folder):
        code, out, _ = run("clean", "data.csv", "-t", "label", "--dry-run", "--removed", "r.csv")
        assert code == 0
        assert "nothing (--dry-run)" in out
        assert os.listdir(folder) == ["data.csv"]

    def test_the_summary_counts_by_class_and_reason(self, clean):
        _, out, _ = clean()
        facts = json.loads(clean("--json")[1])
        lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
        for one in facts["classes"]:
            assert lines[one["label"]][1:7] == [
                str(one[key])
                for key in ("before", "intrusion", "ambiguity", "deep_noise", "spared", "after")
            ]
        assert lines["strict"][1] == "common"
        assert "->" in lines["imbalance"]
        assert "\x1b" not in out

    def test_every_setting_reaches_the_sampler(self, clean):
        code, out, _ = clean(
            *("-k", 7, "--alpha", 0.4, "--beta", 0.6, "--gamma", 0.2, "--metric", "manhattan"),
            *("--metric-threshold", 50, "--epsilon", 1e-6, "--min-minority", 3, "--engine", "auto"),
            *("--class-weight", "balanced", "--space", "auto", "--n-jobs", 1, "--json"),
        )
        assert code == 0
        expected = {
            "n_neighbors": 7,
            "alpha": 0.4,
            "beta": 0.6,
            "gamma": 0.2,
            "metric": "manhattan",
            "epsilon": 1e-6,
            "min_minority": 3,
            "class_weight": "balanced",
        }
        facts = json.loads(out)
        assert {name: facts[name] for name in expected} == expected

    @pytest.mark.parametrize(
        ("options", "engine"),
        [
            ("--engine approximate", "approximate"),
            ("--engine approximate --recall 0.9", Approximate(recall=0.9)),
            (
                "--engine approximate --budget 5.0 --prefer-exact",
                Approximate(budget=5.0, prefer_exact=True),
            ),
            ("--engine gpu --device cpu", GPU(device="cpu")),
        ],
    )
    def test_options_of_engines_reach_the_sampler_and_the_command_in_a_report(
        self, clean, monkeypatch, options, engine
    ):
        requests = []

        def stop(request):
            requests.append(request)
            raise KeyboardInterrupt

        monkeypatch.setattr("rectifold._engines.check_engine", lambda _: None)
        monkeypatch.setattr("rectifold.cli.clean.clean_file", stop)
        assert clean(*options.split())[0] == 130
        assert requests[0].settings["engine"] == engine
        assert " ".join(as_command(requests[0])).endswith(options)

    def test_only_names_the_classes_that_may_change(self, clean):
        facts = json.loads(clean("--json", "--only", "rare", "--only", "common")[1])
        assert {one["role"] for one in facts["classes"]} == {"strict"}

    def test_whole_numbers_name_classes_too(self, run):
        numbers = table().assign(label=lambda d: (d["label"] == "rare") * 1.0)
        numbers.to_parquet("n.parquet")
        options = ["-t", "label", "--dry-run", "--json", "--only", "1"]
        code, out, _ = run("clean", "n.parquet", *options)
        assert code == 0
        assert [one["label"] for one in json.loads(out)["classes"]] == [0, 1]
        assert json.loads(out)["classes"][1]["role"] == "strict"

    def test_classes_that_only_leaves_out_are_shown_as_untouched(self, clean):
        _, out, _ = clean("--only", "common")
        assert "untouched        rare (not cleaned)\n" in out
        assert "untouched" not in clean()[1]

    def test_dropped_columns_leave_the_output_and_ignored_ones_only_the_geometry(self, clean):
        rng = np.random.default_rng(1)
        frame = table().assign(leak=rng.normal(size=300), who=np.arange(300))
        frame.to_csv("wide.csv", index=False)
        clean()
        expected = pd.read_csv("out.csv")
        code, _, err = clean("--drop", "leak", "--drop=leak", "--ignore", "who", source="wide.csv")
        assert (code, err) == (0, "")
        out = pd.read_csv("out.csv")
        assert list(out.columns) == ["a", "b", "c", "kind", "label", "who"]
        assert out.drop(columns="who").equals(expected)

    def test_a_column_may_be_dropped_twice_from_parquet(self, run):
        table().to_parquet("t.parquet")
        options = ["--drop", "kind", "--drop", "kind", "-o", "o.parquet", "-q"]
        assert run("clean", "t.parquet", "-t", "label", *options) == (0, "", "")
        assert list(pd.read_parquet("o.parquet").columns) == ["a", "b", "c", "label"]

    def test_a_column_that_counts_rows_gets_a_note(self, clean):
        table().assign(id=range(300)).to_csv("ids.csv", index=False)
        code, _, err = clean(source="ids.csv")
        assert code == 0
        assert err.startswith("note: column 'id' increases from row to row")

    def test_warnings_are_notes(self, clean):
        code, _, err = clean("--min-minority", 1000, "--quiet")
        assert code == 0
        assert err.startswith("note: ")
        assert "nothing is cleaned" in err
        assert "--min-minority 1000" in err
        assert Path("out.csv").read_bytes() == Path("data.csv").read_bytes()

    @pytest.mark.parametrize("name", ["x.parquet", "x.feather", "x.tsv", "x.csv.gz"])
    def test_every_format_gives_the_same_rows(self, run, clean, name):
        frame = read_csv("data.csv")
        write = {".parquet": frame.to_parquet, ".feather": frame.to_feather}
        text = {"sep": "\t" if ".tsv" in name else ",", "index": False}
        if Path(name).suffix in write:
            write[Path(name).suffix](name)
        else:
            frame.to_csv(name, **text)
        clean()
        code, _, _ = run("clean", name, "-t", "label", "-o", f"out-{name}", "--removed", "r.tsv")
        assert code == 0
        read = {".parquet": pd.read_parquet, ".feather": pd.read_feather}
        suffix = Path(name).suffix
        again = (
            read[suffix](f"out-{name}")
            if suffix in read
            else read_csv(f"out-{name}", sep=text["sep"])
        )
        assert again.equals(read_csv("out.csv"))

    def test_categories_bools_and_whole_floats_are_labels(self, run):
        rare = table()["label"] == "rare"
        for labels in (rare, rare.astype("category"), rare.astype("Int64"), rare.astype(float)):
            table().assign(label=labels).to_parquet("t.parquet")
            code, out, err = run("clean", "t.parquet", "-t", "label", "--dry-run", "--json")
            assert (code, err) == (0, "")
            assert [bool(one["label"]) for one in json.loads(out)["classes"]] == [False, True]


class TestMissingTarget:
    @pytest.fixture
    def gaps(self, folder):
        frame = table()
        frame.loc[[3, 10], "label"] = None
        frame.to_csv("gaps.csv", index=False)
        return frame

    def test_by_default_it_is_an_error_that_names_the_option(self, clean, gaps):
        code, _, err = clean(source="gaps.csv")
        assert code == 2
        assert "2 of 300 rows have no label, the first is row 3" in err
        assert "--missing-target" in err

    def test_drop_leaves_them_out_and_lists_them_in_the_removed_file(self, clean, gaps):
        code, out, _ = clean("--missing-target", "drop", "--removed", "r.csv", source="gaps.csv")
        assert code == 0
        assert "2 rows, left out" in out
        removed = pd.read_csv("r.csv")
        gone = removed[removed["rectifold_reason"] == "missing target"]
        assert gone["rectifold_row"].tolist() == [3, 10]
        assert gone["rectifold_confidence"].isna().all()
        assert len(pd.read_csv("out.csv")) + len(removed) == 300

    def test_keep_writes_them_to_the_output(self, clean, gaps):
        code, out, _ = clean("--missing-target", "keep", "--removed", "r.csv", source="gaps.csv")
        assert code == 0
        assert "2 rows, kept as they are" in out
        assert pd.read_csv("out.csv")["label"].isna().sum() == 2
        removed = pd.read_csv("r.csv")
        assert removed["rectifold_reason"].isin(["intrusion", "ambiguity", "deep noise"]).all()
        assert removed["label"].notna().all()

    def test_no_label_at_all_is_an_error(self, clean, gaps):
        gaps.assign(label=None).to_csv("gaps.csv", index=False)
        code, _, err = clean("--missing-target", "keep", source="gaps.csv")
        assert (code, "no row has a label" in err) == (2, True)


class TestLabels:
    """The target of a text file is text; other formats have types of their own."""

    def written(self, labels, name="data.csv"):
        frame = table().assign(label=labels)
        (frame.to_parquet if name.endswith("parquet") else frame.to_csv)(name, index=False)

    def summary(self, run, *options, source="data.csv"):
        code, out, err = run("clean", source, "-t", "label", "--dry-run", "--json", *options)
        assert code == 0, err
        return json.loads(out)

    @pytest.mark.parametrize(
        "texts",
        [
            ["007", "7"],
            ["01", "1", "1.0"],
            ["9007199254740992", "9007199254740993"],
            ["True", "TRUE", "true"],
            ["None", "n/a", "x"],
        ],
    )
    def test_every_text_is_a_class_of_its_own(self, run, texts):
        self.written([texts[i % len(texts)] for i in range(300)])
        facts = self.summary(run)
        assert [one["label"] for one in facts["classes"]] == sorted(texts)
        only = self.summary(run, "--only", texts[0])["classes"]
        assert [one["label"] for one in only if one["role"] == "strict"] == texts[:1]

    def test_predicted_labels_are_written_as_they_stood(self, run):
        self.written(["007" if label == "rare" else "01" for label in table()["label"]])
        options = ["-t", "label", "-o", "o.parquet", "--removed"]
        assert run("clean", "data.csv", *options, "r.csv")[0] == 0
        removed = pd.read_csv("r.csv", dtype=str)
        assert set(removed["rectifold_predicted"]) | set(removed["label"]) == {"007", "01"}
        assert run("clean", "data.csv", *options, "r.parquet")[0] == 0
        assert pd.read_parquet("r.parquet")[removed.columns[-4]].tolist() == (
            removed["rectifold_reason"].tolist()
        )
        assert set(pd.read_parquet("r.parquet")["rectifold_predicted"]) <= {"007", "01"}
        assert set(pd.read_parquet("o.parquet")["label"]) == {"007", "01"}

    def test_blank_cells_are_missing_labels(self, run):
        self.written(["", "  ", "x", "y"] * 75)
        facts = self.summary(run, "--missing-target", "drop")
        assert facts["missing_target"] == {"rows": 150, "action": "drop"}
        options = ["-o", "o.parquet", "--missing-target", "keep", "-q"]
        assert run("clean", "data.csv", "-t", "label", *options)[0] == 0
        assert pd.read_parquet("o.parquet")["label"].isna().sum() == 150

    @pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
    def test_labels_that_look_missing_are_classes_with_a_note(self, run, name):
        self.written(["None"] * 30 + ["?"] * 20 + ["x", "y"] * 125, name)
        facts = self.summary(run, source=name)
        assert [one["label"] for one in facts["classes"]] == ["?", "None", "x", "y"]
        assert facts["notes"] == [
            "20 rows have the label '?', which is treated as a class; if it stands for a missing "
            "label, pass --missing-label '?'",
            "30 rows have the label 'None', which is treated as a class; if it stands for a "
            "missing label, pass --missing-label None",
        ]
        both = ["--missing-label", "None", "--missing-label", "?"]
        facts = self.summary(run, *both, "--missing-target", "drop", source=name)
        assert facts["notes"] == []
        assert facts["missing_target"]["rows"] == 50
        assert facts["missing_labels"] == ["None", "?"]
        code, _, err = run("clean", name, "-t", "label", "--dry-run", *both)
        assert (code, "50 of 300 rows have no label" in err) == (2, True)

    @pytest.mark.parametrize("text", ["NaN", "nan", "NA", "null", "<NA>"])
    def test_usual_markers_of_missing_values_are_missing_labels_in_text_files(self, run, text):
        self.written([text] * 30 + ["x", "y"] * 135)
        code, _, err = run("clean", "data.csv", "-t", "label", "-o", "o.csv")
        assert (code, Path("o.csv").exists()) == (2, False)
        assert f"30 of 300 rows have no label ({text!r}), the first is row 0" in err
        options = ["--missing-target", "drop", "--missing-label", text]
        assert self.summary(run, *options)["notes"] == []
        # In Parquet, where null is null, the same text is a label.
        self.written([text] * 30 + ["x", "y"] * 135, "data.parquet")
        assert len(self.summary(run, source="data.parquet")["classes"]) == 3

    def test_labels_are_whole_numbers_in_parquet_only_if_written_as_such(self, run):
        for texts, kind in ((["0", "1"], "i"), (["00", "1"], "O")):
            self.written([texts[label == "rare"] for label in table()["label"]])
            options = ["-t", "label", "-o", "o.parquet", "--removed", "r.parquet"]
            assert run("clean", "data.csv", *options)[0] == 0
            kept, gone = pd.read_parquet("o.parquet"), pd.read_parquet("r.parquet")
            assert pd.api.types.is_integer_dtype(kept["label"]) == (kind == "i")
            assert pd.api.types.is_integer_dtype(gone["rectifold_predicted"]) == (kind == "i")

    def test_a_missing_label_may_be_a_number(self, run):
        self.written([-1.0, 0.0, 1.0] * 100, "n.parquet")
        options = ["--missing-label", "-1", "--missing-target", "keep"]
        facts = self.summary(run, *options, source="n.parquet")
        assert [one["label"] for one in facts["classes"]] == [0, 1]
        assert facts["rows_in"] - facts["rows_out"] == facts["removed"]

    def test_a_missing_label_that_no_row_has_is_noted(self, run):
        facts = self.summary(run, "--missing-label", "N/A")
        assert facts["notes"] == ["--missing-label: no row has the label 'N/A'"]

    def test_few_fractions_are_classes_and_many_are_an_error(self, run):
        self.written([f"{i % 20 / 2}" for i in range(300)])
        assert len(self.summary(run)["classes"]) == 20
        self.written(["None" if i % 9 == 0 else f"{i % 21 / 2}" for i in range(300)])
        code, _, err = run("clean", "data.csv", "-t", "label", "--dry-run")
        assert (code, err.count("\n")) == (2, 1)
        assert "22 distinct numbers with fractions, like a regression target" in err


class TestMessages:
    """Errors and warnings of the library name options in place of parameters."""

    @pytest.mark.parametrize(
        "name",
        [
            "x y z",
            "min_minority",
            "y",
            "it's y",
            'a "y" of X',
            "both ' and \" y",
            "space='y'",
            "{}",
        ],
    )
    def test_names_of_columns_are_quoted_as_they_are(self, run, name):
        table().rename(columns={"kind": name}).to_csv("data.csv", index=False)
        code, _, err = run("clean", "data.csv", "-t", "label", "--dry-run", "--space", "none")
        assert code == 2
        assert f"column {name!r} of the table holds text" in err
        assert "pass --space auto" in err

    @pytest.mark.parametrize("name", ["y", "min_minority", "can't y", b"y"])
    def test_names_of_classes_are_quoted_as_they_are(self, name):
        error = ParameterError("{} can't hold {}: {}.", Param("y"), repr(name), Param("y"))
        assert sentence_of(error) == f"the target can't hold {name!r}: the target"
        warning = ParameterWarning("{} has 3, fewer than {}.", repr(name), Param("min_minority", 9))
        assert sentence_of(warning) == f"{name!r} has 3, fewer than --min-minority 9"

    def test_values_can_be_copied_into_a_shell(self):
        error = ParameterError("{}, {}", Param("metric", "x y"), Param("space", None))
        assert sentence_of(error) == "--metric 'x y', --space none"


def changed(**columns):
    def write():
        table().assign(**columns).to_csv("data.csv", index=False)

    return write


def only(n):
    return lambda: table().head(n).to_csv("data.csv", index=False)


def constant():
    frame = table()
    frame[["a", "b", "c", "kind"]] = 1
    frame.to_csv("data.csv", index=False)


BAD = {
    "missing target column": (["-t", "lable"], None, "no column 'lable'; did you mean 'label'?"),
    "target in other case": (["-t", "LABEL"], None, "did you mean 'label'?"),
    "nothing like the target": (["-t", "zzz"], None, "there are 'a', 'b', 'c', 'kind', 'label'"),
    "one class only": ([], changed(label="x"), "only one class: 'x'"),
    "a class of one row": ([], changed(label=["x"] + ["y"] * 299), "a single sample"),
    "fewer rows than k + 1": ([], only(15), "--n-neighbors 15 needs at least 16 samples"),
    "inf without a space": (["--space", "none", "--drop", "kind"], changed(a=np.inf), "inf"),
    "text without a space": (["--space", "none"], None, "--space auto"),
    "constant features": ([], constant, "constant"),
    "negative k": (["-k", "-3"], None, "Invalid value for '--n-neighbors'"),
    "fractional k": (["-k", "2.5"], None, "Invalid value for '--n-neighbors'"),
    "k that is text": (["-k", "many"], None, "Invalid value for '--n-neighbors'"),
    "alpha above 1": (["--alpha", "1.5"], None, "Invalid value for '--alpha'"),
    "alpha below 0": (["--alpha", "-0.1"], None, "Invalid value for '--alpha'"),
    "alpha nan": (["--alpha", "nan"], None, "Invalid value for '--alpha'"),
    "beta that is text": (["--beta", "x"], None, "Invalid value for '--beta'"),
    "gamma above 1": (["--gamma", "2"], None, "Invalid value for '--gamma'"),
    "epsilon zero": (["--epsilon", "0"], None, "'--epsilon': 0 is not above 0"),
    "epsilon infinite": (["--epsilon", "inf"], None, "'--epsilon': inf is not a finite number"),
    "epsilon nan": (["--epsilon", "nan"], None, "'--epsilon': nan is not a finite number"),
    "no cores": (["--n-jobs", "0"], None, "'--n-jobs': 0 is neither a number of cores nor -1"),
    "cores that are text": (["--n-jobs", "all"], None, "Invalid value for '--n-jobs'"),
    "unknown metric": (["--metric", "crow"], None, "--metric crow is not known: it must be"),
    "two metrics": (
        ["--metric", "manhattan", "--space", "heom"],
        None,
        "--space heom has its own metric, so --metric manhattan would be ignored",
    ),
    "metric of a function": (["--metric", "pyfunc"], None, "--metric pyfunc is not known"),
    "metric with parameters": (
        ["--metric", "mahalanobis"],
        None,
        "--metric mahalanobis has parameters of its own",
    ),
    "encoding of host names": (["--encoding", "idna"], None, "'idna' is not an encoding of text"),
    "encoding of more names": (["--encoding", "punycode"], None, "'punycode' is not an encoding"),
    "unknown engine": (["--engine", "steam"], None, "--engine steam is not known; there are "),
    "no recall": (["--recall", "0"], None, "'--recall': 0 is not above 0"),
    "a recall above 1": (["--recall", "1.1"], None, "Invalid value for '--recall'"),
    "no budget": (["--budget", "-1"], None, "'--budget': -1 is not above 0"),
    "a seed too large": (["--random-state", str(2**32)], None, "value for '--random-state'"),
    "a budget for what is exact": (
        ["--engine", "exact", "--budget", "5"],
        None,
        "--budget is for --engine approximate",
    ),
    "a device for the CPU": (["--device", "cuda"], None, "--device is for --engine gpu"),
    "prefer exact without a time": (
        ["--engine", "approximate", "--prefer-exact"],
        None,
        "--prefer-exact compares the exact search with a time: pass --budget, in seconds",
    ),
    "no way for heom": (
        ["--engine", "approximate", "--space", "heom"],
        None,
        "--engine approximate can't search with --metric heom",
    ),
    "unknown space": (["--space", "outer"], None, "'outer' is not one of 'auto', 'heom', 'none'"),
    "regression target": ([], changed(label=np.arange(300)), "regression"),
    "fractions as target": ([], changed(label=np.arange(300) / 7), "numbers with fractions"),
    "drop of the target": (["--drop", "label"], None, "--drop names the target column"),
    "drop of nothing": (["--drop", "d"], None, "--drop: there is no column 'd'"),
    "ignore of nothing": (["--ignore", "d"], None, "--ignore: there is no column 'd'"),
    "nothing left": ([f"--ignore={c}" for c in ("a", "b", "c", "kind")], None, "no feature is"),
    "unknown class": (["--only", "rar"], None, "no class 'rar'; did you mean 'rare'?"),
    "taken column": (["--removed", "r.csv"], changed(rectifold_row=1), "the table already has"),
    "directory as output": (["-o", "."], None, "--output . is a directory"),
    "directory with a good name": (["-o", "d.csv"], lambda: os.mkdir("d.csv"), "is a directory"),
    "output onto input": (["-o", "./data.csv"], None, "is the input itself"),
    "two outputs in one": (["--removed", "out.csv"], None, "are the same file"),
    "no such folder": (["-o", "no/out.csv"], None, "no folder 'no'"),
    "empty file": ([], lambda: Path("data.csv").write_text(""), "is empty"),
    "no file": ([], lambda: os.remove("data.csv"), "there is no file 'data.csv'"),
    "unreadable": ([], lambda: Path("data.csv").write_bytes(b"a,label\n\xff,1\n"), "--encoding"),
    "unknown option": (["--alhpa", "1"], None, "No such option"),
}


class TestBadInput:
    @pytest.mark.parametrize("case", BAD)
    def test_the_error_is_one_sentence_with_exit_code_2_and_no_file(self, clean, folder, case):
        arguments, prepare, sentence = BAD[case]
        if prepare is not None:
            prepare()
        before = sorted(os.listdir(folder))
        code, out, err = clean(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("rectifold: ")
        assert err.count("\n") == 1
        assert sentence in err
        assert sorted(os.listdir(folder)) == before

    def test_inf_is_accepted_with_the_automatic_space(self, clean):
        frame = table()
        frame.loc[0, "a"] = np.inf
        frame.to_csv("data.csv", index=False)
        assert clean()[0] == 0

    def test_an_output_is_required(self, run):
        code, _, err = run("clean", "data.csv", "--target", "label")
        assert (code, "--dry-run" in err) == (2, True)

    def test_output_problems_come_before_the_input_is_read(self, run):
        code, _, err = run("clean", "no.csv", "-t", "label", "-o", "no/out.csv")
        assert (code, "no folder" in err) == (2, True)

    def test_a_full_disk_is_one_sentence_and_leaves_no_file(self, clean, folder, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device", "out.csv")

        monkeypatch.setattr(os, "fsync", full)
        code, _, err = clean()
        assert (code, err) == (2, "rectifold: No space left on device 'out.csv'\n")
        assert os.listdir(folder) == ["data.csv"]

    def test_a_bug_is_not_hidden(self, clean, monkeypatch):
        monkeypatch.setattr("rectifold.cli.table_input.check_missing", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            clean()

    @pytest.mark.parametrize("problem", [TypeError, ValueError])
    def test_errors_of_the_sampler_are_reported_and_others_raised(
        self, clean, monkeypatch, problem
    ):
        def refuse(*_, **__):
            raise problem("no, thanks")

        with monkeypatch.context() as patch:
            patch.setattr(GMR, "fit_resample", refuse)
            assert clean() == (2, "", "rectifold: no, thanks\n")
        monkeypatch.setattr("rectifold.cli.clean._write", refuse)
        with pytest.raises(problem):
            clean()

    def test_a_binary_target_is_one_sentence(self, run):
        pytest.importorskip("sklearn", minversion="1.7", reason="before, bytes were labels")
        table().assign(label=lambda d: d["label"].map(str.encode)).to_parquet("b.parquet")
        code, out, err = run("clean", "b.parquet", "-t", "label", "--dry-run")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "bytes" in err

    def test_a_target_of_lists_is_one_sentence(self, run):
        table().assign(label=lambda d: d["label"].map(list)).to_parquet("l.parquet")
        code, _, err = run("clean", "l.parquet", "-t", "label", "--dry-run")
        assert (code, err.count("\n")) == (2, 1)
        assert "target 'label' holds lists or similar" in err

    @pytest.mark.parametrize("name", ["x" * 300 + ".csv", "/proc/out.csv"])
    def test_an_impossible_output_is_named_itself(self, clean, folder, name):
        code, _, err = clean("-o", name)
        assert code == 2
        assert f"--output {name}" in err
        assert ".tmp" not in err
        assert os.listdir(folder) == ["data.csv"]

    def test_a_semicolon_file_with_commas_in_the_header_gets_a_hint(self, run):
        rows = "".join(f"{i % 7},5;{i % 3};{'xy'[i % 2]}\n" for i in range(50))
        Path("semi.csv").write_text("price, EUR;n;label\n" + rows.replace(",5", ",5,5", 1))
        code, _, err = run("clean", "semi.csv", "-t", "label", "--dry-run")
        assert (code, "--delimiter ';'" in err) == (2, True)
        options = ["-t", "label", "-o", "out.csv", "-q", "--delimiter"]
        assert run("clean", "semi.csv", *options, ";")[0] == 0
        before = Path("semi.csv").read_text().splitlines()
        after = Path("out.csv").read_text().splitlines()
        assert after[0] == before[0]
        assert set(after) <= set(before)
        for wrong in (";;", "", '"', "\n"):
            code, _, err = run("clean", "semi.csv", *options, wrong)
            assert (code, "'--delimiter': " in err) == (2, True)
            assert "is not one character, or is a quote or a line ending" in err

    @pytest.mark.parametrize("tab", ["tab", r"\t", "\t"])
    def test_a_tab_may_be_named(self, run, tab):
        Path("d.csv").write_text(Path("data.csv").read_text().replace(",", "\t"))
        assert run("clean", "d.csv", "-t", "label", "--dry-run", "--delimiter", tab)[0] == 0

    def test_a_delimiter_is_for_text_only(self, run):
        table().to_parquet("t.parquet")
        options = ["-t", "label", "--dry-run", "--delimiter", ";"]
        code, _, err = run("clean", "t.parquet", *options)
        assert (code, "--delimiter is for text files" in err) == (2, True)


class TestHostileNames:
    NASTY = '[bold]"x", <b>\n=1+1'

    def test_names_of_files_columns_and_cells_are_written_unchanged(self, run, folder):
        frame = table().rename(columns={"label": self.NASTY, "kind": "[/]"})
        frame[self.NASTY] = frame[self.NASTY].replace({"rare": "[red]\x1b[31m\r\n,"})
        source, out = "in '[bold]\n,<i>.csv", 'out ;[b]".csv'
        frame.to_csv(source, index=False)
        code, said, err = run("clean", source, "-t", self.NASTY, "-o", out, "--removed", "r.csv")
        assert (code, err) == (0, "")
        assert r"[red]\x1b[31m\r\n," in said
        assert out in said
        assert "\x1b" not in said
        kept, removed = (pd.read_csv(name, dtype=str) for name in (out, "r.csv"))
        both = pd.concat([kept, removed[list(kept.columns)]])
        original = pd.read_csv(source, dtype=str)
        assert list(kept.columns) == list(original.columns)
        assert sorted(map(tuple, both.to_numpy())) == sorted(map(tuple, original.to_numpy()))

    def test_errors_stay_one_line(self, run):
        code, _, err = run("clean", "data.csv", "-t", "x\n\x1b[31m", "--dry-run")
        assert code == 2
        assert err.count("\n") == 1
        assert "\x1b" not in err

    def test_visible_text_is_cut_only_with_a_limit(self):
        assert visible("é" * 50) == "é" * 50
        assert visible("abcdefgh", limit=6) == "abc..."
        assert visible("\udcff\u202e") == r"\udcff\u202e"


class TestEntry:
    def test_help_shows_the_defaults_of_the_sampler(self, run):
        code, out, _ = run("clean", "--help")
        assert code == 0
        assert "[default: 15; x>=1]" in out
        assert "--removed" in out
        options = inspect.signature(clean_command).parameters
        own = {"class_weight": "none", "space": "auto", "n_jobs": -1}
        shared = [name for name in inspect.signature(GMR).parameters if name in options]
        assert len(shared) == 13
        for name in shared:
            default = own.get(name, inspect.signature(GMR).parameters[name].default)
            assert options[name].default == default

    def test_no_arguments_show_the_commands(self, run):
        code, out, _ = run()
        assert (code, "clean" in out, "demo" in out) == (0, True, True)

    def test_version(self, run):
        assert run("--version") == (0, f"rectifold {__version__}\n", "")

    def test_a_missing_extra_is_named(self, run, monkeypatch):
        monkeypatch.setattr(entry, "EXTRA", ("no_such_module",))
        code, _, err = run("--help")
        assert (code, err) == (
            2,
            'rectifold: the command line needs an extra: pip install "rectifold[cli]"\n',
        )

    def test_the_extra_is_what_the_entry_point_looks_for(self):
        project = Path(__file__).parents[1] / "pyproject.toml"
        extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
        needs = {need.split(">=")[0] for need in [*extras["cli"], *extras["report"]]}
        assert needs - {"rectifold[report]"} == set(entry.EXTRA)

    def test_main_exits_with_the_code(self, folder, monkeypatch):
        # It sets handlers of the whole process.
        monkeypatch.setattr(cli, "_end_on_interrupt", lambda: None)
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        with pytest.raises(SystemExit) as caught:
            cli.main(["clean", "no.csv", "-t", "x", "--dry-run"])
        assert caught.value.code == 2
        monkeypatch.setattr(sys, "argv", ["rectifold", "--version"])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 0

    def test_ctrl_c_exits_with_130_and_writes_nothing(self, clean, folder, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(GMR, "fit_resample", stop)
        assert clean() == (130, "", "rectifold: stopped; nothing was written\n")
        monkeypatch.setattr(entry, "_call_command", stop)
        assert clean() == (130, "", "rectifold: stopped\n")
        assert os.listdir(folder) == ["data.csv"]

    def test_ctrl_c_while_the_summary_is_printed_says_that_outputs_are_written(
        self, clean, folder, monkeypatch
    ):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("rectifold.cli.terminal.show_summary", stop)
        code, _, err = clean()
        assert (code, err) == (130, "rectifold: stopped; the outputs are written\n")
        monkeypatch.setattr("rectifold.cli.clean.result_of", stop)
        assert clean("-q") == (130, "", "rectifold: stopped; the outputs are written\n")
        assert Path("out.csv").exists()

    def test_it_runs_outside_the_main_thread(self, folder):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor() as pool:
            request = ["clean", "data.csv", "-t", "label", "-o", "out.csv", "-q"]
            assert pool.submit(cli.run, request).result() == 0

    def test_progress_is_shown_on_terminals(self, folder):
        code, text = on_a_terminal("clean", "data.csv", "-t", "label", "-o", "out.csv")
        assert code == 0
        assert "searching neighbours" in text
        assert "300/300" in text
        assert max(len(plain(line)) for line in text.splitlines()[-12:]) <= 80

    def test_progress_shows_the_reported_counts(self, monkeypatch):
        from rectifold import progress
        from rectifold.cli import terminal

        class Screen(io.StringIO):
            def isatty(self):
                return True

        monkeypatch.setattr(sys, "stderr", Screen())
        with terminal.progress("walking", wanted=True):
            progress.report(3, 7)
        assert "walking" in sys.stderr.getvalue()
        assert "3/7" in sys.stderr.getvalue()
        monkeypatch.setattr(sys, "stderr", Screen())
        with terminal.progress("walking", wanted=False):
            progress.report(3, 7)
        assert sys.stderr.getvalue() == ""


def on_a_terminal(*arguments):
    import pty

    main, other = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rectifold", *arguments],
        stdout=other,
        stderr=other,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    ) as process:
        os.close(other)
        chunks = []
        try:
            while chunk := os.read(main, 65536):
                chunks.append(chunk)
        except OSError:  # how Linux says that the other end is closed
            pass
    os.close(main)
    return process.returncode, b"".join(chunks).decode()


def plain(line):
    import re

    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).split("\r")[-1].rstrip()


class TestProcess:
    def test_the_installed_command_cleans_and_a_closed_pipe_causes_no_error(self, folder):
        command = [sys.executable, "-m", "rectifold", "clean", "data.csv", "-t", "label"]
        process = subprocess.Popen(
            [*command, "-o", "out.csv", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait() == 1
        assert Path("out.csv").exists()

    def test_ctrl_c_while_reading_exits_with_130(self, folder):
        # pandas makes an error of its own out of the interrupt, so here it is a real one.
        script = """
import signal
from rectifold import cli
from rectifold._io.text_records import RecordFile
signal.signal(signal.SIGINT, signal.default_int_handler)
whole, readings = RecordFile._parsed, []
def stopped(self):
    readings.append(1)
    for record in whole(self):
        if len(readings) == 2:
            signal.raise_signal(signal.SIGINT)
        yield record
RecordFile._parsed = stopped
cli.main(["clean", "data.csv", "-t", "label", "-o", "out.csv"])
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.stderr == "rectifold: stopped; nothing was written\n"
        assert done.returncode == 130

    @pytest.mark.parametrize(
        "closed",
        [*(pytest.param(one, marks=pytest.mark.slow) for one in (">&-", "2>&-")), ">&- 2>&- <&-"],
    )
    def test_closed_streams_cause_no_error(self, folder, closed):
        command = f"{sys.executable} -m rectifold clean data.csv -t label -o out.csv"
        done = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert Path("out.csv").read_text().startswith("a,b,c,kind,label\n")
        wrong = subprocess.run(f"{command} --alpha 7 {closed}", shell=True, capture_output=True)
        assert wrong.returncode == 2

    @pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_while_writing_leaves_no_partial_file(self, folder, stop):
        Path("out.csv").write_text("old")
        script = """
import time
from rectifold import cli
from rectifold._io import delimited as textfile
def half(self, text, records, rows):
    text.write(next(records).raw)
    text.flush()
    print("ready", flush=True)
    for _ in range(600):
        time.sleep(0.1)
textfile.TextTable._copy = half
cli.main(["clean", "data.csv", "-t", "label", "-o", "out.csv", "--removed", "r.csv", "-q"])
"""
        with subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell may have started the tests with SIGINT ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process:
            assert process.stdout.readline() == "ready\n"
            assert len(list(folder.glob(".rectifold-*.tmp"))) == 2
            process.send_signal(stop)
            assert process.wait(timeout=20) == 130
            assert process.stderr.read() == "rectifold: stopped; nothing was written\n"
        assert sorted(os.listdir(folder)) == ["data.csv", "out.csv"]
        assert Path("out.csv").read_text() == "old"

    def test_an_ascii_terminal_shows_labels_with_escape_sequences(self, folder):
        table().replace({"rare": "größer"}).to_csv("data.csv", index=False)
        process = subprocess.run(
            [
                sys.executable,
                "-m",
                "rectifold",
                "clean",
                "data.csv",
                "-t",
                "label",
                "--dry-run",
            ],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            check=True,
        )
        assert rb"gr\xf6\xdfer" in process.stdout


class TestDemo:
    @pytest.fixture
    def quick(self, monkeypatch):
        kept = rectifold.compare
        one = {"classifiers": {"tree": DecisionTreeClassifier(max_depth=2)}, "cv": 2}
        monkeypatch.setattr(rectifold, "compare", lambda X, y, **more: kept(X, y, **more, **one))

    def test_it_cleans_the_wines_and_measures(self, run, folder, quick):
        code, out, err = run("demo", "--output-dir", "deep/er")
        assert (code, err) == (0, "")
        assert "4,898 rows, 11 features" in out
        assert "CC BY 4.0" in out
        kept, removed = (pd.read_csv(f"deep/er/{name}.csv") for name in ("cleaned", "removed"))
        assert len(kept) + len(removed) == 4898
        assert list(removed.columns) == [*kept.columns, *ADDED_COLUMNS]
        assert "Does cleaning help to find poor?" in out
        assert out.count("GMR-adaptive") >= 1

    def test_a_folder_that_cannot_be_made_is_one_sentence(self, run):
        code, _, err = run("demo", "--output-dir", "data.csv")
        assert (code, "--output-dir data.csv" in err) == (2, True)

    def test_a_new_folder_is_removed_when_the_demo_is_stopped(self, run, folder, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(GMR, "fit_resample", stop)
        assert run("demo")[0] == 130
        assert os.listdir(folder) == ["data.csv"]

    def test_stopping_the_comparison_reports_what_was_written(self, run, folder, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(rectifold, "compare", stop)
        code, _, err = run("demo")
        assert (code, "the cleaned table is written" in err) == (130, True)
        assert sorted(os.listdir("rectifold-demo")) == [
            "cleaned.csv",
            "removed.csv",
            "report.html",
        ]
