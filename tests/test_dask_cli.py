"""`rectifold clean --engine dask` reads and writes Parquet files, whole or not at all."""

import datetime
import json
import os
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

from rectifold import GMR
from rectifold._io.multi_file import open_pieces, whole_folders
from rectifold.cli import run
from rectifold.dask import GMR as OnDask  # noqa: N811
from rectifold.dask._cluster import Cluster


@pytest.fixture(scope="module")
def scheduler():
    """The address of a small cluster."""
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
    ):
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def frame():
    """Overlapping classes with gaps, text, and names of rows."""
    rng = np.random.default_rng(0)
    y = rng.random(700) < 0.15
    frame = pd.DataFrame(rng.normal(size=(700, 3)) + y[:, None], columns=list("abc"))
    frame["whole"] = pd.array(rng.integers(0, 9, 700), dtype="Int64")
    frame.loc[600:610, "whole"] = pd.NA
    frame["kind"] = np.where(rng.random(700) < 0.5, "x", "<b>y")
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, 700), "D")
    frame["name"] = [f"row {n}" for n in range(700)]
    return frame.assign(label=np.where(y, "rare", "usual"))


@pytest.fixture
def folder(tmp_path, frame):
    """The same in three files, in the order of their numbers; one has two row groups."""
    source = tmp_path / "data"
    source.mkdir()
    for number, (begin, end) in {2: (0, 300), 9: (300, 301), 10: (301, 700)}.items():
        part = pa.Table.from_pandas(frame.iloc[begin:end], preserve_index=False)
        pq.write_table(part, source / f"part-{number}.parquet", row_group_size=250)
    return source


def clean(capsys, *arguments):
    """Run the command; give its exit code, output and errors."""
    code = run(["clean", *map(str, arguments), "--target", "label", "--engine", "dask"])
    return code, *capsys.readouterr()


def test_rows_and_types_equal_those_of_one_machine(folder, frame, scheduler, tmp_path, capsys):
    out, gone = tmp_path / "out", tmp_path / "gone"
    code, output, errors = clean(
        *(capsys, f"{folder}/*.parquet", "-o", out, "--removed", gone, "--json"),
        *("--ignore", "name", "--scheduler", scheduler, "--block-size", "12KiB"),
    )
    assert code == 0, errors
    summary = json.loads(output)
    one = GMR(space="auto")
    features = frame.drop(columns=["name", "label"]).astype({"whole": float})
    one.fit_resample(features, frame["label"])
    record = one.rectification_
    assert summary["classes"] == record.summary()["classes"]
    assert (summary["rows_in"], summary["rows_out"]) == (700, 700 - int(record.removed.sum()))
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"part-{number:05}.parquet" for number in range(len(names))]
    assert len(names) == 5
    kept = pa.concat_tables([pq.read_table(out / name) for name in names])
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    assert kept.equals(whole.filter(pa.array(~record.removed)))
    assert kept.schema.metadata == whole.schema.metadata
    removed = pq.read_table(gone).to_pandas()
    assert removed["rectifold_row"].tolist() == np.flatnonzero(record.removed).tolist()
    assert removed["rectifold_reason"].tolist() == record.reason[record.removed].tolist()
    assert removed["name"].tolist() == frame["name"][record.removed].tolist()
    np.testing.assert_array_equal(
        removed["rectifold_confidence"], record.confidence[record.removed]
    )


def test_a_folder_cleaned_on_this_machine_prints_a_summary(folder, tmp_path, capsys):
    code, output, errors = clean(
        capsys, folder, "-o", tmp_path / "out", "--ignore", "name", "--n-jobs", 1
    )
    assert (code, errors) == (0, "")
    assert "engine dask" in output
    assert "rows to" in output


def test_rows_without_a_label(folder, frame, scheduler, tmp_path, capsys):
    path = folder / "part-10.parquet"
    part = pq.read_table(path).to_pandas()
    part.loc[[5, 17], "label"] = None
    part.to_parquet(path, index=False)
    out = tmp_path / "out"
    shared = (capsys, folder, "-o", out, "--ignore", "name", "--scheduler", scheduler)
    code, _, errors = clean(*shared)
    assert code == 2
    assert "row 306 (counted from 0) has no label" in errors
    assert not out.exists()
    code, output, _ = clean(
        *shared, "--missing-target", "drop", "--removed", tmp_path / "gone", "--json"
    )
    assert code == 0
    facts = json.loads(output)
    assert facts["missing_target"] == {"rows": 2, "action": "drop"}
    gone = pq.read_table(tmp_path / "gone").to_pandas().set_index("rectifold_row")
    assert (gone["rectifold_reason"] == "missing target").sum() == 2
    assert set(gone.index) >= {306, 318}
    assert facts["rows_out"] + len(gone) == 700
    assert pq.read_table(out).num_rows == facts["rows_out"]


