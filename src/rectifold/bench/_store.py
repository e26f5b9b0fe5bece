"""The store of an experiment: one row per fit, on disk as soon as the fit has ended.

A row is appended to a journal of JSON lines and synchronised to disk; the end of a run merges the
journal into one Parquet file. Parquet can't be appended to, and one file per fit would be
thousands. SQLite survives a kill as well, but results are published with the project: one sorted,
compressed file that pandas reads, a tenth of the size, suits that better.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from rectifold._core.utils import in_unicode
from rectifold._io import whole_files
from rectifold.model_selection._registry import CLASSIFIERS, EXTRA_CLASSIFIERS, BenchError
from rectifold.model_selection._scores import SCORES

#: Increased when stores of older versions can't be read or added to.
FORMAT = 1
#: Key of the format in the metadata of the Parquet file; published stores have it.
MARK = b"rectifold.bench.store"

#: Statuses of a fit.
OK, FAILED, TIMED_OUT = "ok", "failed", "timed out"

KEY = (
    *("dataset", "method", "classifier", "seed", "protocol"),
    *("method_version", "classifier_options"),
)

SCHEMA = pa.schema(
    [
        ("dataset", pa.string()),
        ("method", pa.string()),
        ("classifier", pa.string()),
        ("seed", pa.int64()),
        ("protocol", pa.string()),
        ("method_version", pa.string()),
        ("classifier_options", pa.string()),
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
#: Columns that differ between two runs of the same fit.
VARYING = ("resample_seconds", "fit_seconds", "finished")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """Columns of a store; the metadata of the schema hold its format under `MARK`."""

    schema: pa.Schema
    #: Columns that identify a row.
    key: tuple[str, ...]
    #: Columns that stores of older versions lack, and the values of their rows.
    added: Mapping[str, Callable[[pd.DataFrame], pd.Series[Any]]] = field(default_factory=dict)

    @property
    def format(self) -> str:
        """The format of stores with this layout."""
        return str(self.schema.metadata[MARK].decode())


def _known_options(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return the options of the classifiers that are known by the names in a frame."""
    known = (CLASSIFIERS | EXTRA_CLASSIFIERS).values()
    return frame["classifier"].map({entry.name: entry.options_text for entry in known}).fillna("")


#: One classifier after one sampler on one split.
FITS = Layout(SCHEMA, KEY, {"classifier_options": _known_options})


