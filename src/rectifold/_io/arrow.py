"""Tables in Parquet and Feather files: rows are selected in the Arrow table itself."""

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

from rectifold._core.errors import Param
from rectifold._io.formats import FileError, Format, as_text_cell, compressed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


#: Errors of pyarrow for columns that pandas can't hold; some types have a KeyError of their own.
_UNCONVERTIBLE = (pa.ArrowException, KeyError, TypeError, ValueError, OverflowError)
#: Its errors for columns that a format can't hold; OverflowError for the year 20000.
_UNWRITABLE = (pa.ArrowException, OverflowError)


class ArrowTable:
    """A table in memory, whose rows are written with its schema and metadata."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.columns: list[str] = table.column_names
        self.index_columns = [name for name in _pandas_index(table.schema) if isinstance(name, str)]

    @classmethod
    def read(cls, path: Path, form: Format) -> ArrowTable:
        """Read a Parquet or Feather file (Arrow IPC, as a file or as a stream)."""
        name = repr(str(path))
        try:
            table = (_read_parquet if form.kind == "parquet" else _read_feather)(path)
        except pa.ArrowNotImplementedError as problem:
            raise FileError(f"pyarrow cannot read {name}: {problem}") from None
        except (pa.ArrowException, OSError, ValueError):
            kind = form.kind.capitalize()
            raise FileError(f"{name} cannot be read as a {kind} file") from None
        if table.num_columns == 0:
            raise FileError(f"{name} has no columns")
        if table.num_rows == 0:
            raise FileError(f"{name} has columns but no rows")
        return cls(without_views(table))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> ArrowTable:
        """Return the columns of a pandas frame, without its index.

        Values that no type of Arrow holds, such as integers of more than 64 bits, become text.
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
        """Return the values of some columns, by default of all, as a pandas frame.

        Decimals become floats, and dictionary columns categoricals. `verbatim` matters only for
        errors: all values have types already.
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
                    kind = str(table.schema.field(name).type)
                    if name in verbatim:
                        raise FileError(
                            f"column {name!r} is of the type {kind}, which holds no labels"
                        ) from None
                    raise FileError(
                        "column {} is of the type {}, by which samples cannot be compared; leave "
                        "it out of the distances with {}",
                        repr(name),
                        kind,
                        Param("ignore"),
                    ) from None
            raise

    def check(self, form: Format, *, drop: Sequence[str] = ()) -> None:
        """Raise an error if a format can't hold the first row without the columns in `drop`."""
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
        """Write the rows that a mask selects, as `TextTable.write` does.

        Text is always UTF-8, with empty cells for missing values. `verbatim` has no effect.
        """
        # Not drop_columns: a name that it is given twice removes another column too.
        kept = [name for name in self.columns if name not in drop]
        table = self._table.select(kept)
        mask = pa.array(rows)
        try:
            _write(table.filter(mask), file, form, added or {})
        except _UNWRITABLE as problem:
            for name in kept:
                try:
                    _write(table.select([name]).filter(mask), io.BytesIO(), form, {})
                except _UNWRITABLE:
                    raise FileError(
                        "column {} is of the type {}, which a {} file cannot hold; leave it out "
                        "with {}, or write another format",
                        repr(name),
                        str(table.schema.field(name).type),
                        form.kind,
                        Param("drop"),
                    ) from None
            raise FileError(f"a {form.kind} file cannot hold the rows: {problem}") from None


def _read_parquet(path: Path) -> Any:
    # Not read_table, which takes folders with names like a=1 in the path for columns.
    with pa.parquet.ParquetFile(path) as file:
        return file.read()


def _read_feather(path: Path) -> Any:
    try:
        return pa.feather.read_table(str(path), memory_map=False)
    except pa.ArrowInvalid:
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
            return stream.read_all()


def without_views(table: Any) -> Any:
    """Replace views and run lengths, whose rows can't be selected, by plain columns."""
    for i, field in enumerate(table.schema):
        column = table.column(i)
        with suppress(pa.ArrowNotImplementedError):  # an error follows when it is needed
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
        if form.kind == "text":
            name, values = as_text_cell(name), [as_text_cell(value) for value in values]
        table = table.append_column(name, pa.array(list(values), from_pandas=True))
    if form.kind == "text":
        _write_text(table, file, form)
        return
    table = _with_pandas_index(table)
    if form.kind == "parquet":
        pa.parquet.write_table(table, file)
    else:
        # The format holds one dictionary per column.
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
    # Lists, structs and bytes, which pyarrow does not write, become their Python text.
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


def _with_pandas_index(table: Any) -> Any:
    # The description of the pandas index (a range over all rows, a column by name) must fit the
    # rows and columns that are written; the other metadata are kept.
    index = _pandas_index(table.schema)
    if not index:
        return table
    described = json.loads(table.schema.metadata[b"pandas"])
    described["index_columns"] = [
        {**item, "start": 0, "stop": table.num_rows, "step": 1} if isinstance(item, dict) else item
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
