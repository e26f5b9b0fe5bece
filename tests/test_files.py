"""Tables in files: verbatim copies, formats, and outputs that appear whole or not at all."""

import csv
import gzip
import io
import os
import re
import stat
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from rectifold._io import (  # noqa: E402
    FileError,
    check_outputs,
    format_of,
    open_table,
    whole_files,
    write_whole,
)

NASTY = (
    '\ufeffid,"a ""quoted"" name",b,y\r\n'
    '007,1.10,"two\nlines",NA\r\n'
    "\r\n"
    '2,=1+1,"<b>&amp;,",1\r\n'
    "   \n"
    "3,'q',z\x00z,0"
)


def save(table, path, rows, **options):
    with whole_files([path]) as (file,):
        table.write(file, format_of(path), np.array(rows, dtype=bool), **options)
    return path


def cells(path, delimiter=","):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.fixture
def nasty(tmp_path):
    path = tmp_path / "nasty.csv"
    path.write_bytes(NASTY.encode())
    return open_table(path)


class TestText:
    def test_kept_rows_are_copied_character_for_character(self, nasty, tmp_path):
        out = save(nasty, tmp_path / "out.csv", [True, False, True])
        assert out.read_bytes().decode() == NASTY.replace('2,=1+1,"<b>&amp;,",1\r\n', "")

    def test_keeping_all_rows_copies_the_file(self, nasty, tmp_path):
        assert save(nasty, tmp_path / "out.csv", [1, 1, 1]).read_bytes() == NASTY.encode()

    def test_the_frame_has_the_same_records(self, nasty):
        frame = nasty.frame()
        assert list(frame.columns) == ["id", 'a "quoted" name', "b", "y"] == nasty.columns
        assert frame["id"].tolist() == [7, 2, 3]
        # For pandas 2 a text ends at a zero byte.
        last = "z" if pd.__version__.startswith("2.") else "z\x00z"
        assert frame["b"].tolist() == ["two\nlines", "<b>&amp;,", last]
        assert frame["y"].isna().tolist() == [True, False, False]

    def test_numbers_are_read_exactly(self, tmp_path):
        numbers = np.random.default_rng(0).normal(size=100)
        (tmp_path / "in.csv").write_text("a\n" + "".join(f"{x!r}\n" for x in numbers.tolist()))
        np.testing.assert_array_equal(open_table(tmp_path / "in.csv").frame()["a"], numbers)

    def test_only_the_requested_columns_are_parsed(self, nasty):
        frame = nasty.frame(["y", "id"], verbatim=["y"])
        assert list(frame.columns) == ["y", "id"]
        assert frame["y"].tolist() == ["NA", "1", "0"]
        assert frame["id"].tolist() == [7, 2, 3]
        assert nasty.frame(["id"], verbatim=["id"])["id"].tolist() == ["007", "2", "3"]

    def test_cells_that_were_read_as_text_become_text_in_parquet(self, tmp_path):
        path = tmp_path / "in.csv"
        path.write_text("a,y\n1,01\n2, \n3,NA\n")
        table = open_table(path)
        again = pq.read_table(save(table, tmp_path / "o.parquet", [1, 1, 1], verbatim=["y"]))
        assert again.to_pydict() == {"a": [1, 2, 3], "y": ["01", None, "NA"]}

    def test_a_given_delimiter_is_used_for_input_and_output(self, tmp_path):
        path = tmp_path / "in.csv"
        path.write_text("a|b,c\n1|2,5\n3|4\n")
        with pytest.raises(FileError, match=r"line 3 has 1 cell, the header 2; .*delimiter='\|'"):
            open_table(path).frame()
        table = open_table(path, delimiter="|")
        assert table.columns == ["a", "b,c"]
        out = save(table, tmp_path / "out.csv", [0, 1], added={"d": ["|"]})
        assert out.read_text() == 'a|b,c|d\n3|4|"|"\n'
        assert save(table, tmp_path / "o.tsv", [0, 1]).read_text() == "a\tb,c\n3\t4\n"

    def test_dropping_a_column_passes_the_other_cells_as_text(self, nasty, tmp_path):
        out = save(nasty, tmp_path / "out.csv", [True, True, False], drop=["b"])
        assert out.read_bytes().startswith(b"\xef\xbb\xbfid,")
        assert cells(out)[1:] == [["007", "1.10", "NA"], ["2", "=1+1", "1"]]
        assert out.read_bytes().endswith(b"\r\n")

    def test_added_columns_come_last_and_missing_values_are_empty_cells(self, nasty, tmp_path):
        added = {"why, so": ["x", None], "vote": [0.1, 0.25]}
        out = save(nasty, tmp_path / "out.csv", [True, False, True], added=added)
        assert [row[-2:] for row in cells(out)] == [["why, so", "vote"], ["x", "0.1"], ["", "0.25"]]

    def test_csv_becomes_tsv_without_a_number_being_parsed(self, nasty, tmp_path):
        out = save(nasty, tmp_path / "out.tsv", [1, 1, 1])
        assert cells(out, "\t")[1] == ["007", "1.10", "two\nlines", "NA"]

    def test_a_lone_carriage_return_is_quoted_when_cells_are_rewritten(self, tmp_path):
        path = tmp_path / "cr.csv"
        path.write_bytes(b'a,b\n"x\ry",1\n')
        out = save(open_table(path), tmp_path / "out.tsv", [True])
        assert out.read_bytes() == b'a\tb\n"x\ry"\t1\n'

    def test_gzip_is_read_and_written_reproducibly(self, tmp_path):
        path = tmp_path / "in.csv.gz"
        path.write_bytes(gzip.compress(NASTY.encode()))
        table = open_table(path)
        assert len(table.frame()) == 3
        out = save(table, tmp_path / "out.csv.gz", [1, 1, 1])
        assert gzip.decompress(out.read_bytes()) == NASTY.encode()
        assert out.read_bytes() == save(table, tmp_path / "again.csv.gz", [1, 1, 1]).read_bytes()

    def test_text_becomes_parquet_with_parsed_types(self, nasty, tmp_path):
        out = save(nasty, tmp_path / "out.parquet", [False, True, True], added={"r": [1, 2]})
        table = pq.read_table(out)
        assert table["id"].to_pylist() == [2, 3]
        assert table["r"].to_pylist() == [1, 2]

    def test_integers_beyond_64_bits_become_text_in_parquet(self, tmp_path):
        path = tmp_path / "in.csv"
        path.write_text("a,b\n99999999999999999999,1\n-1,2\n,3\n")
        again = pq.read_table(save(open_table(path), tmp_path / "o.parquet", [1, 1, 1]))
        assert again["a"].to_pylist() == ["99999999999999999999", "-1", None]

    def test_parquet_can_be_written_before_the_values_are_read(self, nasty, tmp_path):
        assert pq.read_table(save(nasty, tmp_path / "o.pq", [0, 0, 1]))["id"].to_pylist() == [3]

    @pytest.mark.parametrize("mark", [";", "\t"])
    def test_a_csv_file_with_semicolons_or_tabs_is_recognised(self, tmp_path, mark):
        path = tmp_path / "in.csv"
        path.write_text(f"a{mark}b\n1,5{mark}2\n3{mark}4\n")
        table = open_table(path)
        assert table.columns == ["a", "b"]
        out = save(table, tmp_path / "out.csv", [True, False])
        assert out.read_text() == f"a{mark}b\n1,5{mark}2\n"
        assert save(table, out, [False, True], drop=["b"]).read_text() == "a\n3\n"

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
    def test_other_encodings_are_read_and_written_back(self, tmp_path, encoding):
        text = "größe,y\n1,ä\n2,ö\n"
        path = tmp_path / "in.csv"
        path.write_bytes(text.encode(encoding))
        table = open_table(path, encoding=encoding)
        assert table.frame()["y"].tolist() == ["ä", "ö"]
        out = save(table, tmp_path / "out.csv", [False, True])
        assert out.read_bytes() == "größe,y\n2,ö\n".encode(encoding)

    def test_old_mac_line_endings_are_kept(self, tmp_path):
        path = tmp_path / "in.csv"
        path.write_bytes(b"a,b\r1,2\r3,4\r")
        assert save(open_table(path), tmp_path / "o.csv", [0, 1]).read_bytes() == b"a,b\r3,4\r"

    def test_a_cell_may_be_longer_than_the_limit_of_the_csv_module(self, tmp_path):
        path = tmp_path / "in.csv"
        path.write_text("a,b\n" + "x" * 200_000 + ",1\n")
        before = csv.field_size_limit()
        assert len(open_table(path).frame()["a"][0]) == 200_000
        assert csv.field_size_limit() == before

    def test_a_file_that_changes_between_the_two_readings_is_refused(self, nasty, tmp_path):
        nasty.frame()
        nasty.path.write_bytes(NASTY.encode() + b"\r\n4,5,6,7\r\n")
        with pytest.raises(FileError, match="was changed"):
            save(nasty, tmp_path / "out.csv", [1, 1, 1])
        assert os.listdir(tmp_path) == ["nasty.csv"]

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (b"", "is empty"),
            (b"\n \n", "is empty"),
            (b"a,b\n", "a header but no rows"),
            (b"a,b\n\n", "a header but no rows"),
            (b"a,b\n1,2\n3\n", "line 3 has 1 cell, the header 2"),
            (b'a,b\n"1\n",2\n3,4,5\n', "line 4 has 3 cells, the header 2"),
            (b'a,b\n1,2\n3,"4\n5,6\n', "quote in the record at line 3 is never closed"),
            (b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
            (
                b"a,b\n1,2\n\xe9,2\n",
                r"not utf-8 text \(line 3\); name its encoding with encoding, for",
            ),
        ],
    )
    def test_an_invalid_file_is_refused_in_one_sentence(self, tmp_path, content, sentence):
        path = tmp_path / "in.csv"
        path.write_bytes(content)
        with pytest.raises(FileError, match=sentence) as caught:
            open_table(path).frame()
        assert "\n" not in str(caught.value)

    def test_an_undecodable_byte_that_no_single_line_shows_is_refused_too(self, tmp_path):
        path = tmp_path / "in.csv"
        path.write_bytes(b"a,b\n1,2\n")
        with pytest.raises(FileError, match="is not utf-16 text"):
            open_table(path, encoding="utf-16")

    @pytest.mark.parametrize("encoding", ["idna", "punycode"])
    def test_an_encoding_that_is_not_for_files_is_refused(self, nasty, encoding):
        with pytest.raises(FileError, match=f"'{encoding}' is not an encoding of text files"):
            open_table(nasty.path, encoding=encoding)

    def test_an_unknown_encoding_is_refused(self, nasty):
        with pytest.raises(FileError, match="no encoding 'klingon'"):
            open_table(nasty.path, encoding="klingon")

    @pytest.mark.parametrize(
        "content",
        # With the time in it, the name of the test would differ from one process to the next.
        [b"no gzip at all", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20]],
    )
    def test_a_broken_gzip_file_is_refused(self, tmp_path, content):
        path = tmp_path / "in.csv.gz"
        path.write_bytes(content)
        with pytest.raises(FileError, match="not a complete gzip file"):
            open_table(path).frame()

    def test_a_cell_that_the_csv_module_cannot_read_is_refused(self, nasty, monkeypatch):
        monkeypatch.setattr("rectifold._io.text_records.sys.maxsize", 5)
        with pytest.raises(FileError, match="line 1 cannot be read: field larger"):
            nasty.frame()

    def test_a_file_that_vanishes_is_refused(self, nasty):
        nasty.path.unlink()
        with pytest.raises(FileError, match="cannot be read: No such file"):
            nasty.frame()