def test_a_file_without_any_label(folder, scheduler, tmp_path, capsys):
    path = folder / "part-9.parquet"
    part = pq.read_table(path)
    empty = pa.array([None], part.schema.field("label").type)
    pq.write_table(part.set_column(part.schema.get_field_index("label"), "label", empty), path)
    code, output, errors = clean(
        *(capsys, folder, "-o", tmp_path / "out", "--removed", tmp_path / "gone", "--json"),
        *("--ignore", "name", "--missing-target", "drop", "--scheduler", scheduler),
    )
    assert code == 0, errors
    gone = pq.read_table(tmp_path / "gone").to_pandas()
    assert gone.loc[gone["rectifold_row"] == 300, "rectifold_reason"].tolist() == ["missing target"]
    assert json.loads(output)["warnings"] == [] or "cap" in json.loads(output)["warnings"][0]


def test_columns_of_times_are_read_as_on_one_machine(frame, scheduler, tmp_path, capsys):
    times = frame.assign(name=[datetime.time(hour=n % 20) for n in range(len(frame))])
    pq.write_table(pa.Table.from_pandas(times, preserve_index=False), tmp_path / "a.parquet")
    code, output, _ = clean(
        capsys, tmp_path / "a.parquet", "--dry-run", "--json", "--scheduler", scheduler
    )
    one = run(["clean", f"{tmp_path}/a.parquet", "--target", "label", "--dry-run", "--json"])
    assert code == one == 0
    theirs = json.loads(capsys.readouterr().out)
    assert json.loads(output)["classes"] == theirs["classes"]
    assert json.loads(output)["warnings"] == theirs["warnings"]


def test_only_some_classes_and_a_dry_run(folder, scheduler, capsys):
    code, output, _ = clean(
        *(capsys, folder, "--dry-run", "--json", "--ignore", "name"),
        *("--only", "rare", "--scheduler", scheduler),
    )
    assert code == 0
    roles = {one["label"]: one["role"] for one in json.loads(output)["classes"]}
    assert roles == {"rare": "strict", "usual": "untouched"}


def test_the_size_of_the_sample_for_the_space_is_printed(folder, scheduler, capsys, monkeypatch):
    monkeypatch.setattr("rectifold.dask.GMR", partial(OnDask, space_sample=200))
    code, _, errors = clean(
        capsys, folder, "--dry-run", "--ignore", "name", "--scheduler", scheduler
    )
    assert code == 0
    assert "--space auto was fitted on a random sample of 200 rows" in errors


def test_a_failed_run_leaves_no_files(folder, scheduler, tmp_path, capsys, monkeypatch):
    before = {path.name for path in tmp_path.iterdir()}
    persist = Cluster.persist

    def full(self, tasks, *, n_samples=0):
        if tasks[0].key.startswith("_write_piece"):
            persist(self, tasks[:1])
            raise OSError(28, "No space left on device")
        return persist(self, tasks, n_samples=n_samples)

    monkeypatch.setattr(Cluster, "persist", full)
    code, _, errors = clean(
        *(capsys, folder, "-o", tmp_path / "out", "--ignore", "name", "--scheduler", scheduler)
    )
    assert code == 2
    assert "No space left" in errors
    assert {path.name for path in tmp_path.iterdir()} == before


def test_pieces_are_limited_by_memory_and_files_sorted_by_number(tmp_path):
    for name in ("1²2.parquet", "part-10.parquet", "part-9.parquet"):
        pq.write_table(pa.table({"a": [0.5] * 4000}), tmp_path / name, row_group_size=1000)
    found = open_pieces(str(tmp_path), 16_000).pieces
    assert [(os.path.basename(one.path), one.groups) for one in found] == [
        (name, groups)
        for name in ("1²2.parquet", "part-9.parquet", "part-10.parquet")
        for groups in ((0, 1), (2, 3))
    ]
    assert [one.first for one in found] == list(range(0, 12_000, 2000))


