"""The command `rectifold clean --engine dask`: Parquet files in, Parquet files out."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rectifold
from rectifold._core.utils import timed
from rectifold.cli.clean import Request, check_added, removal_columns
from rectifold.cli.clean_result import result_of
from rectifold.cli.errors import UsageError, sentence_of
from rectifold.cli.table_input import feature_columns
from rectifold.cli.target_column import classes_named, read_labels

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from rectifold._core.rectification import Rectification
    from rectifold._io.multi_file import Piece, Pieces

#: Seconds to wait for the answer of a scheduler.
_TIMEOUT = 10


def clean_on_cluster(request: Request, scheduler: str | None, n_workers: int) -> dict[str, Any]:
    """Clean a table in Parquet files, write folders of them, and return the result for JSON.

    `scheduler` is an address; None starts `n_workers` on this machine, where -1 is one per core.
    """
    if request.report is not None:
        raise UsageError(
            "--report is for tables that fit in memory: leave it out with --engine dask"
        )
    if request.missing_target == "keep":
        raise UsageError("--missing-target must be error or drop with --engine dask, not keep")
    try:
        from rectifold.dask import GMR
    except ImportError:
        raise UsageError('--engine dask needs its extra: pip install "rectifold[dask]"') from None
    from rectifold._io.multi_file import check_folders, open_pieces

    # The number of jobs is that of workers with one thread each.
    gmr = GMR(**{**request.settings, "engine": "auto", "n_jobs": None})
    seconds: dict[str, float] = {}
    with timed(seconds, "read"):
        pieces = open_pieces(str(request.source), gmr._check_settings())
        features = feature_columns(
            pieces, request.target, {"--drop": request.drop, "--ignore": request.ignore}
        )
        check_added(pieces.columns, request)
        named = {"output": request.output, "removed": request.removed}
        outputs = {name: path for name, path in named.items() if path is not None}
        check_folders(outputs, pieces)
    reader = _Reader(request, features, pieces.nullable)
    with _client(scheduler, n_workers), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if request.only:
                classes = classes_named("--only", request.only, _labels(reader, pieces))
                gmr.set_params(sampling_strategy=classes)
            gmr.fit_resample(*_collections(reader, pieces))
            record = gmr.rectification_
            with timed(seconds, "write"):
                _write(reader, pieces.pieces, record, outputs)
        except (ValueError, TypeError, RuntimeError) as problem:
            raise UsageError(sentence_of(problem)) from problem
    n_samples = sum(record._counts)
    notes = []
    if gmr.space_ is not None and gmr.space_n_samples_ < n_samples:
        notes.append(
            f"--space {request.settings['space']} was fitted on a random sample of "
            f"{gmr.space_n_samples_:,} rows"
        )
    notes += dict.fromkeys(
        sentence_of(warning.message)
        for warning in caught
        # Not those of Dask.
        if Path(rectifold.__file__).parent in Path(warning.filename).parents
    )
    return result_of(
        request,
        record,
        n_features=len(features),
        n_rows=pieces.n_rows,
        n_missing=pieces.n_rows - n_samples,
        seconds=seconds,
        notes=notes,
    )


@contextmanager
def _client(scheduler: str | None, n_workers: int) -> Iterator[None]:
    """Connect to a scheduler, or start workers on this machine."""
    from distributed import Client, LocalCluster
    from joblib import effective_n_jobs

    if scheduler is None:
        # Workers inherit that they ignore Ctrl-C; this process stops them.
        with _ctrl_c_ignored():
            cluster = LocalCluster(
                n_workers=effective_n_jobs(n_workers),
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        with cluster, Client(cluster):
            yield
        return
    try:
        client = Client(scheduler, timeout=_TIMEOUT)
    except (OSError, ValueError) as problem:
        raise UsageError(
            f"--scheduler: no scheduler of Dask answers at {scheduler!r} ({problem})"
        ) from None
    with client:
        if not client.nthreads():
            raise UsageError(f"--scheduler: {scheduler!r} has no workers; start some first")
        yield


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    # Python sets handlers of signals in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class _Reader:
    """Read the rows of a piece that have a label. It is sent with every task, so it is small."""

    request: Request
    features: list[str]
    nullable: frozenset[str]

    def samples(self, piece: Piece) -> pd.DataFrame:
        """Return the features."""
        from rectifold._io.multi_file import read_frame

        frame = read_frame(piece, self.features, self.nullable)
        missing = self.target(piece)[1]
        return frame[~missing] if missing.any() else frame

    def labels(self, piece: Piece) -> pd.Series[Any]:
        """Return the labels."""
        return self.target(piece)[0]

    def classes(self, piece: Piece) -> list[Any]:
        """Return the distinct labels."""
        classes: list[Any] = self.labels(piece).unique().tolist()
        return classes

    def target(self, piece: Piece) -> tuple[pd.Series[Any], NDArray[np.bool_]]:
        """Return the labels, and a mask of the rows of the piece without one."""
        name = self.request.target
        labels, missing, _ = read_labels(
            piece.read([name]).frame([name])[name],
            is_text=False,
            missing_labels=self.request.missing_labels,
        )
        if missing.any() and self.request.missing_target == "error":
            first = piece.first + int(missing.argmax())
            raise UsageError(
                f"target {name!r}: row {first} (counted from 0) has no label, and others may not "
                "either; --missing-target drop leaves them out"
            )
        return labels, missing


def _collections(reader: _Reader, pieces: Pieces) -> tuple[Any, Any]:
    """Return features and labels as collections of Dask, with a partition for each piece."""
    import dask
    import dask.dataframe as dd

    features = pieces.empty_frame(reader.features)
    target = pieces.empty_frame([reader.request.target])[reader.request.target]
    # By default Dask converts columns of objects to text.
    with dask.config.set({"dataframe.convert-string": False}):
        X = dd.from_map(reader.samples, pieces.pieces, meta=features, enforce_metadata=False)
        y = dd.from_map(reader.labels, pieces.pieces, meta=target, enforce_metadata=False)
    return X, y


def _labels(reader: _Reader, pieces: Pieces) -> pd.Series[Any]:
    """Return the labels that occur, with repetitions."""
    import dask
    import pandas as pd

    parts = dask.compute(*[dask.delayed(reader.classes)(piece) for piece in pieces.pieces])
    return pd.Series([label for part in parts for label in part])


def _write(reader: _Reader, pieces: Sequence[Piece], record: Any, outputs: dict[str, Path]) -> None:
    """Write a file for each piece; the folders get their names when all files are written."""
    from dask import delayed

    from rectifold._io.multi_file import whole_folders
    from rectifold.dask._cluster import Cluster
    from rectifold.dask._rectification import records_by_partition

    cluster = Cluster()
    with whole_folders(list(outputs.values())) as folders:
        for name, folder in zip(outputs, folders, strict=True):
            tasks = [
                delayed(_write_piece, pure=False)(
                    reader, piece, part, folder / f"part-{number:05}.parquet", name
                )
                for number, (piece, part) in enumerate(
                    zip(pieces, records_by_partition(record), strict=True)
                )
            ]
            written = [path for path in cluster.compute(tasks) if path is not None]
            # Remove what workers that died left behind.
            for path in folder.iterdir():
                if path not in written:
                    path.unlink()


def _write_piece(
    reader: _Reader, piece: Piece, record: Rectification, path: Path, output: str
) -> Path | None:
    """Write the kept or the removed rows of a piece; return the path, or None without rows."""
    import numpy as np

    from rectifold._io.multi_file import write_piece

    missing = reader.target(piece)[1]
    removed = missing.copy()
    removed[~missing] = record.removed
    drop = reader.request.drop
    if output == "output":
        write_piece(piece, ~removed, path, drop=drop)
        return path
    if not removed.any():
        return None
    added = removal_columns(record, np.flatnonzero(~missing), removed, piece.first)
    write_piece(piece, removed, path, drop=drop, added=added)
    return path