class TestAddedText:
    """Text from data in added columns of text files is not a formula for a spreadsheet."""

    FORMULAS = ("=cmd()", "+x", "-x", "@x", "\t=1", "\r=1", "\n=1", "\0=1", "-1+1", "'=1")
    PLAIN = ("-1", "+1.5e3", "it's", "'quoted'", "a=b", "", None)

    def sources(self, folder):
        n = len(self.FORMULAS) + len(self.PLAIN)
        frame = pd.DataFrame({"a": range(n), "b": "=1+1"})
        frame.to_csv(folder / "in.csv", index=False)
        frame.to_parquet(folder / "in.parquet")
        return [open_table(folder / name) for name in ("in.csv", "in.parquet")]

    @pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz"])
    def test_in_text_files_an_apostrophe_precedes_what_could_be_a_formula(self, tmp_path, name):
        values = [*self.FORMULAS, *self.PLAIN]
        for table in self.sources(tmp_path):
            out = save(table, tmp_path / name, [1] * len(values), added={"p": values, "=q": values})
            header, *rows = cells(out, "\t" if "tsv" in name else ",")
            assert header == ["a", "b", "p", "'=q"]
            expected = [*(f"'{text}" for text in self.FORMULAS), *(t or "" for t in self.PLAIN)]
            assert [row[2] for row in rows] == [row[3] for row in rows] == expected
            # Cells of the input are copied.
            assert {row[1] for row in rows} == {"=1+1"}

    def test_in_parquet_files_text_is_unchanged(self, tmp_path):
        values = [*self.FORMULAS, *self.PLAIN]
        for table in self.sources(tmp_path):
            out = save(table, tmp_path / "o.parquet", [1] * len(values), added={"p": values})
            assert pq.read_table(out)["p"].to_pylist() == values

    @given(st.text(st.sampled_from("'=+-@\t\r\n\0001.ea"), max_size=5))
    def test_the_label_can_be_read_back(self, text):
        from rectifold._io.formats import as_text_cell

        cell = as_text_cell(text)
        assert re.sub(r"\A'(?='*[=+\-@\t\r\n\0])", "", cell) == text
        if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\0")):
            float(cell)


