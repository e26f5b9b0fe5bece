"""Tables in text files (CSV, TSV), whose kept rows are copied character for character."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rectifold._io.formats import FileError, Format, as_text_cell, compressed
from rectifold._io.text_records import BOM, Record, RecordFile

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


#: Integers of 64 bits as Python writes them, without leading zeros or a plus sign.
_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")


class TextTable:
    """A table in a text file.

    The same parser reads the file twice, once for the values and once to copy the kept rows, so
    that both agree on what a record is.
    """

    def __init__(
        self, path: Path, form: Format, encoding: str, delimiter: str | None = None
    ) -> None:
        self.path = path
        self.form = form
        self.encoding = encoding
        self.index_columns: list[str] = []
        self._file = RecordFile(path, form, encoding, delimiter)
        with self._file.opened() as records:
            filled = (record.cells for record in records if record.cells)
            self.columns = next(filled, [])
            if not self.columns:
                raise FileError(f"{str(path)!r} is empty")
            if next(filled, None) is None:
                raise FileError(f"{str(path)!r} has a header but no rows")

    def frame(
        self, columns: Sequence[str] | None = None, *, verbatim: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return the values of some columns, by default of all, with inferred types.

        There is one row for each record that is not blank. Cells of columns in `verbatim` keep
        their text, so that 1, 01 and NA are three labels.
        """
        import pandas as pd

        names = self.columns if columns is None else list(columns)
        parsed = [name for name in names if name not in verbatim]
        texts: dict[str, list[str]] = {name: [] for name in names if name in verbatim}
        with self._file.opened() as records:
            rows = self._split_cells(records, parsed, texts)
            frame = _parse(rows, parsed) if parsed else pd.DataFrame(index=range(len([*rows])))
        for name, cells in texts.items():
            frame[name] = pd.Series(cells, dtype=object)
        return frame if list(frame.columns) == names else frame[names]

    def check(self, form: Format, *, drop: Sequence[str] = ()) -> None:
        """Do nothing: every format can hold the columns of a text file."""

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
        """Write the rows that a mask selects, as unchanged as the two formats allow.

        Columns in `drop` are left out; `added` are additional columns, with one value for each row
        that is written. Text with the same delimiter is copied unchanged. With another one, or with
        columns dropped or added, cells keep their text; those added follow `as_text_cell`. Other
        formats get the parsed values; there, a column in `verbatim` is numeric only if all its
        cells are plain integers.
        """
        self._file.check_unchanged()
        if form.kind != "text":
            self._write_arrow(file, form, rows, drop, added, verbatim)
            return
        same_kind = form.delimiter == self.form.delimiter
        with compressed(file, form) as binary, self._file.opened() as records:
            text = io.TextIOWrapper(binary, encoding=self.encoding, newline="")
            if same_kind and not drop and not added:
                self._copy(text, records, rows)
            else:
                delimiter = self._file.delimiter if same_kind else form.delimiter
                self._rewrite(text, records, rows, delimiter, drop, added or {})
            text.flush()
            text.detach()  # without closing the file

    def _write_arrow(
        self,
        file: IO[bytes],
        form: Format,
        rows: NDArray[np.bool_],
        drop: Sequence[str],
        added: Mapping[str, Sequence[Any]] | None,
        verbatim: Sequence[str],
    ) -> None:
        from rectifold._io.arrow import ArrowTable

        kept = [name for name in self.columns if name not in drop]
        frame = self.frame(kept, verbatim=verbatim)
        for name in kept:
            if name in verbatim:
                frame[name] = _as_integers([cell if cell.strip() else None for cell in frame[name]])
        added = {name: _as_integers(values) for name, values in (added or {}).items()}
        ArrowTable.from_frame(frame).write(file, form, rows, added=added)

    def _split_cells(
        self, records: Iterator[Record], parsed: list[str], texts: dict[str, list[str]]
    ) -> Iterator[list[str]]:
        """Yield the cells that pandas parses, and append the others to `texts`."""
        at = [self.columns.index(name) for name in parsed]
        aside = [(self.columns.index(name), cells) for name, cells in texts.items()]
        # Equal texts share their memory.
        known: dict[str, str] = {}
        filled = (cells for cells, _ in records if cells)
        next(filled)
        for cells in filled:
            for i, texts_of_column in aside:
                texts_of_column.append(known.setdefault(cells[i], cells[i]))
            yield [cells[i] for i in at]

    def _copy(self, text: IO[str], records: Iterator[Record], rows: NDArray[np.bool_]) -> None:
        wanted = _header_and(rows)
        for record in records:
            # Blank lines are kept, so that a diff shows only the removed rows.
            if not record.cells or next(wanted):
                text.write(record.raw)

    def _rewrite(
        self,
        text: IO[str],
        records: Iterator[Record],
        rows: NDArray[np.bool_],
        delimiter: str,
        drop: Sequence[str],
        added: Mapping[str, Sequence[Any]],
    ) -> None:
        kept = [i for i, name in enumerate(self.columns) if name not in drop]
        extra = zip(*added.values(), strict=True) if added else None
        wanted = _header_and(rows)
        header = True
        for cells, raw in records:
            if not cells or not next(wanted):
                continue
            if header:
                if raw.startswith(BOM):
                    text.write(BOM)
                writer = csv.writer(
                    _Lines(text, _line_ending(raw)), delimiter=delimiter, lineterminator="\r\n"
                )
            new = added if header else () if extra is None else next(extra)
            writer.writerow([cells[i] for i in kept] + [_as_text(value) for value in new])
            header = False