def test_folders_get_their_names_together_or_not_at_all(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"

    def hinder():
        with whole_folders([one, other]) as drafts:
            (drafts[0] / "file").write_text("")
            other.mkdir()
            (other / "in the way").write_text("")

    with pytest.raises(OSError, match="not empty"):
        hinder()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    with whole_folders([one]) as (draft,):
        (draft / "file").write_text("")
    assert [path.name for path in one.iterdir()] == ["file"]


class TestBadInput:
    """One sentence, before any work."""

    def refused(self, capsys, sentence, *arguments):
        code, output, errors = clean(capsys, *arguments)
        assert (code, output) == (2, "")
        assert sentence in errors
        assert errors.count("\n") == 1

    def test_files(self, folder, tmp_path, capsys):
        out = ("-o", tmp_path / "out")
        self.refused(capsys, "there is no Parquet file", tmp_path / "none*.parquet", *out)
        text = tmp_path / "table.csv"
        text.write_text("a,label\n1,x\n")
        self.refused(capsys, "is not a Parquet file: its name must end in", text, *out)
        broken = tmp_path / "broken.parquet"
        broken.write_text("nothing")
        self.refused(capsys, "cannot be read as a Parquet file", broken, *out)
        (tmp_path / "outer" / "inner").mkdir(parents=True)
        self.refused(capsys, "for those in its subfolders pass", tmp_path / "outer", *out)
        empty = tmp_path / "empty.parquet"
        pq.write_table(pa.table({"a": pa.array([], pa.float64()), "label": []}), empty)
        self.refused(capsys, "has no rows", empty, *out)

    def test_columns(self, folder, capsys, tmp_path):
        out = ("-o", tmp_path / "out")
        path = folder / "part-9.parquet"
        part = pq.read_table(path)
        pq.write_table(part.drop_columns(["label"]), path)
        self.refused(capsys, "lacks the column 'label', which", folder, *out)
        pq.write_table(part.append_column("more", [[1]]), path)
        self.refused(capsys, "has the column 'more', which", folder, *out)
        pq.write_table(part.set_column(0, "a", [["text"]]), path)
        self.refused(capsys, "column 'a' is string in", folder, *out)
        pq.write_table(part.select(part.column_names[::-1]), path)
        self.refused(capsys, "has its columns in another order", folder, *out)
        pq.write_table(part, path)
        self.refused(capsys, "--drop: there is no column 'z'", folder, *out, "--drop", "z")
        code = run(["clean", str(folder), "--engine", "dask", "--target", "lable", "--dry-run"])
        assert code == 2
        assert "there is no column 'lable'; did you mean 'label'?" in capsys.readouterr().err

    def test_outputs(self, folder, capsys, tmp_path):
        self.refused(capsys, "is a folder that is not empty", folder, "-o", folder)
        self.refused(capsys, "is a file of the input", folder, "-o", folder / "part-9.parquet")
        (tmp_path / "file").write_text("")
        self.refused(capsys, "is a file; name a folder", folder, "-o", tmp_path / "file")
        self.refused(capsys, "there is no folder", folder, "-o", tmp_path / "no" / "out")
        out = tmp_path / "out"
        self.refused(capsys, "are the same folder", folder, "-o", out, "--removed", out)
        inside = ("--removed", out / "gone")
        out.mkdir()
        self.refused(capsys, "are folders one inside the other", folder, "-o", out, *inside)

    def test_options(self, folder, capsys, tmp_path, monkeypatch):
        monkeypatch.setattr("rectifold.cli.clean_dask._TIMEOUT", 0.5)
        out = ("-o", tmp_path / "out")
        self.refused(capsys, "--report is for tables that fit", folder, "--report", "a.html")
        self.refused(capsys, "must be error or drop", folder, *out, "--missing-target", "keep")
        self.refused(capsys, "--space heom compares all pairs", folder, *out, "--space", "heom")
        self.refused(capsys, "--metric l1 is not offered", folder, *out, "--metric", "l1")
        self.refused(capsys, "--budget is for --engine approx", folder, *out, "--budget", "3")
        self.refused(
            capsys, "--block-size big is not a number of", folder, *out, "--block-size", "big"
        )
        self.refused(
            capsys, "no scheduler of Dask answers", folder, *out, "--scheduler", "tcp://127.0.0.1:1"
        )
        code = run(["clean", str(folder), "--target", "label", *map(str, out), "--scheduler", "x"])
        assert code == 2
        assert "--scheduler is for --engine dask" in capsys.readouterr().err
        assert not os.path.exists(out[1])