class TestVerbatimLaw:
    nasty_cells = st.one_of(
        st.text(st.sampled_from("aé0.1-=+@ ;,\t\"'<>&\r\n\x00\ufeff\u2028"), max_size=6),
        st.sampled_from(["NA", "None", "007", "1.10", "1e5", "inf", "true", "=1+1"]),
    )

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        data=st.data(),
        rows=st.integers(1, 6),
        width=st.integers(2, 4),
        ending=st.sampled_from(["\n", "\r\n", "\r"]),
        quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        delimiter=st.sampled_from([",", "\t"]),
    )
    def test_kept_records_are_unchanged(
        self, tmp_path_factory, data, rows, width, ending, quoting, delimiter
    ):
        folder = tmp_path_factory.mktemp("law")
        line = st.lists(self.nasty_cells, min_size=width, max_size=width)
        # A record of nothing but blanks in its first cell still has its delimiters.
        records = data.draw(st.lists(line, min_size=rows, max_size=rows))
        keep = data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
        header = [f"c{i}" for i in range(width)]

        def record(values):
            text = io.StringIO(newline="")
            writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\r\n")
            writer.writerow(values)
            return text.getvalue().removesuffix("\r\n") + ending

        ends = {",": ".csv", "\t": ".tsv"}
        path = folder / f"in{ends[delimiter]}"
        texts = [record(values) for values in records]
        path.write_bytes("".join([record(header), *texts]).encode())
        table = open_table(path)
        assert len(table.frame()) == rows
        texts = [text for text, kept in zip(texts, keep, strict=True) if kept]
        out = save(table, folder / f"out{ends[delimiter]}", keep)
        assert out.read_bytes() == "".join([record(header), *texts]).encode()
        # With another delimiter the cells are the same, though their quotes may differ.
        other = {",": "\t", "\t": ","}[delimiter]
        turned = save(table, folder / f"turned{ends[other]}", keep)
        expected = [values for values, kept in zip(records, keep, strict=True) if kept]
        assert cells(turned, other) == [header, *expected]


