"""Tables in text files (CSV, TSV): the rows that stay come through character for character."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rectifold._io.formats import FileError, Format, compressed
from rectifold._io.text_records import BOM, Record, RecordFile

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


#: Whole numbers of 64 bits as Python writes them, and as nobody writes anything else.
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


class TextTable:
    """A table in a text file.

    The file is read twice by one and the same parser: once for the values, once to copy the
    rows that stay. So the two cannot disagree on what a record is.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    form : Format
        Its format.
    encoding : str
        Its encoding.
    delimiter : str, optional
        What stands between two cells; by default as `RecordFile` finds it.

    Attributes
    ----------
    columns : list of str
        The names in the header.
    index_columns : list of str
        Empty: text has no columns that only name the rows.
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
                raise FileError(f"{str(path)!r} holds a header but no rows")

    def frame(
        self, columns: Sequence[str] | None = None, *, verbatim: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Read the values, with their types inferred.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns to read; by default all.
        verbatim : sequence of str
            Those of them whose cells are taken as they stand, so that 1, 01 and NA are three
            texts.

        Returns
        -------
        pandas.DataFrame
            One row for each record that is not blank.
        """
        import pandas as pd

        names = self.columns if columns is None else list(columns)
        parsed = [name for name in names if name not in verbatim]
        texts: dict[str, list[str]] = {name: [] for name in names if name in verbatim}
        with self._file.opened() as records:
            rows = self._divided(records, parsed, texts)
            frame = _parse(rows, parsed) if parsed else pd.DataFrame(index=range(len([*rows])))
        for name, cells in texts.items():
            frame[name] = pd.Series(cells, dtype=object)
        return frame if list(frame.columns) == names else frame[names]

    def check(self, form: Format, *, drop: Sequence[str] = ()) -> None:
        """Do nothing: every format can hold what stands in a text file.

        Parameters
        ----------
        form : Format
            A format to write.
        drop : sequence of str
            Columns to leave out.
        """

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
            How to write. Text of the same kind is copied as it stands; where columns go or
            come, or the delimiter changes, cells go through as text. Other formats get the
            parsed values.
        rows : array of bool
            Which rows to write.
        drop : sequence of str
            Columns to leave out.
        added : mapping of str to sequence, optional
            Columns to add, with one value for each row that is written.
        verbatim : sequence of str
            Columns that other formats than text get as numbers only if all their cells are
            written as whole ones, without zeros or signs to spare; else as text.
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
            text.detach()  # the file belongs to the caller

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

        stay = [name for name in self.columns if name not in drop]
        frame = self.frame(stay, verbatim=verbatim)
        for name in stay:
            if name in verbatim:
                frame[name] = _whole([cell if cell.strip() else None for cell in frame[name]])
        added = {name: _whole(values) for name, values in (added or {}).items()}
        ArrowTable.from_frame(frame).write(file, form, rows, added=added)

    def _divided(
        self, records: Iterator[Record], parsed: list[str], texts: dict[str, list[str]]
    ) -> Iterator[list[str]]:
        # Cells for pandas to parse; the others are put aside on the way, equal texts only once.
        at = [self.columns.index(name) for name in parsed]
        aside = [(self.columns.index(name), cells) for name, cells in texts.items()]
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
            # Blank lines are no rows; they stay, so that a diff shows the removed rows alone.
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
    try:
        return pd.read_csv(
            feed,
            header=None,
            names=names,
            index_col=False,
            low_memory=False,  # one type a column, however long the file
        )
    except pd.errors.ParserError as problem:
        # Out of Ctrl-C in the middle of a read, pandas makes an error of its own.
        if feed.interrupted or "Calling read" in str(problem):
            raise KeyboardInterrupt from None
        raise


class _Requoted(io.TextIOBase):
    """Records as text that every CSV parser splits in the same way, for pandas to read."""

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
    """A file whose lines end as the input's do.

    Told to end lines with carriage return and newline, the csv module quotes cells that hold
    either; told otherwise it would leave a lone carriage return bare (until Python 3.13).
    """

    def __init__(self, text: IO[str], ending: str) -> None:
        self._text = text
        self._ending = ending

    def write(self, line: str) -> int:
        return self._text.write(line.removesuffix("\r\n") + self._ending)


def _header_and(rows: NDArray[np.bool_]) -> Iterator[bool]:
    yield True
    yield from rows.tolist()


def _whole(values: Sequence[Any]) -> Any:
    import pandas as pd

    cells = [value for value in values if value is not None]
    if not cells or not all(isinstance(cell, str) and _WHOLE.fullmatch(cell) for cell in cells):
        return values
    return pd.array([None if value is None else int(value) for value in values], dtype="Int64")


def _line_ending(raw: str) -> str:
    return next((ending for ending in ("\r\n", "\n", "\r") if raw.endswith(ending)), "\n")


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)