class Store:
    """Results of fits, in a folder.

    ``results.parquet`` holds one row for each fit, ``journal.jsonl`` the rows that were added
    since it was written. A recorded fit is never lost, even if the process is killed. The end of a
    run, or else the beginning of the next one, merges the journal into the Parquet file.

    Parameters
    ----------
    folder : path-like
        The folder; it is created when rows are added.
    layout : Layout
        Columns of the rows; by default those of `rectifold.bench.run`.

    Attributes
    ----------
    results, journal : pathlib.Path
        The two files.
    spool : pathlib.Path
        Folder of resampled data that worker processes share.
    lock : pathlib.Path
        File that is locked by the process that adds rows.

    Examples
    --------
    `rectifold.bench.run` adds rows, and `read` returns them as a DataFrame:

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
        #: Rows get no earlier time, so that the newest rows are those of the last run.
        self._earliest = ""

    def exists(self) -> bool:
        """Return whether the folder has results.

        Returns
        -------
        bool
            True if there is a Parquet file or a journal.
        """
        return self.results.exists() or self.journal.exists()

    def read(self) -> pd.DataFrame:
        """Return all rows; a run may be adding to them.

        Returns
        -------
        pandas.DataFrame
            Sorted by key. If a fit was run again, its last row.
        """
        # The journal is read first: a row that is merged meanwhile is read twice, not missed.
        late = list(self._journal_rows())
        schema, key = self.layout.schema, list(self.layout.key)
        table = schema.empty_table()
        if self.results.exists():
            self._check_format(self._parquet_format())
            table = pq.read_table(self.results, schema=schema)
        frame = table.to_pandas()
        if late:
            fresh = pa.Table.from_pylist(late, schema=schema).to_pandas()
            frame = pd.concat([frame, fresh]) if len(frame) else fresh
        for column, values in self.layout.added.items():
            frame[column] = frame[column].fillna(values(frame))
        frame = frame.drop_duplicates(key, keep="last")
        result: pd.DataFrame = frame.sort_values(key, ignore_index=True)
        return result

    def keys(self, statuses: Iterable[str] = (OK, FAILED, TIMED_OUT)) -> set[tuple[Any, ...]]:
        """Return the keys of recorded fits.

        Parameters
        ----------
        statuses : iterable of str
            Statuses to include: "ok", "failed", "timed out".

        Returns
        -------
        set of tuple
            Data set, method, classifier, seed, protocol, version of the method and options of the
            classifier.
        """
        frame = self.read()
        chosen = frame.loc[frame["status"].isin(list(statuses)), list(self.layout.key)]
        return set(chosen.itertuples(index=False, name=None))

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Open the store for adding rows; only one process can.

        Yields
        ------
        Store
            The store itself.
        """
        self.check()
        # The system releases it however its process ends; the file itself remains.
        lock = FileLock(self.lock)
        with self._explained_errors():
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                # `busy` may hold it for a moment.
                lock.acquire(timeout=1)
            except Timeout:
                raise BenchError(
                    f"another run is adding to the store {str(self.folder)!r}: wait until it ends, "
                    "or name another store"
                ) from None
        try:
            with self._explained_errors():
                self._merge_journal()
                self._earliest = self._after_all_rows()
                self._file = open(self.journal, "ab")  # noqa: SIM115 - closed below
            try:
                self._append({"format": self.layout.format})
                yield self
            finally:
                file, self._file = self._file, None
                with self._explained_errors():
                    # It writes what is left of a row, or raises an error if the disk is full.
                    file.close()
                    self._merge_journal()
        finally:
            lock.release()

    def busy(self) -> bool:
        """Return whether a run is adding to the store.

        Returns
        -------
        bool
            False also if there is no store.
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
        """Add a row; it is on disk when the method returns.

        If the clock was set back, the row gets a time after those of earlier runs.

        Parameters
        ----------
        row : mapping
            Values by the names of columns; columns that are left out are missing values.
        """
        unknown = set(row) - set(self.layout.schema.names)
        if unknown:
            raise ValueError(f"no such columns: {sorted(unknown)}")
        if row.get("finished"):
            row = {**row, "finished": max(row["finished"], self._earliest)}
        self._append(row)

    def check(self) -> None:
        """Raise an error if this version can't read the store, or if the folder is a file."""
        existing = next(path for path in (self.folder, *self.folder.parents) if path.exists())
        if not existing.is_dir():
            raise BenchError(f"{str(existing)!r} is a file, and a store is a folder")
        if self.results.exists():
            self._check_format(self._parquet_format())
        for _ in self._journal_rows():
            pass

    def _append(self, content: Row) -> None:
        if self._file is None:
            raise RuntimeError("the store is not open for writing")
        line = json.dumps(
            {k: in_unicode(v) if isinstance(v, str) else v for k, v in content.items()}
        )
        with self._explained_errors():
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    @contextmanager
    def _explained_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BenchError(
                f"the store {str(self.folder)!r} can't be written ({error.strerror or error}): all "
                "results recorded before are kept, and the run resumes when called again"
            ) from error

    def _after_all_rows(self) -> str:
        """Return a time after those of all rows."""
        times = pd.to_datetime(self.read()["finished"], utc=True, format="ISO8601", errors="coerce")
        after = times.max() + pd.Timedelta("1s")
        return "" if pd.isna(after) else str(after.isoformat(timespec="seconds"))

    def _parquet_format(self) -> str:
        try:
            metadata = pq.read_schema(self.results).metadata or {}
        except (pa.ArrowInvalid, OSError) as error:
            raise BenchError(f"{str(self.results)!r} can't be read as Parquet: {error}") from error
        return str(metadata.get(MARK, b"").decode(errors="replace"))

    def _check_format(self, found: str) -> None:
        if found == self.layout.format:
            return
        if not found:
            raise BenchError(
                f"{str(self.folder)!r} has results that rectifold bench did not write: name "
                "another folder"
            )
        raise BenchError(
            f"the store {str(self.folder)!r} has format {found}, and format {self.layout.format} "
            "is needed: name another folder, or use the command or the version that wrote it"
        )

    def _journal_rows(self) -> Iterator[Row]:
        try:
            lines = self.journal.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        checked, required = False, set(self.layout.key) - set(self.layout.added)
        # What follows the last line end was being written when a run was killed.
        for line in lines[:-1]:
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if isinstance(row, dict) and "format" in row:
                self._check_format(str(row["format"] or ""))
                checked = True
            elif checked and isinstance(row, dict) and required <= set(row):
                yield row
            else:
                raise BenchError(
                    f"{str(self.journal)!r} has a line that no run has written: {line[:60]!r}"
                )

    def _merge_journal(self) -> None:
        if not self.journal.exists():
            return
        frame = self.read()
        if len(frame):
            schema = self.layout.schema
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            # Without the metadata that pandas adds.
            table = table.replace_schema_metadata(schema.metadata)
            with whole_files([self.results]) as (file,):
                pq.write_table(table, file, compression="zstd")
        os.remove(self.journal)