class TestArrow:
    @pytest.fixture
    def table(self):
        return pa.table(
            {
                "i": pa.array([1, None, 3], pa.int32()),
                "d": pa.array(["x", "y", "x"]).dictionary_encode(),
                "money": pa.array([Decimal("1.00"), Decimal("2.00"), None]),
                "day": pa.array([0, 1, None], pa.date32()),
                "tags": pa.array([["a"], None, []]),
                "raw": pa.array([b"\xff", b"", None]),
                's "t"': pa.array(['a "b"', "c,\nd", None]),
            }
        ).replace_schema_metadata({"made by": "a test"})

    def store(self, table, path):
        if path.suffix in (".parquet", ".pq"):
            pq.write_table(table, path)
        else:
            feather.write_feather(table, path)
        return open_table(path)

    @pytest.mark.parametrize("name", ["in.parquet", "in.feather", "in.arrow", "in.PQ"])
    def test_types_and_metadata_are_kept(self, table, tmp_path, name):
        source = self.store(table, tmp_path / name.lower())
        for out in (tmp_path / "out.parquet", tmp_path / "out.feather"):
            again = self.raw(save(source, out, [False, True, True]))
            assert again.schema.equals(table.schema)
            assert again.schema.metadata[b"made by"] == b"a test"
            assert again.to_pylist() == table.slice(1).to_pylist()

    def raw(self, path):
        return pq.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)

    def test_an_arrow_stream_is_read_too(self, table, tmp_path):
        path = tmp_path / "in.arrow"
        with pa.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
        assert len(open_table(path).frame()) == 3

    def test_the_frame_has_numbers_dates_and_categories(self, table, tmp_path):
        frame = self.store(table, tmp_path / "in.parquet").frame()
        assert frame["i"].dtype.kind == frame["money"].dtype.kind == "f"
        assert frame["day"].dtype.kind == "M"
        assert isinstance(frame["d"].dtype, pd.CategoricalDtype)

    def test_text_has_empty_cells_for_nulls_and_integers_stay_integers(self, table, tmp_path):
        source = self.store(table, tmp_path / "in.parquet")
        out = save(source, tmp_path / "out.csv", [1, 1, 1], added={"n": [1, None, 2]})
        assert cells(out) == [
            ["i", "d", "money", "day", "tags", "raw", 's "t"', "n"],
            ["1", "x", "1.00", "1970-01-01", "['a']", r"b'\xff'", 'a "b"', "1"],
            ["", "y", "2.00", "1970-01-02", "", "b''", "c,\nd", ""],
            ["3", "x", "", "", "[]", "", "", "2"],
        ]
        zipped = save(source, tmp_path / "out.tsv.gz", [1, 0, 0], drop=["tags"])
        assert cells(zipped, "\t")[1][:2] == ["1", "x"]

    def test_the_index_of_pandas_is_kept_and_is_no_feature(self, tmp_path):
        frame = pd.DataFrame({"a": [1, 2, 3]}, index=pd.Index([7, 8, 9], name="who"))
        frame.to_parquet(tmp_path / "in.parquet")
        table = open_table(tmp_path / "in.parquet")
        assert table.index_columns == ["who"]
        out = save(table, tmp_path / "out.parquet", [True, False, True])
        assert pd.read_parquet(out).equals(frame.iloc[[0, 2]])
        bare = save(table, tmp_path / "bare.parquet", [True, False, True], drop=["who"])
        assert pd.read_parquet(bare).to_dict("list") == {"a": [1, 3]}

    def test_a_range_index_counts_the_rows_that_are_kept(self, tmp_path):
        pd.DataFrame({"a": [1, 2, 3]}).to_parquet(tmp_path / "in.parquet")
        out = save(open_table(tmp_path / "in.parquet"), tmp_path / "out.parquet", [0, 1, 1])
        assert pd.read_parquet(out).equals(pd.DataFrame({"a": [2, 3]}))

    def test_invalid_metadata_of_pandas_are_ignored(self, table, tmp_path):
        broken = table.replace_schema_metadata({"pandas": "not JSON"})
        assert self.store(broken, tmp_path / "in.parquet").index_columns == []

    @pytest.fixture
    def views(self, tmp_path):
        pl = pytest.importorskip("polars")
        pytest.importorskip("pyarrow", minversion="23", reason="before, `c` is an error")
        frame = pl.DataFrame(
            {
                "s": ["a", None, "c"],
                "b": [b"x", b"y", None],
                "c": pl.Series(["u", "v", None], dtype=pl.Categorical),
                "l": [["a"], [], None],
                "r": [{"t": "x"}] * 3,
                "f": pl.Series([["a"], ["b"], ["c"]], dtype=pl.Array(pl.String, 1)),
            }
        )
        frame.write_ipc(tmp_path / "views.arrow")
        return open_table(tmp_path / "views.arrow"), frame.to_dicts()

    @pytest.mark.parametrize("name", ["out.arrow", "out.parquet", "out.csv"])
    def test_views_of_polars_are_written_as_plain_columns(self, views, tmp_path, name):
        table, rows = views
        assert table.frame()["s"].tolist()[::2] == ["a", "c"]
        out = save(table, tmp_path / name, [1, 0, 1])
        if name != "out.csv":
            assert self.raw(out).to_pylist() == [rows[0], rows[2]]
        else:
            assert cells(out)[1] == ["a", "b'x'", "u", "['a']", "{'t': 'x'}", "['a']"]

    def test_run_lengths_become_plain_columns(self, tmp_path):
        runs = pa.RunEndEncodedArray.from_arrays([2, 3], [1.5, 2.5])
        source = self.store(pa.table({"a": runs}), tmp_path / "in.feather")
        assert source.frame()["a"].tolist() == [1.5, 1.5, 2.5]
        again = pq.read_table(save(source, tmp_path / "out.parquet", [0, 1, 1]))
        assert again["a"].to_pylist() == [1.5, 2.5]

    @pytest.fixture
    def odd(self, tmp_path):
        union = pa.UnionArray.from_sparse(
            pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["x", "y", "z"])]
        )
        duration = pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval())
        odd = pa.table({"a": [1, 2, 3], "u": union, "m": duration})
        return self.store(odd, tmp_path / "odd.feather")

    def test_a_column_that_is_not_requested_is_not_converted(self, odd):
        assert odd.frame(["a"])["a"].tolist() == [1, 2, 3]
        with pytest.raises(FileError, match=r"column 'u' is of the type sparse_union.*with ignore"):
            odd.frame()
        with pytest.raises(FileError, match=r"column 'u' .* holds no labels"):
            odd.frame(["a", "u"], verbatim=["u"])

    def test_a_column_that_a_format_cannot_hold_is_found_beforehand(self, odd, tmp_path):
        parquet = format_of(Path("o.parquet"))
        with pytest.raises(
            FileError, match=r"column 'u' .* a parquet file cannot hold; .*with drop"
        ):
            odd.check(parquet)
        with pytest.raises(FileError, match="column 'm' is of the type month_day_nano_interval"):
            odd.check(parquet, drop=["u"])
        odd.check(parquet, drop=["u", "m"])
        for name in ("o.feather", "o.csv"):
            odd.check(format_of(Path(name)))
            save(odd, tmp_path / name, [1, 0, 1])
        assert cells(tmp_path / "o.csv")[1][:2] == ["1", "1"]

    def test_a_column_that_fails_only_while_it_is_written_leaves_nothing(self, tmp_path):
        # The second date is in the year 29349, for which Python has no date to show in a list.
        days = pa.array([[0], [10**7]], pa.list_(pa.date32()))
        source = self.store(pa.table({"days": days}), tmp_path / "in.parquet")
        source.check(format_of(Path("o.csv")))
        with pytest.raises(FileError, match=r"column 'days' is of the type list.*text file"):
            save(source, tmp_path / "o.csv", [1, 1])
        assert os.listdir(tmp_path) == ["in.parquet"]

    @pytest.mark.parametrize("name", ["in.parquet", "in.feather"])
    def test_garbage_is_refused(self, tmp_path, name):
        (tmp_path / name).write_bytes(b"garbage")
        with pytest.raises(FileError, match=r"cannot be read as a (Parquet|Feather) file"):
            open_table(tmp_path / name)

    def test_a_table_without_rows_or_columns_is_refused(self, table, tmp_path):
        with pytest.raises(FileError, match="columns but no rows"):
            self.store(table.slice(0, 0), tmp_path / "in.parquet")
        with pytest.raises(FileError, match="no columns"):
            self.store(table.select([]), tmp_path / "in.parquet")