def _parse(rows: Iterator[list[str]], names: list[str]) -> pd.DataFrame:
    import pandas as pd

    feed = _Requoted(rows)
    # pandas 2 rounds some numbers wrongly by default; later the option is deprecated.
    exact: Any = {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
    try:
        frame: pd.DataFrame = pd.read_csv(
            feed,
            header=None,
            names=names,
            index_col=False,
            low_memory=False,  # one type per column, also in a long file
            **exact,
        )
    except pd.errors.ParserError as problem:
        # pandas turns Ctrl-C during a read into this error.
        if feed.interrupted or "Calling read" in str(problem):
            raise KeyboardInterrupt from None
        raise
    return frame


class _Requoted(io.TextIOBase):
    """Records as text that every CSV parser splits in the same way, as a file for pandas."""

    def __init__(self, records: Iterator[list[str]]) -> None:
        self.interrupted = False
        self._records = records
        self._block = io.StringIO(newline="")
        self._writer = csv.writer(self._block, quoting=csv.QUOTE_ALL, lineterminator="\n")

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        self._block.seek(0)
        self._block.truncate()
        try:
            for cells in self._records:
                self._writer.writerow(cells)
                if size is not None and 0 <= size <= self._block.tell():
                    break
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        return self._block.getvalue()


class _Lines:
    """A file that writes the line endings of the input.

    The csv module quotes cells with a carriage return or newline if it ends lines with both; with
    another ending it leaves a lone carriage return unquoted (until Python 3.13).
    """

    def __init__(self, text: IO[str], ending: str) -> None:
        self._text = text
        self._ending = ending

    def write(self, line: str) -> int:
        return self._text.write(line.removesuffix("\r\n") + self._ending)


def _header_and(rows: NDArray[np.bool_]) -> Iterator[bool]:
    yield True
    yield from rows.tolist()


def _as_integers(values: Sequence[Any]) -> Any:
    import pandas as pd

    cells = [value for value in values if value is not None]
    if not cells or not all(isinstance(cell, str) and _INTEGER.fullmatch(cell) for cell in cells):
        return values
    return pd.array([None if value is None else int(value) for value in values], dtype="Int64")


def _line_ending(raw: str) -> str:
    return next((ending for ending in ("\r\n", "\n", "\r") if raw.endswith(ending)), "\n")


def _as_text(value: Any) -> str:
    return "" if value is None else str(as_text_cell(value))
