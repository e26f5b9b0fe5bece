"""Tables in Parquet and Feather files: rows are chosen on the Arrow table itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from rectifold._io.formats import FileError, Format, compressed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


#: What pyarrow raises for columns that pandas has no place for; of types of its own, KeyError.
_UNCONVERTIBLE = (pa.ArrowException, KeyError, TypeError, ValueError, OverflowError)
#: What it raises for columns that a format has no place for; OverflowError for the year 20000.
_UNWRITABLE = (pa.ArrowException, OverflowError)


class ArrowTable:
    """A table held by Arrow.

    Parameters
    ----------
    table : pyarrow.Table
        The table; its rows are written with this schema and metadata.

    Attributes
    ----------
    columns : list of str
        The names of all columns.
    index_columns : list of str
        The columns that were the index of a pandas table: they name rows, and describe none.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self.columns: list[str] = table.column_names
        self.index_columns = [name for name in _pandas_index(table.schema) if isinstance(name, str)]

    @classmethod
    def read(cls, path: Path, form: Format) -> ArrowTable:
        """Read a file.

        Parameters
        ----------
        path : pathlib.Path
            The file.
        form : Format
            Parquet or Feather (Arrow IPC, as a file or as a stream).

        Returns
        -------
        ArrowTable
            The whole table.
        """
        name = repr(str(path))
        try:
            table = (_read_parquet if form.kind == "parquet" else _read_feather)(path)
        except pa.ArrowNotImplementedError as problem:
            raise FileError(f"{name} holds what pyarrow cannot read: {problem}") from None
        except (pa.ArrowException, OSError, ValueError):
            kind = form.kind.capitalize()
            raise FileError(f"{name} cannot be read as a {kind} file, as its name says") from None
        if table.num_columns == 0:
            raise FileError(f"{name} holds no columns")
        if table.num_rows == 0:
            raise FileError(f"{name} holds columns but no rows")
        return cls(without_views(table))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> ArrowTable:
        """Take over the columns of a pandas table, without its index.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table.

        Returns
        -------
        ArrowTable
            The same values; what Arrow has no type for, such as whole numbers of more than 64
            bits, as text.
        """
        for name in frame.columns[[dtype == np.dtype(object) for dtype in frame.dtypes]]:
            try:
                pa.array(frame[name], from_pandas=True)
            except _UNWRITABLE:
                known = frame[name].notna()
                frame = frame.assign(**{name: frame[name].astype(str).where(known, None)})
        return cls(pa.Table.from_pandas(frame, preserve_index=False))

    def frame(
        self, columns: Sequence[str] | None = None, *, verbatim: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Hand over the values as a pandas table.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns to convert; by default all, those of an index too.
        verbatim : sequence of str
            Those of them that hold labels: here every value has its type already.

        Returns
        -------
        pandas.DataFrame
            Decimals as floats, dictionary columns as categoricals.
        """
        table = self._table if columns is None else self._table.select(list(columns))
        for i, field in enumerate(table.schema):
            if pa.types.is_decimal(field.type):
                table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
        try:
            return _to_pandas(table)
        except _UNCONVERTIBLE:
            for name in table.column_names:
                try:
                    _to_pandas(table.select([name]))
                except _UNCONVERTIBLE:
                    what = f"column {name!r} is of the type {table.schema.field(name).type}"
                    if name in verbatim:
                        raise FileError(f"{what}, which holds no labels") from None
                    raise FileError(
                        f"{what}, by which rows cannot be compared; leave it out of the geometry "
                        "with --ignore"
                    ) from None
            raise

    def check(self, form: Format, *, drop: Sequence[str] = ()) -> None:
        """Find out whether a format can hold the columns, by writing one row to nowhere.

        Parameters
        ----------
        form : Format
            The format to write.
        drop : sequence of str
            Columns to leave out.
        """
        ArrowTable(self._table.slice(0, 1)).write(io.BytesIO(), form, np.ones(1, bool), drop=drop)

    def write(
        self,
        file: IO[bytes],
        form: Format,
        rows: NDArray[np.bool_],
        *,
        drop: Sequence[str] = (),
        added: Mapping[str, Sequence[Any]] | None = None,
        verbatim: Sequence[str] = (),
    ) -> None:
        """Write the chosen rows.

        Parameters
        ----------
        file : binary file
            Open for writing.
        form : Format
            How to write. In text (always UTF-8) a missing value is an empty cell.
        rows : array of bool
            Which rows to write.
        drop : sequence of str
            Columns to leave out.
        added : mapping of str to sequence, optional
            Columns to add, with one value for each row that is written.
        verbatim : sequence of str
            Without effect: here every value has its type already.
        """
        # Not drop_columns: a name that it is given twice takes another column along.
        stay = [name for name in self.columns if name not in drop]
        table = self._table.select(stay)
        chosen = pa.array(rows)
        try:
            _write(table.filter(chosen), file, form, added or {})
        except _UNWRITABLE as problem:
            for name in stay:
                try:
                    _write(table.select([name]).filter(chosen), io.BytesIO(), form, {})
                except _UNWRITABLE:
                    raise FileError(
                        f"column {name!r} is of the type {table.schema.field(name).type}, which "
                        f"a {form.kind} file cannot hold; leave it out with --drop, or write "
                        "another format"
                    ) from None
            raise FileError(f"a {form.kind} file cannot hold the rows: {problem}") from None


def _read_parquet(path: Path) -> Any:
    # ParquetFile, not read_table: folders named like a=1 on the way to the file are no columns.
    with pa.parquet.ParquetFile(path) as file:
        return file.read()


def _read_feather(path: Path) -> Any:
    try:
        return pa.feather.read_table(str(path), memory_map=False)
    except pa.ArrowInvalid:
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
            return stream.read_all()


def without_views(table: Any) -> Any:
    """Give the same values in columns that rows can be chosen from."""
    # Rows cannot be chosen from views and run lengths; plain columns hold the same values.
    for i, field in enumerate(table.schema):
        column = table.column(i)
        with suppress(pa.ArrowNotImplementedError):  # what is left is refused when it is needed
            if pa.types.is_run_end_encoded(column.type):
                chunks = [pa.compute.run_end_decode(chunk) for chunk in column.chunks]
                column = pa.chunked_array(chunks, column.type.value_type)
            plain = _plain_type(column.type)
            if not plain.equals(field.type):
                table = table.set_column(i, field.with_type(plain), column.cast(plain))
    return table


def _plain_type(kind: Any) -> Any:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type), kind.ordered)
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    return kind


def _plain_field(field: Any) -> Any:
    return field.with_type(_plain_type(field.type))


def _to_pandas(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(
        ignore_metadata=True, date_as_object=False, split_blocks=True
    )
    return frame


def _write(table: Any, file: IO[bytes], form: Format, added: Mapping[str, Sequence[Any]]) -> None:
    for name, values in added.items():
        table = table.append_column(name, pa.array(list(values), from_pandas=True))
    if form.kind == "text":
        _write_text(table, file, form)
        return
    table = _with_index_of(table.num_rows, table)
    if form.kind == "parquet":
        pa.parquet.write_table(table, file)
    else:
        # A file of this format holds one dictionary a column.
        pa.feather.write_feather(table.unify_dictionaries(), file)


def _write_text(table: Any, file: IO[bytes], form: Format) -> None:
    for i, field in enumerate(table.schema):
        column = table.column(i)
        table = table.set_column(i, field.name, _writable(column))
    header = io.StringIO()
    csv.writer(header, delimiter=form.delimiter, lineterminator="\r\n").writerow(table.column_names)
    with compressed(file, form) as binary:
        binary.write(header.getvalue().removesuffix("\r\n").encode() + b"\n")
        options = pa.csv.WriteOptions(include_header=False, delimiter=form.delimiter)
        pa.csv.write_csv(table, binary, options)


def _writable(column: Any) -> Any:
    # What pyarrow writes stays; lists, structs and bytes become their Python text.
    try:
        pa.csv.write_csv(pa.table({"": column.slice(0, 1)}), io.BytesIO())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        supported = False
    else:
        supported = not pa.types.is_binary(column.type) and not pa.types.is_large_binary(
            column.type
        )
    if supported:
        return column
    return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())


def _pandas_index(schema: Any) -> list[Any]:
    described = (schema.metadata or {}).get(b"pandas")
    if described is None:
        return []
    try:
        return list(json.loads(described).get("index_columns", []))
    except (ValueError, AttributeError):
        return []


def _with_index_of(n_rows: int, table: Any) -> Any:
    # What pandas noted of its index (a range over all rows, a column by name) must fit what is
    # left; the rest of the metadata stays as it is.
    index = _pandas_index(table.schema)
    if not index:
        return table
    described = json.loads(table.schema.metadata[b"pandas"])
    described["index_columns"] = [
        {**item, "start": 0, "stop": n_rows, "step": 1} if isinstance(item, dict) else item
        for item in index
        if isinstance(item, dict) or item in table.column_names
    ]
    described["columns"] = [
        entry
        for entry in described.get("columns", [])
        if entry.get("field_name", entry.get("name")) in table.column_names
    ]
    metadata = {**table.schema.metadata, b"pandas": json.dumps(described).encode()}
    return table.replace_schema_metadata(metadata)
