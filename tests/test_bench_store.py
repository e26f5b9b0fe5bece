"""The store of an experiment: rows are never lost, and files of others are left alone."""

import errno
import json
import os

import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("filelock")

import pyarrow.parquet as pq  # noqa: E402

from rectifold.bench import BenchError, Store  # noqa: E402
from rectifold.bench._comparison import newest  # noqa: E402
from rectifold.bench._store import FORMAT, KEY, SCHEMA  # noqa: E402
from stores import no_file_above  # noqa: E402


def row(seed=0, **facts):
    key = dict(zip(KEY, ("set", "GMR", "LR", seed, "train-only", "1", ""), strict=True))
    return {**key, "status": "ok", "auprc": 0.1 + seed / 3, **facts}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def full(store):
    """Expect the sentence on a disk that is full."""
    reason = os.strerror(errno.EFBIG)
    sentence = (
        rf"^the store '{store.folder}' can't be written \({reason}\): all results recorded before "
        r"are kept, and the run resumes when called again$"
    )
    return pytest.raises(BenchError, match=sentence)


def test_rows_come_back_bit_for_bit_and_sorted(store):
    with store.writing():
        for seed in (3, 1, 2):
            store.add(row(seed, error='quotes " and\nlines, ünicode', fit_seconds=None))
    rows = store.read()
    assert list(rows["seed"]) == [1, 2, 3]
    assert list(rows["auprc"]) == [0.1 + seed / 3 for seed in (1, 2, 3)]
    assert rows["error"].iloc[0] == 'quotes " and\nlines, ünicode'
    assert list(rows.columns) == SCHEMA.names
    assert not store.journal.exists()


def test_a_row_can_be_read_before_the_run_ends(store):
    with store.writing():
        store.add(row())
        assert len(Store(store.folder).read()) == 1
        assert store.journal.exists()


def test_a_line_cut_short_by_a_kill_is_dropped_and_all_others_are_kept(store):
    with store.writing():
        store.add(row(1))
    lines = [json.dumps({"format": FORMAT}), json.dumps(row(2)), json.dumps(row(3))[:20]]
    store.journal.write_text("\n".join(lines))
    assert list(store.read()["seed"]) == [1, 2]
    with store.writing():
        store.add(row(3))
    assert list(store.read()["seed"]) == [1, 2, 3]


def test_a_kill_between_merging_and_removing_the_journal_doubles_no_row(store):
    with store.writing():
        store.add(row(1))
        store.add(row(2))
        journal = store.journal.read_bytes()
    store.journal.write_bytes(journal)
    assert list(store.read()["seed"]) == [1, 2]
    with store.writing():
        pass
    assert pq.read_metadata(store.results).num_rows == 2


def test_a_fit_done_again_replaces_its_row(store):
    with store.writing():
        store.add(row(status="failed", auprc=None))
    with store.writing():
        store.add(row(auprc=0.5))
    rows = store.read()
    assert list(rows["auprc"]) == [0.5]
    assert store.keys(["failed"]) == set()
    assert store.keys() == {("set", "GMR", "LR", 0, "train-only", "1", "")}


def test_a_store_of_another_format_is_refused_and_left_alone(store):
    store.folder.mkdir()
    other = SCHEMA.with_metadata({b"rectifold.bench.store": b"99"})
    pq.write_table(pa.Table.from_pylist([row()], schema=other), store.results)
    before = store.results.read_bytes()
    for use in (store.read, store.check, lambda: store.writing().__enter__()):
        with pytest.raises(BenchError, match="has format 99, and format 1 is needed"):
            use()
    assert store.results.read_bytes() == before
    assert sorted(path.name for path in store.folder.iterdir()) == ["results.parquet"]


def test_a_journal_of_another_format_is_refused_and_left_alone(store):
    store.folder.mkdir()
    store.journal.write_text('{"format": 99}\n{"strange": 1}\n')
    with pytest.raises(BenchError, match="format 99"), store.writing():
        pass
    assert store.journal.read_text() == '{"format": 99}\n{"strange": 1}\n'


@pytest.mark.parametrize("line", ['{"a": 1}', "[1]", "words", '{"format": 1}\n{"a": 1}'])
def test_a_journal_of_something_else_is_refused_and_left_alone(store, line):
    store.folder.mkdir()
    store.journal.write_text(f"{line}\n")
    with pytest.raises(BenchError, match="has a line that no run has written"), store.writing():
        pass
    assert store.journal.read_text() == f"{line}\n"