class TestInputs:
    def test_a_missing_file_is_refused(self, tmp_path):
        with pytest.raises(FileError, match="there is no file"):
            open_table(tmp_path / "no.csv")

    def test_a_directory_is_refused(self, tmp_path):
        (tmp_path / "d.csv").mkdir()
        with pytest.raises(FileError, match="is a directory"):
            open_table(tmp_path / "d.csv")

    def test_a_pipe_is_refused(self, tmp_path):
        os.mkfifo(tmp_path / "f.csv")
        with pytest.raises(FileError, match="not a regular file"):
            open_table(tmp_path / "f.csv")

    @pytest.mark.parametrize("name", ["a\x00b.csv", "x" * 300 + ".csv"])
    def test_an_impossible_name_is_refused(self, tmp_path, name):
        with pytest.raises(FileError, match="cannot be read"):
            open_table(tmp_path / name)

    def test_an_unknown_ending_is_refused_with_the_known_ones(self):
        with pytest.raises(FileError, match=r"\.csv, \.tsv.*\.parquet.*\.arrow"):
            format_of(Path("data.xlsx"))


class TestOutputs:
    @pytest.fixture
    def source(self, tmp_path):
        (tmp_path / "in.csv").write_text("a,b\n1,2\n")
        return tmp_path / "in.csv"

    def refused(self, source, **names):
        with pytest.raises(FileError) as caught:
            check_outputs(names.items(), source)
        return str(caught.value)

    def test_invalid_outputs_are_found_beforehand(self, source, tmp_path):
        (tmp_path / "d.csv").mkdir()
        os.mkfifo(tmp_path / "f.csv")
        os.link(source, tmp_path / "link.csv")
        assert "is a directory" in self.refused(source, output=tmp_path / "d.csv")
        assert "not a regular file" in self.refused(source, output=tmp_path / "f.csv")
        assert "is the input itself" in self.refused(source, output=source)
        assert "is the input itself" in self.refused(source, output=tmp_path / "link.csv")
        assert "there is no folder" in self.refused(source, output=tmp_path / "no" / "o.csv")
        assert "output: the name" in self.refused(source, output=tmp_path / "o.doc")
        same = tmp_path / "o.csv"
        other = tmp_path / "d.csv" / ".." / "o.csv"
        assert "output and removed are the same file" in self.refused(
            source, output=same, removed=other
        )
        assert "too long" in self.refused(source, output=tmp_path / ("o" * 300 + ".csv"))
        assert "embedded null" in self.refused(source, output=tmp_path / "a\0.csv")
        assert "its folder cannot be written to" in self.refused(source, output=Path("/proc/o.csv"))

    def test_a_folder_that_cannot_be_written_to_is_found_beforehand(
        self, source, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(os, "access", lambda *_: False)
        assert "cannot be written to" in self.refused(source, output=tmp_path / "o.csv")

    def test_good_outputs_pass(self, source, tmp_path):
        outputs = {"output": tmp_path / "o.csv", "removed": tmp_path / "r.pq"}
        check_outputs(outputs.items(), source)


class TestWholeFiles:
    @pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
    def test_nothing_is_left_behind_when_writing_fails(self, tmp_path, problem):
        (tmp_path / "a.csv").write_text("old")

        def fail():
            with whole_files([tmp_path / "a.csv", tmp_path / "b.csv"]) as (first, _):
                first.write(b"half of it")
                raise problem

        with pytest.raises(problem):
            fail()
        assert os.listdir(tmp_path) == ["a.csv"]
        assert (tmp_path / "a.csv").read_text() == "old"

    def test_a_new_file_has_the_default_mode_and_an_existing_one_keeps_its_own(self, tmp_path):
        before = os.umask(0o027)
        try:
            write_whole(tmp_path / "new", b"")
        finally:
            os.umask(before)
        (tmp_path / "old").touch(mode=0o600)
        write_whole(tmp_path / "old", b"more")
        modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "old")]
        assert modes == [0o640, 0o600]

    def test_errors_name_the_output_and_not_the_temporary_file(self, tmp_path, monkeypatch):
        names = [tmp_path / "a.csv", tmp_path / "no" / "b.csv"]
        with pytest.raises(FileNotFoundError) as caught, whole_files(names):
            pass
        assert caught.value.filename == str(names[1])
        (tmp_path / "no").mkdir()

        def busy(name, target):
            raise OSError(16, "Device or resource busy", name, target)

        monkeypatch.setattr(os, "replace", busy)
        with pytest.raises(OSError, match="busy") as caught, whole_files(names):
            pass
        assert (caught.value.filename, caught.value.filename2) == (str(names[1]), None)

    def test_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "real").write_text("old")
        (tmp_path / "link").symlink_to("real")
        write_whole(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_text() == "new"

    def test_other_threads_can_write_too(self, tmp_path):
        import threading

        thread = threading.Thread(target=write_whole, args=(tmp_path / "a", b"x"))
        thread.start()
        thread.join()
        assert (tmp_path / "a").read_bytes() == b"x"
