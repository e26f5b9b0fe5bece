"""A table in many Parquet files is cleaned on a Dask cluster, into as many others."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rectifold
from rectifold._core.utils import timed
from rectifold.cli.clean import FACTS, Request, check_added, explain
from rectifold.cli.errors import UsageError, in_words_of_the_command_line
from rectifold.cli.table_input import features_of
from rectifold.cli.target_column import classes_named, read_labels

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from rectifold._io.multi_file import Piece, Pieces

#: Seconds to wait for a scheduler to answer.
_PATIENCE = 10


def clean_on_cluster(request: Request, scheduler: str | None, cores: int) -> dict[str, Any]:
    """Clean a table that no machine has to hold, and write what was asked for.

    Parameters
    ----------
    request : Request
        What to clean, and how; its outputs are folders.
    scheduler : str or None
        The address of a scheduler; None for workers on this machine.
    cores : int
        How many of those; -1 for one a core.

    Returns
    -------
    dict
        As `rectifold.cli.clean.clean_file` gives it.
    """
    _refuse(request)
    try:
        from rectifold.dask import GMR
        from rectifold.dask._plan import bytes_of
    except ImportError:
        raise UsageError('--engine dask needs its extra: pip install "rectifold[dask]"') from None
    from rectifold._io.multi_file import check_folders, open_pieces
    from rectifold.report._messages import warnings_of

    settings = {name: value for name, value in request.settings.items() if name != "engine"}
    # Cores are workers here, of one thread each.
    settings["n_jobs"] = None
    gmr = GMR(**settings)
    try:
        size = bytes_of(gmr.block_size)
    except ValueError as problem:
        raise UsageError(in_words_of_the_command_line(str(problem))) from None
    seconds: dict[str, float] = {}
    with timed(seconds, "read"):
        pieces = open_pieces(str(request.source), size)
        features = features_of(
            pieces, request.target, {"--drop": request.drop, "--ignore": request.ignore}
        )
        check_added(pieces.columns, request)
        named = {"--output": request.output, "--removed": request.removed}
        outputs = {name: path for name, path in named.items() if path is not None}
        check_folders(outputs, pieces)
    with _client(scheduler, cores), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            labelled = _Labelled(
                features,
                pieces.gaps,
                request.target,
                request.missing_labels,
                request.missing_target,
                request.drop,
            )
            if request.only:
                classes = classes_named("--only", request.only, _classes(labelled, pieces))
                gmr.set_params(sampling_strategy=classes)
            gmr.fit_resample(*_collections(labelled, pieces))
            record = gmr.rectification_
            with timed(seconds, "write"):
                _write(labelled, pieces.pieces, record, outputs)
        except ConnectionError:
            raise
        except (ValueError, TypeError, RuntimeError) as problem:
            raise UsageError(in_words_of_the_command_line(str(problem))) from problem
    said = dict.fromkeys(
        in_words_of_the_command_line(str(warning.message))
        for warning in caught
        # Dask has warnings of its own.
        if Path(rectifold.__file__).parent in Path(warning.filename).parents
    )
    summary = record.summary()
    without = pieces.rows - summary["rows"]
    return {
        **summary,
        "seconds": {"read": seconds.pop("read"), **summary["seconds"], **seconds},
        "warnings": warnings_of(record),
        "input": str(request.source),
        "output": None if request.output is None else str(request.output),
        "removed_file": None if request.removed is None else str(request.removed),
        "report": None,
        "target": request.target,
        "features": len(features),
        "dropped_columns": list(request.drop),
        "ignored_columns": list(request.ignore),
        "missing_target": {"rows": without, "action": request.missing_target},
        "missing_labels": list(request.missing_labels),
        "rows_in": pieces.rows,
        "rows_out": summary["kept"],
        "notes": [*_on_space(gmr, request), *said],
    }


def _refuse(request: Request) -> None:
    if request.report is not None:
        raise UsageError(
            "--report is for tables that fit in memory: leave it out with --engine dask"
        )
    if request.settings.get("space") == "heom":
        raise UsageError("--space must be auto or none with --engine dask, not heom")
    if request.missing_target == "keep":
        raise UsageError("--missing-target must be error or drop with --engine dask, not keep")
    for name in ("target_recall", "time_budget"):
        if name in request.settings:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for approximate neighbours, and --engine dask is exact")


def _on_space(gmr: Any, request: Request) -> list[str]:
    """Say on how many rows the space was fitted, if that is not all of them."""
    if gmr.space_ is None or gmr.space_rows_ >= gmr.rectification_.sizes.sum():
        return []
    return [
        f"--space {request.settings['space']} was fitted on a random sample of "
        f"{gmr.space_rows_:,} rows"
    ]


@contextmanager
def _client(scheduler: str | None, cores: int) -> Iterator[None]:
    """Connect to a scheduler, or start workers on this machine."""
    from distributed import Client, LocalCluster
    from joblib import effective_n_jobs

    from rectifold._io.outputs import uninterrupted

    if scheduler is None:
        # Workers inherit that Ctrl-C is not for them; they are told to stop without a word.
        with uninterrupted():
            cluster = LocalCluster(
                n_workers=effective_n_jobs(cores),
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        with cluster, Client(cluster):
            yield
        return
    try:
        client = Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as problem:
        raise UsageError(
            f"--scheduler: no scheduler of Dask answers at {scheduler!r} ({problem})"
        ) from None
    with client:
        if not client.nthreads():
            raise UsageError(f"--scheduler: {scheduler!r} has no workers; start some first")
        yield


@dataclass(frozen=True)
class _Labelled:
    """The rows of a piece that have a label; it goes with every task, and so holds no more."""

    features: list[str]
    gaps: frozenset[str]
    name: str
    missing_labels: Sequence[str]
    missing_target: str
    drop: Sequence[str]

    def rows(self, piece: Piece) -> pd.DataFrame:
        """Read features."""
        from rectifold._io.multi_file import frame_of

        frame = frame_of(piece, self.features, self.gaps)
        missing = self.target(piece)[1]
        return frame[~missing] if missing.any() else frame

    def labels(self, piece: Piece) -> pd.Series[Any]:
        """Read labels."""
        return self.target(piece)[0]

    def classes(self, piece: Piece) -> list[Any]:
        """Every label of a piece once."""
        found: list[Any] = self.labels(piece).unique().tolist()
        return found

    def target(self, piece: Piece) -> tuple[pd.Series[Any], NDArray[np.bool_]]:
        """Read labels, and which rows have none."""
        column = piece.read([self.name]).frame([self.name])[self.name]
        labels, missing, _ = read_labels(column, is_text=False, missing_labels=self.missing_labels)
        if missing.any() and self.missing_target == "error":
            first = piece.first + int(missing.argmax())
            raise UsageError(
                f"target {self.name!r}: row {first} (counted from 0) has no label, and others may "
                "not either; --missing-target drop leaves them out"
            )
        return labels, missing


def _collections(labelled: _Labelled, pieces: Pieces) -> tuple[Any, Any]:
    """Features and labels as collections of Dask, a partition a piece."""
    import dask
    import dask.dataframe as dd

    features, target = pieces.none(labelled.features), pieces.none([labelled.name])
    # Else Dask would turn whatever pandas holds as objects into text.
    with dask.config.set({"dataframe.convert-string": False}):
        X = dd.from_map(labelled.rows, pieces.pieces, meta=features, enforce_metadata=False)
        y = dd.from_map(
            labelled.labels, pieces.pieces, meta=target[labelled.name], enforce_metadata=False
        )
    return X, y


def _classes(labelled: _Labelled, pieces: Pieces) -> pd.Series[Any]:
    """Every label, once or more."""
    import dask
    import pandas as pd

    found = dask.compute(*[dask.delayed(labelled.classes)(one) for one in pieces.pieces])
    return pd.Series([label for part in found for label in part])


def _write(
    labelled: _Labelled, pieces: Sequence[Piece], record: Any, outputs: dict[str, Path]
) -> None:
    """Write a file a piece, and give folders their names when all are there."""
    from dask import delayed

    from rectifold._io.multi_file import whole_folders
    from rectifold.dask._cluster import Cluster

    cluster = Cluster()
    with whole_folders(list(outputs.values())) as folders:
        for name, folder in zip(outputs, folders, strict=True):
            tasks = [
                delayed(_write_one, pure=False)(
                    labelled,
                    piece,
                    told,
                    record.classes,
                    folder / f"part-{number:05}.parquet",
                    name,
                )
                for number, (piece, told) in enumerate(zip(pieces, record.told(), strict=True))
            ]
            written = [path for path in cluster.gather(tasks) if path is not None]
            # What a worker that died left behind.
            for path in folder.iterdir():
                if path not in written:
                    path.unlink()


def _write_one(
    labelled: _Labelled,
    piece: Piece,
    told: dict[str, Any],
    classes: NDArray[Any],
    path: Path,
    output: str,
) -> Path | None:
    """Write the rows of a piece that stay, or those that go and why."""
    import numpy as np

    from rectifold._io.multi_file import write_piece
    from rectifold.dask._rectification import column

    missing = labelled.target(piece)[1]
    gone = missing.copy()
    removed = column(told, "removed", classes)
    gone[~missing] = removed
    if output == "--output":
        write_piece(piece, ~gone, path, drop=labelled.drop)
        return path
    if not gone.any():
        return None
    facts = [column(told, name, classes) for name in FACTS]
    added = explain(facts, np.flatnonzero(~missing), gone, piece.first)
    write_piece(piece, gone, path, drop=labelled.drop, added=added)
    return path
