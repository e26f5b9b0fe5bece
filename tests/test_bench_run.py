"""Runs of experiments: what is recorded, limited in time, shared and resumed."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("filelock")

import pyarrow.parquet as pq  # noqa: E402

import rectifold.bench as bench  # noqa: E402
from rectifold._core.errors import ParameterError  # noqa: E402
from rectifold.bench import BenchError, Grid, Source, Store  # noqa: E402
from rectifold.bench._comparison import newest  # noqa: E402
from rectifold.bench._costs import Forecast, fit_cost, task_cost  # noqa: E402
from rectifold.bench._data import Shape  # noqa: E402
from rectifold.bench._store import KEY, VARYING  # noqa: E402
from stores import no_file_above  # noqa: E402

HERE = Path(__file__).parent


def write_table(path, n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["a"] += y
    frame.assign(label=np.where(y, "rare", "common")).to_csv(path, index=False)
    return Source(path.stem, str(path), "label")


@pytest.fixture
def sources(tmp_path):
    return [write_table(tmp_path / f"{name}.csv", seed=seed) for seed, name in enumerate("pq")]


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("PLAYERS_LOG", str(path))
    return path


def counted(log, word):
    return sum(line.startswith(word) for line in log.read_text().splitlines())


def without_times(store):
    return store.read().drop(columns=list(VARYING))


def test_all_fits_of_a_grid_of_the_papers_sets_are_recorded(paper_data, tmp_path):
    from conftest import DATA

    grid = Grid(
        bench.paper_sources(["ecoli", "car_eval_4", "solar_flare_m0"], DATA),
        methods=[bench.method(name) for name in ("None", "GMR", "SMOTE", "ENN")],
        classifiers=[bench.classifier(name) for name in ("LR", "KNN")],
        seeds=(42, 0),
    )
    store = Store(tmp_path / "store")
    progress = bench.run(grid, store, n_jobs=2)
    rows = store.read()
    assert progress.done == progress.total == len(grid) == len(rows) == 48
    assert set(rows["status"]) == {"ok"}
    assert rows["auprc"].between(0, 1).all()
    assert not rows.duplicated(list(KEY)).any()
    assert not store.journal.exists()
    assert not store.spool.exists()
    again = bench.run(grid, store)
    assert again.done == 48
    pd.testing.assert_frame_equal(store.read(), rows)


def test_wrappers_are_fitted_on_the_training_split_without_resampling(sources, tmp_path):
    grid = Grid(
        sources[:1],
        methods=[bench.method(name) for name in ("None", *bench.EXTRA_METHODS)],
        classifiers=[bench.classifier("SVM")],
        seeds=(42,),
    )
    store = Store(tmp_path / "store")
    bench.run(grid, store, n_jobs=1)
    rows = store.read()
    assert set(rows["status"]) == {"ok"}, rows["error"].dropna().tolist()
    assert rows.groupby("dataset")["majority_before"].nunique().eq(1).all()
    alone = rows[rows["method"].isin(["None", "Bagging"])]
    # A support vector machine has no probabilities by itself.
    assert alone["brier"].isna().all()
    assert (alone["majority_after"] == alone["majority_before"]).all()


def test_every_resampling_is_done_once_and_shared(sources, tmp_path, log):
    names = ("players:Quick", "players:Patient", "players:Endless", "players:Dying")
    grid = Grid(
        sources[:1],
        methods=[bench.method("players:Keeper")],
        classifiers=[bench.classifier(name) for name in (*names, "players:Failing")],
        seeds=(0, 1),
    )
    store = Store(tmp_path / "store")
    progress = bench.run(grid, store, n_jobs=2, time_limit=1.5)
    rows = store.read().set_index(["classifier", "seed"]).sort_index()
    assert counted(log, "resampled") == 2
    assert (progress.done, progress.failed, progress.timed_out) == (10, 4, 2)
    assert list(rows.loc["Endless", "status"]) == ["timed out"] * 2
    assert rows.loc[("Endless", 0), "error"] == "ended after 1.5 seconds"
    assert rows.loc[("Dying", 0), "error"] == "the process ended by itself with exit code 3"
    assert rows.loc[("Failing", 1), "error"] == "RuntimeError: no fit today"
    assert list(rows.loc["Quick", "status"]) == list(rows.loc["Patient", "status"]) == ["ok"] * 2
    assert not list(tmp_path.glob("store/spool/*"))


def test_a_sampler_that_fails_leaves_a_row_for_every_classifier(sources, tmp_path):
    grid = Grid(
        sources[:1],
        methods=[bench.method("players:Broken"), bench.method("None")],
        classifiers=[bench.classifier("LR"), bench.classifier("KNN")],
        seeds=(0,),
    )
    store = Store(tmp_path / "store")
    bench.run(grid, store, n_jobs=1)
    rows = store.read().set_index(["method", "classifier"])
    assert set(rows.loc["None", "status"]) == {"ok"}
    assert set(rows.loc["Broken", "error"]) == {
        "resampling: ValueError: this sampler <fails> & says so"
    }


def test_failed_fits_run_again_only_with_retry(sources, tmp_path, log):
    grid = Grid(
        sources[:1],
        methods=[bench.method("players:Keeper")],
        classifiers=[bench.classifier("players:Failing"), bench.classifier("players:Quick")],
        seeds=(0,),
    )
    store = Store(tmp_path / "store")
    bench.run(grid, store)
    bench.run(grid, store)
    assert counted(log, "resampled") == 1
    bench.run(grid, store, retry=True)
    assert counted(log, "resampled") == 2
    assert counted(log, "fitted") == 1
    assert len(store.read()) == 2


def test_more_methods_seeds_and_classifiers_can_be_added_later(sources, tmp_path, log):
    small = Grid(
        sources[:1], [bench.method("None")], [bench.classifier("players:Quick")], seeds=(0,)
    )
    large = Grid(
        sources,
        [bench.method("None"), bench.method("players:Keeper")],
        [bench.classifier("players:Quick"), bench.classifier("LR")],
        seeds=(0, 1),
    )
    store = Store(tmp_path / "store")
    bench.run(small, store)
    bench.run(large, store)
    assert len(store.read()) == 16
    assert counted(log, "fitted") == 8


def test_results_do_not_depend_on_the_number_of_processes(sources, tmp_path):
    grid = Grid(
        sources,
        [bench.method(name) for name in ("GMR", "SMOTE")],
        [bench.classifier(name) for name in ("DT", "LR")],
        seeds=(3,),
    )
    for n_jobs in (1, 3):
        bench.run(grid, Store(tmp_path / str(n_jobs)), n_jobs=n_jobs)
    pd.testing.assert_frame_equal(
        without_times(Store(tmp_path / "1")), without_times(Store(tmp_path / "3"))
    )


def test_other_data_under_the_same_name_is_refused(sources, tmp_path):
    grid = Grid(sources[:1], [bench.method("None")], [bench.classifier("LR")], seeds=(0,))
    store = Store(tmp_path / "store")
    bench.run(grid, store)
    write_table(tmp_path / "p.csv", seed=9)
    with pytest.raises(BenchError, match="other data of the name 'p'"):
        bench.run(grid, store)
    assert len(store.read()) == 1


def test_another_sampler_or_classifier_under_the_same_name_is_refused(sources, tmp_path):
    store = Store(tmp_path / "store")

    def grid(sampler, classifier):
        chosen = [bench.method(f"own={sampler}")], [bench.classifier(f"mine={classifier}")]
        return Grid(sources[:1], *chosen, seeds=(0,))

    bench.run(grid("players:Keeper", "players:Quick"), store)
    for sampler, classifier, what in (
        ("players:Broken", "players:Quick", "method of the name 'own', players:Keeper"),
        ("players:Keeper", "players:Patient", "classifier of the name 'mine', players:Quick"),
    ):
        with pytest.raises(BenchError, match=f"results of another {what}"):
            bench.run(grid(sampler, classifier), store)
    assert len(store.read()) == 1


def test_a_classifier_with_other_options_is_fitted_again(sources, tmp_path):
    store = Store(tmp_path / "store")
    for depth in (1, 5, 1):
        tree = bench.Entry(
            *("DT", "DT", "sklearn.tree:DecisionTreeClassifier", "classifier"),
            {"max_depth": depth},
        )
        grid = Grid(sources[:1], [bench.method("None")], [tree], seeds=(0,))
        assert bench.run(grid, store, n_jobs=1).done == 1
    rows = store.read()
    assert rows["auprc"].nunique() == 2
    assert list(rows["classifier_options"]) == ["max_depth=1", "max_depth=5"]
    grid = Grid(sources[:1], [bench.method("None")], [bench.classifier("DT")], seeds=(0,))
    bench.run(grid, store, n_jobs=1)
    rows = store.read()
    assert list(rows["classifier_options"]) == ["", "max_depth=1", "max_depth=5"]
    kept, older = newest(rows)
    assert list(kept["classifier_options"]) == [""]
    assert older == {"DT": ["max_depth=1", "max_depth=5"]}


def test_a_store_of_an_older_version_is_complete(sources, tmp_path):
    pytest.importorskip("xgboost")
    classifiers = [bench.classifier(name) for name in ("LR", "XGB")]
    grid = Grid(sources[:1], [bench.method("None")], classifiers, seeds=(0,))
    store = Store(tmp_path / "store")
    bench.run(grid, store, n_jobs=1)
    rows = store.read()
    # Older versions did not record the options.
    table = pq.read_table(store.results)
    pq.write_table(table.drop_columns(["classifier_options"]), store.results)
    bench.run(grid, store, n_jobs=1)
    pd.testing.assert_frame_equal(store.read(), rows)


def test_a_disk_without_room_for_the_spool_makes_no_fit_fail(tmp_path, monkeypatch):
    source = write_table(tmp_path / "p.csv", n=3000)
    # Python would leave incomplete files of bytecode.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    classifiers = [bench.classifier(name) for name in ("players:Quick", "players:Dying", "LR")]
    grid = Grid([source], [bench.method("players:Keeper")], classifiers, seeds=(0,))
    store = Store(tmp_path / "store")
    with no_file_above(40_000):
        bench.run(grid, store, n_jobs=1)
    statuses = store.read().set_index("classifier")["status"].to_dict()
    assert statuses == {"Quick": "ok", "Dying": "failed", "LR": "ok"}


def test_n_jobs_has_the_meaning_of_joblib(sources, tmp_path):
    grid = Grid(sources[:1], [bench.method("None")], [bench.classifier("LR")], seeds=np.arange(2))
    with pytest.raises(ParameterError, match="n_jobs=0 must be an integer other than 0"):
        bench.run(grid, Store(tmp_path / "store"), n_jobs=0)
    assert bench.run(grid, Store(tmp_path / "store"), n_jobs=-1).done == 2


def command(*arguments, cwd):
    program = [sys.executable, "-m", "rectifold", "bench", *map(str, arguments)]
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(
        program,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell may have started the tests with SIGINT ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A process that has ended and was not waited for.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_killed_run_resumes_without_losing_or_repeating_fits(times, sources, tmp_path, log):
    arguments = ["run", "--csv", "p.csv", "--csv", "q.csv", "--target", "label", "--n-jobs", "2"]
    arguments += ["-m", "None,GMR,SMOTE,players:Keeper", "-c", "LR,players:Patient,players:Quick"]
    arguments += ["--seed", "42,0", "--quiet"]
    assert command(*arguments, "-s", "calm", cwd=tmp_path).wait(timeout=300) == 0
    calm, harried = Store(tmp_path / "calm"), Store(tmp_path / "harried")
    n = len(calm.read())
    assert n == 2 * 4 * 3 * 2
    moments = random.Random(0)
    begun = counted(log, "resampled")
    recorded = harried.read()
    sizes = []
    for _ in range(times):
        run = command(*arguments, "-s", "harried", cwd=tmp_path)
        before = len(log.read_text())
        # Half of the kills while things are fitted, half at any moment before.
        deadline = time.monotonic() + moments.choice((moments.uniform(0, 3), 60))
        while time.monotonic() < deadline and run.poll() is None:
            if len(log.read_text()) > before:
                time.sleep(moments.uniform(0, 0.4))
                break
            time.sleep(0.005)
        run.kill()
        run.wait()
        after = harried.read()
        kept = after.merge(recorded[list(KEY)], on=list(KEY)).reset_index(drop=True)
        # Neither lost nor done again: the times are those of the first and only fit.
        pd.testing.assert_frame_equal(kept, recorded, check_dtype=False)
        recorded = after
        sizes.append(len(after))
    assert len({size for size in sizes if 0 < size < n}) >= max(1, times // 3), sizes
    pids = {int(line.split()[1]) for line in log.read_text().splitlines()}
    for _ in range(100):
        if all(gone(pid) for pid in pids):
            break
        time.sleep(0.1)
    assert all(gone(pid) for pid in pids), "workers outlived the run that was killed"
    assert command(*arguments, "-s", "harried", cwd=tmp_path).wait(timeout=300) == 0
    pd.testing.assert_frame_equal(without_times(calm), without_times(harried))
    # Keeper's resamplings: those that were under way when the run was killed are done again.
    assert counted(log, "resampled") - begun <= begun + times * 2


def test_ctrl_c_keeps_recorded_fits_and_tells_how_to_resume(sources, tmp_path, log):
    arguments = ["run", "--csv", "p.csv", "--target", "label", "-m", "None,players:Keeper"]
    arguments += ["-c", "players:Quick,players:Endless", "--seed", "0", "-s", "store"]
    run = command(*arguments, cwd=tmp_path)
    for _ in range(6000):
        if len(Store(tmp_path / "store").read()) >= 2:
            break
        time.sleep(0.05)
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=300)
    assert run.returncode == 130
    assert said.decode().strip() == (
        "rectifold: stopped; 2 of 4 fits are recorded; call the command again to resume"
    )
    store = Store(tmp_path / "store")
    assert len(store.read()) == 2
    assert not store.journal.exists()
    assert not store.busy()


def test_of_two_runs_on_one_store_the_second_stops_with_one_sentence(sources, tmp_path, log):
    arguments = ["run", "--csv", "p.csv", "--target", "label", "-m", "None,players:Keeper"]
    arguments += ["-c", "players:Quick,players:Patient", "--seed", "0,1,2,3", "-s", "store"]
    first = command(*arguments, "--quiet", cwd=tmp_path)
    store = Store(tmp_path / "store")
    for _ in range(6000):
        if store.journal.exists():
            break
        time.sleep(0.05)
    second = command(*arguments, cwd=tmp_path)
    _, said = second.communicate(timeout=300)
    assert first.poll() is None
    assert second.returncode == 2
    assert said.decode().strip() == (
        "rectifold: another run is adding to the store 'store': wait until it ends, or name "
        "another store"
    )
    assert first.wait(timeout=300) == 0
    assert set(store.read()["status"]) == {"ok"}
    assert len(store.read()) == counted(log, "fitted") == 16


def test_the_first_seed_of_a_costly_set_comes_before_the_last_of_a_cheap_one():
    shapes = {
        "cheap": Shape(1000, 10, 100, ""),
        "twice": Shape(2000, 10, 200, ""),
        "huge": Shape(100_000, 100, 500, ""),
    }
    grid = Grid([Source(name) for name in ("huge", "cheap", "twice")])
    tasks = grid.tasks(shapes)
    assert len(tasks) == 3 * 20 * 5
    assert sum(len(task.classifiers) for task in tasks) == len(grid)
    first = {}
    for place, task in enumerate(tasks):
        first.setdefault((task.source.name, task.seed), place)
    assert first["cheap", 42] < first["twice", 42] < first["cheap", 3] < first["huge", 42]
    blocks = [(task.source.name, task.seed) for task in tasks]
    assert sum(a != b for a, b in itertools.pairwise(blocks)) == 14
    for task in tasks[:20]:
        costs = [fit_cost(one, task.method, shapes["cheap"]) for one in task.classifiers]
        assert costs == sorted(costs)


def test_a_forecast_learns_from_the_durations_of_fits():
    shapes = {"one": Shape(1000, 10, 100, "")}
    grid = Grid([Source("one")], seeds=(0,))
    tasks = grid.tasks(shapes)
    forecast = Forecast(shapes, tasks)
    assert forecast.seconds() is None
    whole = sum(
        task_cost(task.method, task.classifiers, shapes["one"])
        - task_cost(task.method, (), shapes["one"])
        for task in tasks
    )
    for task in tasks[:10]:
        for one in task.classifiers:
            forecast.note(task, one, 7 * fit_cost(one, task.method, shapes["one"]))
    done = sum(fit_cost(one, t.method, shapes["one"]) for t in tasks[:10] for one in t.classifiers)
    assert forecast.seconds() == pytest.approx(7 * (whole - done))