def test_text_that_is_not_valid_unicode_is_stored_by_its_codes(store):
    with store.writing():
        store.add(row(error="half of a pair: \ud800"))
    assert store.read()["error"].iloc[0] == "half of a pair: \\ud800"


def test_a_parquet_file_that_is_not_a_store_is_refused_and_left_alone(store):
    store.folder.mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(store.results)
    with pytest.raises(BenchError, match="rectifold bench did not write"), store.writing():
        pass
    store.results.write_bytes(b"no parquet")
    with pytest.raises(BenchError, match="can't be read as Parquet"):
        store.check()
    assert store.results.read_bytes() == b"no parquet"


def test_a_file_in_place_of_a_store_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BenchError, match="file' is a file, and a store is a folder"):
            Store(folder).check()


def test_one_run_at_a_time(store):
    assert not store.busy()
    with store.writing():
        assert Store(store.folder).busy()
        with (
            pytest.raises(BenchError, match="another run is adding"),
            Store(store.folder).writing(),
        ):
            pass
    assert not store.busy()


def test_the_rows_of_older_stores_have_the_options_that_their_classifiers_have_by_default(store):
    names = ("LR", "XGB", "LightGBM", "mine")
    rows = [row(classifier=name) for name in names]
    older = SCHEMA.remove(SCHEMA.get_field_index("classifier_options"))
    for one in rows:
        del one["classifier_options"]
    store.folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:2], schema=older), store.results)
    store.journal.write_text("".join(f"{json.dumps(one)}\n" for one in [{"format": 1}, *rows[2:]]))
    options = {"LR": "", "XGB": "n_jobs=1", "LightGBM": "n_jobs=1, verbose=-1", "mine": ""}
    for _ in range(2):
        found = store.read().set_index("classifier")
        assert found["classifier_options"].to_dict() == options
        assert set(found["auprc"]) == {0.1}
        with store.writing():
            store.add(row(classifier="XGB", classifier_options="n_jobs=1", auprc=0.1))


def test_the_rows_of_the_last_run_are_the_newest_even_if_the_clock_was_set_back(store):
    for version, time in (("1", "2026-02-01T12:00:00+00:00"), ("2", "2026-01-01T12:00:00+00:00")):
        with store.writing():
            for seed in (1, 2):
                store.add(row(seed, method_version=version, finished=time, auprc=float(version)))
    kept, older = newest(store.read())
    assert older == {"GMR": ["1"]}
    assert list(kept["auprc"]) == [2, 2]
    with store.writing():
        store.add(row(1, method_version="2", finished="2025-01-01T12:00:00+00:00", auprc=3.0))
    assert list(newest(store.read())[0]["auprc"]) == [3, 2]
    with store.writing():
        store.add(row(3, method_version="2", finished="2027-01-01T12:00:00+00:00"))
    assert store.read()["finished"].max() == "2027-01-01T12:00:00+00:00"


def test_a_disk_that_fills_up_loses_no_recorded_row(store):
    with store.writing():
        store.add(row(0))
    seed = 0
    with no_file_above(2000), full(store), store.writing():
        for seed in range(1, 99):
            store.add(row(seed))
    assert 3 < seed < 99
    assert not store.journal.read_bytes().endswith(b"\n")
    assert list(store.read()["seed"]) == list(range(seed))
    assert not store.busy()
    with store.writing():
        store.add(row(seed))
    assert list(store.read()["seed"]) == list(range(seed + 1))


def test_rows_that_a_full_disk_has_no_room_to_merge_stay_in_the_journal(store):
    with no_file_above(2000), full(store), store.writing():
        store.add(row(1))
        store.add(row(2))
    with no_file_above(2000), full(store), store.writing():
        pass
    # Some versions of filelock leave the lock behind, others do not.
    assert {path.name for path in store.folder.iterdir()} - {".lock"} == {"journal.jsonl"}
    assert list(store.read()["seed"]) == [1, 2]
    with store.writing():
        store.add(row(3))
    assert list(store.read()["seed"]) == [1, 2, 3]
    assert not store.journal.exists()


def test_rows_that_do_not_fit_are_refused(store):
    with pytest.raises(RuntimeError, match="not open"):
        store.add(row())
    with store.writing(), pytest.raises(ValueError, match="no such columns: \\['typo'\\]"):
        store.add(row(typo=1))
