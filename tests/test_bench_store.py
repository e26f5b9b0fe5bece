"""The store of an experiment: rows are never lost, and files of others are left alone."""

import json

import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("filelock")

import pyarrow.parquet as pq  # noqa: E402

from rectifold.bench import BenchError, Store  # noqa: E402
from rectifold.bench._store import FORMAT, KEY, SCHEMA  # noqa: E402


def row(seed=0, **facts):
    key = dict(zip(KEY, ("set", "GMR", "LR", seed, "train-only", "1"), strict=True))
    return {**key, "status": "ok", "auprc": 0.1 + seed / 3, **facts}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


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
    assert store.keys() == {("set", "GMR", "LR", 0, "train-only", "1")}


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


def test_rows_that_do_not_fit_are_refused(store):
    with pytest.raises(RuntimeError, match="not open"):
        store.add(row())
    with store.writing(), pytest.raises(ValueError, match="no such columns: \\['typo'\\]"):
        store.add(row(typo=1))
