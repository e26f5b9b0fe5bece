"""The store of an experiment: one row per fit, on disk as soon as the fit is done."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from rectifold._core.utils import in_unicode
from rectifold._io import whole_files
from rectifold.model_selection._registry import BenchError
from rectifold.model_selection._scores import SCORES

#: Goes up when stores of an older rectifold can't be read or added to.
FORMAT = 1
MARK = b"rectifold.bench.store"

#: How a fit ended.
OK, FAILED, TIMED_OUT = "ok", "failed", "timed out"

KEY = ("dataset", "method", "classifier", "seed", "protocol", "method_version")

SCHEMA = pa.schema(
    [
        ("dataset", pa.string()),
        ("method", pa.string()),
        ("classifier", pa.string()),
        ("seed", pa.int64()),
        ("protocol", pa.string()),
        ("method_version", pa.string()),
        ("status", pa.string()),
        ("error", pa.string()),
        *((name, pa.float64()) for name in SCORES),
        ("resample_seconds", pa.float64()),
        ("fit_seconds", pa.float64()),
        ("majority_before", pa.int64()),
        ("minority_before", pa.int64()),
        ("majority_after", pa.int64()),
        ("minority_after", pa.int64()),
        ("test_rows", pa.int64()),
        ("test_positives", pa.int64()),
        ("columns", pa.int64()),
        ("data_fingerprint", pa.string()),
        ("method_path", pa.string()),
        ("classifier_path", pa.string()),
        ("warnings", pa.string()),
        ("versions", pa.string()),
        ("finished", pa.string()),
    ],
    metadata={MARK: str(FORMAT).encode()},
)
#: What differs between two runs of the same fit.
VARYING = ("resample_seconds", "fit_seconds", "finished")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """What the rows of a store hold.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types of the columns; its metadata says which kind of store it is.
    key : tuple of str
        The columns that tell one fit from another.
    """

    schema: pa.Schema
    key: tuple[str, ...]

    @property
    def mark(self) -> str:
        """What stores of the kind are marked with."""
        return str(self.schema.metadata[MARK].decode())


#: One classifier after one sampler on one split.
FITS = Layout(SCHEMA, KEY)


class Store:
    """Rows of fits in a folder.

    ``results.parquet`` holds them; ``journal.jsonl`` those that were added since, a line each, so
    that whatever ends a run, a fit that was recorded stays recorded. The next run moves the
    journal into the Parquet file.

    Parameters
    ----------
    folder : path-like
        Where; it need not exist.
    layout : Layout
        What its rows hold; by default one classifier after one sampler on one split.

    Attributes
    ----------
    results, journal : pathlib.Path
        The two files.
    spool : pathlib.Path
        A folder for what processes share while they work.
    lock : pathlib.Path
        Held by the process that adds rows.

    Examples
    --------
    `rectifold.bench.run` adds rows, and this reads them:

    >>> import tempfile
    >>> from rectifold.bench import Store
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(folder.name)
    >>> store.exists()
    False
    >>> with store.writing():
    ...     for method, auprc in [("None", 0.61), ("GMR", 0.63)]:
    ...         store.add(
    ...             {"dataset": "loans", "method": method, "classifier": "LR", "seed": 42}
    ...             | {"protocol": "train-only", "method_version": "1"}
    ...             | {"status": "ok", "auprc": auprc}
    ...         )
    >>> store.read().pivot(index=["dataset", "seed"], columns="method", values="auprc")
    method         GMR  None
    dataset seed
    loans   42    0.63  0.61
    """

    def __init__(self, folder: str | Path, layout: Layout = FITS) -> None:
        self.folder, self.layout = Path(folder), layout
        self.results = self.folder / "results.parquet"
        self.journal = self.folder / "journal.jsonl"
        self.spool = self.folder / "spool"
        self.lock = self.folder / ".lock"
        self._file: IO[bytes] | None = None

    def exists(self) -> bool:
        """Tell whether there is anything in the store.

        Returns
        -------
        bool
            False for a folder without results.
        """
        return self.results.exists() or self.journal.exists()

    def read(self) -> pd.DataFrame:
        """Read all rows, also while a run adds to them.

        Returns
        -------
        pandas.DataFrame
            Sorted by key; where a fit was done again, its last row.
        """
        # The journal first: what moves from it into the Parquet file meanwhile is seen twice
        # rather than not at all, and twice is once.
        late = list(self._journal_rows())
        schema, key = self.layout.schema, list(self.layout.key)
        table = self._parquet() if self.results.exists() else schema.empty_table()
        frame = table.to_pandas()
        if late:
            fresh = pa.Table.from_pylist(late, schema=schema).to_pandas()
            frame = pd.concat([frame, fresh]) if len(frame) else fresh
        frame = frame.drop_duplicates(key, keep="last")
        result: pd.DataFrame = frame.sort_values(key, ignore_index=True)
        return result

    def keys(self, statuses: Iterable[str] = (OK, FAILED, TIMED_OUT)) -> set[tuple[Any, ...]]:
        """Tell which fits are recorded.

        Parameters
        ----------
        statuses : iterable of str
            Count only fits that ended so.

        Returns
        -------
        set of tuple
            Their keys.
        """
        frame = self.read()
        chosen = frame.loc[frame["status"].isin(list(statuses)), list(self.layout.key)]
        return set(chosen.itertuples(index=False, name=None))

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Open the store for adding rows; one process at a time may.

        Yields
        ------
        Store
            The store itself.
        """
        self.check()
        self.folder.mkdir(parents=True, exist_ok=True)
        # The system frees it when its holder ends, however that is; the file itself stays.
        lock = FileLock(self.lock)
        try:
            # `busy` may hold it for a moment.
            lock.acquire(timeout=1)
        except Timeout:
            raise BenchError(f"another run is adding to the store {str(self.folder)!r}") from None
        try:
            self._compact()
            self._file = open(self.journal, "ab")  # noqa: SIM115 - closed below
            self._append({"format": self.layout.mark})
            try:
                yield self
            finally:
                self._file.close()
                self._file = None
                self._compact()
        finally:
            lock.release()

    def busy(self) -> bool:
        """Tell whether a run is adding to the store.

        Returns
        -------
        bool
            False also where there is no store.
        """
        if not self.lock.exists():
            return False
        lock = FileLock(self.lock)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        except OSError:
            return False
        lock.release()
        return False

    def add(self, row: Row) -> None:
        """Add a row; when this returns, it is on disk.

        Parameters
        ----------
        row : mapping
            Values for the columns of the layout; what is left out is missing.
        """
        unknown = set(row) - set(self.layout.schema.names)
        if unknown:
            raise ValueError(f"no such columns: {sorted(unknown)}")
        self._append(row)

    def mark(self) -> str:
        """Tell what kind of store is in the folder, whatever was expected.

        Returns
        -------
        str
            As in `Layout.mark`; empty where there is none, or none that can be told.
        """
        if self.results.exists():
            return str(self._mark())
        try:
            with open(self.journal, "rb") as file:
                first = json.loads(file.readline())
        except (FileNotFoundError, ValueError):
            return ""
        return str(first.get("format", "")) if isinstance(first, dict) else ""

    def check(self) -> None:
        """Refuse a store that this version can't read."""
        for folder in (self.folder, *self.folder.parents):
            if folder.exists():
                if not folder.is_dir():
                    raise BenchError(f"{str(folder)!r} is a file, and a store is a folder")
                break
        if self.results.exists():
            self._check(self._mark())
        for _ in self._journal_rows():
            pass

    def _append(self, content: Row) -> None:
        if self._file is None:
            raise RuntimeError("the store is not open for writing")
        line = json.dumps(
            {k: in_unicode(v) if isinstance(v, str) else v for k, v in content.items()}
        )
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _mark(self) -> Any:
        try:
            metadata = pq.read_schema(self.results).metadata or {}
        except (pa.ArrowInvalid, OSError) as problem:
            raise BenchError(
                f"{str(self.results)!r} can't be read as Parquet: {problem}"
            ) from problem
        return metadata.get(MARK, b"").decode(errors="replace")

    def _check(self, mark: Any) -> None:
        if str(mark) == self.layout.mark:
            return
        if mark in ("", None):
            raise BenchError(
                f"{str(self.folder)!r} holds results that rectifold bench did not write; name "
                "another folder"
            )
        raise BenchError(
            f"the store {str(self.folder)!r} has format {mark}, and format {self.layout.mark} is "
            "needed here: name another folder, or use the command or the version that wrote it"
        )

    def _parquet(self) -> pa.Table:
        self._check(self._mark())
        return pq.read_table(self.results, schema=self.layout.schema)

    def _journal_rows(self) -> Iterator[Row]:
        try:
            lines = self.journal.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        ours = False
        # What follows the last line end was being written when its run was killed.
        for line in lines[:-1]:
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if isinstance(row, dict) and "format" in row:
                self._check(row["format"])
                ours = True
            elif ours and isinstance(row, dict) and set(self.layout.key) <= set(row):
                yield row
            else:
                raise BenchError(
                    f"{str(self.journal)!r} has a line that no run wrote: {line[:60]!r}"
                )

    def _compact(self) -> None:
        if not self.journal.exists():
            return
        frame = self.read()
        if len(frame):
            schema = self.layout.schema
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            # pandas adds a description of its own; the mark is what counts.
            table = table.replace_schema_metadata(schema.metadata)
            with whole_files([self.results]) as (file,):
                pq.write_table(table, file, compression="zstd")
        os.remove(self.journal)
