"""`rectifold bench`: its output and its error messages."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
for name in ("filelock", "jinja2", "rich", "scikit_posthocs", "typer"):
    pytest.importorskip(name)

from rectifold import cli  # noqa: E402
from rectifold.bench import Progress, Store  # noqa: E402
from rectifold.cli import bench_output  # noqa: E402


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4 == 0
    frame = pd.DataFrame({"a": rng.normal(size=80) + y, "label": np.where(y, "x", "y")})
    for number in range(5):
        frame.assign(b=rng.normal(size=80)).to_csv(f"t{number}.csv", index=False)
    return tmp_path


OWN = ["--csv", "t0.csv", "--target", "label", "-c", "LR", "--seed", "0"]


def run(*arguments):
    return cli.run(["bench", *arguments])


def test_run_status_and_report_on_own_tables(folder, capsys):
    tables = [part for number in range(5) for part in ("--csv", f"t{number}.csv")]
    grid = [*tables, "-t", "label", "-m", "None,ENN", "-m", "GMR", "-c", "LR,KNN", "--seed", "1"]
    assert run("run", *grid, "-s", "store") == 0
    assert capsys.readouterr().out == "30 of 30 fits are in store\n"
    assert run("status", "-s", "store") == 0
    out = capsys.readouterr().out
    assert "train-only: 5 data sets, 3 methods, 2 classifiers, 1 seeds" in out
    assert out.count("       6       0          0        0") == 5
    assert run("report", "-s", "store", "--latex") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "store/report/index.html"
    assert all((folder / line).is_file() for line in out)
    assert not (folder / "rectifold-bench").exists()


def test_own_samplers_and_classifiers_are_imported_from_the_working_directory(folder, capsys):
    (folder / "beside_the_data.py").write_text(
        "from imblearn.under_sampling import TomekLinks as Mine\n"
        "from sklearn.naive_bayes import GaussianNB\n"
    )
    own = ["-m", "mine=beside_the_data:Mine", "-c", "beside_the_data:GaussianNB"]
    assert run("run", *OWN[:4], *own, "--seed", "0", "-s", "store") == 0
    (row,) = Store("store").read().to_dict("records")
    assert (row["method"], row["classifier"], row["status"]) == ("mine", "GaussianNB", "ok")


def test_status_shows_failures(folder, capsys, monkeypatch):
    assert run("run", *OWN, "-m", "players:Broken,None", "-s", "store", "--n-jobs", "1") == 0
    assert "2 of 2 fits are in store; 1 failed" in capsys.readouterr().out
    assert run("status", "-s", "store") == 0
    said = capsys.readouterr().out
    assert "t0, Broken, 1 fit: resampling: ValueError: this sampler <fails> & says so" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", *OWN, "-m", "SMOET"], "there is no method 'SMOET'; did you mean 'SMOTE'?"),
        (["run", *OWN, "-c", "xgbost"], "there is no classifier 'xgbost'; did you mean 'XGB'?"),
        (["run", "-d", "ecolli"], "there is no data set 'ecolli'; did you mean 'ecoli'?"),
        (["run", *OWN, "--protocol", "none"], "there is no protocol 'none'; there are 'train-"),
        (
            ["run", *OWN, "--seed", "x"],
            "--seed must be a whole number from 0 to 4294967295",
        ),
        (["run", *OWN, "--time-limit", "0"], "'--time-limit': 0 is not above 0"),
        (["run", *OWN, "--n-jobs", "0"], "'--n-jobs': 0 is neither a number of cores nor -1"),
        (["run", "--csv", "t0.csv"], "--csv needs --target, the column of class labels"),
        (
            ["run", "--target", "label"],
            "--target names a column of your own tables",
        ),
        (["run", "--csv", "no.csv", "-t", "label"], "there is no file"),
        (["run", "--csv", "t0.csv", "-t", "lable"], "did you mean 'label'?"),
        (["run", "--data-home", "here"], "these data sets are not under 'here': ecoli, optical"),
        (["status", "-s", "none"], "there are no results in 'none'; `rectifold bench run` writes"),
        (["report", "-s", "none"], "there are no results in 'none'"),
        (["run", *OWN, "-s", "t0.csv"], "'t0.csv' is a file, and a store is a folder"),
    ],
)
def test_wrong_input_gets_one_sentence_and_leaves_nothing_behind(
    folder, capsys, arguments, sentence
):
    before = sorted(folder.rglob("*"))
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.err.startswith("rectifold: ")
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert said.out == ""
    assert sorted(folder.rglob("*")) == before


def test_the_live_view_shows_the_remaining_time(monkeypatch, capsys):
    from rich.console import Console

    shown = Console(width=100, record=True, force_terminal=True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(bench_output, "console", lambda stream: shown)
    with bench_output.Display(True) as display:
        display.update(Progress(5, 20, 1, 2, 5400.0, ("ecoli, GMR, seed 42, LR",)))
        display._live.refresh()
        assert display.counts == "5 of 20 fits are recorded"
    text = shown.export_text()
    assert "5/20 fits" in text
    assert "about 1:30 h left" in text
    assert "1 failed, 2 timed out" in text
    assert "ecoli, GMR, seed 42, LR" in text
